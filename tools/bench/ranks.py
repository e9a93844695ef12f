"""How fast ranks start, and how our data parallelism does beside the library's.

`python -m tools.bench.ranks` prints a table and writes `parallel-bench.json`. All times
are of this computer, measured in one run: medians, and both wrappers take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from gpulearn.parallel.data_parallel import OverlappingDataParallel
from gpulearn.parallel.launch.launch import launch
from gpulearn.train.models import MLP, LeNet

__all__ = ["compare", "main"]

STARTS = 15
BOUNDS = {2: 0.2, 4: 0.4}  # seconds of a warm start, by ranks
MIN_RATIO = 0.9  # of the library's throughput
MODELS: dict[str, tuple[Callable[[], nn.Module], int, int]] = {
    # how to build it, images on each rank, steps of one turn
    "LeNet": (LeNet, 64, 10),
    "MLP, 10 M parameters": (lambda: MLP((64, 2200, 2200, 2200, 10)), 64, 1),
}


def start_seconds(ranks: int, starts: int = STARTS) -> list[float]:
    """Seconds of launches that do nothing, after one that is not counted."""
    launch(int, ranks)
    times = []
    for _ in range(starts):
        begin = time.perf_counter()
        launch(int, ranks)
        times.append(time.perf_counter() - begin)
    return times


class _Library(DistributedDataParallel):
    def average(self) -> None:
        """Done by `backward`."""


WRAPPERS: dict[str, Callable[[nn.Module], Any]] = {
    "library": _Library,
    "overlapping": OverlappingDataParallel,
}


def _steps(wrapped: Any, optimizer: Any, images: Tensor, labels: Tensor, count: int) -> None:
    for _ in range(count):
        optimizer.zero_grad()
        functional.cross_entropy(wrapped(images), labels).backward()
        wrapped.average()
        optimizer.step()


def compare(name: str, turns: int, wrappers: Sequence[str]) -> dict[str, list[float]]:
    """Seconds per step of each wrapper, turn by turn; for a rank to run.

    The wrappers take turns, each time in the other order, so that what else this computer does
    falls on all of them. A turn lasts until its slowest rank is through.
    """
    build, batch, count = MODELS[name]
    generator = torch.Generator().manual_seed(dist.get_rank())
    images = torch.rand(batch, 1, 8, 8, generator=generator)
    labels = torch.randint(0, 10, (batch,), generator=generator)
    sides = {}
    for wrapper in wrappers:
        model = build()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        sides[wrapper] = (WRAPPERS[wrapper](model), optimizer)
        _steps(*sides[wrapper], images, labels, 2)
    times: dict[str, list[float]] = {wrapper: [] for wrapper in wrappers}
    for turn in range(turns):
        for wrapper in list(wrappers)[:: 1 if turn % 2 else -1]:
            dist.barrier()
            begin = time.perf_counter()
            _steps(*sides[wrapper], images, labels, count)
            dist.barrier()
            times[wrapper].append((time.perf_counter() - begin) / count)
    return times


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; the exit status says whether every bound was met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=61, help="of each side, for each model")
    parser.add_argument("--output", type=Path, default=Path("parallel-bench.json"))
    options = parser.parse_args(arguments)
    good = True
    result: dict[str, Any] = {
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
    }

    def row(name: str, value: float, unit: str, bound: str = "", met: bool = True) -> None:
        nonlocal good
        good = good and met
        verdict = f"{bound} {'met' if met else 'NOT MET'}" if bound else ""
        print(f"{name:<52}{value:>10,.4g} {unit:<8}{verdict}", flush=True)
        result[name] = {"value": value, "unit": unit, "bound": bound, "met": met}

    for ranks, most in BOUNDS.items():
        times = start_seconds(ranks)
        middle = statistics.median(times)
        row(f"warm start of {ranks} ranks", middle, "s", f"< {most}", middle < most)
        row(f"warm start of {ranks} ranks, slowest of {STARTS}", max(times), "s")
    for model in MODELS:
        pair = launch(compare, 2, model, options.turns, list(WRAPPERS), timeout=600.0)[0]
        for name, seconds in pair.items():
            row(f"{model}, {name}", 1000 * statistics.median(seconds), "ms/step")
        # of neighboring turns, so that a busy minute changes both
        both = zip(pair["library"], pair["overlapping"], strict=True)
        ratio = statistics.median(theirs / ours for theirs, ours in both)
        row(f"{model}: throughput, overlapping / library", ratio, "x", f"≥ {MIN_RATIO}",
            ratio >= MIN_RATIO)  # fmt: skip
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
