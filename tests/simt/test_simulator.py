"""Numba's own simulator as an oracle, where it is right: same arrays, same dtypes."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from . import right
from .cases import Case
from .harness import launch

CASES = [case for case in right.CASES if case.simulator]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    path = tmp_path_factory.mktemp("simulator") / "results.npz"
    root = Path(__file__).parents[2]
    subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.simt.simulate", str(path)],
        cwd=root,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(root)},
        check=True,
        timeout=120,
        capture_output=True,
    )
    with np.load(path) as data:
        return dict(data)


def test_enough_kernels_are_compared() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_machine_agrees_with_numbas_simulator(case: Case, simulated: dict[str, np.ndarray]) -> None:
    refused = simulated.get(f"{case.name}!")
    assert refused is None, f"the simulator cannot run it: {refused}"
    args = copy.deepcopy(case.make(seed=5))
    launch(case.kernel, case.grid, case.block, *args, shared=case.shared)
    for place, array in enumerate(args):
        if isinstance(array, np.ndarray):
            want = simulated[f"{case.name}:{place}"]
            assert array.dtype == want.dtype
            if array.dtype.names:
                np.testing.assert_array_equal(array, want)
            else:
                np.testing.assert_allclose(array, want, rtol=case.rtol, atol=0)
