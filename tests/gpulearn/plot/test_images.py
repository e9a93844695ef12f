"""The photograph, and pictures side by side."""

import re

import numpy as np
import pytest

from gpulearn import photo, show_images
from gpulearn.errors import BadInput


def test_a_photograph_has_the_size_asked_for():
    image = photo(33, 65)
    assert image.shape == (33, 65, 3)
    assert image.dtype == np.uint8
    assert image.std() > 30  # something is to be seen


def test_a_small_photograph_shows_the_same_picture():
    blocks = photo(600, 400).reshape(12, 50, 8, 50, 3).mean(axis=(1, 3))
    assert np.abs(blocks - photo(12, 8)).mean() < 10
    assert np.abs(blocks[::-1] - photo(12, 8)).mean() > 40


def test_another_shape_is_cut_out_not_stretched():
    whole, wide = photo(600, 512), photo(300, 512)
    top = min(range(300), key=lambda row: np.abs(whole[row : row + 300] - wide.astype(int)).mean())
    assert np.abs(whole[top : top + 300] - wide.astype(int)).mean() < 3


@pytest.mark.parametrize("size", [(0, 4), (4, -1), (2.5, 4)])
def test_a_size_must_be_whole(size):
    with pytest.raises(BadInput, match="whole number"):
        photo(*size)


def test_pictures_make_their_alternative_text_and_show_no_caption():
    gray = photo(40, 30)[:, :, 0] // 2 + 1
    torn = np.where(np.arange(30) % 10, gray / 255, np.nan)
    picture = show_images({"whole": gray, "torn": torn})
    caption = r"whole and torn: 40 × 30 pixels each\. torn: 10 % hatched, not a number\."
    shown = picture._repr_html_()
    assert re.match(rf'<img alt="{caption}".* src="data:image/png;base64,iVBOR', shown)
    assert "caption" not in shown


def test_a_picture_is_held_against_the_first():
    gray = np.arange(1, 13, dtype=np.uint8).reshape(3, 4)
    for image, caption in {
        "its negative": (255 - gray, "each pixel is 255 minus that of gray"),
        "turned": (gray.T, "it is gray with rows and columns swapped"),
        "copied": (gray.copy(), "it is equal to gray"),
        "black below": (gray * (gray < 9), "33 % black; 33 % of it differs from gray"),
        "another": (gray + np.uint8(1), "gray and other: 3 × 4 pixels each"),
        "larger": (np.ones((5, 5, 3)), "5 × 5 pixels in color"),
    }.values():
        assert show_images({"gray": gray, "other": image}).alt.endswith(f"{caption}.")


def test_of_many_pictures_only_what_they_share_is_told():
    dots = {str(k): (np.arange(20) > k).reshape(4, 5) for k in range(5)}
    caption = "0, 1, 2, 3 and 4: 4 × 5 pixels each. Between 5 % and 25 % of each is black."
    assert show_images(dots).alt == caption


@pytest.mark.parametrize(
    "images", [{}, [np.ones((2, 2))], {"flat": np.ones(5)}, {"words": np.array([["a"]])}]
)
def test_what_is_no_picture_is_refused(images):
    with pytest.raises(BadInput):
        show_images(images)
