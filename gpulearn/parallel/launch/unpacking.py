"""Loads what travelled, and leaves the notebook's own classes as they are."""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any

from cloudpickle import cloudpickle

from gpulearn.errors import RankError

__all__ = ["own_copy", "results_of"]

MAKERS = ("_make_skeleton_class", "_make_skeleton_enum")


class _Unpickler(pickle.Unpickler):
    """Knows a class of the notebook by the number that `cloudpickle` gave it.

    `cloudpickle` would write the attributes of the class that travelled over those of the one
    that is here: counters, and methods, which then see another's global names.
    """

    def __init__(self, payload: bytes, copies: bool) -> None:
        super().__init__(io.BytesIO(payload))
        self._copies = copies
        self._known: set[type] = set()

    def find_class(self, module: str, name: str) -> Any:
        """What a name in the payload stands for."""
        found = super().find_class(module, name)
        if module == cloudpickle.__name__ and name in MAKERS:
            return functools.partial(self._make, found)
        if module == cloudpickle.__name__ and name == "_class_setstate":
            return functools.partial(self._fill, found)
        return found

    def _make(self, make: Callable[..., type], *described: Any) -> type:
        *what, number, extra = described
        if self._copies:
            made = make(*what, None, extra)
            # on its way back it is the notebook's again
            cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS[made] = number
            return made
        known = number in cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID
        made = make(*described)
        if known:
            self._known.add(made)
        return made

    def _fill(self, fill: Callable[[type, Any], type], made: type, state: Any) -> type:
        return made if made in self._known else fill(made, state)


def own_copy(payload: bytes) -> Any:
    """Load for a simulated rank: with copies of the notebook's classes, which are its own."""
    return _Unpickler(payload, copies=True).load()


def results_of(payloads: Sequence[bytes]) -> list[Any]:
    """Load what ranks returned; an object of a class of the notebook is one of that class.

    Raises:
        RankError: a result cannot be loaded.
    """
    results = []
    for rank, payload in enumerate(payloads):
        try:
            results.append(_Unpickler(payload, copies=False).load())
        except Exception as error:
            raise RankError(
                f"what rank {rank} returned cannot be loaded here ({type(error).__name__}: "
                f"{error}): return numbers, arrays, tensors or lists of them"
            ) from None
    return results
