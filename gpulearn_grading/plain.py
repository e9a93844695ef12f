"""Text that every file of results can hold, whatever a student has put into it."""

from __future__ import annotations

from gpulearn.require import shorten

FORMULA = tuple("=+-@＝＋－＠")  # how a formula begins; some spreadsheets take the wide ones too


def plain(text: str) -> str:
    """Text whose controls and halves of characters are written out, as in a string of Python's."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str, most: int) -> str:
    """Text on one line, cut to a length."""
    return shorten(plain(" ".join(text[: 4 * most].split())), most)


def cell(value: object) -> object:
    """A cell of a CSV that no spreadsheet takes for a formula."""
    if not isinstance(value, str):
        return value
    text = plain(value)
    return f"'{text}" if text.startswith(FORMULA) else text
