"""The package's public names with their docstrings, and its commands, as pages for Sphinx."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import io
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from docutils.nodes import make_id
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

from gpulearn.__main__ import COMMANDS, main
from gpulearn.judge.topics import topics
from tools.site.annotations import TypeName, named_in

__all__ = ["commands", "named", "namespaces", "overview", "reference", "shortened", "types"]

STYLE: Any = Config(
    napoleon_use_param=False,
    napoleon_use_rtype=False,
    napoleon_custom_sections=[("Attributes", "params_style")],  # as arguments are shown
)
MAX_COLUMNS = 70  # characters of a signature in one line
FIELD = re.compile(r"(?<=^:)(returns|raises)\b", re.MULTILINE)
PARAMETER = re.compile(r", (?=\*{0,2}\w+: |[*/],|[*/]$)")  # what follows begins a parameter
BAR = re.compile(r"\|")
OBJECT = re.compile(r"<(?:[^<>]|<\w+>)*>")  # "<function Exercise.<lambda> at 0x7f3a263f7880>"
OWN = "gpulearn.judge"  # a file with exercises of its own imports from it by this name


def namespaces() -> list[ModuleType]:
    """The package, its modules of names, what an exercise is made of, the lessons, the machine.

    `cuda` is Numba's own.
    """
    top = importlib.import_module("gpulearn")
    below = [getattr(top, name) for name in public(top)]
    spaces = (module for module in below if inspect.ismodule(module) and module is not top.cuda)
    lessons = (lesson for lesson in topics() if public(lesson))
    return [top, *spaces, importlib.import_module(OWN), *lessons, importlib.import_module("simt")]


def public(module: ModuleType) -> list[str]:
    """The names that a module promises: in the stub of a package, else in its `__all__`."""
    stub = Path(module.__file__ or "").with_suffix(".pyi")
    if not stub.exists():
        return list(getattr(module, "__all__", ()))
    lines = ast.parse(stub.read_text(encoding="utf-8")).body
    names = [a.asname for line in lines if isinstance(line, ast.ImportFrom) for a in line.names]
    return [name for name in names if name]


def reference(module: ModuleType) -> str:
    """A page with all public names of a module, in reStructuredText."""
    short = shortened(module)
    text = [short, "=" * len(short), "", f"{summary(module)}.", ""]
    for name, value in named(module):
        text += entry(name, value)
    return "\n".join(text)


def overview(modules: list[ModuleType]) -> str:
    """The page above them: each name with the first line of what it promises."""
    text = ["Reference", "=========", "", "Every public name. ``gl`` is ``import gpulearn as gl``;"]
    text += ["what one lesson uses is imported from that lesson, as in"]
    text += ["``from gpulearn_lessons.collectives import ring_player``.", ""]
    text += ["What they take and return stands under :doc:`types`, what is called from a "]
    text += ["terminal under :doc:`commands`.", ""]
    for module in modules:
        short = shortened(module)
        text += [short, "-" * len(short), "", f":doc:`{summary(module)} <{short}>`", ""]
        for name, value in named(module):
            place = f"{short}.html#{make_id(name)}"
            text += [f"- `{name} <{place}>`__{promised(value)}"]
        text += [""]
    below = "".join(f"   {name}\n" for name in [*map(shortened, modules), "types", "commands"])
    return "\n".join([*text, ".. toctree::", "   :hidden:", "", below])


def types() -> str:
    """The page of what public signatures name and nobody imports, in reStructuredText."""
    text = ["Types", "=====", "", "What public functions take or return, and nobody imports.", ""]
    for name, it in sorted(on_the_page().items(), key=lambda pair: pair[0].lower()):
        if it.alias:
            text += [name, "-" * len(name), "", f"``{it.alias}``", ""]
        else:
            text += entry(name, it.meant)
    return "\n".join(text)


@cache
def on_the_page() -> dict[str, TypeName]:
    """Name → what the page of types has under it.

    Raises:
        SystemExit: two types share a name.
    """
    public_ones = [value for module in namespaces() for _, value in named(module)]
    promised = {id(value) for value in public_ones}
    names: dict[str, TypeName] = {}
    for it in (it for value in public_ones for it in mentioned(value)):
        if (it.alias or id(it.meant) not in promised) and names.setdefault(it.name, it) != it:
            raise SystemExit(f"Two types of public signatures are called {it.name}: rename one.")
    return names


def mentioned(value: Any) -> list[TypeName]:
    """The package's types that a signature or one of its methods' names."""
    rows = [row for row in members(value) if row.startswith("``.")]
    module = getattr(getattr(value, "py_func", value), "__module__", "") or ""
    return list(named_in("\n".join([signature(value), *rows]), module))


def commands() -> str:
    """The page of the commands: what each says when it is asked for `--help`."""
    text = ["Commands", "========", ""]
    text += ["``python -m gpulearn`` and what follows it; ``gpulearn`` alone does the same.", ""]
    for command in ("", *COMMANDS):
        title = f"gpulearn {command}".rstrip()
        text += [title, "-" * len(title), "", ".. code-block:: text", ""]
        text += [f"   {line}".rstrip() for line in helped(command).splitlines()] + [""]
    return "\n".join(text)


def helped(command: str) -> str:
    """What a command prints for `--help`, as wide as a page of the site."""
    argv = ["gpulearn", *([command] if command else []), "--help"]
    output = io.StringIO()
    with (
        patch.object(sys, "argv", argv),
        patch.dict("os.environ", {"COLUMNS": "88"}),
        contextlib.redirect_stdout(output),
        contextlib.suppress(SystemExit),
    ):
        main()
    return output.getvalue()


def named(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The public names of a module, as notebooks write them, with what they mean."""
    for name in sorted(public(module), key=str.lower):
        value = getattr(module, name)
        if not inspect.ismodule(value):
            yield f"{shortened(module)}.{name}", value


