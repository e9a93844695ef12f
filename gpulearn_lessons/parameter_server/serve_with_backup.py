"""A server that loses pushes and counts some twice when it is killed: to be mended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn.errors import RankError
from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.parameter_server.server.crashes import CrashRun, crash_everywhere
from gpulearn_lessons.parameter_server.server.kills import Kill, run_with_kills
from gpulearn_lessons.parameter_server.server.replica import Push, ServerState, serve_with_backup

answers = Answers(serve_with_backup)

ASK = "    if push.number > state.applied.get(push.worker, 0):\n"
FORWARD = "        forward(push)\n"
APPLY = "        state.weights -= state.lr * push.gradient\n"
NOTE = "        state.applied[push.worker] = push.number\n"
SAY = "    acknowledge(push)"
AGAIN = (
    "a push that is sent again is applied again, since its worker never heard that it is safe. "
    "Keep the number of each worker's last push, apply only pushes with a larger one, and note the "
    "number then."
)
NEVER = (
    "nothing is forwarded: when the primary dies, the backup knows of no push, and what was "
    "acknowledged is lost. Forward each new push before it is acknowledged."
)
KILLS = (
    Kill("primary", "forwarded"),
    Kill("worker", "pushed"),
    Kill("backup", "received"),
    Kill("primary", "before acknowledge"),
)


@dataclass(frozen=True)
class Deaths:
    """Who dies, one after another, at every point of a run of this size."""

    whom: tuple[str, ...]
    workers: int = 2
    pushes: int = 2
    lr: float = 1.0


def cases() -> list[Case]:
    """Nobody dies, each dies at every point, and pairs of them."""
    works = {
        "nobody dies": Deaths(()),
        "nobody dies, 3 workers and a rate of 0.25": Deaths((), 3, 4, 0.25),
        "the primary dies": Deaths(("primary",)),
        "the backup dies": Deaths(("backup",)),
        "a worker dies and is started again": Deaths(("worker",)),
        "the primary dies, 3 workers and a rate of 0.5": Deaths(("primary",), 3, 2, 0.5),
        "the primary dies, and then the next one": Deaths(("primary", "primary"), 2, 1),
        "the backup dies, and then the primary": Deaths(("backup", "primary"), 2, 1),
        "a worker dies, and then the primary": Deaths(("worker", "primary"), 1, 2),
    }
    return [Case(label, (work,)) for label, work in works.items()]


def run(answer: Answer, case: Case) -> list[CrashRun]:
    """Every run of a case."""
    deaths: Deaths = case.args[0]
    sizes: dict[str, Any] = {"workers": deaths.workers, "pushes": deaths.pushes, "lr": deaths.lr}
    return list(crash_everywhere(answer, deaths.whom, **sizes))


def difference(got: Sequence[CrashRun], wanted: Sequence[CrashRun]) -> str | None:
    """What is wrong in the first run in which something is."""
    return next((fault for one in got if (fault := one.fault())), None)


def same_runs(one: Sequence[CrashRun], other: Sequence[CrashRun]) -> bool:
    """Whether all runs of two answers come to the same, point by point."""
    return [(r.said, r.outcome()) for r in one] == [(r.said, r.outcome()) for r in other]


def same_faults(one: Sequence[CrashRun], other: Sequence[CrashRun]) -> bool:
    """Whether the same things happen to pushes, wherever the points are that an answer has."""
    return _faults(one) == _faults(other)


def _faults(runs: Sequence[CrashRun]) -> set[str]:
    kinds = set()
    for one in runs:
        if one.stuck is not None:
            kinds.add("never acknowledged")
            continue
        for where, count in (("primary", one.applied), ("backup", one.on_backup)):
            if (count < 1).any():
                kinds.add(f"missing on the {where}")
            if (count > 1).any():
                kinds.add(f"twice on the {where}")
    return kinds


def under_kills(answer: Answer, outcomes: Sequence[Any]) -> str | None:
    """What is wrong with processes that are killed, or None."""
    try:
        report = run_with_kills(list(KILLS), pushes=30, handle=answer, timeout=30.0)
    except RankError as error:
        return f"right in one process, but with real processes {str(error).rstrip('.')}."
    if report.lost or report.twice or not (report.applied == 1).all():
        return f"right in one process, but with real processes: {report}."
    return None


# what the notebook gives: it acknowledges first, knows no numbers, and forwards nothing
answers.give({ASK: SAY + "\n", FORWARD: "", APPLY: APPLY[4:], NOTE: "", SAY: ""})

answers.edit(
    {ASK: SAY + "\n", FORWARD: "", APPLY: APPLY[4:], NOTE: "", SAY: ""},
    "nothing is forwarded: when the primary dies, the backup knows of no push.",
)
answers.edit(
    {FORWARD: ""},
    NEVER,
)
answers.edit(
    {ASK: "", FORWARD: "    forward(push)\n", APPLY: APPLY[4:], NOTE: ""},
    AGAIN,
)
answers.edit(
    {ASK: "", FORWARD: "    forward(push)\n", APPLY: APPLY[4:], NOTE: NOTE[4:]},
    AGAIN,
)
answers.edit(
    {NOTE: ""},
    AGAIN,
)
answers.edit(
    {ASK: SAY + "\n" + ASK, SAY: ""},
    "it acknowledges before the backup has the push: a primary that dies in between has promised "
    "what nobody has.",
)
answers.edit(
    {FORWARD: "    " + SAY + "\n" + FORWARD, SAY: ""},
    "it acknowledges before the backup has the push: a primary that dies in between has promised "
    "what nobody has. A push that is sent again has to be acknowledged as well.",
)
answers.edit(
    {FORWARD: FORWARD + "    " + SAY + "\n", SAY: ""},
    "a push that is sent again is never acknowledged: it has been applied, and the worker waits "
    "for ever. Acknowledge it in any case.",
)
answers.edit(
    {NOTE: NOTE + "    " + SAY + "\n", SAY: ""},
    "a push that is sent again is never acknowledged: it has been applied, and the worker waits "
    "for ever. Acknowledge it in any case.",
)
answers.edit(
    {"push.number > state": "push.number >= state"},
    AGAIN,
)
answers.edit(
    {ASK: "    if push.number > max(state.applied.values(), default=0):\n"},
    "the workers' numbers are mixed: each counts its own pushes, so keep a number for each worker.",
)
answers.edit(
    {FORWARD: "", NOTE: NOTE + "    if push.number > state.applied.get(push.worker, 0):\n"
     "        forward(push)\n"},
    NEVER,
)  # fmt: skip
answers.edit(
    {FORWARD: NOTE + FORWARD, NOTE: ""},
    "the number is noted before the push is forwarded, and the push applied after: a backup that "
    "is new just then gets a state with the number and without the push, and takes it for one "
    "that it has.",
)
answers.edit(
    {FORWARD: "", APPLY: APPLY + FORWARD},
    "the push is applied before it is forwarded, and its number noted after: a backup that is new "
    "just then gets weights with the push and a state without its number, and applies it again.",
)
answers.edit(
    {"state.lr * push.gradient": "push.gradient"},
    "the rate is left out: state.lr times the gradient.",
)
answers.edit(
    {APPLY: ""},
    "no push is applied: state.weights −= state.lr · push.gradient.",
)
answers.edit(
    {"state.weights -= ": "state.weights += "},
    "it goes up the hill: subtract the gradient.",
)
answers.edit(
    {"= push.number\n": "= state.applied.get(push.worker, 0) + len(state.applied)\n"},
    "the number that is noted is not that of the push: note push.number.",
)
answers.edit(
    {SAY: ""},
    "nothing is acknowledged: the workers wait for ever.",
)

answers.variant({APPLY: "", FORWARD: FORWARD + "        state.weights = state.weights - "
                 "state.lr * push.gradient\n"})  # fmt: skip
answers.variant({FORWARD: "", ASK: "    forward(push)\n" + ASK})


@answers.right
def applied_first(
    state: ServerState,
    push: Push,
    forward: Callable[[Push], None],
    acknowledge: Callable[[Push], None],
) -> None:
    last = state.applied.setdefault(push.worker, 0)
    if push.number <= last:
        return acknowledge(push)
    np.subtract(state.weights, state.lr * push.gradient, out=state.weights)
    state.applied[push.worker] = push.number
    forward(push)
    return acknowledge(push)


EXERCISE = Exercise(
    task="Mend the server: no push that was acknowledged is lost, and none is applied twice.",
    reference=serve_with_backup,
    cases=cases,
    answers=answers,
    run=run,
    by_hand=False,
    difference=difference,
    demand=under_kills,
    kinships=(same_runs, same_faults),
)
