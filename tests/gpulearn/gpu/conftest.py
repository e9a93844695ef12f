"""Tests for machines with a GPU: `make gpu` runs them, with torch, numba-cuda and pytest alone.

Those marked `gpu` say nothing elsewhere and are left out, save in a rehearsal; the others run
everywhere, on what stands in for a GPU.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpulearn.judge import launches
from simt.device import driver, numba_cuda, selection
from simt.host import api

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the versions there are older or newer than those here
    import torch

    ON_GPU = selection.current().kind == "gpu"  # first: it may have to say where the toolkit is
    numba_cuda.load()

STAND_IN = driver.Gpu("stand-in for a GPU", 2**34, (9, 0), "13.0")


def pytest_collection_modifyitems(config, items):
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in here if ON_GPU else ():  # a library's news must not cost a visit to the machine
        item.add_marker(pytest.mark.filterwarnings("default"))
    if not ON_GPU and not os.environ.get("GPULEARN_REHEARSAL"):
        left_out = [item for item in here if item.get_closest_marker("gpu")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(autouse=True)
def _calm(one_thread):
    """Every test here: several run at once."""


@pytest.fixture
def _as_on_gpu(monkeypatch):
    """Where there is no GPU the package takes the SIMT machine for one."""
    if not ON_GPU:
        there = selection.Selection("gpu", "a test says so", (STAND_IN,))
        monkeypatch.setattr(selection, "current", lambda: there)
        monkeypatch.setattr(launches, "numba_cuda", SimpleNamespace(load=lambda: api))
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
