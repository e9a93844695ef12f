"""Two-dimensional convolution from its formula."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gpulearn.checker import compare
from gpulearn.checker.answers import Answers
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.exercise.backprop.results import quietly, same
from gpulearn.nn.layers import conv2d

Array = np.ndarray[Any, Any]
answers = Answers(conv2d)


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


KERNEL = "kernels[:, :, i, j]"
SIZES = "    rows, columns = h - r + 1, w - s + 1\n"
SEEN = "images[:, :, i : i + rows, j : j + columns]"
PRODUCT = f"{KERNEL} @ seen.reshape(n, c, rows * columns)"
RETURN = "    return "
OUT = "out.reshape(n, k, rows, columns)"
TENSORDOT = "np.tensordot(seen, kernels, axes=((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)"

answers.edit(
    {KERNEL: "kernels[:, :, r - 1 - i, s - 1 - j]"},
    "the kernel is flipped, as convolution is defined in mathematics; a layer's conv2d, "
    "PyTorch's too, does not flip: out[y, x] takes images[y + i, x + j] · kernels[i, j].",
)
answers.edit(
    {KERNEL: "kernels[:, :, r - 1 - i, j]"},
    "the kernel is turned upside down: kernels[i, j] meets images[y + i, x + j].",
)
answers.edit(
    {KERNEL: "kernels[:, :, i, s - 1 - j]"},
    "the kernel is mirrored left to right: kernels[i, j] meets images[y + i, x + j].",
)
answers.edit(
    {PRODUCT: "kernels[:, :1, i, j] @ seen[:, :1].reshape(n, 1, rows * columns)"},
    "only the first channel counts; the sum runs over all c channels.",
)
answers.edit(
    {PRODUCT: "kernels[:, -1:, i, j] @ seen[:, -1:].reshape(n, 1, rows * columns)"},
    "only the last channel is left: each overwrites the one before. Add with +=.",
)
answers.edit({PRODUCT: f"{PRODUCT} / c"}, "the channels are averaged; a convolution adds them up.")
answers.edit(
    {
        KERNEL: f"{KERNEL}.sum(axis=1, keepdims=True)",
        "seen.reshape(n, c,": "seen.sum(axis=1).reshape(n, 1,",
    },
    "each channel of the image meets every channel of the kernel: channel c of the one belongs "
    "to channel c of the other, with the same letter in einsum.",
)
answers.edit(
    {TENSORDOT: 'np.einsum("ncyxij,kcij->nkcyx", seen, kernels)'},
    "the channels are kept apart instead of summed: out has no axis for them, only n, k, rows "
    "and columns.",
    of=by_windows,
)
answers.edit(
    {TENSORDOT: 'np.einsum("ncij,kcij->", seen[:, :, 0, 0], kernels)'},
    "that is one number for all: the formula without y and x is a single scalar product. out has "
    "an element for every place of the kernel on the image.",
    of=by_windows,
)
answers.edit(
    {TENSORDOT: 'np.einsum("ncij,kcij->nk", seen[:, :, 0, 0], kernels)[:, :, None, None]'},
    "the kernel never moves: that is its product with the upper left corner only. Slide it: "
    "out[y, x] sees images[y + i, x + j].",
    of=by_windows,
)
answers.edit(
    {PRODUCT: f"{KERNEL} @ images[:, :, i, j].reshape(n, c, 1)"},
    "every output holds the product with the upper left corner: y and x are never used as "
    "offsets into the image.",
)
answers.edit(
    {
        SIZES: """\
    images = np.pad(images, ((0, 0), (0, 0), ((r - 1) // 2, r // 2), ((s - 1) // 2, s // 2)))
    rows, columns = h, w
"""
    },
    "the image is padded so that the output has its size ('same'); here the kernel stays within "
    "the image: h − r + 1 rows, w − s + 1 columns.",
)
answers.edit(
    {
        f"return {TENSORDOT}": """\
right = np.einsum("ncyxij,kcij->nkyx", seen, kernels)
    out = np.zeros((len(images), len(kernels), *images.shape[2:]))
    out[:, :, : right.shape[2], : right.shape[3]] = right
    return out"""
    },
    "the output has the size of the image, its last rows and columns without values: the kernel "
    "fits h − r + 1 times, w − s + 1 times.",
    of=by_windows,
)
answers.edit(
    {
        ", np.result_type(images, kernels)": "",
        SEEN: "images[:, :, np.arange(rows)[:, None] - i, np.arange(columns) - j]",
    },
    "y − i and x − j lie before the image, where a negative index silently counts from its other "
    "end: out[y, x] takes images[y + i, x + j].",
)
answers.edit(
    {RETURN: f"    out[:, :, 1:] = 0\n{RETURN}"},
    "only the first place has a value: does return stand inside a loop? It belongs below them all.",
)
answers.edit(
    {OUT: "out.swapaxes(1, 2).reshape(n, k, rows, columns)"},
    "the right numbers stand in the wrong places: windows @ kernels.T has its k kernels last, and "
    "reshape moves no axis. Swap axes first: transpose(0, 2, 1).",
)
answers.edit(
    {
        SIZES: """\
    images = np.pad(images, ((0, 0), (0, 0), (r - 1, r - 1), (s - 1, s - 1)))
    rows, columns = h + r - 1, w + s - 1
"""
    },
    "the image is padded all round ('full'); here the kernel stays within the image.",
)
answers.edit({OUT: f"{OUT}.swapaxes(2, 3)"}, "rows and columns of the output are swapped.")
answers.edit(
    {"    seen": "    kernels = kernels.swapaxes(2, 3)\n    seen"},
    "rows and columns of the kernel are swapped: r goes with h, s with w.",
    of=by_windows,
)
answers.edit(
    {OUT: f"{OUT}.swapaxes(0, 1)"},
    "images and kernels are swapped in the output: out[n, k] is image n under kernel k.",
)
answers.edit(
    {RETURN: f"    out[1:] = 0\n{RETURN}"},
    "only the first image is done; the others' output stays zero.",
)
answers.edit({OUT: f"{OUT}[:1]"}, "only one image is done: out needs all n of them.")
answers.edit({OUT: f"{OUT}[:, :1]"}, "only one kernel is used: out needs all k of them.")
answers.edit(
    {RETURN: f"    out[:] = out[:, :1]\n{RETURN}"},
    "every output is that of the first kernel: out[n, k] takes kernels[k].",
)
answers.edit(
    {RETURN: f"    out[:] = out[:1]\n{RETURN}"},
    "every output is that of the first image: out[n, k] takes images[n].",
)
answers.edit(
    {RETURN: f"    out[:, 1:] = 0\n{RETURN}"},
    "only the first kernel is used; the others' output stays zero.",
)
answers.edit(
    {RETURN: f"    out[:] = out.sum(axis=0)\n{RETURN}"},
    "the images are added up: each has its own output.",
)
answers.edit(
    {RETURN: f"    out[:] = out.sum(axis=1, keepdims=True)\n{RETURN}"},
    "the kernels are added up: each has its own output.",
)
answers.edit(
    {OUT: f"{OUT}[:, :, :-1, :-1]"},
    "the last row and column of the output are missing: a kernel fits h − r + 1 times.",
)
answers.edit(
    {RETURN + OUT: f"    out = {OUT}\n    out[:, :, -1] = out[..., -1] = 0\n    return out"},
    "the last row and column of the output stay zero: a loop ends one early.",
)
answers.edit(
    {OUT: f"{OUT}[:, :, ::r, ::s]"},
    "the kernel moves by its own size; here it moves by one pixel, and places overlap.",
)
answers.edit(
    {"out +=": "out ="},
    "each product overwrites the one before: only the kernel's last element is left.",
)
answers.edit(
    {PRODUCT: f"{PRODUCT} / (r * s)"},
    "the sum is divided by the kernel's r · s elements; a convolution only adds up.",
)
answers.edit(
    {
        "w - s + 1))": "w - s + 1), dtype=int)",
        "images[image, channel, y + i, x + j] *": "int(images[image, channel, y + i, x + j] *",
        "kernels[kernel, channel, i, j]": "kernels[kernel, channel, i, j])",
    },
    "the products lose their fractions: give out the dtype of the inputs.",
    of=seven_loops,
)
answers.edit(
    {OUT: f"{OUT}.astype(images.dtype)"},
    "where images hold whole numbers, the products lose their fractions: let out have the dtype "
    "of images and kernels together.",
)
answers.edit(
    {OUT: f"{OUT}.astype(np.float32)"},
    "the result has the digits of float32 only: let out have the dtype of images and kernels "
    "together.",
)
answers.edit(
    {OUT: f"{OUT}.squeeze()"},
    "axes of size 1 are squeezed away: out keeps all four, (n, k, rows, columns).",
)

EXERCISE = Exercise(
    task="Slide kernels over images: the forward pass of a convolutional layer.",
    reference=conv2d,
    cases=cases,
    run=quietly,
    difference=compare.arrays,
    kinships=(same,),
    answers=answers,
)
