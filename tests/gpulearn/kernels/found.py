"""Which kernels the package has."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import gpulearn.kernels


def package_kernels() -> dict[str, Any]:
    """The kernels at the top level of the package's modules, by full name; no device functions."""
    places: dict[int, tuple[str, Any]] = {}
    folder = gpulearn.kernels
    for info in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."):
        for name, thing in vars(importlib.import_module(info.name)).items():
            jitted = hasattr(thing, "py_func") and hasattr(type(thing), "__getitem__")
            device = getattr(thing, "targetoptions", {}).get("device", False)
            if jitted and not getattr(thing, "device", device):
                places.setdefault(id(thing), (f"{info.name}.{name}", thing))
    return dict(places.values())
