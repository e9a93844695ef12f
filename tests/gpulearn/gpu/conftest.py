"""Tests for machines with a GPU. Elsewhere the same tests run, on what stands in for one.

They need Python, torch, numba-cuda, numpy and pytest, and nothing else of the test suite's:
`make gpu` runs them where there is no more.
"""

from __future__ import annotations

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


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.gpu)
            if ON_GPU:  # a library's news must not cost a visit to the machine
                item.add_marker(pytest.mark.filterwarnings("default"))


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
