"""Shows a figure with the sentence that stands for it where it cannot be seen."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from html import escape
from typing import Any

from gpulearn.errors import BadInput

# JupyterLab takes what stands between two dollar signs for a formula, in HTML as well; MathJax
# leaves out what has this class.
AS_WRITTEN = 'class="mathjax_ignore"'


@dataclass(frozen=True)
class Picture:
    """A drawn figure: PNG bytes and the sentence that is its caption and its alternative text.

    The last value of a cell shows it.
    """

    png: bytes
    alt: str

    def __repr__(self) -> str:
        return f"[figure: {self.alt}]"

    def _repr_html_(self) -> str:
        return (
            f'<figure style="margin:0">{self.image}'
            f'<figcaption {AS_WRITTEN} style="max-width:80ch">{escape(self.alt)}</figcaption>'
            "</figure>"
        )

    @property
    def image(self) -> str:
        """The picture alone, as HTML, for where its sentence stands already."""
        data = base64.b64encode(self.png).decode()
        # JupyterLab drops the alt of an image output, and keeps that of an HTML <img>.
        return (
            f'<img alt="{escape(self.alt)}" style="max-width:100%;background:white" '
            f'src="data:image/png;base64,{data}">'
        )


@dataclass(frozen=True)
class Drawing:
    """A drawing in HTML with its alternative text; the last value of a cell shows it."""

    image: str
    alt: str

    def __repr__(self) -> str:
        return f"[figure: {self.alt}]"

    def _repr_html_(self) -> str:
        return self.image


def show(fig: Any, alt: str) -> Picture:
    """Show a matplotlib figure with its alternative text.

    Args:
        fig: the figure.
        alt: one sentence that states what the figure shows: its caption, and what is read to
            whoever cannot see it.
    """
    if not hasattr(fig, "savefig"):
        raise BadInput(f"show was given a {type(fig).__name__}: give it a matplotlib figure.")
    if not isinstance(alt, str) or len(alt.split()) < 3:
        raise BadInput(f"alt is {alt!r}: write one sentence that states what the figure shows.")
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png")
    return Picture(buffer.getvalue(), alt)


def bundle(widget: Any, html: str, text: str) -> dict[str, Any]:
    """What a notebook is given of an object: its ipywidget, or None, and what stands for it."""
    static = {"text/html": html, "text/plain": text}
    if widget is None:
        return static
    # built here, since ipywidgets 7 (Colab) shows its widgets in another way than 8 does
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    return {"application/vnd.jupyter.widget-view+json": view, **static}
