"""A launch of a kernel by its specification, held against its reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda, xray
from gpulearn.kernels.specification import Specification


def launched(
    specification: Specification, *args: Any, grid: Any = None, block: Any = None,
    rtol: float = 0.0, atol: float = 0.0,
) -> Any:  # fmt: skip
    """The report of a launch in which nothing is found, with the reference's results."""
    usual, block = specification.shape(*args, block=block)
    there = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in args]
    report = xray(specification.kernel)[usual if grid is None else grid, block](*there)
    assert not report.findings, report
    for place, expected in specification.expected(*args).items():
        result = there[place].copy_to_host()
        np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol)
    return report
