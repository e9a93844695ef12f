"""Machine code from LLVM's form: compiled once, kept on disk for whoever runs it next."""

import ctypes
import hashlib
import os
import re
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from simt.core.folder import cache_folder
from simt.ptx.native.emitter import NotNative

OLDEST = 16  # the first LLVM whose pointers have no type
LARGE = 50_000  # lines; the last steps of LLVM's would take minutes for many more
_lock = threading.Lock()
_linked: dict[str, Any] = {}  # what has been linked, by the hash of its text


@cache
def _machine() -> Any:
    """LLVM for this computer."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise NotNative("llvmlite is not installed") from None
    if llvm.llvm_version_info[0] < OLDEST:
        raise NotNative("llvmlite is older than 0.45")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3,
        jit=True,
    )  # fmt: skip


def compiled(text: str, functions: set[tuple[str, str]]) -> Any:
    """The function `run` of a module, to be called as `run(frame, first, last)`.

    `functions` are those of NumPy that it calls, with their types.
    """
    key = hashlib.sha256(text.encode()).hexdigest()
    if key in _linked:
        return _linked[key][0]
    machine = _machine()
    import llvmlite.binding as llvm

    builder = llvm.JITLibraryBuilder().add_object_img(_object(llvm, machine, text))
    for name, kind in functions:
        loop, data = _loop(name, np.dtype({"f32": np.float32, "f64": np.float64}[kind]).char)
        builder.import_symbol(f"simt_{name}_{kind}", loop)
        builder.import_symbol(f"simt_{name}_{kind}.data", data)
    builder.add_current_process().export_symbol("run")
    library = builder.link(_linker(), key)
    signature = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    run = signature(library["run"])
    _linked[key] = run, library
    return run


@cache
def _linker() -> Any:
    import llvmlite.binding as llvm

    return llvm.create_lljit_compiler(_machine())


def _object(llvm: Any, machine: Any, text: str) -> bytes:
    """The object code, from the disk if it is there."""
    words = (text, machine.triple, llvm.get_host_cpu_name(),
             llvm.get_host_cpu_features().flatten(), str(llvm.llvm_version_info))  # fmt: skip
    key = hashlib.sha256("\0".join(words).encode()).hexdigest()
    folder = cache_folder()
    file = folder / f"kernel-{key[:32]}.o" if folder else None
    if file is not None:
        with suppress(OSError):
            return file.read_bytes()
    with _lock:
        module = llvm.parse_assembly(text)
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        if text.count("\n") > LARGE:
            head = re.compile(r"^(define .*@run\(.*\) [^{]*){", re.MULTILINE)
            module = llvm.parse_assembly(head.sub(r"\1noinline optnone {", str(module)))
        code: bytes = machine.emit_object(module)
    if file is not None:
        with suppress(OSError):
            new = Path(f"{file}.{os.getpid()}")
            new.write_bytes(code)
            new.replace(file)
    return code


class _Ufunc(ctypes.Structure):
    """The first fields of NumPy's `PyUFuncObject` (NumPy reference, "UFunc API")."""

    _fields_ = (
        ("count", ctypes.c_ssize_t), ("type", ctypes.c_void_p), ("nin", ctypes.c_int),
        ("nout", ctypes.c_int), ("nargs", ctypes.c_int), ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)), ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    )  # fmt: skip


@cache
def _loop(name: str, char: str) -> tuple[int, int]:
    """NumPy's loop of a function of one number, and what it is handed beside the arrays."""
    ufunc = getattr(np, name)
    fields = _Ufunc.from_address(id(ufunc))
    kinds = [kind for kind in ufunc.types if kind == f"{char}->{char}"]
    if not kinds or fields.ntypes != len(ufunc.types) or fields.nargs != 2:
        raise NotNative(f"NumPy's {name} is not where it is looked for")
    at = ufunc.types.index(kinds[0])
    return fields.functions[at], (fields.data[at] or 1) if fields.data else 1
