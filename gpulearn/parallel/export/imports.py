"""Import lines of a script: where each value of a notebook can be imported from."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from gpulearn.parallel.export.source import unwrapped


class Imports:
    """Collects import lines.

    >>> imports = Imports()
    >>> imports.add_module("np", "numpy")
    >>> imports.add_module("nn", "torch.nn")
    >>> print(imports.text())
    from torch import nn
    import numpy as np
    """

    def __init__(self) -> None:
        self._modules: set[tuple[str, str]] = set()  # (module, "" or the name it gets)
        self._names: dict[str, set[tuple[str, str]]] = {}  # module -> (name, "" or its new name)

    def add_module(self, alias: str, module: str) -> None:
        """`import module`, under the name that the notebook gave it."""
        package, _, last = module.rpartition(".")
        if alias == module:
            self._modules.add((module, ""))
        elif package and alias == last:
            self.add_name(alias, package, last)
        else:
            self._modules.add((module, alias))

    def add_name(self, alias: str, module: str, name: str) -> None:
        """`from module import name`, under the name that the notebook gave it."""
        self._names.setdefault(module, set()).add((name, "" if alias == name else alias))

    def add_submodules(self, module: ModuleType, alias: str, source: str) -> None:
        """Import what `alias.sub.…` in a source needs and its package does not load by itself."""
        for node in ast.walk(ast.parse(source)):
            here, parts = module, _chain(node, alias)
            for part in parts:
                inner = vars(here).get(part)
                if not isinstance(inner, ModuleType) or inner.__name__ != f"{here.__name__}.{part}":
                    break
                if not _loads(here, part):
                    self._modules.add((inner.__name__, ""))
                here = inner

    def text(self) -> str:
        """The lines, sorted."""
        lines = [
            f"import {module} as {alias}" if alias else f"import {module}"
            for module, alias in self._modules
        ]
        for module, names in self._names.items():
            clauses = [f"{name} as {alias}" if alias else name for name, alias in sorted(names)]
            lines.append(f"from {module} import {', '.join(clauses)}")
        return "\n".join(sorted(lines))


def home_of(name: str, value: Any) -> tuple[str, str] | None:
    """The module to import a value from, the shortest that has it, and its name there.

    >>> from torch.utils.data import DataLoader
    >>> home_of("Loader", DataLoader)
    ('torch.utils.data', 'DataLoader')
    >>> home_of("mine", object()) is None
    True
    """
    own = getattr(value, "__name__", None)
    own_name = own if isinstance(own, str) else name
    module = getattr(value, "__module__", None) if not inspect.ismodule(value) else None
    if isinstance(module, str) and module != "__main__" and module in sys.modules:
        parts = module.split(".")
        for count in range(1, len(parts) + 1):
            shorter = ".".join(parts[:count])
            if getattr(sys.modules.get(shorter), own_name, None) is value:
                return shorter, own_name
    if module is None and not isinstance(value, type):  # such as torch.float32, or a ufunc
        homes = [
            path
            for path, home in list(sys.modules.items())  # None: what must not be imported
            if path != "__main__" and home is not None and vars(home).get(own_name) is value
        ]
        public = [home for home in homes if not any(p.startswith("_") for p in home.split("."))]
        if public:
            return min(public, key=lambda home: (home.count("."), home)), own_name
    return None


def of_notebook(value: Any) -> bool:
    """Whether a function or a class has to be written out, since nothing can import it."""
    inner = unwrapped(value) if callable(value) else value
    return isinstance(inner, FunctionType | type) and home_of("", value) is None


def has_name(value: Any) -> bool:
    """Whether a value inside another is written by its name: modules, functions, classes."""
    if isinstance(value, ModuleType) or of_notebook(value):
        return True
    return callable(value) and home_of("", value) is not None


def _chain(node: ast.AST, alias: str) -> list[str]:
    """`["b", "c"]` for the expression `alias.b.c`."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return parts if isinstance(node, ast.Name) and node.id == alias else []


def _loads(package: ModuleType, part: str) -> bool:
    """Whether `import package` brings its submodule `part` along, by what its source says."""
    try:
        tree = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return True
    names = {f"{package.__name__}.{part}", part}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name in names for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (
            node.module in names or any(alias.name == part for alias in node.names)
        ):
            return True
    return False
