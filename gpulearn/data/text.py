"""The course's text: Python's own reference manual, which comes with Python."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput, DataError
from gpulearn.require import shown

HELD_OUT = 10  # one part in ten


class Manual:
    """A text as numbers, one for each character.

    Attributes:
        characters: each that occurs, in order; a token is a place in it.
        train: (n,), int64: the tokens to train on.
        test: (m,), int64: those held out, the last tenth of the text.
    """

    def __init__(self, text: str) -> None:
        self.characters = "".join(sorted(set(text)))
        self._token = {character: token for token, character in enumerate(self.characters)}
        tokens = self.encode(text)
        held_out = len(tokens) // HELD_OUT
        self.train, self.test = tokens[:-held_out], tokens[-held_out:]

    def __repr__(self) -> str:
        return (
            f"{len(self.train):,} characters to train on, {len(self.test):,} held out; "
            f"{len(self.characters)} different ones"
        )

    def encode(self, text: str) -> np.ndarray[Any, Any]:
        """Each character's number: (len(text),), int64."""
        for character in text:
            if character not in self._token:
                raise BadInput(f"text has {shown(character)}, which the manual never uses.")
        return np.array([self._token[character] for character in text], dtype=np.int64)

    def decode(self, tokens: Any) -> str:
        """The text of tokens, an array or tensor (n,)."""
        return "".join(self.characters[int(token)] for token in tokens)

    def batch(self, rows: int, length: int, seed: int, part: str = "train") -> np.ndarray[Any, Any]:
        """Pieces of the text from random places: (rows, length + 1), int64.

        A row has one token more than the model sees, `length`: each token's successor is its
        target. The part is "train" or "test".
        """
        require.choice("part", part, ("train", "test"))
        tokens = self.train if part == "train" else self.test
        places = len(tokens) - require.whole("length", length)
        if places < 1:
            raise BadInput(f"length is {length}, but there are {len(tokens)} characters.")
        rng = np.random.default_rng(require.from_zero("seed", seed))
        starts = rng.integers(0, places, require.whole("rows", rows))
        pieces: np.ndarray[Any, Any] = tokens[starts[:, None] + np.arange(length + 1)]
        return pieces


@functools.cache
def manual() -> Manual:
    """Load the topics of Python's reference manual, as `help()` shows them, by their names.

    The text is that of the Python that runs, so its length differs a little between versions.
    """
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise DataError(
            "This Python came without its manual (the module pydoc_data): install the full "
            "standard library."
        ) from None
    return Manual("\n\n".join(topics[name] for name in sorted(topics)))
