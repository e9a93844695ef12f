"""What tests of kernels need that not every computer has."""

from __future__ import annotations

import os

import pytest

from gpulearn.simt.frontend.numba_bridge import compiler_fault


@pytest.fixture
def _compiler() -> None:
    """Numba's CUDA compiler; a run that requires it fails without, a person's run skips."""
    fault = compiler_fault()
    if fault is None:
        return
    if os.environ.get("GPULEARN_REQUIRE_PTX"):
        pytest.fail(fault)
    pytest.skip(fault)
