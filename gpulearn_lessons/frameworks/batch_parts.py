"""Which part of an array each device of a mesh holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

Bounds = tuple[tuple[int, int], ...]


def device_shards(
    shape: Sequence[int], mesh: Mapping[str, int], spec: Sequence[str | None]
) -> list[Bounds]:
    """The part of an array on each device, as JAX's `NamedSharding` deals it out.

    The mesh maps the name of each axis to how many devices lie along it; devices are numbered row
    by row, so that the last axis counts fastest. The spec names for each axis of the array the axis
    of the mesh that cuts it, without a remainder, or None; axes that it does not reach are not cut.
    Returned is for each device, in order, (start, end) for each axis of the array.

    >>> device_shards((4, 6), {"data": 2, "model": 2}, ("data", None))
    [((0, 2), (0, 6)), ((0, 2), (0, 6)), ((2, 4), (0, 6)), ((2, 4), (0, 6))]
    """
    found = []
    for place in np.ndindex(*mesh.values()):
        at = dict(zip(mesh, place, strict=True))
        bounds = []
        for number, length in enumerate(shape):
            axis = spec[number] if number < len(spec) else None
            size = length if axis is None else length // mesh[axis]
            start = 0 if axis is None else at[axis] * size
            bounds.append((start, start + size))
        found.append(tuple(bounds))
    return found
