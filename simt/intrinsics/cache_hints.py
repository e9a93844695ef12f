"""Accesses that say how a GPU is to cache them, such as `cuda.ldcs` and `cuda.stcg`.

Hints change no result: here they are accesses like others, and are counted as such.
"""

from __future__ import annotations

from typing import Any

from simt.core.registry import intrinsic
from simt.machine.machine import Machine


def _load(m: Machine, array: Any, i: Any) -> Any:
    """`array[i]`."""
    return m.load(array, i)


def _store(m: Machine, array: Any, i: Any, value: Any) -> None:
    """`array[i] = value`."""
    m.store(array, i, value)


for _name in ("ldca", "ldcg", "ldcs", "ldlu", "ldcv"):
    intrinsic(_name)(_load)
for _name in ("stcg", "stcs", "stwb", "stwt"):
    intrinsic(_name)(_store)
