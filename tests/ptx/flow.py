"""Where the lanes of a warp part and where they meet again.

A branch parts them; they meet at its immediate post-dominator, the first place that every way
from the branch to the end leads through. That is where the machine code of recent GPUs makes
them wait for each other (`BSSY` … `BSYNC` in the disassembly). Whoever has nothing left to do
but to end does so at once and is waited for no more, so that ways that only end do not count.
Where a loop is also left by ways that never come back, those who leave it at its end meet there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from .parse import Instruction, Program
from .values import WARP, Array

END = -1  # behind the last instruction
ENDS = ("bra", "ret", "exit", "bar", "barrier", "call")  # a basic block ends with one of these


class Graph:
    """The basic blocks of a kernel, each named by the number of its first instruction."""

    def __init__(self, program: Program) -> None:
        self._code, self._labels = program.instructions, program.labels
        leaders = {0, *program.labels.values()}
        leaders |= {k + 1 for k, i in enumerate(self._code) if i.op[0] in ENDS}
        self._order = sorted(leaders - {len(self._code)})
        stops = [*self._order[1:], len(self._code)]
        self.stops = dict(zip(self._order, stops, strict=True))
        self.meets = self._post_dominators()

    def place(self, at: int) -> int:
        """The number of an instruction; END where there is none."""
        return at if at < len(self._code) else END

    def target(self, branch: Instruction) -> int:
        return self.place(self._labels[branch.operands[0]])

    def dies(self, at: int) -> bool:
        """Whether all that is left to do there is to end."""
        if at == END:
            return True
        return self._code[at].op[0] in ("ret", "exit") and not self._code[at].guard

    def _next(self, start: int) -> set[int]:
        """Where a block's threads go on; a way that only ends is none, if there is another."""
        last = self._code[self.stops[start] - 1]
        after = self.place(self.stops[start])
        found = {after}
        if last.op[0] == "bra":
            found = {self.target(last), after} if last.guard else {self.target(last)}
        elif last.op[0] in ("ret", "exit") and not last.guard:
            found = {END}
        living = {node for node in found if not self.dies(node)}
        # behind a loop there may be nothing but the end, and that is where its threads go on
        ends_here = living != found and not any(node > start for node in living)
        return living | {END} if ends_here else living

    def _post_dominators(self) -> dict[int, int]:
        """Of each block the nearest one that all its ways to the end lead through."""
        nodes = [*self._order, END]
        found = {node: set(nodes) for node in self._order} | {END: {END}}
        changed = True
        while changed:
            changed = False
            for node in reversed(self._order):
                new = {node} | set.intersection(*(found[n] for n in self._next(node)))
                changed |= new != found[node]
                found[node] = new
        # of the others, the nearest is the one that has all the others behind it
        meets = {
            node: max(found[node] - {node}, key=lambda n: len(found[n])) for node in self._order
        }
        for node in self._order:
            back, on = [n for n in self._next(node) if END < n <= node], self._next(node)
            if meets[node] == END and back and len(on) == 2:  # a loop that is also left elsewhere
                meets[node] = (on - set(back)).pop()
        return meets


@dataclass
class Way:
    """Lanes that go together: where they are, and where they wait for those below them."""

    at: int
    meet: int
    lanes: Array


@dataclass
class Warp:
    """One warp: a stack of ways, of which the top one is carried out."""

    ways: list[Way] = field(default_factory=list)
    waits: bool = False

    def settle(self, alive: Array) -> bool:
        """Take what has arrived or ended off the stack; False if nobody is left."""
        while self.ways:
            top = self.ways[-1]
            top.lanes = top.lanes[alive[top.lanes]]
            if len(top.lanes) and top.at != top.meet and top.at != END:
                return True
            self.ways.pop()
        return False

    def branch(self, yes: Array, target: int, after: int, meet: int) -> None:
        """The top way's lanes part: `yes` go to `target`, the others to `after`."""
        top = self.ways[-1]
        if yes.all() or not yes.any():
            top.at = target if yes.all() else after
            return
        if meet == END:  # they part for good, but those before them still wait for them
            meet = top.meet
        parts = [(after, top.lanes[~yes]), (target, top.lanes[yes])]
        top.at = meet
        if meet == top.meet:
            self.ways.pop()
        self.ways += [Way(at, meet, lanes) for at, lanes in parts if at != meet]


def warps_of(exists: Array) -> Iterator[Warp]:
    """The warps of a launch, with their threads at the first instruction."""
    for first in range(0, len(exists), WARP):
        lanes = first + np.flatnonzero(exists[first : first + WARP])
        yield Warp([Way(0, END, lanes)])
