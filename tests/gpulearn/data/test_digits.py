"""The digits are what was shipped, and their splits hold nobody back twice."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn.data import digits as module


@pytest.mark.parametrize("held_out", ["every fifth", "last writers"])
def test_splits_share_the_digits_among_them(held_out):
    data = gl.digits(held_out)
    assert data.train_images.shape == (1438, 1, 8, 8)
    assert data.test_images.shape == (359, 1, 8, 8)
    assert data.train_images.dtype == np.float32
    assert data.train_labels.dtype == np.int64
    assert data.train_images.min() == 0
    assert data.train_images.max() == 1
    seen = np.concatenate([data.train_images, data.test_images]).reshape(1797, -1)
    images, labels = module._archive()
    assert sorted(map(bytes, seen)) == sorted(map(bytes, images.reshape(1797, -1)))
    assert set(data.test_labels) == set(data.train_labels) == set(range(10)) == set(labels)


def test_each_digit_occurs_about_as_often():
    # the counts that UCI states for the test part
    _, labels = module._archive()
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_damaged_file(monkeypatch):
    monkeypatch.setattr(module, "SHA256", "0" * 64)
    with pytest.raises(
        gl.errors.DataError, match=r"digits.npz is not the file that came with gpulearn"
    ):
        gl.digits()


def test_unknown_split():
    with pytest.raises(gl.errors.BadInput, match="There is no split 'random'"):
        gl.digits("random")
