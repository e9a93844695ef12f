"""A convolution's window on an image: which numbers give which pixel of the output."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.controls import Explorer, slider
from gpulearn.plot.style import box, centered, figure
from gpulearn.require import shown

Array = np.ndarray[Any, Any]
MAX_SIDE = 12  # rows and columns of an image whose numbers are still legible


class FilterResult(NamedTuple):
    """One filter, (r, s), at every position of an image (h, w): (h − r + 1, w − s + 1) outputs."""

    image: Array
    kernel: Array
    output: Array

    def place(self, position: int) -> tuple[int, int]:
        """Row and column of output pixel number `position`, counted along the rows."""
        y, x = divmod(position, self.output.shape[1])
        return y, x

    def window(self, position: int) -> Array:
        """The pixels under the kernel, of the kernel's shape."""
        y, x = self.place(position)
        return self.image[y : y + self.kernel.shape[0], x : x + self.kernel.shape[1]]


def filtered(image: object, kernel: object) -> FilterResult:
    """Apply a kernel at every position of an image of at most 12 × 12.

    >>> filtered(np.eye(3), np.ones((2, 2))).output
    array([[2., 1.],
           [1., 2.]])
    """
    arrays = []
    for name, value in (("image", image), ("kernel", kernel)):
        array = np.asarray(value)
        if array.ndim != 2 or not array.size or array.dtype.kind not in "buif":
            raise BadInput(f"{name} is {shown(value)}: give numbers of shape (h, w).")
        arrays.append(array.astype(float))
    pixels, weights = arrays
    if max(pixels.shape) > MAX_SIDE:
        side = MAX_SIDE
        raise BadInput(f"image has the shape {pixels.shape}: give at most {side} × {side}.")
    if any(k > n for k, n in zip(weights.shape, pixels.shape, strict=True)):
        raise BadInput(
            f"kernel has the shape {weights.shape}, and the image {pixels.shape}: "
            f"the kernel must fit into the image."
        )
    windows = np.lib.stride_tricks.sliding_window_view(pixels, weights.shape)
    return FilterResult(pixels, weights, np.einsum("yxij,ij->yx", windows, weights))


def draw(scene: FilterResult, position: int) -> tuple[Picture, str]:
    """The picture of one position and its sentence."""
    (y, x), (rows, columns) = scene.place(position), scene.kernel.shape
    value, size = scene.output[y, x], " × ".join(map(str, scene.output.shape))
    text = (
        f"Output ({y}, {x}): rows {y} to {y + rows - 1} and columns {x} to {x + columns - 1} of "
        f"the image, each pixel times its weight, add up to {_number(value)}. One position gives "
        f"one number; {scene.output.size} positions give the output of {size}."
    )
    shapes = [scene.image.shape, scene.kernel.shape, scene.output.shape]
    ratios = [shape[1] + 1 for shape in shapes]
    with figure(11.0, 4.3, columns=3, width_ratios=ratios) as (fig, (left, middle, right)):
        _grid(left, "image", scene.image, frame=(y, x, rows, columns))
        products = [
            [f"{_number(p)}\n×{_number(k)}" for p, k in zip(line, weights, strict=True)]
            for line, weights in zip(scene.window(position), scene.kernel, strict=True)
        ]
        _grid(middle, "pixel × weight", scene.window(position) * scene.kernel, texts=products)
        so_far = np.full(scene.output.shape, np.nan)
        so_far.flat[: position + 1] = scene.output.flat[: position + 1]
        _grid(right, "output", so_far, frame=(y, x, 1, 1))
    alt = (
        f"An image with a framed window of {rows} × {columns}, its products with the kernel, and "
        f"the output so far: {position + 1} of {scene.output.size} pixels, the last "
        f"{_number(value)}."
    )
    return show(fig, alt), text


def _number(value: float) -> str:
    return f"{value + 0.0:.2f}".rstrip("0").rstrip(".").replace("-0", "−0").replace("-", "−")


def _grid(
    axes: Any,
    title: str,
    values: Array,
    texts: list[list[str]] | None = None,
    frame: tuple[int, int, int, int] | None = None,
) -> None:
    """An array as gray cells with its numbers in them; NaN is left blank."""
    axes.set_title(title, loc="left")
    axes.grid(visible=False)
    axes.set(xticks=[0, values.shape[1] - 1], yticks=[0, values.shape[0] - 1])
    least, most = min(0.0, float(np.nanmin(values))), max(1.0, float(np.nanmax(values)))
    axes.imshow(values, cmap="gray", vmin=least, vmax=most)
    for (y, x), value in np.ndenumerate(values):
        if np.isfinite(value):
            dark = (value - least) / (most - least) < 0.5
            text, size = (texts[y][x], 9) if texts else (_number(value), 7)
            centered(axes, x, y, text, fontsize=size, color="white" if dark else "black")
    if frame:
        y, x, rows, columns = frame
        box(axes, x - 0.5, y - 0.5, columns, rows, fill=False, edgecolor="C1", linewidth=3)


def convolution_explorer(image: object, kernel: object) -> Explorer:
    """Slide a kernel over an image and see which pixels and weights make each output.

    The image has the shape (h, w), at most 12 × 12, and the kernel (r, s), which is not larger.
    """
    scene = filtered(image, kernel)
    rows, columns = scene.output.shape
    middle = rows // 2 * columns + columns // 2
    control = slider("position", middle, 0, scene.output.size - 1)
    return Explorer(lambda position: draw(scene, position), {"position": control})
