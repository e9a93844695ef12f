"""From the gradient of a convolution to those of its images and its kernels."""

import numpy as np

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.nn.layers import backward_conv2d
from gpulearn_lessons.backprop.results import named, quietly, same


def cases() -> list[Case]:
    """Images and kernels in which every mix-up of sizes, channels or directions shows."""
    rng = np.random.default_rng(14)

    def case(images: tuple[int, ...], kernels: tuple[int, ...], more: str = "") -> Case:
        (n, _, h, w), (k, _, r, s) = images, kernels
        sizes = images, kernels, (n, k, h - r + 1, w - s + 1)
        label = f"images of shape {images} and kernels of shape {kernels}{more}"
        return Case(label, tuple(rng.normal(size=size) for size in sizes))

    whole = rng.integers(-9, 9, size=(1, 2, 4, 5)), rng.integers(-3, 3, size=(3, 2, 2, 2))
    sizes = (2, 1, 4, 4), (2, 1, 3, 2), (2, 2, 2, 3)
    single = tuple(rng.normal(size=size).astype(np.float32, order="F") for size in sizes)
    return [
        case((1, 1, 4, 5), (1, 1, 3, 2)),
        case((2, 3, 5, 7), (4, 3, 2, 3)),
        case((2, 2, 5, 5), (2, 2, 3, 3), ", all square"),
        case((3, 2, 6, 4), (1, 2, 1, 1), ", of one pixel"),
        case((2, 2, 3, 4), (3, 2, 3, 4), ", as large as an image"),
        Case("integer images and kernels", (*whole, rng.normal(size=(1, 3, 3, 4)))),
        Case("float32 images and kernels in Fortran order", single),
    ]


EXERCISE = Exercise(
    task="From the gradient of a convolution's output, compute those of its images and kernels.",
    reference=backward_conv2d,
    cases=cases,
    run=quietly,
    difference=named("of_images", "of_kernels"),
    kinships=(same,),
)
