"""Basic blocks, and where diverging threads reconverge.

A branch parts threads; they meet at its immediate post-dominator, the first place that every way
from the branch to the end leads through. That is where the machine code of recent GPUs makes
them wait for each other (`BSSY` … `BSYNC` in the disassembly). Whoever has nothing left to do
but to end does so at once and is waited for no more, so that ways that only end do not count.
Where a loop is also left by ways that never come back, those who leave it at its end meet there.
"""

from simt.ptx.parse import Function, Instruction

END = -1  # behind the last instruction
ENDS = ("bra", "brx", "ret", "exit", "trap")  # a basic block ends with one of these
BARRIERS = ("bar", "barrier")
STRONG = {"volatile", "relaxed", "acquire"}  # reads by which threads wait for each other


def _ends_block(i: Instruction, turns: bool) -> bool:
    """Whether a basic block ends there: threads may part, or wait for others of the block.

    `turns`: warps may come to a barrier of the whole block one by one.
    """
    if i.op[0] not in BARRIERS or {"warp", "red"} & set(i.op):
        return i.op[0] in ENDS
    return "arrive" in i.op or len(i.operands) == 2 or (turns and not i.guard)


class Graph:
    """The basic blocks of a function, each named by the number of its first instruction."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._code, self._labels = function.instructions, function.labels
        leaders = {0, *function.labels.values()}
        turns = any(i.op[0] == "atom" or STRONG & set(i.op) for i in self._code)
        self.ends_block = ends = {k for k, i in enumerate(self._code) if _ends_block(i, turns)}
        leaders |= {k + 1 for k in ends}
        # a barrier is a block of its own: threads that name several come to each by themselves
        leaders |= {k for k in ends if self._code[k].op[0] in BARRIERS}
        self.order = sorted(leaders - {len(self._code)})
        stops = [*self.order[1:], len(self._code)]
        self.stops = dict(zip(self.order, stops, strict=True))
        self.meets = self._post_dominators()

    def place(self, at: int) -> int:
        """The number of an instruction; END where there is none."""
        return at if at < len(self._code) else END

    def targets(self, branch: Instruction) -> list[int]:
        """Where a branch may go, besides on."""
        if branch.op[0] == "brx":
            return [self.place(self._labels[t]) for t in self._function.tables[branch.operands[1]]]
        return [self.place(self._labels[branch.operands[0]])]

    def dies(self, at: int) -> bool:
        """Whether all that is left to do there is to end."""
        if at == END:
            return True
        return self._code[at].op[0] in ("ret", "exit") and not self._code[at].guard

    def _next(self, start: int) -> set[int]:
        """The successors of a block, without those that only end, if there are others."""
        last = self._code[self.stops[start] - 1]
        after = self.place(self.stops[start])
        successors = {after}
        if last.op[0] in ("bra", "brx"):
            successors = {*self.targets(last), after} if last.guard else {*self.targets(last)}
        elif last.op[0] in ENDS and not last.guard:
            successors = {END}
        living = {node for node in successors if not self.dies(node)}
        # behind a loop there may be nothing but the end, and that is where its threads go on
        ends_here = living != successors and not any(node > start for node in living)
        return living | {END} if ends_here else living

    def _ways(self) -> dict[int, set[int]]:
        """Where each block's threads go on; from wherever there is a way to the end, one is kept.

        A loop that is only left to end would else be one without an end.
        """
        ways = {node: self._next(node) for node in self.order}
        ends = self._leads_to_end(ways)
        for node in reversed(self.order):
            last = self._code[self.stops[node] - 1]
            if node not in ends and last.op[0] in ("bra", "brx"):
                after = {self.place(self.stops[node])} if last.guard else set()
                if any(map(self.dies, {*self.targets(last), *after})):
                    ways[node] = ways[node] | {END}
                    ends = self._leads_to_end(ways)
        return ways

    def _leads_to_end(self, ways: dict[int, set[int]]) -> set[int]:
        """The blocks from which some path leads to the end."""
        reaching, changed = {END}, True
        while changed:
            more = {node for node in ways if node not in reaching and ways[node] & reaching}
            reaching, changed = reaching | more, bool(more)
        return reaching

    def _may_end(self, start: int) -> set[int]:
        """END, if a thread can end in a block: there, or in a function that it calls."""
        code = self._code[start : self.stops[start]]
        return {END} if any(i.op[0] in ("ret", "exit", "trap", "call") for i in code) else set()

    def _post_dominators(self) -> dict[int, int]:
        """The immediate post-dominator of each block."""
        ways = self._ways()
        self.ends = self._leads_to_end({n: w | self._may_end(n) for n, w in ways.items()})
        meets, before = _nearest(ways), {}
        if any(meets[node] == END and len(ways[node]) > 1 for node in self.order):
            before = _nearest(self._to_barriers(ways))
        for node in self.order:
            back, on = [n for n in ways[node] if END < n <= node], ways[node]
            if meets[node] == END:
                meets[node] = before.get(node, END)
            if meets[node] == END and back and len(on) == 2:  # a loop that is also left elsewhere
                meets[node] = (on - set(back)).pop()
        return meets

    def _to_barriers(self, ways: dict[int, set[int]]) -> dict[int, set[int]]:
        """The ways on to the next barrier, END here, without those that lead straight to the end.

        Threads that have a few things left to do before they end are waited for until they have.
        """
        waits = {k for k, i in enumerate(self._code) if i.op[0] in BARRIERS and "warp" not in i.op}
        bars = {n for n in self.order if not waits.isdisjoint(range(n, self.stops[n]))}
        straight, inner = {END}, [n for n in self.order if n not in bars]
        while more := {n for n in inner if n not in straight and ways[n] <= straight}:
            straight |= more
        on = {n: {END} if n in bars else ways[n] - straight for n in ways if n not in straight}
        reaching = self._leads_to_end(on)
        return {n: w if n in reaching else {END} for n, w in on.items()}


def _nearest(ways: dict[int, set[int]]) -> dict[int, int]:
    """The immediate post-dominator of each block."""
    nodes = [*ways, END]
    dom = {node: set(nodes) for node in ways} | {END: {END}}
    changed = True
    while changed:
        changed = False
        for node in reversed(list(ways)):
            new = {node} | set.intersection(*(dom[n] for n in ways[node]))
            changed |= new != dom[node]
            dom[node] = new
    # of the others, the nearest is the one that has all the others behind it
    return {node: max(dom[node] - {node}, key=lambda n: len(dom[n])) for node in ways}
