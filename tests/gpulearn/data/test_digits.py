"""The digits are what was shipped, and their split holds nobody back twice."""

import numpy as np

import gpulearn as gl

DATA = gl.digits()


def test_the_split_shares_the_digits_between_its_parts():
    assert DATA.train_images.shape == (1438, 1, 8, 8)
    assert DATA.test_images.shape == (359, 1, 8, 8)
    assert DATA.train_images.dtype == np.float32
    assert DATA.train_labels.dtype == np.int64
    assert DATA.train_images.min() == 0
    assert DATA.train_images.max() == 1
    assert set(DATA.test_labels) == set(DATA.train_labels) == set(range(10))


def test_each_digit_occurs_about_as_often():
    # the counts that UCI states for the test part
    labels = np.concatenate([DATA.train_labels, DATA.test_labels])
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
