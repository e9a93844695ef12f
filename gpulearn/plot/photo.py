"""Photographs: one to work on, and pictures side by side to look at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.style import figure
from gpulearn.require import shown

__all__ = ["photo", "show_images"]

HEIGHT, WIDTH = 600, 512
FACE = (0.5, 0.2)  # where a crop is centred, as shares of width and height


def photo(height: int = HEIGHT, width: int = WIDTH) -> np.ndarray[Any, Any]:
    """A photograph of the computing pioneer Grace Hopper, cut to any size.

    It is the portrait that comes with matplotlib, a public-domain work of the US Navy (1984).

    Args:
        height: rows of the result.
        width: columns of the result.

    Returns:
        An array of shape (height, width, 3) and dtype uint8: red, green, blue.

    Raises:
        BadInput: a size is not a whole number above zero.

    >>> photo(30, 40).shape
    (30, 40, 3)
    """
    size = require.whole("width", width), require.whole("height", height)
    require.package("matplotlib", "The photograph")
    from matplotlib import cbook
    from PIL import Image, ImageOps  # comes with matplotlib
    from PIL.Image import Resampling

    path = cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)
    with Image.open(str(path)) as image:
        # cropped, not stretched; the face is in the upper half
        fitted = ImageOps.fit(image.convert("RGB"), size, Resampling.BILINEAR, centering=FACE)
    return np.asarray(fitted)


def show_images(alt: str, images: Mapping[str, Any]) -> Picture:
    """Show arrays as pictures side by side, all in the same scale.

    Args:
        alt: one sentence that states what is seen, for whoever cannot see it.
        images: title → array of shape (h, w), shown in grey (uint8 from 0 to 255, floats from
            0 to 1; NaN is hatched), or (h, w, 3) in colour.

    Raises:
        BadInput: there is no picture, or an array has another shape or holds no numbers.
    """
    if not isinstance(images, Mapping) or not images:
        raise BadInput(f'images is {shown(images)}: give {{"title": array, …}}.')
    arrays = {title: np.asarray(image) for title, image in images.items()}
    for title, image in arrays.items():
        if not (image.ndim == 2 or (image.ndim == 3 and image.shape[2] == 3)) or not image.size:
            raise BadInput(
                f"The picture {title!r} has the shape {image.shape}: give (h, w) or (h, w, 3)."
            )
        if image.dtype.kind not in "buif":
            raise BadInput(f"The picture {title!r} holds {image.dtype}: give real numbers.")
    tallest = max(image.shape[0] for image in arrays.values())
    widths = [image.shape[1] for image in arrays.values()]
    scale = min(9.5 / (sum(widths) + 0.05 * tallest * len(widths)), 4.0 / tallest)
    with figure(sum(widths) * scale + 0.4 * len(widths), tallest * scale + 0.75) as (made, axes):
        axes.remove()
        for place, (title, image) in zip(
            made.subplots(1, len(arrays), squeeze=False, width_ratios=widths)[0],
            arrays.items(),
            strict=True,
        ):
            _draw(place, title, image)
    return show(made, alt)


def _draw(axes: Any, title: str, image: np.ndarray[Any, Any]) -> None:
    axes.set_title(title, loc="left")
    axes.grid(visible=False)
    # ticks at the picture's edges tell its size, and which way the rows run
    height, width = image.shape[:2]
    axes.set_xticks([0, width - 1])
    axes.set_yticks([0, height - 1])
    top = 255 if image.dtype.kind in "iu" else 1.0
    if image.dtype.kind == "f" and not np.isfinite(image).all():
        axes.set_facecolor("0.85")
        axes.patch.set(hatch="///", edgecolor="0.5")
        image = np.where(np.isfinite(image), image, math.nan)
    axes.imshow(image, cmap="gray", vmin=0, vmax=top, interpolation="nearest")
