"""Which part of an array each device of a mesh holds."""

from collections.abc import Mapping, Sequence

import numpy as np

Bounds = tuple[tuple[int, int], ...]


def device_shards(
    shape: Sequence[int], mesh: Mapping[str, int], spec: Sequence[str | None]
) -> list[Bounds]:
    """The part of an array on each device, as JAX's `NamedSharding` places it.

    The mesh maps the name of each axis to its number of devices, which are numbered row by row: the
    last axis varies fastest. The spec has for each axis of the array the name of the mesh axis that
    splits it evenly, or None; axes beyond its end are not split. Returns, for each device in order,
    (start, end) for each axis of the array.

    >>> device_shards((4, 6), {"data": 2, "model": 2}, ("data", None))
    [((0, 2), (0, 6)), ((0, 2), (0, 6)), ((2, 4), (0, 6)), ((2, 4), (0, 6))]
    """
    parts = []
    for place in np.ndindex(*mesh.values()):
        at = dict(zip(mesh, place, strict=True))
        bounds = []
        for number, length in enumerate(shape):
            axis = spec[number] if number < len(spec) else None
            size = length if axis is None else length // mesh[axis]
            start = 0 if axis is None else at[axis] * size
            bounds.append((start, start + size))
        parts.append(tuple(bounds))
    return parts
