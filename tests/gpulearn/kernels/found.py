"""Which kernels the package has."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import gpulearn.kernels


def is_kernel(thing: Any) -> bool:
    """Whether `cuda.jit`, Numba's or the look-alike's, made a thing; not for device functions."""
    made = hasattr(thing, "py_func") and hasattr(type(thing), "__getitem__")
    options = getattr(thing, "targetoptions", {})
    return made and not getattr(thing, "device", options.get("device", False))


def kernels_of(module: Any) -> dict[str, Any]:
    """The kernels at a module's top level, by their full name."""
    found = {name: thing for name, thing in vars(module).items() if is_kernel(thing)}
    return {f"{module.__name__}.{name}": thing for name, thing in found.items()}


def package_kernels() -> dict[str, Any]:
    found: dict[str, Any] = {}
    package = gpulearn.kernels
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        known = {id(kernel) for kernel in found.values()}
        here = kernels_of(importlib.import_module(info.name))
        found |= {name: kernel for name, kernel in here.items() if id(kernel) not in known}
    return found
