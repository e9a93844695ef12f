"""The one switch: `numba.cuda` where there is a usable GPU, the SIMT machine elsewhere.

`from gpulearn import cuda` is all a notebook ever writes. With a GPU the name stands for
`numba.cuda` itself; without one, for the look-alike in `gpulearn.simt.lookalike`.
`GPULEARN_DEVICE=cpu` forces the machine.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

__all__: list[str] = []


def _kind() -> str:
    """Says "gpu" if a kernel can really run on one, else "cpu"."""
    if os.environ.get("GPULEARN_DEVICE", "").lower() == "cpu":
        return "cpu"
    try:
        device = importlib.import_module("gpulearn.device")
    except ModuleNotFoundError:
        return "cpu"
    return str(device.current().kind)


_HOME = "numba.cuda" if _kind() == "gpu" else "gpulearn.simt.lookalike"
_module = importlib.import_module(_HOME)


def __getattr__(name: str) -> Any:
    return getattr(_module, name)


# from here on the name stands for the module itself, for `import` and for `getattr` alike
sys.modules[__name__] = _module
