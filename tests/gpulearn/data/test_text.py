"""The manual as tokens."""

import sys

import numpy as np
import pytest

from gpulearn.data.text import manual
from gpulearn.errors import BadInput, DataError


def test_tokens_are_the_characters_of_the_manual_in_their_order():
    text = manual()
    assert text.decode(text.train[:400]) == 'The "assert" statement\n'.join(
        ["", text.decode(text.train[23:400])]
    )
    assert len(set(text.characters)) == len(text.characters)
    assert text.decode(text.encode("for x in y:\n")) == "for x in y:\n"
    assert abs(len(text.test) / (len(text.train) + len(text.test)) - 0.1) < 1e-4


@pytest.mark.parametrize("part", ["train", "test"])
def test_a_batch_is_pieces_of_its_part(part):
    text = manual()
    batch, whole = text.batch(50, 30, 3, part), getattr(text, part)
    assert batch.shape == (50, 31)
    windows = np.lib.stride_tricks.sliding_window_view(whole, 31)
    for row in batch[:5]:
        assert (windows == row).all(axis=1).any()
    assert np.array_equal(batch, text.batch(50, 30, 3, part))
    assert not np.array_equal(batch, text.batch(50, 30, 4, part))


def test_what_cannot_be_is_said():
    with pytest.raises(BadInput, match="text has '☃', which the manual never uses"):
        manual().encode("a☃")
    with pytest.raises(BadInput, match="length is 10000000, but there are"):
        manual().batch(1, 10_000_000, 0)


def test_a_python_without_its_manual_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    manual.cache_clear()
    with pytest.raises(DataError, match="without its manual"):
        manual()
    manual.cache_clear()
