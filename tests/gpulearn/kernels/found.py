"""Which kernels the packages have."""

from __future__ import annotations

import importlib
import pkgutil
from contextlib import suppress
from typing import Any

import gpulearn.kernels
import gpulearn_lessons


def is_kernel(thing: Any) -> bool:
    """Whether `cuda.jit`, Numba's or the look-alike's, made a thing; not for device functions."""
    launchable = hasattr(thing, "py_func") and hasattr(type(thing), "__getitem__")
    options = getattr(thing, "targetoptions", {})
    return launchable and not getattr(thing, "device", options.get("device", False))


def kernels_of(module: Any) -> dict[str, Any]:
    """The kernels at a module's top level, by their full name."""
    kernels = {name: thing for name, thing in vars(module).items() if is_kernel(thing)}
    return {f"{module.__name__}.{name}": thing for name, thing in kernels.items()}


def package_kernels() -> dict[str, Any]:
    """The kernels that the packages define, by their full name, each once."""
    kernels: dict[str, Any] = {}
    for package in (gpulearn.kernels, gpulearn_lessons):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            known = {id(kernel) for kernel in kernels.values()}
            with suppress(ImportError):  # a module that needs torch defines none
                for name, kernel in kernels_of(importlib.import_module(info.name)).items():
                    home = kernel.py_func.__module__
                    if id(kernel) not in known and home == info.name:
                        kernels[name] = kernel
    return kernels
