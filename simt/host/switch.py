"""The switch for other people's programs: what they import as `numba.cuda` is the machine."""

from __future__ import annotations

import builtins
import functools
import importlib
import re
import sys
import warnings
from types import ModuleType
from typing import Any

from simt.core.source import remember_texts
from simt.device import driver
from simt.host.overloads import OPTIONS
from simt.host.settings import replacements
from simt.host.stand_in import counterpart, runs_as_a_user

# those of its `cuda.jit` that change how code is made or printed
_SUCCESSORS_OPTIONS = (
    "abi", "capi", "chip", "dump", "dump_ast", "dump_ast_after_all", "dump_cubin", "dump_llvmir",
    "dump_mlir", "dump_numba_ir", "dump_ptx", "features", "opt_level", "print_after_all",
    "print_before_all", "ptxas_options",
)  # fmt: skip


class Replacement:
    """`numba.cuda` replaced by the machine until `undo()`, or to the end of a `with` block."""

    _before: tuple[Any, Any] | None = None

    def __init__(self) -> None:
        remember_texts()
        if not replacements:
            type(self)._before = _replace_import()
        replacements.append(self)

    def undo(self) -> None:
        """Imports lead to Numba again; what was imported meanwhile stays the machine's."""
        if self in replacements:
            replacements.remove(self)
            if not replacements and self._before is not None:
                builtins.__import__, importlib.import_module = self._before
                _forget_what_runs_as_a_user()
                OPTIONS.difference_update(_SUCCESSORS_OPTIONS)
                tell_of_the_successor.cache_clear()

    def __enter__(self) -> Replacement:
        return self

    def __exit__(self, *error: object) -> None:
        self.undo()

    def __repr__(self) -> str:
        gpus = [gpu.name for gpu in driver.gpus()]
        otherwise = f", not on the {gpus[0]}" if gpus else ""
        if self not in replacements:
            return "numba.cuda is Numba's own again"
        return f"numba.cuda is the SIMT machine: kernels run on the CPU{otherwise}"


def replace_numba_cuda() -> Replacement:
    """Lets programs that were written for `numba.cuda` run on the SIMT machine, unchanged.

    From here on `from numba import cuda`, `import numba.cuda` and all their forms give the
    machine, `numba.vectorize` and `numba.guvectorize` as well where `target="cuda"`; so does
    `from numba_cuda_mlir import cuda`, installed or not, and says so once. Numba for the CPU stays
    what it is. Call it before those imports.

    Example:
        >>> with replace_numba_cuda() as replaced:
        ...     print(replaced)
        numba.cuda is the SIMT machine: kernels run on the CPU...
    """
    before = [
        name for name, value in vars(sys.modules["__main__"]).items()
        if isinstance(value, ModuleType) and counterpart(value) is not value
    ]  # fmt: skip
    if before:
        warnings.warn(
            f"{', '.join(before)} was imported before replace_numba_cuda() and stays Numba's: "
            "import it again",
            stacklevel=2,
        )
    return Replacement()


def _replace_import() -> tuple[Any, Any]:
    """Python's two ways to import, which have been replaced."""
    before = builtins.__import__, importlib.import_module
    import_statement, import_module = before

    @functools.wraps(import_statement)
    def imported_by_statement(name: str, *rest: Any, **kwargs: Any) -> ModuleType:
        importer = ((rest[0] if rest else kwargs.get("globals")) or {}).get("__name__")
        module = import_statement(_numbas_name(name, importer), *rest, **kwargs)
        return _module_for(importer, module)

    @functools.wraps(import_module)
    def imported(name: str, package: str | None = None) -> ModuleType:
        importer = sys._getframe(1).f_globals.get("__name__")
        return _module_for(importer, import_module(_numbas_name(name, importer), package))

    _forget_what_runs_as_a_user()
    builtins.__import__, importlib.import_module = imported_by_statement, imported
    return before


def _numbas_name(name: str, importer: str | None) -> str:
    """What a module is called in Numba: the successor of numba-cuda has the same under its name."""
    found = re.match(r"numba_cuda_mlir(\.numba_cuda)?(?=\.|$)", name)
    if found is None or not runs_as_a_user(importer or ""):
        return name
    tell_of_the_successor()
    return "numba" + ".cuda" * (found[1] is not None) + name[found.end() :]


@functools.cache
def tell_of_the_successor() -> None:
    """Says, once, what the name of numba-cuda's successor stands for; takes its options, too."""
    OPTIONS.update(_SUCCESSORS_OPTIONS)
    message = "numba_cuda_mlir is the SIMT machine here, which has what it shares with numba.cuda"
    warnings.warn(message, stacklevel=4)


def _module_for(importer: str | None, module: ModuleType) -> ModuleType:
    ours: ModuleType = counterpart(module) if runs_as_a_user(importer or "") else module
    return ours


def _forget_what_runs_as_a_user() -> None:
    """Drops modules of Numba's that were imported on the other side of the switch."""
    for name in [n for n in sys.modules if n.startswith("numba.cuda.") and runs_as_a_user(n)]:
        del sys.modules[name]
