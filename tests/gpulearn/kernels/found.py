"""Which kernels the packages have."""

from __future__ import annotations

from typing import Any

from tools.record.launches import kernel_modules


def package_kernels() -> dict[str, Any]:
    """The kernels at the top level of the packages' modules, by full name, each once."""
    kernels: dict[str, Any] = {}
    for module in kernel_modules():
        for name, thing in vars(module).items():
            jitted = hasattr(thing, "py_func") and hasattr(type(thing), "__getitem__")
            device = getattr(thing, "targetoptions", {}).get("device", False)
            launchable = jitted and not getattr(thing, "device", device)
            if launchable and thing.py_func.__module__ == module.__name__:
                kernels[f"{module.__name__}.{name}"] = thing
    return kernels
