"""The course's data set: 1,797 handwritten digits that come with the package."""

from __future__ import annotations

import hashlib
import io
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from gpulearn import require
from gpulearn.errors import DataError

SHA256 = "b3b9c8cc11d765ce4264d8748bf3edbafa5038d91c93cf713ddbd6ae8652b410"
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


def digits(held_out: str = "every fifth") -> Digits:
    """Load the digits, split into those to train on and those held out.

    The 13 people who wrote them follow one another in the data. So "every fifth" holds out
    digits of people whose other digits are trained on; "last writers", the last fifth in one
    piece, holds out people never seen in training, which is harder.

    Source: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine
    Learning Repository, 1998, https://doi.org/10.24432/C50P49 (CC BY 4.0).

    Args:
        held_out: "every fifth" or "last writers".

    Raises:
        BadInput: `held_out` is neither.
        DataError: the file in the package is not the one that was shipped.

    >>> digits()
    1,438 digits to train on, 359 held out; 8 × 8 pixels each
    """
    split = require.choice("split", held_out, ("every fifth", "last writers"))
    images, labels = _archive()
    number = np.arange(len(labels))
    test = number % 5 == 4 if split == "every fifth" else number >= len(labels) - len(labels) // 5
    return Digits(images[~test], labels[~test], images[test], labels[test])


def _archive() -> tuple[Array, Array]:
    content = resources.files("gpulearn.data").joinpath("digits.npz").read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise DataError(
            "digits.npz is not the file that came with gpulearn (its SHA-256 differs): "
            "install the package again."
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        images = archive["images"][:, np.newaxis].astype(np.float32) / BRIGHTEST
        return images, archive["labels"].astype(np.int64)
