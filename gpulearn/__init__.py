"""Tested helpers behind the gpulearn notebooks.

`import gpulearn as gl` costs next to nothing: each public name is loaded when it is
first used (PEP 562), so neither torch nor numba nor matplotlib is imported here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gpulearn.errors import (
        BadInput,
        DeviceError,
        GpulearnError,
        KernelError,
        MissingPackage,
        NotSolvedYet,
        RecordingError,
        WrongAnswer,
    )
    from gpulearn.simt.settings import seed, unchecked
    from gpulearn.simt.xray import xray

# public name -> the module that defines it
_HOME = {
    "BadInput": "gpulearn.errors",
    "DeviceError": "gpulearn.errors",
    "GpulearnError": "gpulearn.errors",
    "KernelError": "gpulearn.errors",
    "MissingPackage": "gpulearn.errors",
    "NotSolvedYet": "gpulearn.errors",
    "RecordingError": "gpulearn.errors",
    "WrongAnswer": "gpulearn.errors",
    "seed": "gpulearn.simt.settings",
    "unchecked": "gpulearn.simt.settings",
    "xray": "gpulearn.simt.xray",
}

__all__ = [
    "BadInput",
    "DeviceError",
    "GpulearnError",
    "KernelError",
    "MissingPackage",
    "NotSolvedYet",
    "RecordingError",
    "WrongAnswer",
    "cuda",
    "seed",
    "unchecked",
    "xray",
]


def __getattr__(name: str) -> Any:
    if name == "cuda":
        return importlib.import_module("gpulearn.cuda")
    if name not in _HOME:
        raise AttributeError(f"module 'gpulearn' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
