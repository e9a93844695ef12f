"""The package's public names with their docstrings, as pages for Sphinx."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

__all__ = ["namespaces", "reference", "shortened"]

STYLE: Any = Config(napoleon_use_param=False, napoleon_use_rtype=False, napoleon_use_ivar=True)
WIDEST = 70  # characters of a signature in one line
FIELD = re.compile(r"(?<=^:)(returns|raises)\b", re.MULTILINE)
PARAMETER = re.compile(r", (?=\*{0,2}\w+: |[*/],|[*/]$)")  # what follows begins a parameter
BAR = re.compile(r"\|")


def namespaces() -> list[ModuleType]:
    """The package, and the modules that its list of names holds; `cuda` is Numba's own."""
    top = importlib.import_module("gpulearn")
    below = [getattr(top, name) for name in public(top)]
    return [top, *(one for one in below if inspect.ismodule(one) and one is not top.cuda)]


def public(module: ModuleType) -> list[str]:
    """The names that a module promises: in the stub of a package, else in its `__all__`."""
    stub = Path(module.__file__ or "").with_suffix(".pyi")
    if not stub.exists():
        return list(module.__all__)
    lines = ast.parse(stub.read_text(encoding="utf-8")).body
    found = [one.asname for line in lines if isinstance(line, ast.ImportFrom) for one in line.names]
    return [name for name in found if name]


def reference(module: ModuleType) -> str:
    """A page with all public names of a module, in reStructuredText."""
    short = shortened(module)
    title = f"{short}: {summary(module)}"
    text = [title, "=" * len(title), ""]
    for name in sorted(public(module), key=str.lower):
        one = getattr(module, name)
        if not inspect.ismodule(one):
            text += entry(f"{short}.{name}", one)
    return "\n".join(text)


def shortened(module: ModuleType) -> str:
    """A module's name as notebooks write it."""
    return module.__name__.replace("gpulearn", "gl", 1)


def summary(module: ModuleType) -> str:
    """The first line of a module's docstring."""
    return (module.__doc__ or "").strip().splitlines()[0].rstrip(".")


def entry(name: str, one: Any) -> list[str]:
    """One name: how it is called, and what it promises."""
    rows = [name, "-" * len(name), ""]
    if call := signature(one):
        rows += [".. code-block:: python", "", f"   {name}{call}", ""]
    if isinstance(one, Mapping):  # its docstring is its type's
        return [*rows, "A mapping with " + ", ".join(f"``{key}``" for key in one) + ".", ""]
    said = BAR.sub(r"\|", inspect.getdoc(one) or "")
    text = FIELD.sub(lambda found: found[1].title(), str(GoogleDocstring(said, STYLE)))
    return [*rows, *text.splitlines(), ""]


def signature(one: Any) -> str:
    """How it is called, with types; of what is not called, nothing."""
    asked = getattr(one, "py_func", one)  # a kernel is called as the function that it is made of
    try:
        text = str(inspect.signature(asked))
    except (TypeError, ValueError):
        return ""
    text = re.sub(r"<[^>]*>", "...", text.replace("'", ""))
    if len(text) <= WIDEST:
        return text
    inside, _, result = text[1:].rpartition(")")
    rows = "".join(f"       {one},\n" for one in PARAMETER.split(inside))
    return f"(\n{rows}   ){result}"
