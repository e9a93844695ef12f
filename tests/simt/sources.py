"""Kernels from text, such that `inspect.getsource` finds the text."""

import cmath
import itertools
import linecache
import math
import types
from typing import Any

import numba
import numpy as np

import simt

from .harness import launch

_count = itertools.count()


def module(source: str, cuda: Any, **names: Any) -> types.ModuleType:
    """A module made from `source`, in which `cuda` is what the caller says."""
    filename = f"<kernel {next(_count)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    made = types.ModuleType(f"kernel_{next(_count)}")
    made.__file__ = filename
    vars(made).update({"cuda": cuda, "numba": numba, "np": np, "math": math, **names})
    exec(compile(source, filename, "exec"), vars(made))
    return made


def computed(expression: str, *arrays: Any, kind: Any = np.float64) -> np.ndarray:
    """`expression` of the elements of `a` and `b`, a thread each, in an array of some type."""
    names = ", ".join([*"ab"[: len(arrays)], "out"])
    source = f"def kernel({names}):\n    i = cuda.grid(1)\n    out[i] = {expression}\n"
    out = np.zeros(len(arrays[0]) if arrays else 1, kind)
    kernel = module(source, simt.cuda, cmath=cmath).kernel
    launch(kernel, 1, len(out), *arrays, out)
    return out
