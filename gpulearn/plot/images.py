"""Photographs, and pictures side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Drawing, show
from gpulearn.errors import BadInput
from gpulearn.plot.style import figure, percent

HEIGHT, WIDTH = 600, 512
FACE = (0.5, 0.2)  # where a crop is centered, as shares of width and height
MAX_ALONE = 4  # pictures of which each is described by itself
VISIBLE = 0.01  # the part of a picture that is worth a word
MAX_CHANGED = 0.9  # the part of a picture that may differ; beyond that it is another picture


def photo(height: int = HEIGHT, width: int = WIDTH) -> np.ndarray[Any, Any]:
    """A photograph of the computing pioneer Grace Hopper: uint8 of shape (height, width, 3).

    It is the portrait that comes with matplotlib, a public-domain work of the US Navy (1984), cut
    to any size.

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


def show_images(images: Mapping[str, Any]) -> Drawing:
    """Show arrays as pictures side by side, all in the same scale; the alternative text says which.

    `images` maps titles to arrays of shape (h, w), shown in gray (uint8 from 0 to 255, floats from
    0 to 1; NaN is hatched), or (h, w, 3) in color.
    """
    require.named("images", images, '{"title": array, …}')
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
    size = sum(widths) * scale + 0.4 * len(widths), tallest * scale + 0.75
    grid: dict[str, Any] = {"squeeze": False, "width_ratios": widths}
    with figure(*size, columns=len(arrays), **grid) as (fig, axes):
        for panel, (title, image) in zip(axes[0], arrays.items(), strict=True):
            _draw_image(panel, title, image)
    picture = show(fig, alternative_of(arrays))
    return Drawing(picture.image, picture.alt)  # no caption: it lists pixels


def alternative_of(images: Mapping[str, np.ndarray[Any, Any]]) -> str:
    """The alternative text: sizes, what is black or missing, and how each differs from the first.

    >>> alternative_of({"a row": np.ones((1, 4)), "copied": np.array([[0, 1, 0, 1.0]])})
    'a row and copied: 1 × 4 pixels each. copied: 50 % black; 50 % of it differs from a row.'
    """
    (title, first), *_ = images.items()
    sizes = {
        name: " × ".join(map(str, image.shape[:2])) + " pixels" + " in color" * (image.ndim == 3)
        for name, image in images.items()
    }
    if len(set(sizes.values())) == 1:
        sentences = [
            f"{require.listed([*sizes])}: {sizes[title]}{' each' if len(sizes) > 1 else ''}"
        ]
    else:
        sentences = [f"{name}: {size}" for name, size in sizes.items()]
    alone = len(images) <= MAX_ALONE
    black = {name: np.mean(image == 0) for name, image in images.items()}
    together = not alone and min(black.values()) >= VISIBLE
    if together:
        least, most = min(black.values()), max(black.values())
        sentences.append(f"Between {percent(least)} and {percent(most)} of each is black")
    for name, image in images.items():
        missing = np.isnan(image).mean() if image.dtype.kind == "f" else 0.0
        notes = []
        if black[name] >= VISIBLE and not together:
            notes.append(f"{percent(black[name])} black")
        if missing >= VISIBLE:
            notes.append(f"{percent(missing)} hatched, not a number")
        if alone and name != title and (relation := _relation(image, first, title)):
            notes.append(relation)
        if notes:
            sentences.append(f"{name}: {'; '.join(notes)}")
    return f"{'. '.join(sentences)}."


def _relation(image: np.ndarray[Any, Any], first: np.ndarray[Any, Any], title: str) -> str:
    """How a picture differs from the first, where they can be laid over one another."""
    if image.ndim == 2 and image.shape == first.T.shape and np.array_equal(image, first.T):
        return f"it is {title} with rows and columns swapped"
    if image.shape != first.shape:
        return ""
    if np.array_equal(image, 255 - first):
        return f"each pixel is 255 minus that of {title}"
    if not (differs := np.mean(image != first)):
        return f"it is equal to {title}"
    return f"{percent(differs)} of it differs from {title}" if differs <= MAX_CHANGED else ""


def _draw_image(axes: Any, title: str, image: np.ndarray[Any, Any]) -> None:
    axes.set_title(title, loc="left")
    axes.grid(visible=False)
    # ticks at the picture's edges tell its size, and which way the rows run
    height, width = image.shape[:2]
    axes.set(xticks=[0, width - 1], yticks=[0, height - 1])
    top = 255 if image.dtype.kind in "iu" else 1.0
    if image.dtype.kind == "f" and not np.isfinite(image).all():
        axes.set_facecolor("0.85")
        axes.patch.set(hatch="///", edgecolor="0.5")
        image = np.where(np.isfinite(image), image, math.nan)
    axes.imshow(image, cmap="gray", vmin=0, vmax=top, interpolation="nearest")
