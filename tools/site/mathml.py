"""Formulas as MathML, which browsers draw by themselves: no script, and nothing is fetched."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

__all__ = ["setup_math"]


def setup_math(app: Any) -> None:
    """Give Sphinx a writer for formulas within a line and on lines of their own."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))


def inline(writer: Any, node: nodes.math) -> None:
    """A formula within a line."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """A formula on a line of its own; one that is too wide can be scrolled by keyboard."""
    formula = convert(node.astext(), display="block")
    writer.body.append(f'<div class="formula" tabindex="0" role="group">{formula}</div>\n')
    raise nodes.SkipNode
