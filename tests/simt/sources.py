"""Kernels from text, such that `inspect.getsource` finds the text."""

from __future__ import annotations

import itertools
import linecache
import math
import types
from typing import Any

import numba
import numpy as np

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
