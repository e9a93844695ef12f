"""The Numba bridge: a kernel's code with `numba.cuda` in its names, and what Numba makes of it.

Without a GPU a kernel's globals and closure hold this package's objects. Numba knows only
its own, so for its verdict and for a compiler the same code gets Numba's names in their place.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
import types as python_types
from collections.abc import Callable, Iterator
from typing import Any

from gpulearn.device import numba_cuda
from gpulearn.simt.core.registry import DeclaredFunction, Intrinsic, Namespace, python_function

__all__ = [
    "CAPABILITY",
    "any_device",
    "overload_bodies",
    "real_device_function",
    "real_function",
    "type_annotation",
]

CAPABILITY = (8, 0)  # the compute capability that kernels are compiled for without a GPU
_patching = threading.RLock()  # what stands in for parts of Numba is put back by who put it
_device: dict[int, tuple[Any, Any]] = {}  # this package's device functions and Numba's
_modules: dict[int, tuple[Any, Any]] = {}  # modules that hold some, and their stand-ins


def real_function(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function of a kernel, with its names led to `numba.cuda`.

    `kernel` is what either `cuda.jit` made, or a plain function.
    """
    function = python_function(kernel) or kernel
    made = _shell(function)
    _furnish(made, function)
    return made


def type_annotation(kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """What Numba's type inference finds out about a kernel: `.blocks` and `.typemap`.

    Args:
        kernel: what either `cuda.jit` made, or a plain function.
        arguments: the Numba types of its arguments.

    Raises:
        ImportError: something of Numba's is not where it used to be.
        numba.core.errors.NumbaError: Numba refuses the kernel.
    """
    numba_cuda.load()
    from numba.core import types
    from numba.cuda import compiler

    function = real_function(kernel)
    names = inspect.signature(compiler.compile_cuda).parameters
    options = {"cc": CAPABILITY} if "cc" in names else {}
    with any_device(), _before_code(function):
        try:
            compiled = compiler.compile_cuda(function, types.void, arguments, **options)
        except _Typed as typed:
            return typed.annotation
    return compiled.type_annotation


class _Typed(Exception):  # noqa: N818 - ends a compilation, is no error
    def __init__(self, annotation: Any) -> None:
        super().__init__()
        self.annotation = annotation


@contextlib.contextmanager
def _before_code(function: Callable[..., Any]) -> Iterator[None]:
    """Compiling `function` ends where its types are known: code would take as long again.

    The functions that it calls are compiled whole. Where Numba's pass is not found, so is
    `function`.
    """
    from numba.cuda import compiler

    passes = (getattr(compiler, n, None) for n in ("CUDANativeLowering", "NativeLowering"))
    lowering = next((found for found in passes if found is not None), None)
    if lowering is None:
        yield
        return
    home = next(c for c in lowering.__mro__ if "run_pass" in vars(c))
    run_pass = home.run_pass

    def stop(self: Any, state: Any) -> Any:
        if state.func_id.func is function:
            raise _Typed(state.type_annotation)
        return run_pass(self, state)

    home.run_pass = stop
    try:
        yield
    finally:
        home.run_pass = run_pass


@contextlib.contextmanager
def any_device() -> Iterator[None]:
    """Compiling a device function asks which GPU there is: in here any answer will do.

    One thread at a time is in here.
    """
    from numba.cuda import dispatcher

    with _patching:
        before = getattr(dispatcher, "get_current_device", None)
        if before is None:
            yield
            return
        dispatcher.get_current_device = _AnyDevice
        try:
            yield
        finally:
            dispatcher.get_current_device = before


class _AnyDevice:
    compute_capability = CAPABILITY


def real_device_function(function: Callable[..., Any]) -> Any:
    """Numba's own dispatcher for a device function, if a kernel here has called it."""
    return next((made for thing, made in _device.values() if thing.py_func is function), None)


def overload_bodies(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """What chooses the body of a function for types: its overloads, CUDA's own first."""
    numba_cuda.load()
    from numba.cuda.descriptor import cuda_target

    context = cuda_target.typing_context
    context.refresh()
    try:
        known = context.resolve_value_type(function)
    except Exception:  # Numba knows nothing of it
        return []
    templates = [t for t in getattr(known, "templates", ()) if hasattr(t, "_overload_func")]
    templates.sort(key=lambda t: t.metadata.get("target") != "cuda")
    return [t._overload_func for t in templates]


def _shell(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the same code, whose globals and closure are still empty."""
    code = function.__code__
    closure = tuple(python_types.CellType() for _ in code.co_freevars) or None
    made = python_types.FunctionType(code, {}, code.co_name, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__module__ = getattr(function, "__module__", "kernel")
    made.__qualname__ = getattr(function, "__qualname__", code.co_name)
    return made


def _furnish(made: Callable[..., Any], function: Callable[..., Any]) -> None:
    """Gives a shell the function's globals and closure, led to `numba.cuda`."""
    module = function.__globals__
    scope = made.__globals__
    scope["__builtins__"] = module.get("__builtins__", __builtins__)
    scope["__name__"] = module.get("__name__", "kernel")
    for name in _global_names(function.__code__):
        if name in module:
            scope[name] = _real(module[name])
    for cell, own in zip(made.__closure__ or (), function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not assigned yet
            cell.cell_contents = _real(own.cell_contents)


def _global_names(code: python_types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            names |= _global_names(constant)
    return names


def _real(thing: Any) -> Any:
    """`numba.cuda`'s own object for one of this package's; anything else unchanged."""
    import numba.cuda

    if isinstance(thing, python_types.ModuleType):
        ours = thing.__name__ in ("gpulearn.cuda", "gpulearn.simt.host.api")
        return numba.cuda if ours else _real_module(thing)
    if type(thing) is tuple:
        return tuple(map(_real, thing))
    if isinstance(thing, Intrinsic | Namespace):
        path = thing.name if isinstance(thing, Intrinsic) else thing.__name__
        found: Any = numba.cuda
        for part in path.split("."):
            found = getattr(found, part, None)
        return found if found is not None else thing
    if isinstance(thing, DeclaredFunction):
        return numba.cuda.declare_device(thing.__name__, thing.signature)
    if _is_ours(thing):
        if id(thing) not in _device:
            inner = _shell(thing.py_func)
            if len(_device) > 256:
                _device.clear()
            # known before its names are looked up, among which it may be itself
            _device[id(thing)] = (thing, numba.cuda.jit(device=True)(inner))
            _furnish(inner, thing.py_func)
        return _device[id(thing)][1]
    return thing


def _is_ours(thing: Any) -> bool:
    """Whether it is a kernel or device function of this package."""
    home = type(thing).__module__
    return home == "gpulearn.simt.host.dispatcher" and python_function(thing) is not None


def _real_module(module: python_types.ModuleType) -> python_types.ModuleType:
    """The module itself, or a stand-in if it holds device functions of this package."""
    if not any(map(_is_ours, list(vars(module).values()))):
        return module
    if id(module) not in _modules:
        made = python_types.ModuleType(module.__name__)
        _modules[id(module)] = (module, made)
    stand_in: python_types.ModuleType = _modules[id(module)][1]
    for name, value in list(vars(module).items()):
        if vars(stand_in).get(name) is not value:
            setattr(stand_in, name, _real(value) if _is_ours(value) else value)
    return stand_in
