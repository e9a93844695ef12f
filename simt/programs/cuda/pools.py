"""Memory pools: from which one `cudaMallocAsync` takes, and what a program asks of them."""

from dataclasses import dataclass, field

from simt.programs.cuda.copies import CopyCalls
from simt.programs.cuda.errors import ApiError
from simt.programs.cuda.memory import Piece
from simt.programs.cuda.state import Answer

DEFAULT_POOL = 1 << 11  # below all handles
# cudaMemPoolAttr: before these, how memory that was freed may be used again
THRESHOLD, RESERVED, RESERVED_HIGH, USED, USED_HIGH = range(4, 9)
NAMES = {RESERVED: "cudaMemPoolAttrReservedMemCurrent", USED: "cudaMemPoolAttrUsedMemCurrent"}


@dataclass(eq=False)
class MemoryPool:
    """A pool: bytes that it keeps beyond what is in use, and the marks that a program can ask.

    What is freed counts as released, down to the threshold, when the host has waited; here that is
    at once.
    """

    most: int = 0  # bytes in use at once; 0: as many as the device has
    kept: int = 0  # that have been freed and not released
    used_high: int = 0
    reserved_high: int = 0
    options: dict[int, int] = field(default_factory=lambda: {1: 1, 2: 1, 3: 1, THRESHOLD: 0})


class PoolCalls(CopyCalls):
    """`cudaMallocAsync` and `cudaMemPool…`."""

    def _pool(self, handle: int) -> MemoryPool:
        pools = self._pools
        if not pools:
            pools[DEFAULT_POOL] = MemoryPool()
        pool = pools.get(handle or self._current_pool or DEFAULT_POOL)
        if pool is None:
            raise ApiError(f"there is no memory pool {handle:#x}")
        assert isinstance(pool, MemoryPool)
        return pool

    def _used(self, pool: MemoryPool) -> int:
        return sum(b.size for b in self.memory.blocks.values() if b.pool is pool)

    def do_malloc_async(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaMallocAsync(size, stream)`, or from a pool: memory from this point on."""
        pool, size = self._pool(values[2]), values[0]
        if pool.most and self._used(pool) + size > pool.most:
            raise ApiError(
                f"{size:,} bytes are asked for, and {pool.most - self._used(pool):,} of "
                f"{pool.most:,} are free in this pool",
                "cudaErrorMemoryAllocation",
            )
        stream, answer = self._stream(values[1]), self.do_malloc(line, values, payload)
        block = self.memory.at(answer.value)
        if block is not None:
            self.taken(block, stream)
            block.pool = pool
            used = self._used(pool)
            pool.kept = max(pool.kept - size, 0)
            pool.used_high = max(pool.used_high, used)
            pool.reserved_high = max(pool.reserved_high, used + pool.kept)
        return answer

    def _given_back(self, block: Piece, line: int) -> None:
        super()._given_back(block, line)
        pool = block.pool
        if isinstance(pool, MemoryPool):
            keeps = max(pool.options[THRESHOLD] - self._used(pool), 0)
            pool.kept = min(pool.kept + block.size, keeps)

    def do_pool(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The default pool (0), the device's current one (1), or a new one (2)."""
        self._pool(0)
        if values[0] == 2:
            handle = next(self._handles)
            self._pools[handle] = MemoryPool(values[1])
            return Answer(handle)
        return Answer(self._current_pool or DEFAULT_POOL if values[0] else DEFAULT_POOL)

    def do_use_pool(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaDeviceSetMemPool`: where `cudaMallocAsync` takes memory from now on."""
        self._pool(values[0])
        self._current_pool = values[0]

    def do_no_pool(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaMemPoolDestroy`: what it has given stays until it is freed."""
        self._pool(values[0])
        if values[0] in (0, DEFAULT_POOL):
            raise ApiError("the default memory pool cannot be destroyed")
        del self._pools[values[0]]
        if self._current_pool == values[0]:
            self._current_pool = 0

    def do_set_pool(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaMemPoolSetAttribute(pool, attribute, value)`."""
        pool, (_, which, value, *_) = self._pool(values[0]), values
        if which in pool.options:
            pool.options[which] = value
        elif which in (RESERVED_HIGH, USED_HIGH) and value == 0:
            used = self._used(pool)
            if which == USED_HIGH:
                pool.used_high = used
            else:
                pool.reserved_high = used + pool.kept
        else:
            raise ApiError(f"{_named(which)} of a memory pool is set to {value:,}")

    def do_ask_pool(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaMemPoolGetAttribute(pool, attribute)`."""
        pool, which = self._pool(values[0]), values[1]
        used = self._used(pool)
        marks = {
            RESERVED: used + pool.kept, RESERVED_HIGH: pool.reserved_high, USED: used,
            USED_HIGH: pool.used_high,
        }  # fmt: skip
        if which not in marks and which not in pool.options:
            raise ApiError(f"a memory pool is asked for {_named(which)}")
        return Answer(marks[which] if which in marks else pool.options[which])

    def do_trim_pool(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaMemPoolTrimTo`: releases what it keeps, down to so many bytes in all."""
        pool = self._pool(values[0])
        pool.kept = min(pool.kept, max(values[1] - self._used(pool), 0))


def _named(attribute: int) -> str:
    return NAMES.get(attribute, f"attribute {attribute}")
