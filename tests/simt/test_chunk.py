"""What a chunk of threads keeps of its indices."""

import numpy as np

from simt.core.chunk import IndexArrays


def test_what_is_known_of_an_index_is_of_no_other_array() -> None:
    """Arrays that are gone leave their ids to new ones."""
    known = IndexArrays()
    rng = np.random.default_rng(0)
    kept = [rng.integers(-2, 9, (2, 3)) for _ in range(9)]
    for _ in range(2000):
        index = kept[rng.integers(9)] if rng.random() < 0.5 else rng.integers(-2, 9, (2, 3))
        limit, step = int(rng.integers(1, 12)), int(rng.integers(2, 5))
        assert known.within(index, limit) == bool((index >= 0).all() and (index < limit).all())
        np.testing.assert_array_equal(known.times(index, step), index * step)
