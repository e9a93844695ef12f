"""The types that public signatures name and that are no public names themselves.

A function promises a `History`; nobody imports one, and yet whoever calls the function wants to
know what it holds. Annotations are text, so each name is looked up where the module of the
function has it from, imports for type checkers included.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

__all__ = ["TypeName", "named_in"]

NAME = re.compile(r"(?<![\w.'\"])[A-Z]\w+")


class TypeName(NamedTuple):
    """A type of the package: its name, what it is, and for an alias what it stands for, else ""."""

    name: str
    meant: Any
    alias: str


def named_in(signature: str, module: str) -> Iterator[TypeName]:
    """The package's own types that a signature of a module's function or class names."""
    for name in dict.fromkeys(NAME.findall(signature)):
        if definition := defined(name, module):
            yield definition


def defined(name: str, module: str) -> TypeName | None:
    """What a name means in a module, if the package defines it and it is a type."""
    while module.startswith("gpulearn") and name in imports(module):
        module = imports(module)[name]
    if not module.startswith("gpulearn"):
        return None
    meant = getattr(importlib.import_module(module), name, None)
    if inspect.isclass(meant) and meant.__module__ == module:
        return TypeName(name, meant, "")
    alias = assigned(name, module)
    return TypeName(name, meant, alias) if alias and not isinstance(meant, TypeVar | str) else None


@cache
def parsed(module: str) -> ast.Module:
    """A module's source, taken apart."""
    path = importlib.import_module(module).__file__ or ""
    stub = Path(path).with_suffix(".pyi")  # a package that loads its names when they are used
    return ast.parse((stub if stub.exists() else Path(path)).read_text(encoding="utf-8"))


@cache
def imports(module: str) -> dict[str, str]:
    """Name → the module that a module has it from."""
    lines = [line for line in ast.walk(parsed(module)) if isinstance(line, ast.ImportFrom)]
    return {it.asname or it.name: line.module or "" for line in lines for it in line.names}


def assigned(name: str, module: str) -> str:
    """What stands right of the equals sign where a module makes a name for a type."""
    for line in parsed(module).body:
        match line:
            case ast.Assign(targets=[ast.Name(id=left)], value=value) if left == name:
                return ast.unparse(value)
    return ""
