"""A convolution's window on an image: which numbers make which pixel of the output."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.controls import Explorer, slider
from gpulearn.plot.style import box, centred, figure

__all__ = ["convolution_explorer"]

Array = np.ndarray[Any, Any]
MOST = 12  # rows and columns of an image whose numbers can still be read


class Filtered:
    """One filter, placed everywhere on one image: the images' windows and the output.

    Attributes:
        image: shape (h, w).
        kernel: shape (r, s).
        output: shape (h − r + 1, w − s + 1); entry (y, x) is the sum of the products of the
            kernel with rows y to y + r − 1 and columns x to x + s − 1 of the image.
    """

    def __init__(self, image: Array, kernel: Array) -> None:
        self.image, self.kernel = image, kernel
        windows = np.lib.stride_tricks.sliding_window_view(image, kernel.shape)
        self.output: Array = np.einsum("yxij,ij->yx", windows, kernel)

    def place(self, position: int) -> tuple[int, int]:
        """Row and column of the output's pixel number `position`, counted along the rows."""
        y, x = divmod(position, self.output.shape[1])
        return y, x

    def window(self, position: int) -> Array:
        """The pixels under the kernel, of the kernel's shape."""
        y, x = self.place(position)
        return self.image[y : y + self.kernel.shape[0], x : x + self.kernel.shape[1]]


def filtered(image: object, kernel: object) -> Filtered:
    """Place a kernel everywhere on an image.

    Args:
        image: shape (h, w), at most 12 × 12, so that its numbers can be read.
        kernel: shape (r, s), not larger than the image.

    Raises:
        BadInput: a shape is another.

    >>> filtered(np.eye(3), np.ones((2, 2))).output
    array([[2., 1.],
           [1., 2.]])
    """
    arrays = []
    for name, value in (("image", image), ("kernel", kernel)):
        array = np.asarray(value)
        if array.ndim != 2 or not array.size or array.dtype.kind not in "buif":
            raise BadInput(f"{name} is {require.shown(value)}: give numbers of shape (h, w).")
        arrays.append(array.astype(float))
    if max(arrays[0].shape) > MOST:
        raise BadInput(f"image has the shape {arrays[0].shape}: {MOST} × {MOST} is the largest.")
    if any(k > n for k, n in zip(arrays[1].shape, arrays[0].shape, strict=True)):
        raise BadInput(
            f"kernel has the shape {arrays[1].shape}, and the image {arrays[0].shape}: "
            f"the kernel must fit into the image."
        )
    return Filtered(*arrays)


def draw(one: Filtered, position: int) -> tuple[Picture, str]:
    """The picture of one position and its sentence; the explorer's whole logic."""
    (y, x), (rows, columns) = one.place(position), one.kernel.shape
    value, size = one.output[y, x], " × ".join(map(str, one.output.shape))
    said = (
        f"Output ({y}, {x}): rows {y} to {y + rows - 1} and columns {x} to {x + columns - 1} of "
        f"the image, each pixel times its weight, add up to {_number(value)}. One position gives "
        f"one number; {one.output.size} positions give the output of {size}."
    )
    shapes = [one.image.shape, one.kernel.shape, one.output.shape]
    ratios = [shape[1] + 1 for shape in shapes]
    with figure(11.0, 4.3, columns=3, width_ratios=ratios) as (made, places):
        _grid(places[0], "image", one.image, frame=(y, x, rows, columns))
        products = [
            [f"{_number(p)}\n×{_number(k)}" for p, k in zip(line, weights, strict=True)]
            for line, weights in zip(one.window(position), one.kernel, strict=True)
        ]
        _grid(places[1], "pixel × weight", one.window(position) * one.kernel, texts=products)
        shown = np.full(one.output.shape, np.nan)
        shown.flat[: position + 1] = one.output.flat[: position + 1]
        _grid(places[2], "output", shown, frame=(y, x, 1, 1))
    alt = (
        f"An image with a framed window of {rows} × {columns}, its products with the kernel, and "
        f"the output so far: {position + 1} of {one.output.size} pixels, the last {_number(value)}."
    )
    return show(made, alt), said


def _number(value: float) -> str:
    return f"{value + 0.0:.2f}".rstrip("0").rstrip(".").replace("-0", "−0").replace("-", "−")


def _grid(
    axes: Any,
    title: str,
    values: Array,
    texts: list[list[str]] | None = None,
    frame: tuple[int, int, int, int] | None = None,
) -> None:
    """An array as grey cells with its numbers in them; NaN is not there yet."""
    axes.set_title(title, loc="left")
    axes.grid(visible=False)
    axes.set_xticks([0, values.shape[1] - 1])
    axes.set_yticks([0, values.shape[0] - 1])
    least, most = min(0.0, float(np.nanmin(values))), max(1.0, float(np.nanmax(values)))
    axes.imshow(values, cmap="gray", vmin=least, vmax=most)
    for (y, x), value in np.ndenumerate(values):
        if np.isfinite(value):
            dark = (value - least) / (most - least) < 0.5
            text, size = (texts[y][x], 9) if texts else (_number(value), 7)
            centred(axes, x, y, text, fontsize=size, color="white" if dark else "black")
    if frame:
        y, x, rows, columns = frame
        box(axes, x - 0.5, y - 0.5, columns, rows, fill=False, edgecolor="C1", linewidth=3)


def convolution_explorer(image: object, kernel: object) -> Explorer:
    """Slide a kernel over an image and see which pixels and weights make each output.

    The slider moves with the arrow keys.

    Args:
        image: shape (h, w), at most 12 × 12.
        kernel: shape (r, s), not larger than the image.

    Raises:
        BadInput: a shape is another.
    """
    one = filtered(image, kernel)
    rows, columns = one.output.shape
    middle = rows // 2 * columns + columns // 2
    control = slider("position", middle, 0, one.output.size - 1)
    return Explorer(lambda position: draw(one, position), {"position": control})
