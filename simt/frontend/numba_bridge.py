"""The Numba bridge: a kernel's code with `numba.cuda` in its names, and what Numba makes of it.

Without a GPU a kernel's globals and closure hold this package's objects. Numba knows only
its own, so for its verdict and for a compiler the same code gets Numba's names in their place.
"""

import contextlib
import gc
import importlib
import inspect
import sys
import threading
import types as python_types
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from simt.core.registry import DeclaredFunction, Intrinsic, Namespace, python_function
from simt.device import numba_cuda
from simt.frontend.numba_extending import overloads_led_by

CAPABILITY = (8, 0)  # the compute capability that kernels are compiled for without a GPU
_patching = threading.RLock()  # what stands in for parts of Numba is put back by who put it
_device: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # our device functions and Numba's
_modules: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # modules with some, and stand-ins


def real_function(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function of a kernel, with its names led to `numba.cuda`.

    `kernel` is what either `cuda.jit` made, or a plain function.
    """
    function = python_function(kernel) or kernel
    return _fill(_twin(function), function)  # type: ignore[no-any-return]


def type_annotation(kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """What Numba's type inference finds out about a kernel: `.blocks` and `.typemap`.

    Args:
        kernel: what either `cuda.jit` made, or a plain function.
        arguments: the Numba types of its arguments.
    """
    with _gc_paused():
        numba_cuda.load()
        from numba.core import types
        from numba.cuda import compiler

        names = inspect.signature(compiler.compile_cuda).parameters
        options = {"cc": CAPABILITY} if "cc" in names else {}
        with any_device(), _only_if_it_compiles(), overloads_led_by(real_function):
            function = real_function(kernel)
            with _stop_before_code(function):
                try:
                    compiled = compiler.compile_cuda(function, types.void, arguments, **options)
                except _TypesInferred as typed:
                    return typed.annotation
        return compiled.type_annotation


@contextlib.contextmanager
def _gc_paused() -> Iterator[None]:
    """Pauses garbage collection: Numba makes many objects that stay, and it would add a fifth."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _TypesInferred(Exception):  # noqa: N818 - ends a compilation, is no error
    def __init__(self, annotation: Any) -> None:
        super().__init__()
        self.annotation = annotation


class NotLowered(Exception):  # noqa: N818 - a verdict
    """Something for which Numba's CUDA target has a type, and no code."""

    def __init__(self, what: str, place: Any) -> None:
        super().__init__(what)
        self.what, self.place = what, place


def _not_lowered(state: Any, callee: Any, signature: Any) -> str:
    """What a call without code is a call of; "" if it has code."""
    key: Any = getattr(callee, "typing_key", None)
    stub = isinstance(key, type) and key.__module__.endswith("cuda.stubs")
    try:
        if isinstance(key, np.ufunc):
            state.targetctx.get_ufunc_info(key)
        elif stub or type(callee).__name__ == "BoundFunction":
            state.targetctx.get_function(callee, signature)
        elif type(callee).__name__ == "RecursiveCall":
            again = callee.get_overloads(signature.args).uid == state.func_id.unique_id
            return "" if again else "a function that calls itself by another or with other types"
    except KeyError:
        return f"np.{key.__name__}"
    except NotImplementedError:
        if stub:
            return f"cuda.{key.__name__} of {', '.join(map(str, signature.args))}"
        return f".{key.rpartition('.')[2]}()"
    return ""


def _needs_code(state: Any) -> bool:
    """Whether types are not enough: for a kernel that stores arrays or has packed records."""
    stores = ("SetItem", "StaticSetItem")
    packed = any(not getattr(kind, "aligned", True) for kind in state.typemap.values())
    return packed or any(
        type(instruction).__name__ in stores and type(signature.args[-1]).__name__ == "Array"
        for instruction, signature in state.calltypes.items()
    )


@contextlib.contextmanager
def _stop_before_code(function: Callable[..., Any]) -> Iterator[None]:
    """Ends the compilation of `function` after type inference: code would take as long again.

    The functions that it calls are compiled whole, and so is a kernel of which types do not say
    enough. Where Numba's pass is not found, so is `function`.
    """
    from numba.cuda import compiler

    passes = (getattr(compiler, n, None) for n in ("CUDANativeLowering", "NativeLowering"))
    lowering = next((lowering_pass for lowering_pass in passes if lowering_pass is not None), None)
    if lowering is None:
        yield
        return
    home = next(c for c in lowering.__mro__ if "run_pass" in vars(c))
    run_pass = home.run_pass

    def stop(self: Any, state: Any) -> Any:
        for call in state.calltypes:  # without code, of which lowering would tell
            if getattr(call, "op", "") == "call":
                what = _not_lowered(state, state.typemap[call.func.name], state.calltypes[call])
                if what:
                    raise NotLowered(what, call.loc)
        if state.func_id.func is not function:
            return run_pass(self, state)
        if _needs_code(state):
            with contextlib.suppress(KeyError):  # of an operator, whose types say what is wrong
                run_pass(self, state)
        raise _TypesInferred(state.type_annotation)

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


def device_of(dispatcher: Any) -> Any:
    """Numba's own dispatcher for a device function, if a kernel has called it; else None."""
    if type(dispatcher).__module__ == "numba.cuda.dispatcher":
        return dispatcher
    return _device.get(dispatcher)


def real_device(dispatcher: Any) -> Any:
    """Numba's own dispatcher for a device function, compiled for the types that it declares."""
    numba_cuda.load()
    with any_device(), _only_if_it_compiles(), overloads_led_by(real_function):
        return _real(dispatcher)


@contextlib.contextmanager
def _only_if_it_compiles() -> Iterator[None]:
    """Forgets the device functions of a compilation that fails: names may get a meaning later."""
    before = set(_device)
    try:
        yield
    except Exception:
        for new in set(_device) - before:
            del _device[new]
        raise


def _twin(function: Callable[..., Any]) -> Any:
    """A function of the same code, without globals and with an empty closure; see `_fill`."""
    code = function.__code__
    cells = tuple(python_types.CellType() for _ in code.co_freevars)
    twin = python_types.FunctionType(code, {}, code.co_name, function.__defaults__, cells)
    twin.__kwdefaults__ = function.__kwdefaults__
    importable = function.__module__ in sys.modules  # else Numba has two names for it
    twin.__module__ = function.__module__ if importable else None  # type: ignore[assignment]
    twin.__qualname__ = getattr(function, "__qualname__", code.co_name)
    return twin


def _fill(twin: Any, function: Callable[..., Any]) -> Any:
    """Fills a twin with the globals and closure of its function, with `numba.cuda`'s objects."""
    module = function.__globals__
    names = _global_names(function.__code__)
    twin.__globals__.update({n: _real(module[n]) for n in names if n in module})
    twin.__globals__["__builtins__"] = module.get("__builtins__", __builtins__)
    twin.__globals__["__name__"] = module.get("__name__", "kernel")
    for new, cell in zip(twin.__closure__ or (), function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # an empty cell
            new.cell_contents = _real(cell.cell_contents)
    return twin


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
        if thing.__name__ == "simt.host.api":
            return numba.cuda
        stood_in_for = thing.__name__.partition(".")[0] == "numba"
        return sys.modules[thing.__name__] if stood_in_for else _real_module(thing)
    if type(thing) is tuple:
        return tuple(map(_real, thing))
    if isinstance(thing, Intrinsic | Namespace):
        path = thing.name if isinstance(thing, Intrinsic) else thing.__name__
        real: Any = numba.cuda
        for part in path.split("."):
            real = getattr(real, part, None)
        return real if real is not None else thing
    if isinstance(thing, DeclaredFunction):
        return numba.cuda.declare_device(thing.__name__, thing.signature)
    if _is_ours(thing):
        return _device[thing] if thing in _device else _compile_device(thing)
    if type(thing).__module__ == "simt.host.device_array":
        return _GlobalArray(thing)
    return thing


def _is_ours(thing: Any) -> bool:
    """Whether it is a kernel or device function of this package."""
    home = type(thing).__module__
    return home == "simt.host.dispatcher" and python_function(thing) is not None


def _real_module(module: python_types.ModuleType) -> python_types.ModuleType:
    """The module itself, or a stand-in if it holds device functions of this package."""
    members = list(vars(module).items())
    if not any(_is_ours(value) for _, value in members):
        return module
    stand_in: python_types.ModuleType = _modules.setdefault(
        module, python_types.ModuleType(module.__name__)
    )
    for name, value in members:
        if vars(stand_in).get(name) is not value:
            setattr(stand_in, name, _real(value) if _is_ours(value) else value)
    return stand_in


def _compile_device(dispatcher: Any) -> Any:
    """Numba's dispatcher for one of ours, registered before its names: they may lead back to it."""
    import numba.cuda

    twin = _twin(dispatcher.py_func)
    compiled = _device[dispatcher] = numba.cuda.jit(device=True)(twin)
    _fill(twin, dispatcher.py_func)
    if dispatcher.device and dispatcher.declared:
        home = "numba.cuda.core" if "numba.cuda.core" in sys.modules else "numba.core"
        typeinfer = importlib.import_module(f"{home}.typeinfer")
        with any_device(), typeinfer.register_dispatcher(compiled):
            for arguments, result in dispatcher.declared:
                compiled.compile_device(arguments, result)
        compiled.disable_compile()
    return compiled


class _GlobalArray:
    """A device array among a kernel's globals, as Numba knows arrays of other libraries."""

    def __init__(self, array: Any) -> None:
        strides = None if array.flags.c_contiguous else array.strides
        view = array.as_view("")
        self.__cuda_array_interface__ = {
            "shape": array.shape, "strides": strides, "typestr": array.dtype.str,
            "descr": array.dtype.descr, "version": 3,
            "data": (view.allocation.address + int(view.offset), False),
        }  # fmt: skip
