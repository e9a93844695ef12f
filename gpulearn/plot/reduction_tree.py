"""Who adds what to whom: the rounds of a block's sum, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from gpulearn import require

__all__ = ["FORMS", "Round", "holdings", "rounds", "sentence"]

WARP = 32
BANKS = 32
# the four forms of gpulearn.kernels.reduction
FORMS = ("interleaved", "packed", "sequential", "shuffle")


@dataclass(frozen=True)
class Round:
    """One round: `adds` holds (thread, into, from) for each active thread.

    `into` and `from` are places in shared memory; in a shuffle, threads whose registers they
    are, and `from` is the thread itself where the warp ends. `useful` holds the threads whose
    result enters the block's sum.
    """

    step: int
    adds: tuple[tuple[int, int, int], ...]
    useful: frozenset[int]
    by_shuffle: bool = False

    @property
    def active(self) -> frozenset[int]:
        """The threads that add."""
        return frozenset(thread for thread, _, _ in self.adds)

    @property
    def warps(self) -> int:
        """How many warps have an active lane."""
        return len({thread // WARP for thread in self.active})

    @property
    def passes(self) -> int:
        """The most passes that one warp's read needs: different words of one bank queue up."""
        if self.by_shuffle:
            return 0
        queues: dict[tuple[int, int], int] = {}
        for thread, into, _ in self.adds:
            key = (thread // WARP, into % BANKS)
            queues[key] = queues.get(key, 0) + 1
        return max(queues.values(), default=0)


def rounds(form: str, threads: int = 64) -> list[Round]:
    """The rounds in which a block of `threads` threads adds up as many values.

    Args:
        form: one of `FORMS`.
        threads: a power of two, at least 32.

    Raises:
        BadInput: there is no such form.

    >>> [len(r.adds) for r in rounds("sequential")]
    [32, 16, 8, 4, 2, 1]
    >>> [r.warps for r in rounds("interleaved")]
    [2, 2, 2, 2, 2, 1]
    """
    form = require.choice("form", form, FORMS)
    if form == "shuffle":
        of_values = [_shuffle(step, range(threads), WARP) for step in (16, 8, 4, 2, 1)]
        of_sums = [_shuffle(step, range(WARP), threads // WARP) for step in (16, 8, 4, 2, 1)]
        return of_values + of_sums
    steps = [1 << k for k in range(threads.bit_length() - 1)]
    found = []
    for step in reversed(steps) if form == "sequential" else steps:
        if form == "interleaved":
            adds = [(t, t, t + step) for t in range(0, threads, 2 * step)]
        elif form == "packed":
            starts = enumerate(range(0, threads, 2 * step))
            adds = [(t, place, place + step) for t, place in starts]
        else:
            adds = [(t, t, t + step) for t in range(step)]
        found.append(Round(step, tuple(adds), frozenset(t for t, _, _ in adds)))
    return found


def _shuffle(step: int, threads: range, holders: int) -> Round:
    """All lanes add; the sums of the first `step` of the first `holders` lanes are used."""
    adds = [(t, t, t + step if t % WARP + step < WARP else t) for t in threads]
    used = (t for t in threads if t % WARP < step and t % WARP + step < holders)
    return Round(step, tuple(adds), frozenset(used), by_shuffle=True)


def holdings(form: str, number: int, threads: int = 64) -> list[int]:
    """How many of the values each place has summed up before round `number`, counted from 0.

    Places whose content is no longer needed hold 0.

    >>> holdings("sequential", 5)[:3]
    [32, 32, 0]
    """
    held = [1] * threads
    for k, this in enumerate(rounds(form, threads)):
        if this.by_shuffle and k == 5:  # past the barrier: warp 0 holds the warps' sums
            sums = held[::WARP]
            held = sums + [0] * (threads - len(sums))
        if k == number:
            break
        old = list(held)
        for thread, into, other in this.adds:
            if thread in this.useful:
                held[into], held[other] = old[into] + old[other], 0
        if this.by_shuffle and this.useful:  # in the other lanes stand sums that nobody needs
            held = [n if t in this.useful else 0 for t, n in enumerate(held)]
    return held


def sentence(form: str, number: int, threads: int = 64) -> str:
    """What happens in round `number`, counted from 0, and what it costs.

    >>> sentence("interleaved", 2)
    'interleaved, round 3 of 6: 8 additions, the values 4 apart, keep 2 warps busy
    with 4 of 32 lanes each. No bank conflict.'
    """
    every = rounds(form, threads)
    this = every[number]
    lanes = len(this.active) // this.warps
    warps = f"{this.warps} warp{'s' * (this.warps > 1)} busy"
    busy = f"{warps} with {lanes} of 32 lanes" + " each" * (this.warps > 1)
    start = f"{form}, round {number + 1} of {len(every)}: "
    if this.by_shuffle:
        count = len(this.useful)
        what = f"a shuffle by {this.step} keeps {busy}; {count} of the sums "
        what += "is used later" if count == 1 else "are used later"
        if not count:
            what = f"a shuffle by {this.step} keeps {busy}; no warp's sum lies so far off"
        return f"{start}{what}. No shared memory is touched."
    count = len(this.adds)
    what = f"{count} addition{'s' * (count > 1)}, the values {this.step} apart, "
    what += f"keep{'s' * (count == 1)} {busy}. "
    if this.passes > 1:
        return f"{start}{what}A read takes {this.passes} passes: words share a bank."
    return f"{start}{what}No bank conflict."
