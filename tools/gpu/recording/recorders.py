"""Every recording that the notebooks load, by name, and how long it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpulearn.perf.families.histograms import record_histograms
from gpulearn.perf.families.matmul import record_matmul
from gpulearn.perf.families.reductions import record_reductions
from gpulearn.perf.families.roofline import record_roofline
from gpulearn.perf.families.strides import record_strides
from gpulearn.perf.families.training import record_training
from gpulearn.perf.families.transposes import record_transposes
from gpulearn.perf.recordings import Recording

__all__ = ["RECORDERS", "Recorder"]


@dataclass(frozen=True)
class Recorder:
    """What makes one recording, and the seconds that it is expected to take on an H200."""

    record: Callable[[], Recording]
    expected_seconds: float

    def __call__(self) -> Recording:
        """Measure in the sizes that the notebooks show."""
        return self.record()


RECORDERS = {
    "matmul": Recorder(record_matmul, 40),
    "roofline": Recorder(record_roofline, 15),
    "strides": Recorder(record_strides, 10),
    "transposes": Recorder(record_transposes, 10),
    "histograms": Recorder(record_histograms, 10),
    "reductions": Recorder(record_reductions, 15),
    "training": Recorder(record_training, 35),
}
