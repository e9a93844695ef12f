"""Every kernel of the package with its launches: `CASES`, by name."""

from __future__ import annotations

from tools.gpu.case import Case
from tools.gpu.cases import (
    columns,
    copies,
    elements,
    fused,
    histograms,
    patterns,
    points,
    products,
    reductions,
    scans,
    softmax,
    transposes,
    walks,
    windows,
)

__all__ = ["CASES"]

SUBJECTS = (
    elements, copies, columns, points, transposes, windows, products, reductions, histograms,
    scans, softmax, fused, walks, patterns,
)  # fmt: skip
CASES: dict[str, Case] = {case.name: case for subject in SUBJECTS for case in subject.CASES}
