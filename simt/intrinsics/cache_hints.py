"""Accesses that say how a GPU is to cache them, such as `cuda.ldcs` and `cuda.stcg`.

Hints change no result: here they are accesses like others, and are counted as such.
"""

from simt.core.registry import intrinsic

for _name in ("ldca", "ldcg", "ldcs", "ldlu", "ldcv"):
    intrinsic(_name)(lambda m, array, i: m.load(array, i))
for _name in ("stcg", "stcs", "stwb", "stwt"):
    intrinsic(_name)(lambda m, array, i, value: m.store(array, i, value))
