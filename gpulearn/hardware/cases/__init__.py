"""Every kernel of the package with its launches: `CASES`, by name."""

from __future__ import annotations

from gpulearn.hardware.case import Case
from gpulearn.hardware.cases import copies

__all__ = ["CASES"]

CASES: dict[str, Case] = {case.name: case for case in (*copies.CASES,)}
