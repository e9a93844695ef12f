"""Numba's modules as the machine shows them: where it has an object of its own, that one."""

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import simt
from simt.device import numba_cuda

_HOST = "simt.host"
_API = f"{_HOST}.api"

# What the machine has an object for besides the names of `numba.cuda` itself.
_COUNTERPARTS = {
    "numba.cuda.cudadrv.devices.reset": f"{_API}.close",
    "numba.cuda.cudadrv.driver.driver": f"{_HOST}.devices.driver",
    "numba.cuda.cudadrv.driver.Device": f"{_HOST}.devices.Device",
    "numba.cuda.cudadrv.driver.Context": f"{_HOST}.devices.Context",
    "numba.cuda.cudadrv.driver.Stream": f"{_API}.Stream",
    "numba.cuda.cudadrv.driver.Event": f"{_API}.Event",
    "numba.cuda.cudadrv.devicearray.DeviceNDArray": f"{_API}.DeviceNDArray",
    "numba.cuda.cudadrv.devicearray.MappedNDArray": f"{_API}.MappedNDArray",
    "numba.cuda.cudadrv.devicearray.is_cuda_ndarray": f"{_API}.is_cuda_array",
    "numba.cuda.cudadrv.devicearray.from_array_like": f"{_API}.device_array_like",
    "numba.cuda.cudadrv.devicearray.auto_device": f"{_API}.auto_device",
    "numba.cuda.dispatcher.CUDADispatcher": f"{_HOST}.dispatcher.Kernel",
    "numba.cuda.kernels.transpose.transpose": f"{_API}.transpose",
    "numba.cuda.random.create_xoroshiro128p_states": f"{_API}.create_xoroshiro128p_states",
}


def runs_as_a_user(module: str) -> bool:
    """Whether a module of this name is to meet the machine: Numba and we meet Numba itself."""
    for_users = ("numba.cuda.testing", "numba.cuda.tests")
    if f"{module}.".startswith(tuple(f"{name}." for name in for_users)):
        return True
    ours = ("numba", "numba_cuda", "numba_cuda_mlir", *simt.internal)
    return module.partition(".")[0] not in ours


class StandIn(ModuleType):
    """One of Numba's modules; what it holds is looked up there, and goes there when set."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(module.__name__, module.__doc__)
        dunders = ("__file__", "__path__", "__spec__", "__package__", "__loader__", "__version__")
        vars(self).update({n: v for n, v in vars(module).items() if n in dunders})
        vars(self)["_module"] = module

    def __getattr__(self, name: str) -> Any:
        module = vars(self)["_module"]
        if name == "__all__" and not hasattr(module, "__all__"):
            return [name for name in dir(module) if not name.startswith("_")]
        return counterpart(getattr(module, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["_module"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(vars(self)["_module"], name)

    def __dir__(self) -> list[str]:
        return dir(vars(self)["_module"])


def counterpart(thing: Any) -> Any:
    """The machine's object for one of Numba's; anything else as it is."""
    if isinstance(thing, ModuleType):
        name = thing.__name__
        if name == "numba.cuda":
            return importlib.import_module(_API)
        if name == "numba" or (name.startswith("numba.cuda.") and not runs_as_a_user(name)):
            return _stand_in(thing)
        return thing
    entry = _counterparts().get(id(thing))
    return thing if entry is None else entry[1]


@functools.cache
def _stand_in(module: ModuleType) -> StandIn:
    return StandIn(module)


@functools.cache
def _counterparts() -> dict[int, tuple[Any, Any]]:
    """Numba's objects and the machine's, by the identity of Numba's."""
    import numba

    real, api = numba_cuda.load(), importlib.import_module(_API)
    pairs = [(getattr(real, name), ours) for name, ours in vars(api).items() if hasattr(real, name)]
    for name, ours in _COUNTERPARTS.items():
        try:
            pairs.append((_import_name(name), _import_name(ours)))
        except (ImportError, AttributeError):  # another version of Numba
            continue
    for name in ("vectorize", "guvectorize"):
        theirs = getattr(numba, name)
        pairs.append((theirs, _by_target(theirs, getattr(api, name))))
    return {id(theirs): (theirs, ours) for theirs, ours in pairs}


def _import_name(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _by_target(original: Callable[..., Any], replacement: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's decorator for its other targets, the machine's for `target="cuda"`."""

    @functools.wraps(original)
    def decorator(*args: Any, **options: Any) -> Any:
        return (replacement if options.get("target") == "cuda" else original)(*args, **options)

    return decorator
