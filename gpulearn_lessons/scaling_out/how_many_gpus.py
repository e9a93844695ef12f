"""How many GPUs are worth it for one batch: foreseen from the α–β model of the ring."""

from __future__ import annotations

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.links import Link
from gpulearn_lessons.scaling_out.modeled import how_many_gpus


def cases() -> list[Case]:
    """Links where latency decides, or bandwidth; few images; nothing to send; 1 GPU at most."""
    fast, slow = Link(9.6e-6, 12.5e9), Link(50e-6, 1.25e9)
    works: dict[str, tuple[float, float, Link, int, float]] = {
        "0.4 s, 200 MB, 100 Gbit/s, 1,024 images, a half": (0.4, 200e6, fast, 1024, 0.5),
        "0.4 s, 200 MB, 100 Gbit/s, 1,024 images, 90 %": (0.4, 200e6, fast, 1024, 0.9),
        "5 s, 200 MB, 10 Gbit/s, 4,096 images, 80 %": (5.0, 200e6, slow, 4096, 0.8),
        "0.02 s, 0.1 MB, 10 Gbit/s, where the latency decides": (0.02, 1e5, slow, 512, 0.5),
        "0.02 s and nothing to send but messages": (0.02, 0, slow, 4096, 0.5),
        "20 s, 1 MB, 100 Gbit/s and 24 images only": (20.0, 1e6, fast, 24, 0.5),
        "0.001 s, 400 MB, 10 Gbit/s: one GPU alone": (0.001, 400e6, slow, 256, 0.5),
        "400 s, 1 MB, 100 Gbit/s, 8,192 images": (400.0, 1e6, fast, 8192, 0.5),
        "1 image": (3.0, 1e6, fast, 1, 0.5),
        "0.2 s, 10 MB, 10 Gbit/s, 20 images that N need not divide": (0.2, 1e7, slow, 20, 0.5),
        "0.9 s, 60 MB, 1 GB/s without latency": (0.9, 60e6, Link(0, 1e9), 4096, 0.7),
        "4 s, 1 byte, 1 byte/s: just a half on 2 GPUs": (4.0, 1, Link(0.5, 1.0), 64, 0.5),
        "60 s, 12 bytes, 4 bytes/s": (60.0, 12, Link(0.01, 4.0), 64, 0.5),
        "3,000 s, 12 bytes, 3 bytes/s and a long latency": (3000.0, 12, Link(4.0, 3.0), 64, 0.5),
        "900 s, 900 bytes, 100 bytes/s and a latency of 1 s": (900.0, 900, Link(1.0, 100), 99, 0.6),
        "10 s, nothing to send and a latency of 1 s": (10.0, 0, Link(1.0, 1.0), 64, 0.8),
        "2 s, 50 MB, a third of the time": (2.0, 50e6, Link(2e-3, 0.5e9), 300, 1 / 3),
    }
    return [Case(label, work) for label, work in works.items()]


EXERCISE = Exercise(
    task="Say how many GPUs can share a batch and still compute for a given fraction of each step.",
    reference=how_many_gpus,
    cases=cases,
)
