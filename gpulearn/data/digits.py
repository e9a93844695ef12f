"""The course's data set: 1,797 handwritten digits that come with the package."""

from __future__ import annotations

import io
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

BRIGHTEST = 16
Array = np.ndarray[Any, Any]


class Digits(NamedTuple):
    """Images of shape (n, 1, 8, 8), float32 from 0 to 1, and labels (n,), int64 from 0 to 9."""

    train_images: Array
    train_labels: Array
    test_images: Array
    test_labels: Array

    def __repr__(self) -> str:
        train, test = len(self.train_labels), len(self.test_labels)
        return f"{train:,} digits to train on, {test} held out; 8 × 8 pixels each"


def digits() -> Digits:
    """Load the digits; every fifth is held out, the others are to train on.

    The 13 people who wrote them follow one another in the data, so that digits are held out of
    people whose other digits are trained on.

    Source: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine
    Learning Repository, 1998, https://doi.org/10.24432/C50P49 (CC BY 4.0).

    >>> digits()
    1,438 digits to train on, 359 held out; 8 × 8 pixels each
    """
    content = resources.files("gpulearn.data").joinpath("digits.npz").read_bytes()
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        images = archive["images"][:, np.newaxis].astype(np.float32) / BRIGHTEST
        labels = archive["labels"].astype(np.int64)
    test = np.arange(len(labels)) % 5 == 4
    return Digits(images[~test], labels[~test], images[test], labels[test])
