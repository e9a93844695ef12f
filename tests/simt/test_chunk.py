"""A chunk's threads and their memory, against one thread after another in plain Python."""

from typing import Any

import numpy as np
import pytest

from simt.core.chunk import Chunk, IndexArrays, Write
from simt.core.findings import FindingLog
from simt.core.memory import gather
from simt.core.source import read
from simt.machine.spaces import Spaces


def nothing():
    pass


def chunk(blocks: int, threads: int) -> Chunk:
    numbers = np.arange(3, 3 + blocks)
    return Chunk(read(nothing), (blocks + 9, 1, 1), (threads, 1, 1), numbers, FindingLog())


def some(rng: np.random.Generator, m: Chunk, limit: int) -> Any:
    """A number for all, for each thread of a block, for each block, or for each thread."""
    shapes = [(), (1, m.threads), (m.blocks, 1), (m.blocks, m.threads)]
    found = rng.integers(0, limit, shapes[rng.integers(4)])
    return found if found.ndim else int(found)


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("space", ["shared", "local"])
@pytest.mark.parametrize("kind", ["float32", "int64", "int8"])
def test_what_is_written_is_read(kind: str, space: str, columns: bool) -> None:
    rng = np.random.default_rng(len(kind) + len(space) + columns)
    for _ in range(60):
        m = chunk(int(rng.integers(1, 5)), int(rng.integers(1, 7)))
        view = Spaces(0, whole_grid=False).private(
            m, space, (9,), np.dtype(kind), "s", columns=columns
        )
        wide = m.blocks, m.threads
        own = np.arange(m.blocks)[:, None] if space == "shared" else np.arange(wide[0] * wide[1])
        own = np.broadcast_to(own.reshape(-1, 1) if space == "shared" else own.reshape(wide), wide)
        memory: dict[tuple[int, int], Any] = {}
        for _ in range(5):
            slot, value = some(rng, m, 9), some(rng, m, 99)
            mask = some(rng, m, 2)
            m.mask = mask > 0 if isinstance(mask, np.ndarray) else None
            active = np.broadcast_to(True if m.mask is None else m.mask, wide)
            slots, values = np.broadcast_to(slot, wide), np.broadcast_to(value, wide)
            Write(m, view, slot, value).carry_out()
            for at in zip(*np.nonzero(active), strict=True):
                memory[int(own[at]), int(slots[at])] = values[at]
            found = np.broadcast_to(gather(view, slot, m.lane_base(view)), wide)
            for at in np.ndindex(wide):
                place = int(own[at]), int(slots[at])
                if place in memory:
                    assert found[at] == memory[place]


def test_threads_that_do_the_same_in_each_block() -> None:
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        m = chunk(int(rng.integers(1, 4)), int(rng.integers(1, 6)))
        view = Spaces(0, whole_grid=False).private(
            m, "shared", (9,), np.dtype("float32"), "s", columns=True
        )
        slot, mask = some(rng, m, 9), some(rng, m, 2)
        m.mask = mask > 0 if isinstance(mask, np.ndarray) else None
        found = m.in_each_block(view, slot, m.mask)
        seen.add(found is None)
        lane, slots = m.active_slots(view, slot, m.mask)
        if found is not None:
            threads, own = found
            first = np.arange(m.blocks)[:, None]
            np.testing.assert_array_equal(lane, (first * m.threads + threads).ravel())
            np.testing.assert_array_equal(slots, (first + own * m.blocks).ravel())
    assert seen == {True, False}


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
