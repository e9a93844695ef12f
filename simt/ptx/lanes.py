"""What threads do together: barriers, fences, shuffles, votes, matches; printing and asserting."""

import re
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from simt.core.findings import Finding, Stop
from simt.core.masks import EMPTY, Mask, split
from simt.core.memory import Allocation
from simt.core.registry import INTRINSICS
from simt.intrinsics import sync, warps
from simt.machine.spaces import TooLarge
from simt.observers.initialized import WriteMap
from simt.ptx.mbarriers import Mbarriers
from simt.ptx.parse import not_covered

Lanes = Any
WARP = 32
HEAP = 1 << 28  # bytes that kernels can take by malloc
SHUFFLES = {
    "up": "shfl_up_sync", "down": "shfl_down_sync", "bfly": "shfl_xor_sync", "idx": "shfl_sync",
}  # fmt: skip
VOTES = {"ballot": "ballot_sync", "any": "any_sync", "all": "all_sync", "uni": "eq_sync"}
GRID_BARRIER = "cudaCGSynchronize"
INTRINSIC_HANDLES = ("cudaCGGetIntrinsicHandle",)
REDUCE: dict[str, Any] = {
    "add": np.add, "min": np.minimum, "max": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def _plain(mask: Lanes) -> Any:
    """A mask that all threads share as a number, as the SIMT machine has it."""
    return int(mask[0, 0]) if mask.size == 1 else mask


class WarpOperations(Mbarriers):
    """The instructions by which threads synchronize or exchange values."""

    params: list[dict[str, dict[int, Any]]]
    registers: dict[str, Lanes]  # special ones
    arrivals: dict[int, tuple[Any, Any]]  # to a barrier of some threads: who, and who of them waits
    spinning: tuple[int, Mask] | None  # where a turn of a loop changed nothing last, and whose

    # --- barriers

    def sync_threads(self) -> None:
        """`bar.sync 0`, C++'s `__syncthreads()`."""
        sync.barrier(self)
        self.notify(self.copies)

    def sync_threads_with(self, mode: str, predicate: Lanes) -> Lanes:
        """`bar.red`: a barrier that counts or combines the predicates of its threads."""
        name = {"popc": "count", "and": "and", "or": "or"}[mode]
        result = np.asarray(INTRINSICS[f"syncthreads_{name}"].run(self, self.rely(predicate)))
        result = result.reshape(-1, 1)
        return result.astype(np.uint32) if mode == "popc" else result.astype(bool)

    def come_to(self, number: int, count: int, *, arrive: bool, whole: bool) -> bool:
        """`bar.sync a, n` and `bar.arrive a, n`: a barrier of n threads of a block, by its number.

        Whether the threads that come may go on: those that only arrive do, and the last. `whole`:
        it names no n, and threads come to it together unless some have waited in a loop.
        """
        mine = self.spread(True if self.mask is None else self.mask)
        if whole and self.spinning is None:
            self.sync_threads()
            return True
        if whole:
            mine = mine | sync.returned(self)
        if count == self.threads and mine.all() and not arrive:
            self.sync_threads()
            return True
        if self.blocks > 1:
            if self.program.cooperative:
                raise not_covered("a barrier of some threads beside one of the whole grid")
            raise TooLarge(1)  # one block after the other
        for callback in self.events.arrive:
            callback(self)
        arrived, waiting = self.arrivals.pop(number, (False, False))
        arrived, waiting = arrived | mine, waiting | (mine & (not arrive))
        total = int(arrived.sum())
        if total > count:
            message = f"{total} threads come to barrier {number}, which is one of {count}"
            raise self.stop("barrier-divergence", message, *self.who(self.mask))
        if total < count:
            self.arrivals[number] = arrived, waiting
            return arrive
        for callback in self.events.gathered:
            callback(self, arrived, waiting)
        self.notify(self.copies)
        return True

    def make_grid_barrier(self) -> None:
        """The word by which the blocks of a cooperative launch wait for each other.

        Cooperative groups find its address in two registers, the upper half in the first.
        """
        word = Allocation("global", np.zeros(16, np.uint8))
        self.tables["global"][word.address >> 40] = word
        self.names[word.number] = "the grid's barrier"
        halves = np.array([word.address >> 32, word.address & 0xFFFFFFFF], np.uint32)
        self.registers["%envreg1"], self.registers["%envreg2"] = halves.reshape(2, 1, 1)

    def trapped(self, who: Any) -> Stop:
        """The error for threads that trap, as at a barrier of the grid that cannot work."""
        message = "a thread ends the kernel by a trap"
        if "%envreg1" in self.registers and not self.program.cooperative:
            message = (
                "a barrier of the whole grid needs a launch that puts all blocks on the GPU at "
                f"once: {self.program.source.together}"
            )
        return self.stop("exception", message, *self.who(who))

    def sync_warp(self, mask: Lanes) -> None:
        """`bar.warp.sync`, C++'s `__syncwarp()`."""
        INTRINSICS["syncwarp"].run(self, _plain(mask))

    fence = sync.fence  # `membar`, C++'s `__threadfence()` and its kin

    # --- the lanes of a warp

    def shuffle(
        self, mode: str, value: Lanes, lane: Lanes, clamp: Lanes, mask: Lanes
    ) -> tuple[Lanes, Lanes]:
        """`shfl.sync`: the value of another lane, and whether it was in range.

        A lane that asks beyond its segment keeps its own.
        """
        warps.meet(self, _plain(mask), SHUFFLES[mode])
        mine = np.arange(WARP)
        b, c = (warps.warp_rows(self, x).astype(np.int64) for x in (lane, clamp))
        b &= 31
        segment, end = (c >> 8) & 31, c & 31
        top = (mine & segment) | (end & ~segment)
        source = {
            "up": mine - b, "down": mine + b, "bfly": mine ^ b,
            "idx": (mine & segment) | (b & ~segment),
        }[mode]  # fmt: skip
        valid = source >= top if mode == "up" else source <= top
        source = np.where(valid, source, mine)
        result = warps.taken(self, value, source, _plain(mask), SHUFFLES[mode])
        return result, warps.from_rows(self, valid)

    def vote(self, mode: str, predicate: Lanes, mask: Lanes) -> Lanes:
        """`vote.sync`."""
        vote = INTRINSICS[VOTES[mode]].run
        result = np.asarray(vote(self, _plain(mask), self.rely(predicate)))
        if result.ndim < 2:
            result = result.reshape(1, 1)
        return result.astype(np.uint32) if mode == "ballot" else result

    def match(self, mode: str, value: Lanes, mask: Lanes) -> tuple[Lanes, Lanes]:
        """`match.sync`: the lanes with the same value; for all, and whether they have it."""
        value = self.rely(value)
        if mode == "any":
            lanes = INTRINSICS["match_any_sync"].run(self, _plain(mask), value)
            return lanes.astype(np.uint32), np.ones((1, 1), bool)
        lanes, agree = INTRINSICS["match_all_sync"].run(self, _plain(mask), value)
        return lanes.astype(np.uint32), agree

    def redux(self, name: str, value: Lanes, mask: Lanes) -> Lanes:
        """`redux.sync`: of all lanes in the mask the sum, the least, or the bits."""
        warps.meet(self, _plain(mask), "reduce_sync")
        rows = warps.warp_rows(self, self.rely(value))
        masks = warps.warp_rows(self, mask).astype(np.int64)
        bit = (masks[:, :, None] >> np.arange(WARP)) & 1
        here = warps.taking_part(self, _plain(mask))
        if name in ("min", "max"):
            info = np.iinfo(rows.dtype)
            nothing = info.max if name == "min" else info.min
        else:
            nothing = -1 if name == "and" else 0
        filler = np.array(nothing).astype(rows.dtype)
        selected = np.where((bit != 0) & here[:, None, :], rows[:, None, :], filler)
        return warps.from_rows(self, REDUCE[name].reduce(selected, axis=2, dtype=rows.dtype))

    def active_mask(self) -> Lanes:
        """`activemask`."""
        return np.asarray(INTRINSICS["activemask"].run(self)).astype(np.uint32)

    # --- functions of the system

    def system(self, name: str, results: list[str], arguments: list[str]) -> None:
        """A function that is not in the program: printf, assert, malloc, the grid's barrier."""
        params = self.params[-1]
        answer = {0: np.zeros((1, 1), np.uint64)}
        if name == "malloc":
            answer = {0: self._take(params[arguments[0]][0])}
        elif name == "free":
            self._give_back(params[arguments[0]][0])
        elif name == "vprintf":
            self._print(*(params[g][0] for g in arguments))
        elif name == "__assertfail":
            self._fail(params, arguments)
        elif name == GRID_BARRIER:
            machine: Any = self
            sync.GridGroup().kernel_sync(machine)
        elif name not in INTRINSIC_HANDLES:
            raise not_covered(f"a call of {name}", self.here())
        for result in results:
            params[result] = answer

    def _take(self, sizes: Lanes) -> Lanes:
        """`malloc` of each active thread: addresses, 0 where the heap has no room."""
        addresses = np.zeros((self.blocks, self.threads), np.uint64)
        heap = self.program.memory.heap
        for lane in self.lanes(self.mask).tolist() if self.mask is not EMPTY else ():
            size = int(self.spread(sizes).ravel()[lane])
            if size + sum(len(a.data) for a in heap.values()) > HEAP:
                continue
            allocation = Allocation("global", np.full(-(-max(size, 1) // 16) * 16, 0, np.uint8))
            allocation.data = allocation.data[: max(size, 1)]
            allocation.written = WriteMap(size, 1)
            number = allocation.address >> 40
            heap[number] = self.tables["global"][number] = allocation
            self.names[allocation.number] = "heap"
            addresses.ravel()[lane] = allocation.address
        return addresses

    def _give_back(self, addresses: Lanes) -> None:
        """`free` of each active thread."""
        if self.mask is EMPTY:
            return
        for address in self.active_values(addresses, self.lanes(self.mask)).tolist():
            number = int(address) >> 40
            if self.program.memory.heap.pop(number, None) is not None:
                del self.tables["global"][number]
            elif address:
                who = self.who(self.mask)
                message = f"{self.text(who[0])} frees {address:#x}, where malloc has given nothing"
                raise self.stop("out-of-bounds", message, *who)

    def _string(self, lane: int, address: int) -> str:
        """The string at an address, which may be in the thread's own memory."""
        with suppress(KeyError):
            return text_at(self.tables, address)
        before, text, where = self.mask, bytearray(), np.array([[address]], np.uint64)
        self.mask = (np.arange(self.blocks * self.threads) == lane).reshape(self.blocks, -1)
        while not text.endswith(b"\0"):
            byte = self.rely(self.load("generic", where, len(text), np.dtype(np.uint8), 1))
            text.append(self.spread(byte).ravel()[lane])
        self.mask = before
        return text[:-1].decode(errors="replace")

    def _print(self, form: Lanes, arguments: Lanes) -> None:
        """C's printf, thread by thread."""
        if self.mask is EMPTY:
            return
        before = self.mask
        for address in np.unique(self.active_values(form, self.lanes(before))).tolist():
            pieces, values = conversions(text_at(self.tables, int(address))), []
            here, _ = split(before, form.view(np.int64) == int(address))
            if here is EMPTY:
                continue
            self.mask = here
            for _, conversion, offset, size in pieces:
                if conversion:
                    dtype = np.dtype(f"i{size}")
                    loaded = self.rely(self.load("generic", arguments, offset, dtype, 1))
                    values.append(self.spread(loaded).ravel())
            for lane in self.lanes(here).tolist():
                bits = [int(v[lane]) for v in values]
                print(formatted(pieces, bits, partial(self._string, lane)), end="")
        self.mask = before

    def _fail(self, params: dict[str, dict[int, Any]], arguments: list[str]) -> None:
        if self.mask is EMPTY:
            return
        lane = int(self.lanes(self.mask)[0])
        assertion = text_at(self.tables, int(self.spread(params[arguments[0]][0]).ravel()[lane]))
        who = self.thread_name(lane)
        message = f"{self.text(who)} fails the assertion `{assertion}`"
        raise Stop(Finding("exception", self.here(), message, [who]))


def text_at(tables: dict[str, dict[int, Allocation]], address: int) -> str:
    """The string at an address of global or constant memory; KeyError if it is another."""
    allocation = tables["global"].get(address >> 40) or tables["const"][address >> 40]
    start = address & ((1 << 40) - 1)
    return bytes(allocation.data[start:]).split(b"\0")[0].decode(errors="replace")


def conversions(text: str) -> list[tuple[str, str, int, int]]:
    """A format as texts, each with the conversion behind it, its value's place, its bytes."""
    parts = re.split(r"(%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z|j|t)?[diuoxXfFeEgGaAcspn]|%%)", text)
    pieces, offset = [], 0
    for literal, form in zip(parts[::2], [*parts[1::2], ""], strict=True):
        if form in ("", "%%"):
            pieces.append((literal + form[1:], "", offset, 0))
            continue
        size = 8 if form[-1] in "fFeEgGaAsp" or "l" in form or "z" in form else 4
        offset = -(-offset // size) * size
        pieces.append((literal, form, offset, size))
        offset += size
    return pieces


def formatted(
    pieces: list[tuple[str, str, int, int]], values: list[int], text: Callable[[int], str]
) -> str:
    """What printf makes of a format and the bits of its values; `text` is at an address."""
    out, rest = [], iter(values)
    for literal, form, _, size in pieces:
        out.append(literal)
        if not form:
            continue
        bits, kind = next(rest), form[-1]
        plain = re.sub(r"(hh|h|ll|l|z|j|t)(?=\w$)", "", form)
        if kind in "fFeEgGaA":
            out.append(plain % struct.unpack("<d", struct.pack("<q", bits)))
        elif kind == "s":
            out.append(plain % text(bits))
        elif kind == "p":
            out.append(hex(bits))
        elif kind == "c":
            out.append(plain % chr(bits & 255))
        else:
            whole = bits % (1 << 8 * size) if kind in "uxXo" else bits
            out.append((plain[:-1] + ("d" if kind == "u" else kind)) % whole)
    return "".join(out)
