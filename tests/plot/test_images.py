"""The photograph, pictures side by side, and the filters of a convolution."""

import re

import numpy as np
import pytest
import torch

import gpulearn as gl
from gpulearn import photo, show_images
from gpulearn.errors import BadInput
from gpulearn.plot.images import ENLARGED, edges, mosaic


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


def test_pictures_make_their_sentence_and_show_it():
    grey = photo(40, 30)[:, :, 0] // 2 + 1
    torn = np.where(np.arange(30) % 10, grey / 255, np.nan)
    picture = show_images({"whole": grey, "torn": torn})
    said = r"whole: 40 × 30\. torn: 40 × 30, 10 % hatched, not a number; 100 % of it differs .*"
    assert re.search(rf'<img alt="({said})".*<figcaption.*>\1</figcaption>', picture._repr_html_())
    assert picture.png.startswith(b"\x89PNG")


def test_a_picture_is_held_against_the_first():
    grey = np.arange(1, 13, dtype=np.uint8).reshape(3, 4)
    for image, said in {
        "its negative": (255 - grey, "each pixel is 255 minus that of grey"),
        "turned": (grey.T, "it is grey with rows and columns swapped"),
        "copied": (grey.copy(), "it is equal to grey"),
        "black below": (grey * (grey < 9), "33 % black; 33 % of it differs from grey"),
        "larger": (np.ones((5, 5, 3)), "5 × 5, in colour"),
    }.values():
        assert show_images({"grey": grey, "other": image}).alt.endswith(f"{said}.")


@pytest.mark.parametrize(
    "images", [{}, [np.ones((2, 2))], {"flat": np.ones(5)}, {"words": np.array([["a"]])}]
)
def test_what_is_no_picture_is_refused(images):
    with pytest.raises(BadInput):
        show_images(images)


def test_edges_are_told_from_blobs_and_noise():
    ramp = np.array([[-1.0, 0, 1]] * 3)
    blob = np.array([[0.0, 1, 0], [1, 4, 1], [0, 1, 0]])
    assert [edges(f[np.newaxis]) for f in (ramp, ramp.T, ramp + 3 * ramp.T, blob, blob * 0)] == [
        1, 1, 1, 0, 0
    ]  # fmt: skip
    noise = np.random.default_rng(0).normal(size=(2000, 3, 3))
    assert edges(noise) < 300


def test_filters_are_shown_before_and_after():
    model = gl.train.LeNet(width=4, seed=1)
    picture = gl.plot.filters(model.stage1.conv1.weight, before=torch.zeros(4, 1, 3, 3))
    assert picture.alt.startswith("4 filters of 3 × 3. Before training, weights reach 0, and 0 ")
    reach = model.stage1.conv1.weight.abs().max().item()
    assert f"after training, weights reach {reach:.2g}, and" in picture.alt
    assert gl.plot.filters(np.ones((1, 1, 1, 1))).alt.startswith("1 filters of 1 × 1. After")


def test_each_filter_stands_in_its_place_of_the_picture():
    filters = np.arange(3 * 6.0).reshape(3, 2, 3)
    whole = mosaic(filters, columns=2)
    tall, wide = (side // 2 for side in whole.shape)
    for place, weights in enumerate(filters):
        row, column = divmod(place, 2)
        tile = whole[row * tall : (row + 1) * tall, column * wide : (column + 1) * wide]
        drawn = tile[: 2 * ENLARGED, : 3 * ENLARGED]
        assert np.array_equal(drawn[::ENLARGED, ::ENLARGED], weights)
        assert np.isfinite(drawn).all()
        assert np.isnan(tile).sum() == tile.size - drawn.size
    assert np.isnan(whole[tall:, wide:]).all()


def test_what_are_no_filters_is_refused():
    with pytest.raises(BadInput, match="weights has shape"):
        gl.plot.filters(gl.train.LeNet().stage2.conv2.weight)
    with pytest.raises(BadInput, match="give the same filters"):
        gl.plot.filters(np.ones((2, 1, 3, 3)), before=np.ones((2, 1, 5, 5)))
