"""The price of a launch: a sequence of kernels launched one by one, and as one graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.roofline import LAUNCH_SECONDS
from gpulearn.perf.series import Provenance
from gpulearn.perf.timing import place, time_correctly
from simt.device import selection

# Between two kernels on a stream: in a graph, 20 kernels of 2.9 µs took 3.4 µs each on a V100
# (A. Gray, "Getting Started with CUDA Graphs", NVIDIA, 2019). The model assumes the same gap
# between kernels that are launched one by one.
GAP_SECONDS = 0.5e-6


def _times(kernels: Any) -> None:
    if len(kernels) == 0 or min(kernels) < 0:
        raise BadInput(f"kernels is {require.shown(kernels)}: give one time or more, none below 0.")


@require.checked(kernels=_times)
@require.positive(or_zero=("launch", "gap"))
def launch_bound(kernels: Sequence[float], launch: float, gap: float) -> tuple[float, float]:
    """Seconds until a sequence of kernels on one stream ends: launched one by one, and as a graph.

    One by one, the host launches without waiting. A kernel begins when it has been launched and
    the gap after the kernel before it is over. A graph is launched once. Recording the graph and
    the longer launch of a graph of many kernels are not counted.

    Args:
        kernels: seconds of each kernel on the GPU, in order.
        launch: seconds that the host needs for a launch, of a kernel or of a graph.
        gap: seconds between the end of a kernel and the beginning of the next, at least.

    >>> launch_bound([1.0, 1.0], launch=5.0, gap=0.5)
    (11.0, 7.5)
    """
    launched = free = 0.0
    for seconds in kernels:
        launched += launch
        free = max(free, launched) + seconds + gap
    return free - gap, launch + sum(kernels) + gap * (len(kernels) - 1)


@require.sizes("kernels", "elements")
def graph_times(kernels: int, elements: int) -> tuple[dict[str, float], Provenance]:
    """How long a sequence of small kernels takes one by one and as a graph, in seconds.

    Each kernel multiplies a float32 vector of some elements by a number. Measured by torch where
    there is a GPU, else modeled by `launch_bound` with the bandwidth of a T4.
    """
    if selection.torch_gpu():
        return _measured(kernels, elements)
    each = 8 * elements / gpu_spec("T4").bandwidth  # read and written
    times = launch_bound([each] * kernels, LAUNCH_SECONDS, GAP_SECONDS)
    origin = Provenance("modeled", "the T4's data sheet")
    return dict(zip(("one by one", "as a graph"), times, strict=True)), origin


def _measured(kernels: int, elements: int) -> tuple[dict[str, float], Provenance]:
    torch = require.package("torch", "between_kernels.graph_times")
    x = torch.ones(elements, device="cuda")

    def multiply() -> None:
        for _ in range(kernels):
            x.mul_(1.0)

    multiply()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        multiply()

    # by the clock of the host, whose launches are what is measured
    ways = {"one by one": multiply, "as a graph": graph.replay}
    times = {name: time_correctly(way, torch.cuda.synchronize) for name, way in ways.items()}
    return times, Provenance("measured", place())