def promised(value: Any) -> str:
    """The first line of a docstring, to stand behind a name; of a mapping, nothing."""
    doc = "" if isinstance(value, Mapping) else inspect.getdoc(value) or ""
    first = doc.partition("\n\n")[0].replace("\n", " ")
    return BAR.sub(r"\|", f": {first}") if first else ""


def shortened(module: ModuleType) -> str:
    """A module's name as notebooks write it, and files with exercises."""
    if module.__name__ == OWN:
        return OWN
    return re.sub(r"^gpulearn\b", "gl", module.__name__)


def summary(module: ModuleType) -> str:
    """The first line of a module's docstring."""
    return (module.__doc__ or "").strip().splitlines()[0].rstrip(".")


def entry(name: str, value: Any) -> list[str]:
    """One name: how it is called, and what it promises; of a class also what it can do."""
    rows = [name, "-" * len(name), ""]
    if call := signature(value):
        lines = (name + call).split("\n")
        rows += [".. code-block:: python", "", *(f"   {line}" for line in lines), ""]
    if isinstance(value, Mapping):  # its docstring is its type's
        return [*rows, "A mapping with " + ", ".join(f"``{key}``" for key in value) + ".", ""]
    known = [it.name for it in mentioned(value) if on_the_page().get(it.name) == it]
    if linked := [f"`{it} <types.html#{make_id(it)}>`__" for it in known]:
        rows += ["Types: " + ", ".join(linked), ""]
    return [*rows, *docstring(value), "", *members(value)]


def docstring(value: Any) -> list[str]:
    """What a name promises, in reStructuredText."""
    doc = BAR.sub(r"\|", inspect.getdoc(value) or "")
    text = FIELD.sub(lambda match: match[1].title(), str(GoogleDocstring(doc, STYLE)))
    return text.splitlines()


def members(value: Any) -> list[str]:
    """What an object of a class can be asked, as a list; of anything else, nothing."""
    rows: list[str] = []
    fields = getattr(value, "__dataclass_fields__", {})  # a default that is a function is no method
    for name, member in vars(value).items() if inspect.isclass(value) else ():
        function = getattr(member, "fget", getattr(member, "__func__", member))
        if (
            name.startswith("_")
            or name in fields
            or not inspect.isfunction(function)
            or not inspect.getdoc(function)
        ):
            continue
        call = "" if isinstance(member, property) else signature(function, bound=True)
        call = " ".join(call.split()).replace("( ", "(").replace(", )", ")")
        rows += [f"``.{name}{call}``"]
        rows += [f"   {line}".rstrip() for line in docstring(function)] + [""]
    return rows


class Plain(str):
    """An annotation as it stands in the source, without quotes."""

    __repr__ = str.__str__


def signature(value: Any, *, bound: bool = False) -> str:
    """How it is called, with types; of what is not called, nothing.

    Args:
        value: what is called.
        bound: whether it is called of an object, without its first parameter.
    """
    function = getattr(value, "py_func", value)  # a kernel is called as the function it is made of
    if getattr(function, "_is_protocol", False):  # nobody makes one
        return ""
    try:
        sig = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    params = [p.replace(annotation=plain(p.annotation)) for p in sig.parameters.values()]
    sig = sig.replace(parameters=params[bound:], return_annotation=plain(sig.return_annotation))
    text = OBJECT.sub("...", str(sig))
    if len(text) <= MAX_COLUMNS:
        return text
    inside, _, result = text[1:].rpartition(")")
    rows = "".join(f"    {it},\n" for it in PARAMETER.split(inside))
    return f"(\n{rows}){result}"


def plain(annotation: Any) -> Any:
    """An annotation that is shown as it was written."""
    text = getattr(annotation, "__forward_arg__", annotation)  # as a NamedTuple has it
    return Plain(text) if isinstance(text, str) else annotation
