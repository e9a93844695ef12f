"""Overload resolution: which of a function's signatures Numba chooses for the types of a call.

A table of signatures is a text such as `"ll>l ff>f dd>d"`: operands, `>`, results, each type
one letter. Numba takes the signature that needs the fewest unsafe conversions, then the
fewest safe ones, then the fewest promotions; of equal ones the first.
"""

import itertools
from functools import cache
from typing import Any

import numpy as np

Types = tuple[np.dtype[Any], ...]

_LETTERS = {
    letter: np.dtype(name)
    for letter, name in {
        "?": "bool", "b": "int8", "h": "int16", "i": "int32", "l": "int64",
        "B": "uint8", "H": "uint16", "I": "uint32", "L": "uint64",
        "e": "float16", "f": "float32", "d": "float64", "F": "complex64", "D": "complex128",
    }.items()
}  # fmt: skip
_PROMOTION, _SAFE, _UNSAFE = 1, 2, 3
# a conversion of each pair is of this kind, and back an unsafe one
_PROMOTIONS = "bh hi il BH HI IL ef fd FD"
_SAFE_ONES = "?b ?B Bh Hi Il be hf id ld Ld"
_UNSAFE_ONES = "he if"
_ONE_WAY = "fF dD"  # a complex number never becomes a real one


@cache
def _conversions() -> dict[tuple[np.dtype[Any], np.dtype[Any]], int]:
    """The kind of conversion between two types: that of the worst step of the best way."""
    kind = {(a, a): 0 for a in _LETTERS}
    for pairs, forth in ((_PROMOTIONS, _PROMOTION), (_SAFE_ONES, _SAFE), (_UNSAFE_ONES, _UNSAFE)):
        for pair in pairs.split():
            kind[pair[0], pair[1]], kind[pair[1], pair[0]] = forth, _UNSAFE
    kind.update(((pair[0], pair[1]), _SAFE) for pair in _ONE_WAY.split())
    for by, a, b in itertools.product(_LETTERS, repeat=3):
        if (a, by) in kind and (by, b) in kind:
            kind[a, b] = min(kind.get((a, b), _UNSAFE), max(kind[a, by], kind[by, b]))
    return {(_LETTERS[a], _LETTERS[b]): k for (a, b), k in kind.items()}


@cache
def choose(table: str, actual: Types) -> tuple[Types, Types]:
    """The types of operands and results of a table's best signature for a call.

    >>> choose("l>d f>f d>d", (np.dtype("int16"),))
    ((dtype('int64'),), (dtype('float64'),))
    """
    conversions = _conversions()
    rated = []
    for signature in table.split():
        operands, results = (
            tuple(_LETTERS[letter] for letter in part) for part in signature.split(">")
        )
        if len(operands) != len(actual):
            continue
        kinds = [conversions.get(pair) for pair in zip(actual, operands, strict=True)]
        if None not in kinds:
            cost = tuple(kinds.count(k) for k in (_UNSAFE, _SAFE, _PROMOTION))
            rated.append((cost, operands, results))
    if not rated:
        text = " and ".join(map(str, actual))
        raise TypeError(f"{text} is not a number that it takes")
    _, operands, results = min(rated, key=lambda r: r[0])
    return operands, results
