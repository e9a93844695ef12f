"""A GPU's rows for a figure: measured now where there is a GPU, else recorded, else none."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpulearn.perf import recordings
from gpulearn.perf.gpus import GPUS
from gpulearn.perf.recordings import Recording
from gpulearn.perf.series import Provenance
from gpulearn.plot.recorders.measuring import kernels_on


@dataclass(frozen=True)
class GpuRows:
    """What was measured without an error, and the label under which all is shown."""

    rows: list[dict[str, Any]]
    provenance: Provenance

    def where(self, **fields: Any) -> list[dict[str, Any]]:
        """The rows that have all the given values."""
        return [row for row in self.rows if fields.items() <= row.items()]


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
    return GpuRows([row for row in recording.rows if "error" not in row], origin)


def sheet_of(device: str) -> str | None:
    """The GPU of `gpus.GPUS` that a device's full name stands for, or None.

    >>> sheet_of("NVIDIA H200"), sheet_of("Tesla T4"), sheet_of("NVIDIA A100-SXM4-80GB")
    ('H200', 'T4', 'A100 80GB')
    """
    words = set(re.findall(r"\w+", device))
    fitting = [name for name in GPUS if set(name.split()) <= words]
    return max(fitting, key=len, default=None)
