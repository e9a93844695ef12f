"""From the gradient of a convolution to those of its images and its kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.nn.layers import backward_conv2d
from gpulearn_lessons.backprop.results import named, quietly, same

Array = np.ndarray[Any, Any]
Pair = tuple[Array, Array]
answers = Answers(backward_conv2d)


def cases() -> list[Case]:
    """Images and kernels in which no two sizes, channels or directions can be mixed up unseen."""
    rng = np.random.default_rng(14)

    def case(images: tuple[int, ...], kernels: tuple[int, ...], more: str = "") -> Case:
        (n, _, h, w), (k, _, r, s) = images, kernels
        sizes = images, kernels, (n, k, h - r + 1, w - s + 1)
        label = f"images of shape {images} and kernels of shape {kernels}{more}"
        return Case(label, tuple(rng.normal(size=size) for size in sizes))

    whole = rng.integers(-9, 9, size=(1, 2, 4, 5)), rng.integers(-3, 3, size=(3, 2, 2, 2))
    sizes = (2, 1, 4, 4), (2, 1, 3, 2), (2, 2, 2, 3)
    single = tuple(rng.normal(size=size).astype(np.float32) for size in sizes)
    return [
        case((1, 1, 4, 5), (1, 1, 3, 2)),
        case((2, 3, 5, 7), (4, 3, 2, 3)),
        case((2, 2, 5, 5), (2, 2, 3, 3), ", all square"),
        case((3, 2, 6, 4), (1, 2, 1, 1), ", of one pixel"),
        case((2, 2, 3, 4), (3, 2, 3, 4), ", as large as an image"),
        Case("images and kernels of whole numbers", (*whole, rng.normal(size=(1, 3, 3, 4)))),
        Case("float32 images and kernels", single),
    ]


SENT = "sent.swapaxes(0, 1)"
OF_IMAGES = f"of_images[:, :, i : i + rows, j : j + columns] += {SENT}"
OF_KERNELS = "np.tensordot(gradient, seen, axes=((0, 2, 3), (0, 2, 3)))"
SEEN = "images[:, :, i : i + rows, j : j + columns]\n"
OUT = "np.tensordot(kernels[:, :, i, j], gradient, axes=(0, 1))"
RETURN = "return of_images, of_kernels"
TYPE_I, TYPE_K = "np.result_type(kernels, gradient)", "np.result_type(images, gradient)"

answers.edit(
    {f"+= {SENT}": f"= {SENT}"},
    "each place of the kernel overwrites what the others sent to a pixel: a pixel lies under the "
    "kernel several times, and adds up.",
)
answers.edit(
    {OF_IMAGES: f"of_images[:, :, :rows, :columns] += {SENT}"},
    "everything is sent to the upper left corner: kernel element (i, j) met pixel "
    "(y + i, x + j), so that is where its share goes.",
)
answers.edit(
    {SEEN: "images[:, :, :rows, :columns]\n"},
    "every kernel element collects the upper left corner: element (i, j) met pixel (y + i, x + j).",
)
answers.edit(
    {OUT: OUT.replace("i, j]", "kernels.shape[2] - 1 - i, kernels.shape[3] - 1 - j]")},
    "in the gradient of the images the kernel is the wrong way round. Element (i, j) belongs to "
    "pixel (y + i, x + j): who sends shares out leaves the kernel as it is, and who collects them "
    "at a pixel flips it.",
)
answers.edit(
    {"of_kernels[:, :, i, j] =": "of_kernels[:, :, -1 - i, -1 - j] ="},
    "the gradient of the kernels is flipped: element (i, j) collects from pixels (y + i, x + j).",
)
answers.edit(
    {OF_KERNELS: f"{OF_KERNELS} / len(images)"},
    "the gradient of the kernels is divided by the number of images: the chain rule adds up.",
)
answers.edit(
    {OF_KERNELS: f"{OF_KERNELS} / (rows * columns)"},
    "the gradient of the kernels is a mean over the places: each use sends a share, and the "
    "shares are added.",
)
answers.edit(
    {OF_KERNELS: "np.tensordot(gradient[0], seen[0], axes=((1, 2), (1, 2)))"},
    "the kernels collect from the first image only; all n images used them.",
)
answers.edit(
    {OF_KERNELS: "gradient[:, :, 0, 0].T @ seen[:, :, 0, 0]"},
    "the kernels collect from one place only; they were used at all places.",
)
answers.edit(
    {OUT: "np.tensordot(kernels[:1, :, i, j], gradient[:, :1], axes=(0, 1))"},
    "only the first kernel sends anything to the images; all k kernels saw them.",
)
answers.edit(
    {OUT: "np.tensordot(kernels[:, :, i, j].sum(axis=1, keepdims=True), gradient, axes=(0, 1))"},
    "each channel gets the shares of all channels: channel c gets those of kernels[:, c].",
)
answers.edit(
    {RETURN: "return of_kernels, of_images"},
    "the two are returned in the wrong order: that of the images comes first.",
)
answers.edit({RETURN: "return of_images"}, "that is the gradient of the images alone: return both.")
answers.edit(
    {RETURN: "return of_kernels"}, "that is the gradient of the kernels alone: return both."
)
answers.edit(
    {RETURN: "return -of_images, -of_kernels"},
    "the sign is turned round: the gradient points uphill; the step down comes later.",
)
answers.edit(
    {TYPE_I: "kernels.dtype", SENT: f"{SENT}.astype(kernels.dtype)", TYPE_K: "images.dtype"},
    "where images and kernels hold whole numbers, each share loses its fraction: "
    "take the dtype of the gradient.",
)
answers.edit(
    {OF_KERNELS: OF_KERNELS.replace("gradient", "np.ones_like(gradient)")},
    "the kernels' gradient takes ones for the gradient that arrives.",
)
answers.edit(
    {OUT: OUT.replace("gradient", "np.ones_like(gradient)")},
    "the images' gradient takes ones for the gradient that arrives.",
)
answers.edit(
    {RETURN: "return of_images[:, :, :rows, :columns], of_kernels"},
    "the gradient of the images has the size of the output: it must have theirs, h × w.",
)


@answers.right
def seven_loops(images: Array, kernels: Array, gradient: Array) -> Pair:
    of_images, of_kernels = np.zeros(images.shape), np.zeros(kernels.shape)
    for n, k, y, x in np.ndindex(gradient.shape):
        g = gradient[n, k, y, x]
        for c, i, j in np.ndindex(kernels.shape[1:]):
            of_images[n, c, y + i, x + j] += g * kernels[k, c, i, j]
            of_kernels[k, c, i, j] += g * images[n, c, y + i, x + j]
    return of_images, of_kernels


answers.edit(
    {"of_images[n, c, y + i, x + j] +=": "of_images[n, c, y + i, x + j] ="},
    "each use of a pixel overwrites the one before: only the last share is left. Add with +=.",
    of=seven_loops,
)
answers.edit(
    {"of_kernels[k, c, i, j] +=": "of_kernels[k, c, i, j] ="},
    "each use of a kernel element overwrites the one before: only the last place is left.",
    of=seven_loops,
)
answers.edit(
    {
        "np.zeros(images.shape), np.zeros(kernels.shape)": "np.zeros_like(images), "
        "np.zeros_like(kernels)"
    },
    "np.zeros_like takes the dtype of images and kernels, which may be whole numbers: the shares "
    "lose their fractions.",
    of=seven_loops,
)


@answers.right
def place_by_place(images: Array, kernels: Array, gradient: Array) -> Pair:
    r, s = kernels.shape[2:]
    of_images, of_kernels = np.zeros(images.shape), np.zeros(kernels.shape)
    for y, x in np.ndindex(gradient.shape[2:]):
        g = gradient[:, :, y, x]
        seen = images[:, :, y : y + r, x : x + s]
        of_kernels += np.tensordot(g, seen, axes=(0, 0))
        of_images[:, :, y : y + r, x : x + s] += np.tensordot(g, kernels, axes=(1, 0))
    return of_images, of_kernels


@answers.right
def as_two_convolutions(images: Array, kernels: Array, gradient: Array) -> list[Array]:
    r, s = kernels.shape[2:]
    padded = np.pad(gradient, ((0, 0), (0, 0), (r - 1, r - 1), (s - 1, s - 1)))
    around = sliding_window_view(padded, (r, s), axis=(2, 3))
    seen = sliding_window_view(images, gradient.shape[2:], axis=(2, 3))
    return [
        np.einsum("nkyxij,kcij->ncyx", around, kernels[:, :, ::-1, ::-1]),
        np.einsum("ncijyx,nkyx->kcij", seen, gradient),
    ]


EXERCISE = Exercise(
    task="From the gradient of a convolution's output, find those of its images and kernels.",
    reference=backward_conv2d,
    cases=cases,
    run=quietly,
    difference=named("of_images", "of_kernels"),
    kinships=(same,),
    answers=answers,
)
