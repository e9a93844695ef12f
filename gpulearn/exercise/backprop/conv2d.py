"""Kernels slid over images, from the formula."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gpulearn.checker import compare
from gpulearn.checker.answers import Answers
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.exercise.backprop.results import quietly, same
from gpulearn.nn.layers import conv2d

__all__ = ["EXERCISE"]

Array = np.ndarray[Any, Any]
answers = Answers()


def cases() -> list[Case]:
    """Images and kernels in which no two sizes, channels or directions can be mixed up unseen."""
    rng = np.random.default_rng(14)

    def case(images: tuple[int, ...], kernels: tuple[int, ...], more: str = "") -> Case:
        label = f"images of shape {images} and kernels of shape {kernels}{more}"
        return Case(label, (rng.normal(size=images), rng.normal(size=kernels)))

    whole = rng.integers(-9, 9, size=(2, 2, 4, 5)), rng.normal(size=(3, 2, 2, 2))
    single = rng.normal(size=(2, 1, 4, 4)), rng.normal(size=(2, 1, 3, 2))
    return [
        case((2, 3, 5, 7), (4, 3, 2, 3)),
        case((1, 1, 4, 5), (1, 1, 3, 2)),
        case((2, 2, 5, 5), (2, 2, 3, 3), ", all square"),
        case((3, 2, 6, 4), (1, 2, 1, 1), ", of one pixel"),
        case((2, 2, 3, 4), (3, 2, 3, 4), ", as large as an image"),
        case((1, 4, 6, 6), (2, 4, 2, 2)),
        case((3, 1, 6, 5), (3, 1, 2, 2)),
        Case("images of whole numbers, kernels with fractions", whole),
        Case("float32 images and kernels", tuple(one.astype(np.float32) for one in single)),
    ]


def windows(images: Array, kernels: Array) -> Array:
    """What each output sees of each image, of shape (n, c, rows, columns, r, s)."""
    return sliding_window_view(images, kernels.shape[2:], axis=(2, 3))


def slid(images: Array, kernels: Array) -> Array:
    return np.asarray(np.einsum("ncyxij,kcij->nkyx", windows(images, kernels), kernels))


@answers.wrong(
    "the kernel is flipped, as convolution is defined in mathematics; a layer's conv2d, "
    "PyTorch's too, does not flip: out[y, x] takes images[y + i, x + j] · kernels[i, j]."
)
def flipped(images: Array, kernels: Array) -> Array:
    return slid(images, kernels[:, :, ::-1, ::-1])


@answers.wrong("the kernel is turned upside down: kernels[i, j] meets images[y + i, x + j].")
def flipped_rows(images: Array, kernels: Array) -> Array:
    return slid(images, kernels[:, :, ::-1])


@answers.wrong("the kernel is mirrored left to right: kernels[i, j] meets images[y + i, x + j].")
def flipped_columns(images: Array, kernels: Array) -> Array:
    return slid(images, kernels[:, :, :, ::-1])


@answers.wrong("only the first channel counts; the sum runs over all c channels.")
def first_channel(images: Array, kernels: Array) -> Array:
    return slid(images[:, :1], kernels[:, :1])


@answers.wrong("only the last channel is left: each overwrites the one before. Add with +=.")
def last_channel(images: Array, kernels: Array) -> Array:
    return slid(images[:, -1:], kernels[:, -1:])


@answers.wrong("the channels are averaged; a convolution adds them up.")
def channels_averaged(images: Array, kernels: Array) -> Any:
    return slid(images, kernels) / images.shape[1]


@answers.wrong(
    "each channel of the image meets every channel of the kernel: channel c of the one belongs "
    "to channel c of the other, with the same letter in einsum."
)
def channels_crossed(images: Array, kernels: Array) -> Array:
    return slid(images.sum(axis=1, keepdims=True), kernels.sum(axis=1, keepdims=True))


@answers.wrong(
    "the channels are kept apart instead of summed: out has no axis for them, only n, k, rows "
    "and columns."
)
def channels_kept(images: Array, kernels: Array) -> Any:
    return np.einsum("ncyxij,kcij->nkcyx", windows(images, kernels), kernels)


@answers.wrong(
    "that is one number for all: the formula without y and x is a single scalar product. out has "
    "an element for every place of the kernel on the image."
)
def single_dot_product(images: Array, kernels: Array) -> Any:
    r, s = kernels.shape[2:]
    return np.einsum("ncij,kcij->", images[:, :, :r, :s], kernels)


@answers.wrong(
    "the kernel never moves: that is its product with the upper left corner only. Slide it: "
    "out[y, x] sees images[y + i, x + j]."
)
def corner_only(images: Array, kernels: Array) -> Any:
    r, s = kernels.shape[2:]
    return np.einsum("ncij,kcij->nk", images[:, :, :r, :s], kernels)[:, :, None, None]


@answers.wrong(
    "every output holds the product with the upper left corner: y and x are never used as "
    "offsets into the image."
)
def corner_everywhere(images: Array, kernels: Array) -> Array:
    right = slid(images, kernels)
    return np.broadcast_to(right[:, :, :1, :1], right.shape).copy()


@answers.wrong(
    "the image is padded so that the output has its size ('same'); here the kernel stays within "
    "the image: h − r + 1 rows, w − s + 1 columns."
)
def same_padding(images: Array, kernels: Array) -> Array:
    r, s = kernels.shape[2:]
    sides = ((r - 1) // 2, r // 2), ((s - 1) // 2, s // 2)
    return slid(np.pad(images, ((0, 0), (0, 0), *sides)), kernels)


@answers.wrong(
    "the output has the size of the image, its last rows and columns without values: the kernel "
    "fits h − r + 1 times, w − s + 1 times."
)
def output_as_large_as_the_image(images: Array, kernels: Array) -> Array:
    r, s = kernels.shape[2:]
    out = np.zeros((len(images), len(kernels), *images.shape[2:]))
    out[:, :, : out.shape[2] - r + 1, : out.shape[3] - s + 1] = slid(images, kernels)
    return out


@answers.wrong(
    "y − i and x − j lie before the image, where a negative index silently counts from its other "
    "end: out[y, x] takes images[y + i, x + j]."
)
def minus_signs(images: Array, kernels: Array) -> Array:
    r, s = kernels.shape[2:]
    out = np.zeros(slid(images, kernels).shape)
    for y, x in np.ndindex(out.shape[2:]):
        for i, j in np.ndindex(r, s):
            out[:, :, y, x] += images[:, :, y - i, x - j] @ kernels[:, :, i, j].T
    return out


@answers.wrong(
    "only the first place has a value: does return stand inside a loop? It belongs below them all."
)
def returns_early(images: Array, kernels: Array) -> Array:
    right = slid(images, kernels)
    out = np.zeros_like(right)
    out[:, :, 0, 0] = right[:, :, 0, 0]
    return out


@answers.wrong(
    "the right numbers stand in the wrong places: windows @ kernels.T has its k kernels last, and "
    "reshape moves no axis. Swap axes first: transpose(0, 2, 1)."
)
def product_reshaped(images: Array, kernels: Array) -> Any:
    right = slid(images, kernels)
    return right.transpose(0, 2, 3, 1).reshape(right.shape)


@answers.wrong("the image is padded all round ('full'); here the kernel stays within the image.")
def full_padding(images: Array, kernels: Array) -> Array:
    r, s = kernels.shape[2:]
    return slid(np.pad(images, ((0, 0), (0, 0), (r - 1, r - 1), (s - 1, s - 1))), kernels)


@answers.wrong("rows and columns of the output are swapped.")
def output_transposed(images: Array, kernels: Array) -> Array:
    return slid(images, kernels).swapaxes(2, 3)


@answers.wrong("rows and columns of the kernel are swapped: r goes with h, s with w.")
def kernel_transposed(images: Array, kernels: Array) -> Array:
    return slid(images, kernels.swapaxes(2, 3))


@answers.wrong("images and kernels are swapped in the output: out[n, k] is image n under kernel k.")
def images_and_kernels_swapped(images: Array, kernels: Array) -> Array:
    return slid(images, kernels).swapaxes(0, 1)


@answers.wrong("only the first image is done; the others' output stays zero.")
def first_image(images: Array, kernels: Array) -> Array:
    out = slid(images, kernels)
    out[1:] = 0
    return out


@answers.wrong("only one image is done: out needs all n of them.")
def one_image(images: Array, kernels: Array) -> Array:
    return slid(images[:1], kernels)


@answers.wrong("only one kernel is used: out needs all k of them.")
def one_kernel(images: Array, kernels: Array) -> Array:
    return slid(images, kernels[:1])


@answers.wrong("every output is that of the first kernel: out[n, k] takes kernels[k].")
def first_kernel_for_all(images: Array, kernels: Array) -> Array:
    right = slid(images, kernels)
    return np.broadcast_to(right[:, :1], right.shape).copy()


@answers.wrong("every output is that of the first image: out[n, k] takes images[n].")
def first_image_for_all(images: Array, kernels: Array) -> Array:
    right = slid(images, kernels)
    return np.broadcast_to(right[:1], right.shape).copy()


@answers.wrong("only the first kernel is used; the others' output stays zero.")
def first_kernel(images: Array, kernels: Array) -> Array:
    out = slid(images, kernels)
    out[:, 1:] = 0
    return out


@answers.wrong("the images are added up: each has its own output.")
def images_summed(images: Array, kernels: Array) -> Array:
    out = slid(images, kernels)
    return np.broadcast_to(out.sum(axis=0, keepdims=True), out.shape).copy()


@answers.wrong("the kernels are added up: each has its own output.")
def kernels_summed(images: Array, kernels: Array) -> Array:
    out = slid(images, kernels)
    return np.broadcast_to(out.sum(axis=1, keepdims=True), out.shape).copy()


@answers.wrong("the last row and column of the output are missing: a kernel fits h − r + 1 times.")
def one_short(images: Array, kernels: Array) -> Array:
    return slid(images, kernels)[:, :, :-1, :-1]


@answers.wrong("the last row and column of the output stay zero: a loop ends one early.")
def last_not_filled(images: Array, kernels: Array) -> Array:
    out = slid(images, kernels)
    out[:, :, -1, :] = out[:, :, :, -1] = 0
    return out


@answers.wrong("the kernel moves by its own size; here it moves by one pixel, and places overlap.")
def own_stride(images: Array, kernels: Array) -> Array:
    r, s = kernels.shape[2:]
    return slid(images, kernels)[:, :, ::r, ::s]


@answers.wrong("each product overwrites the one before: only the kernel's last element is left.")
def assigns(images: Array, kernels: Array) -> Any:
    seen = windows(images, kernels)[..., -1, -1]
    return np.einsum("ncyx,kc->nkyx", seen, kernels[:, :, -1, -1])


@answers.wrong("the sum is divided by the kernel's r · s elements; a convolution only adds up.")
def averaged(images: Array, kernels: Array) -> Any:
    return slid(images, kernels) / (kernels.shape[2] * kernels.shape[3])


@answers.wrong("the products lose their fractions: give out the dtype of the inputs.")
def integer_result(images: Array, kernels: Array) -> Array:
    out = np.zeros(slid(images, kernels).shape, dtype=int)
    for i, j in np.ndindex(*kernels.shape[2:]):
        for c in range(images.shape[1]):
            seen = windows(images, kernels)[:, None, c, :, :, i, j]
            out += (seen * kernels[:, c, i, j][:, None, None]).astype(int)
    return out


@answers.wrong(
    "where images hold whole numbers, the products lose their fractions: let out have the dtype "
    "of images and kernels together."
)
def dtype_of_images(images: Array, kernels: Array) -> Array:
    return slid(images, kernels).astype(images.dtype)


@answers.wrong(
    "the result has the digits of float32 only: let out have the dtype of images and kernels "
    "together."
)
def single_precision(images: Array, kernels: Array) -> Array:
    return slid(images, kernels).astype(np.float32)


@answers.wrong("axes of size 1 are squeezed away: out keeps all four, (n, k, rows, columns).")
def squeezed(images: Array, kernels: Array) -> Array:
    return np.asarray(np.squeeze(slid(images, kernels)))


@answers.right
def seven_loops(images: Array, kernels: Array) -> Array:
    n, c, h, w = images.shape
    k, _, r, s = kernels.shape
    out = np.zeros((n, k, h - r + 1, w - s + 1))
    for image, kernel, y, x in np.ndindex(out.shape):
        for channel in range(c):
            for i in range(r):
                for j in range(s):
                    out[image, kernel, y, x] += (
                        images[image, channel, y + i, x + j] * kernels[kernel, channel, i, j]
                    )
    return out


@answers.right
def by_windows(images: Array, kernels: Array) -> Array:
    seen = sliding_window_view(images, kernels.shape[2:], axis=(2, 3))
    return np.tensordot(seen, kernels, axes=((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


@answers.right
def as_one_matrix_product(images: Array, kernels: Array) -> Array:
    n, _, h, w = images.shape
    k, _, r, s = kernels.shape
    columns = [
        images[:, :, y : y + r, x : x + s].reshape(n, -1)
        for y in range(h - r + 1)
        for x in range(w - s + 1)
    ]
    product = np.stack(columns, axis=1) @ kernels.reshape(k, -1).T
    return product.swapaxes(1, 2).reshape(n, k, h - r + 1, w - s + 1)


@answers.right
def place_by_place(images: Array, kernels: Array) -> Array:
    r, s = kernels.shape[2:]
    rows, columns = images.shape[2] - r + 1, images.shape[3] - s + 1
    out = np.empty((images.shape[0], kernels.shape[0], rows, columns))
    for y in range(rows):
        for x in range(columns):
            seen = images[:, None, :, y : y + r, x : x + s]
            out[:, :, y, x] = (seen * kernels).sum(axis=(2, 3, 4))
    return out


EXERCISE = Exercise(
    name="conv2d",
    notebook="11_backprop",
    task="Slide kernels over images: the forward pass of a convolutional layer.",
    reference=conv2d,
    cases=cases,
    run=quietly,
    difference=compare.arrays,
    kinships=(same,),
    answers=answers,
)
