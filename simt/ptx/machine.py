"""The executor of PTX: a chunk of blocks, whose threads run in lockstep under a mask.

A branch narrows the mask to one side, then to the other; where both meet (see `flow`) it is what
it was before.
"""

import functools
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import numpy as np

from simt.core.findings import Stop
from simt.core.masks import EMPTY, DivergentExits, Mask, split, union
from simt.core.memory import Allocation
from simt.core.source import LINE_BITS
from simt.machine.control_flow import waiting
from simt.ptx.child_grids import DeviceRuntime
from simt.ptx.flow import END
from simt.ptx.program import PtxProgram
from simt.ptx.textures import TextureAccess
from simt.ptx.translate import Block, Code
from simt.ptx.ways import go_ahead, go_on, leaf, on_top, same, take_turns, wait

Triple = tuple[int, int, int]
Lanes = Any
STALLED = 16  # stands for a barrier, beyond those that have numbers
WATCH_INTERVAL, FIRST_WATCH = 512, 16  # loop iterations between two watches, before the first


class PtxMachine(DeviceRuntime, TextureAccess):
    """Executes one chunk of blocks."""

    STEPS = "steps"

    def __init__(self, program: PtxProgram, *where: Any, dynamic: int, **options: Any) -> None:
        super().__init__(program, *where, dynamic=dynamic, **options)
        self.dynamic = dynamic
        self.frames = [DivergentExits()]
        self.registers: dict[str, Lanes] = {}  # special ones
        self.arrivals = {}
        self.turns = 0  # of loops
        self.stalled_since = -1  # stores when threads last tried their mbarriers again
        self.sample: tuple[Any, ...] = ()  # where a turn began, and with what
        self.spinning = None

    def start(self, codes: dict[str, Code], values: dict[str, bytes], memory: Any) -> None:
        """Carries the kernel out: `values` are its parameters as bytes, `memory` its arrays."""
        self.line = self.source.unit << LINE_BITS
        self.codes, self._values = codes, values
        tables: dict[str, dict[int, Allocation]] = {"shared": {}, "local": {}, **memory.tables}
        self.limits = {}
        self.prepare(tables, dict(memory.names))
        for number, array in self.program.own_arrays:
            self.own_array(array, number, columns=self.program.columns[array.space])
            if array.space == "shared":
                allocation = self.tables["shared"][number]
                self.limits[allocation.number] = array.size or self.dynamic
        if self.program.cooperative:
            self.make_grid_barrier()
        self.call(self.program.kernel_name, [], [])

    # --- progress

    def flop(self, value: Lanes) -> None:
        """Notifies observers of a floating-point operation."""
        for callback in self.events.operation:
            callback(self, value)

    def run(self, code: Code) -> None:
        """Carries a function out for the active threads, until all have come to its end."""
        registers = list(code.registers)
        entered, seen = self.mask, 0
        gone: Mask = EMPTY
        leavers = self.frames[0]
        stack: list[list[Any]] = [[0, END, entered, 0]]  # where, until where, who, what they know
        blocks, dies = code.blocks, code.graph.dies
        kernel = code.function.entry
        while stack:
            top = stack[-1]
            at, meet, mask, version = top[:4]
            if at < END:
                self._let_others_go_on(stack, code)
                continue
            if at in (meet, END):
                stack.pop()
                continue
            if version != seen:
                mask, top[3] = split(mask, ~gone)[0] if gone is not None else EMPTY, seen
                top[2] = mask
                if mask is EMPTY:
                    stack.pop()
                    continue
            self.mask = mask
            self.merge = None if len(stack) == 1 else mask
            self.step()
            block = blocks[at]
            condition = block.run(self, registers)
            end = block.end
            if not end:
                top[0] = block.after
            elif end == "bra" and not block.guarded:
                top[0] = block.targets[0]
                if dies(top[0]):
                    continue
            elif end in ("bar", "barrier"):
                self._gather(stack, block, *condition)
                continue
            elif end in ("bra", "brx"):
                ended = self._branch(stack, block, condition, dies)
                if ended is not EMPTY:
                    gone, seen = _with(gone, ended, self), seen + 1
                    if kernel:
                        self._leave(ended, block.place, falls=True)
            else:  # ret, exit
                ended = split(mask, self.rely(condition))[0] if block.guarded else mask
                top[0] = block.after
                if ended is not EMPTY:
                    gone, seen = _with(gone, ended, self), seen + 1
                    if end == "trap":
                        raise self.trapped(ended)
                    if kernel or end == "exit":
                        self._leave(ended, block.place, falls=False)
            if stack and END < stack[-1][0] <= at:
                if self.stalled:
                    self.stalled = False
                    wait(stack[-1], STALLED, stack[-1][0])
                    continue
                take_turns(stack)
                self._count_turn(stack, registers, code)
        self.mask = entered
        exited = leavers.left
        if not kernel and exited is not EMPTY:
            self.mask = EMPTY if exited is None else split(entered, ~exited)[0]

    def _gather(
        self, stack: list[list[Any]], block: Block, number: Lanes, count: Lanes, arrive: bool
    ) -> None:
        """The top way's threads come to a barrier of some threads of their block, or to several."""
        top, lanes = stack[-1], self.lanes(self.mask)
        at, top[0] = top[0], block.after
        values = (number, self.threads if count is None else count)
        ids, sizes = (np.unique(self.active_values(x, lanes)).tolist() for x in values)
        if len(ids) > 1:
            parts = [split(self.mask, np.asarray(number == i))[0] for i in ids]
            stack.extend([at, block.after, part, top[3]] for part in parts)
        elif not self.come_to(ids[0], sizes[0], arrive=arrive, whole=count is None):
            wait(top, ids[0], block.after)
        elif ids[0] not in self.arrivals:
            go_on(stack, ids[0])

    def _let_others_go_on(self, stack: list[list[Any]], code: Code) -> None:
        """The uppermost way waits at a barrier: another one takes its place."""
        other = leaf(stack)
        if other is not None:
            on_top(stack, other)
            return
        if go_ahead(stack, code.graph.meets, self.spread):
            return
        blocked = [way[2] for way in stack if way[0] < END]
        if go_on(stack, STALLED):
            if self.stalled_since == self.written:
                raise self.waits_for_ever() if self.stalled_at else self._spins_for_ever(blocked)
            self.stalled_since, self.stalled_at = self.written, ()  # until one stalls again
            return
        number, (came, waiters) = next((n, b) for n, b in self.arrivals.items() if b[1].any())
        who = self.who(waiters)
        message = (
            f"{self.text(who[0])} waits forever at barrier {number}: {int(came.sum())} threads "
            "have come there, and no other comes before this one goes on"
        )
        raise self.stop("barrier-divergence", message, *who)

    def _spins_for_ever(self, blocked: list[Mask]) -> Stop:
        """The error for a loop that waits when nobody is left to end it, or only its own warp."""
        self.line, spinning = self.spinning or (self.line, self.mask)
        self.mask = functools.reduce(union, blocked)
        return self.stop("no-progress", waiting(self, others_go_on=True), *self.who(spinning))

    def _count_turn(self, stack: list[list[Any]], registers: list[Any], code: Code) -> None:
        """Counts an iteration of a loop, and now and then checks whether one changes anything."""
        at, depth = stack[-1][0], len(stack)
        self.turns += 1
        if self.turns >= FIRST_WATCH and at not in code.graph.ends:
            message = "this loop never ends: nothing in it leads out"
            raise self.stop("no-progress", message, *self.who(self.mask))
        doubled = self.turns >= FIRST_WATCH and not self.turns & (self.turns - 1)
        if doubled or self.turns % WATCH_INTERVAL == 0:
            self.watching = True  # from now on, only changes count
            self.sample = at, depth, registers, list(registers), self.mask, self.written
        elif self.watching and self.sample[:2] == (at, depth) and self.sample[2] is registers:
            _, _, _, before, mask, written = self.sample
            if self.written == written and all(map(same, [mask, *before], [self.mask, *registers])):
                if self.blocks > 1:  # which the launcher tries one by one then
                    raise self.stop("no-progress", waiting(self), *self.who(mask))
                self.spinning = self.line, mask
                wait(stack[-1], STALLED, at)  # others go on, and may change what it waits for
            self.watching = self.spinning is not None

    def _leave(self, who: Mask, place: int, *, falls: bool) -> None:
        """Notes who left the kernel; whoever only comes to its end has not left it early."""
        if falls and not self.program.returns:
            return
        leavers = self.frames[0].exits
        leavers[place] = union(leavers.get(place, EMPTY), who)

    def _branch(
        self, stack: list[list[Any]], block: Block, condition: Lanes, dies: Callable[[int], bool]
    ) -> Mask:
        """The top way's threads part; those who have nothing left to do are given back."""
        top = stack[-1]
        self.line = block.place
        if block.end == "brx":
            return self._switch(stack, block, condition)
        target, after = block.targets[0], block.after
        taken, other = split(self.mask, self.rely(condition))
        for callback in self.events.branch:
            callback(self, taken, other)
        if other is EMPTY or taken is EMPTY:
            top[0] = target if other is EMPTY else after
            return EMPTY
        ended = EMPTY
        if dies(target) or dies(after):
            ended = taken if dies(target) else other
            top[0] = after if dies(target) else target
            return ended
        meet = block.meet
        if meet == END:  # they part for good, but those before them still wait for them
            meet = top[1]
        seen = top[3]
        top[0] = meet
        if meet == top[1]:
            stack.pop()
        for at, who in ((after, other), (target, taken)):
            if at != meet:
                stack.append([at, meet, who, seen])
        return EMPTY

    def _switch(self, stack: list[list[Any]], block: Block, index: Lanes) -> Mask:
        top = stack[-1]
        meet = top[1] if block.meet == END else block.meet
        before, seen, index = self.mask, top[3], self.rely(index)
        top[0] = meet
        if meet == top[1]:
            stack.pop()
        for k, at in enumerate(block.targets):
            who, _ = split(before, np.asarray(index == k))
            if who is not EMPTY and at != meet:
                stack.append([at, meet, who, seen])
        return EMPTY

    # --- special registers

    def special(self, name: str) -> Lanes:
        """A special register, as uint32 or uint64."""
        if name.startswith(("%clock", "%globaltimer")):
            self.written += 1  # a loop that reads it is not one that changes nothing
            kind = np.uint64 if "64" in name or "timer" in name else np.uint32
            return np.full((1, 1), perf_counter_ns() & np.iinfo(kind).max, kind)
        value = self.registers.get(name)
        if value is None:
            value = self.registers[name] = self._compute_special(name)
        return value

    def _compute_special(self, name: str) -> Lanes:
        word, _, axis = name[1:].partition(".")
        places = {"tid": self.threadIdx, "ntid": self.blockDim, "ctaid": self.blockIdx,
                  "nctaid": self.gridDim}  # fmt: skip
        if word in places:
            value = getattr(places[word], axis)
        else:
            lane = np.arange(self.threads).reshape(1, -1) % 32
            bit = np.int64(1) << lane
            value = {
                "laneid": lane, "warpid": np.arange(self.threads).reshape(1, -1) // 32,
                "envreg1": 0, "envreg2": 0, "smid": 0, "nsmid": 1, "gridid": 0,
                "nwarpid": 32, "ARP_SZ": 32,
                "lanemask_lt": bit - 1, "lanemask_eq": bit, "lanemask_le": 2 * bit - 1,
                "lanemask_gt": 0xFFFFFFFF - (2 * bit - 1), "lanemask_ge": 0xFFFFFFFF - (bit - 1),
                "dynamic_smem_size": self.dynamic,
                "total_smem_size": self.dynamic + self.spaces.static_bytes,
            }[word]  # fmt: skip
        register = np.asarray(value)
        return register.reshape((1, 1) if register.ndim == 0 else register.shape).astype(np.uint32)


def _with(gone: Mask, ended: Mask, m: PtxMachine) -> Mask:
    """The threads that have ended, with some more; None if those are all."""
    both = union(gone, ended)
    return None if isinstance(both, np.ndarray) and bool(m.spread(both).all()) else both
