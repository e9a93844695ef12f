"""A GPU's rows for a figure: measured now where there is a GPU, else recorded, else none."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpulearn.perf import recordings
from gpulearn.perf.gpus import GPUS
from gpulearn.perf.recordings import Recording
from gpulearn.perf.series import Provenance
from gpulearn.plot.recorders.measuring import kernels_on


@dataclass(frozen=True)
class GpuRows:
    """Rows with a time each, others without, and the label under which all are shown."""

    rows: list[dict[str, Any]]
    provenance: Provenance
    other: list[dict[str, Any]] = field(default_factory=list)

    def where(self, **fields: Any) -> list[dict[str, Any]]:
        """The rows that have all the given values."""
        return [row for row in self.rows if all(row.get(k) == v for k, v in fields.items())]

    def seconds(self, **fields: Any) -> float | None:
        """The time of the row that has all the given values; None where there is none."""
        return next((float(row["seconds"]) for row in self.where(**fields)), None)


def gpu_rows(
    name: str, live: Callable[[], Recording], on: Callable[[], str] = kernels_on
) -> GpuRows | None:
    """The rows of a figure, or None where there is neither a GPU nor a recording.

    `live` measures the recording, or the part of it that the figure needs, on the GPU that is
    here; `on` says whether there is one.
    """
    here = on() == "cuda"
    recording = live() if here else recordings.find(name)
    if recording is None:
        return None
    origin = Provenance("measured", recording.device) if here else recording.provenance
    timed = [row for row in recording.rows if "seconds" in row]
    return GpuRows(timed, origin, [row for row in recording.rows if "seconds" not in row])


def sheet_of(device: str) -> str | None:
    """The GPU of `gpus.GPUS` that a device's full name stands for, or None.

    >>> sheet_of("NVIDIA H200"), sheet_of("Tesla T4"), sheet_of("NVIDIA A100-SXM4-80GB")
    ('H200', 'T4', 'A100 80GB')
    """
    words = set(re.findall(r"\w+", device))
    fitting = [name for name in GPUS if set(name.split()) <= words]
    return max(fitting, key=len, default=None)
