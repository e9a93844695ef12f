"""The package's public names with their docstrings, as pages for Sphinx."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils.nodes import make_id
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

__all__ = ["named", "namespaces", "overview", "reference", "shortened"]

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
    text = [short, "=" * len(short), "", f"{summary(module)}.", ""]
    for name, one in named(module):
        text += entry(name, one)
    return "\n".join(text)


def overview(modules: list[ModuleType]) -> str:
    """The page above them: each name with the first line of what it promises."""
    text = ["Reference", "=========", "", "Every public name; ``import gpulearn as gl``.", ""]
    for module in modules:
        short = shortened(module)
        text += [short, "-" * len(short), "", f":doc:`{summary(module)} <{short}>`", ""]
        for name, one in named(module):
            place = f"{short}.html#{make_id(name)}"
            text += [f"- `{name} <{place}>`__{promised(one)}"]
        text += [""]
    below = "".join(f"   {shortened(module)}\n" for module in modules)
    return "\n".join([*text, ".. toctree::", "   :hidden:", "", below])


def named(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The public names of a module, as notebooks write them, with what they mean."""
    for name in sorted(public(module), key=str.lower):
        one = getattr(module, name)
        if not inspect.ismodule(one):
            yield f"{shortened(module)}.{name}", one


def promised(one: Any) -> str:
    """The first line of a docstring, to stand behind a name; of a mapping, nothing."""
    said = "" if isinstance(one, Mapping) else inspect.getdoc(one) or ""
    first = said.partition("\n\n")[0].replace("\n", " ")
    return BAR.sub(r"\|", f": {first}") if first else ""


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
