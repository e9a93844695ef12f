"""`numba.cuda` itself, loaded in the one way that also works where NumPy is newer.

NumPy 2.5 has no `row_stack` any more, its second name for `vstack`. numba-cuda, up to 0.30.4 at
least, asks for it when it loads its array functions, which is at the first compilation: every
kernel then ends in an AttributeError. While they load, the name is there.
"""

import functools
import importlib
import importlib.util
import os
import shutil
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from simt.errors import MissingPackage


@functools.cache
def installed() -> bool:
    """Whether Numba is here; in a browser tab it is not."""
    return importlib.util.find_spec("numba") is not None


@functools.cache
def load() -> ModuleType:
    """Numba's own `cuda`, ready to compile; needs no GPU.

    Numba warns at each launch of fewer than 128 blocks. The lessons launch few blocks on
    purpose, so it does not, unless NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS asks for it.
    """
    if not installed():
        raise MissingPackage(
            "this part needs Numba, which is not installed: pip install numba brings it, "
            "and in a browser tab nothing does"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what NumPy will remove next
        module = importlib.import_module("numba.cuda")
        if "row_stack" not in vars(np):
            vars(np)["row_stack"] = np.vstack
            try:
                importlib.import_module("numba.cuda.cudaimpl")
            finally:
                del vars(np)["row_stack"]
    if "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS" not in os.environ:
        dispatcher = importlib.import_module("numba.cuda.dispatcher")
        dispatcher.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    return module


def setting(name: str, usual: Any) -> Any:
    """One of Numba's settings; without Numba, what it usually is."""
    return getattr(load().config, name) if installed() else usual


def toolkit(usual: str = "/usr/local/cuda") -> str | None:
    """The folder of a CUDA toolkit here that no environment variable names; None without one.

    Numba's compiler is NVVM. Where NVRTC comes with torch's wheels and NVVM does not,
    numba-cuda does not look for it in the toolkit, unless CUDA_HOME says where that is.

    Args:
        usual: where to look if the nvcc on the path lies in no toolkit, or there is none.
    """
    if os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH"):
        return None
    nvcc = shutil.which("nvcc")
    homes = [Path(nvcc).resolve().parents[1]] if nvcc else []  # where it is no script elsewhere
    return next((str(home) for home in (*homes, Path(usual)) if (home / "nvvm").is_dir()), None)
