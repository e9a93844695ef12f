"""Lazy public names: a package's `__init__.pyi` lists them, and each is loaded when first used.

The stub is what type checkers and editors read; at run time the same text says where a name
comes from (PEP 562), so that no name is written twice and importing a package loads nothing.
"""

import ast
import importlib
import sys
from collections.abc import Callable
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, from the stub beside its `__init__.py`.

    Args:
        package: the package's `__name__`.
        file: its `__file__`.

    `from .module import name as public` gives `public`; with two dots it comes from beside the
    package, with none from another package. `from . import module as public` gives the module.
    """
    homes: dict[str, tuple[str, str]] = {}
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            homes |= {(name.asname or name.name): (module, name.name) for name in node.names}

    def __getattr__(name: str) -> Any:  # noqa: N807 - it becomes the package's
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = homes[name]
        if module == package:  # a module of the package, found and kept by the import system
            return importlib.import_module(f"{package}.{original}")
        home = importlib.import_module(module)
        try:
            value = getattr(home, original)
        except AttributeError:  # a module of another package, not loaded yet
            value = importlib.import_module(f"{module}.{original}")
        setattr(sys.modules[package], name, value)
        return value

    class Package(ModuleType):
        """Where a module has the name of a public function, the name stays the function's."""

        def __setattr__(self, name: str, value: object) -> None:
            own = isinstance(value, ModuleType) and value.__name__ == f"{package}.{name}"
            if not own or homes.get(name, (package,))[0] == package:
                super().__setattr__(name, value)

        def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
            return importlib.import_module, (package,)  # it travels to ranks by its name

    sys.modules[package].__class__ = Package

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*vars(sys.modules[package]), *homes})

    return __getattr__, __dir__
