"""The convolution explorer shows the numbers that the layer computes."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulearn.errors import BadInput
from gpulearn_lessons.backprop.convolutions import draw, filtered

IMAGE = np.arange(20.0).reshape(4, 5)
KERNEL = np.array([[1.0, 0.0, -1.0], [2.0, 0.0, 0.0]])


@settings(max_examples=30)
@given(st.integers(0, 10**6), *[st.integers(1, 6)] * 2, *[st.integers(0, 4)] * 2)
def test_the_output_is_that_of_a_layer(seed, rows, columns, below, beside):
    rng = np.random.default_rng(seed)
    image = rng.normal(size=(rows + below, columns + beside))
    kernel = rng.normal(size=(rows, columns))
    scene = filtered(image, kernel)
    layer = torch.nn.functional.conv2d(
        torch.tensor(image)[None, None], torch.tensor(kernel)[None, None]
    )
    np.testing.assert_allclose(scene.output, layer[0, 0].numpy(), atol=1e-12)
    for position in range(scene.output.size):
        value = (scene.window(position) * kernel).sum()
        assert scene.output[scene.place(position)] == pytest.approx(value)


def test_the_sentence_names_the_window_and_its_sum():
    picture, text = draw(filtered(IMAGE, KERNEL), 4)  # output (1, 1): rows 1 to 2, columns 1 to 3
    assert text.startswith(
        "Output (1, 1): rows 1 to 2 and columns 1 to 3 of the image, each pixel times its weight, "
        "add up to 20."
    )
    assert text.endswith("9 positions give the output of 3 × 3.")
    assert "5 of 9 pixels, the last 20." in picture.alt


def test_what_does_not_fit_is_refused():
    with pytest.raises(BadInput, match=r"the kernel must fit into the image"):
        filtered(KERNEL, IMAGE)
    with pytest.raises(BadInput, match="give at most 12 × 12"):
        filtered(np.ones((13, 4)), KERNEL)
    with pytest.raises(BadInput, match=r"image is \[1, 2\]: give numbers of shape"):
        filtered([1, 2], KERNEL)
