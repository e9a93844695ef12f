"""The rank that all others wait for, in a table of compute and waiting times."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.fault_tolerance.stragglers import find_the_straggler

SLEEP = 0.1  # seconds that a normal rank computes
CHANGED = "the tables have changed"


def table(
    ranks: int, steps: int, slow: dict[int, float], seed: int, hiccups: dict[int, int] | None = None
) -> tuple[Any, Any]:
    """Seconds that each rank computes and then waits for the slowest, of shape (steps, ranks).

    With noise of up to 5 %. `slow` is rank → how many times as long as the others it computes,
    `hiccups` rank → in how many steps it takes 50 times as long.
    """
    random = np.random.default_rng(seed)
    compute = SLEEP * random.uniform(1, 1.05, (steps, ranks))
    for rank, times in slow.items():
        compute[:, rank] *= times
    for rank, count in (hiccups or {}).items():
        compute[random.choice(steps, count, replace=False), rank] *= 50
    return with_waits(compute)


def with_waits(compute: Any) -> tuple[Any, Any]:
    """The times, and those of waiting for the slowest rank of each step."""
    return compute, compute.max(axis=1, keepdims=True) - compute + 0.001


def cases() -> list[Case]:
    """One slow rank, or two; none; hiccups; a slow start; long batches; a log; half the steps."""
    works: dict[str, tuple[Any, Any]] = {
        "4 ranks, one computes 1.5 times as long": table(4, 20, {2: 1.5}, 1),
        "4 ranks, one computes 1.4 times as long, rank 0": table(4, 21, {0: 1.4}, 2),
        "4 ranks, none is slow": table(4, 20, {}, 3),
        "4 ranks, one hiccup and no straggler": table(4, 20, {}, 4, {1: 1}),
        "4 ranks, a straggler, and hiccups of another": table(4, 20, {3: 1.5}, 5, {1: 3}),
        "2 ranks, one computes 1.3 times as long": table(2, 20, {1: 1.3}, 6),
        "2 ranks, none is slow": table(2, 20, {}, 7),
        "8 ranks, two are slow, one of them more": table(8, 20, {2: 1.5, 6: 2.0}, 8),
        "3 ranks, one is slow, its hiccups too": table(3, 30, {1: 1.6}, 9, {1: 4, 0: 2}),
        "4 ranks, one is slower by a tenth": table(4, 20, {1: 1.1}, 10),
        "16 ranks, one computes 3 times as long": table(16, 12, {15: 3.0}, 11),
        "3 ranks, hiccups of one in each third step": table(3, 30, {}, 12, {2: 10}),
    }
    # the first step allocates memory and loads kernels; it takes longest on rank 0
    compute, _ = table(4, 20, {1: 1.5}, 13)
    compute[0] = [9.0, 4.0, 4.2, 4.1]
    works["4 ranks, a slow first step, and a straggler"] = with_waits(compute)
    compute, _ = table(4, 20, {}, 13)
    for step in range(len(compute)):
        compute[step, step % 4] *= 3
    works["4 ranks, longer batches now and then, and no straggler"] = with_waits(compute)
    compute, wait = table(4, 20, {0: 1.5}, 14)
    works["4 ranks, a network that is slow for all"] = (compute, wait + 0.4)
    compute, wait = table(4, 20, {1: 1.5}, 18)
    works["4 ranks, steps of 10 seconds"] = (100 * compute, 100 * wait)
    compute, wait = table(4, 20, {}, 19)
    compute[7, 2] *= 3
    works["4 ranks, one short hiccup"] = (compute, wait)
    compute, wait = table(4, 20, {}, 20)
    compute[::3, 2] *= 3
    works["4 ranks, long batches of one in each third step"] = (compute, wait)
    works["5 ranks, one is quicker"] = table(5, 20, {2: 0.8}, 15)
    compute, wait = table(4, 20, {3: 1.5}, 16)
    compute[::5, 3] = SLEEP / 2
    works["4 ranks, one is slow, and quick in each fifth step"] = (compute, wait)
    compute = np.ones((6, 3))
    compute[::2, 2] = 3
    works["3 ranks, one is slow in half of the steps"] = (compute, 4 - compute)
    compute = np.ones((6, 3))
    compute[::2, 1] = 1.3
    works["3 ranks, one is a little slow in half of the steps"] = (compute, 2 - compute)
    quick = np.tile([1.0, 1.0, 0.1, 1.1], (15, 1))
    quick[::3, :2] = 0.1
    works["4 ranks, two are quick in some steps, one in all"] = (quick, 1.2 - quick)
    short = np.array([[1.0, 1.3], [1.0, 1.3], [1.0, 1.0]])
    works["2 ranks, 3 steps, the last one quick"] = (short, 1.5 - short)
    works["2 ranks, 3 steps, the first one quick"] = (short[::-1], 1.5 - short[::-1])
    usual = [Case(label, pair) for label, pair in works.items()]
    twice = [("one computes 1.5 times as long", 1.5), ("one computes 2.5 times as long", 2.5)]
    two = Case("4 ranks, two are slow, times=2", (*table(4, 20, {1: 2.2, 3: 2.6}, 21), 2.0))
    even = np.tile([1.0, 1.0, 1.25], (5, 1))
    uneven = np.tile([1.0, 1.2, 1.4], (5, 1))
    middle = [Case(f"3 unlike ranks, times={t}", (uneven, 2 - uneven, t)) for t in (1.2, 1.3)]
    just = Case("3 ranks, one computes 1.25 times as long, times=1.25", (even, 2 - even, 1.25))
    first = Case(
        "6 ranks, two are slow, the first of them more", table(6, 20, {1: 2.0, 4: 1.5}, 22)
    )
    # rank 0 writes a log between steps, which neither table counts, and rank 1 waits for it
    log, wait = table(2, 20, {}, 23)
    wait[:, 1] += SLEEP / 2
    # rank 0 is slow; ranks 1 and 2 are slower than it in two fifths of the steps each
    turns, _ = table(4, 20, {0: 1.5}, 24)
    turns[:8, 1] *= 3
    turns[8:16, 2] *= 3
    return [
        *usual,
        two,
        just,
        *middle,
        *(
            Case(f"4 ranks, {words}, times=2", (*table(4, 20, {1: factor}, 17), 2.0))
            for words, factor in twice
        ),
        first,
        Case("2 ranks, one writes a log after the collective", (log, wait)),
        Case("4 ranks, a straggler, and two with long batches in turn", with_waits(turns)),
    ]


def run(answer: Answer, case: Case) -> Any:
    """Call an answer with tables of its own."""
    compute, wait, *times = case.args
    own = compute.copy(), wait.copy()
    result = answer(*own, *times)
    unchanged = np.array_equal(own[0], compute) and np.array_equal(own[1], wait)
    return result if unchanged else CHANGED


def difference(got: Any, want: Any) -> str | None:
    if isinstance(got, str) and got == CHANGED:
        return "it changes its arguments: leave both tables as they are"
    if hasattr(got, "item") and np.ndim(got) == 0:  # of NumPy or of torch
        got = got.item()
    if want is None:
        return None if got is None else f"it returns {shown(got)}, expected None: no rank is slow"
    if isinstance(got, bool) or not isinstance(got, int | float) or got != want:
        return f"it returns {shown(got)}, expected rank {want}"
    return None


def same(one: Any, other: Any) -> bool:
    try:
        return (one is None) == (other is None) and bool(np.all(one == other))
    except (TypeError, ValueError):
        return False


EXERCISE = Exercise(
    task="Find the rank that usually computes longest, from compute and waiting times.",
    reference=find_the_straggler,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(same,),
)
