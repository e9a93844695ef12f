"""A server that loses pushes and counts some twice when it is killed: to be fixed."""

from collections.abc import Sequence
from typing import Any

from gpulearn.errors import RankError
from gpulearn.judge.answers import Answer, where_it_runs
from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.parameter_server.server.crashes import (
    CrashPlan,
    CrashRun,
    crash_everywhere,
)
from gpulearn_lessons.parameter_server.server.kills import Kill, KillReport, run_with_kills
from gpulearn_lessons.parameter_server.server.replica import serve_with_backup

KILLS = (
    Kill("primary", "forwarded"),
    Kill("worker", "pushed"),
    Kill("backup", "received"),
    Kill("primary", "before acknowledge"),
)


def cases() -> list[Case]:
    """No process dies, each dies at every point, and pairs of them."""
    works = {
        "no crash": CrashPlan(()),
        "no crash, 3 workers and a rate of 0.25": CrashPlan((), 3, 4, 0.25),
        "a crash of the primary": CrashPlan(("primary",)),
        "a crash of the backup": CrashPlan(("backup",)),
        "a worker that dies and is started again": CrashPlan(("worker",)),
        "a crash of the primary, 3 workers and a rate of 0.5": CrashPlan(("primary",), 3, 2, 0.5),
        "a crash of the primary, and then of the next one": CrashPlan(("primary", "primary"), 2, 1),
        "a crash of the backup, and then of the primary": CrashPlan(("backup", "primary"), 2, 1),
        "a crash of a worker, and then of the primary": CrashPlan(("worker", "primary"), 1, 2),
    }
    return [Case(label, (work,)) for label, work in works.items()]


def run(answer: Answer, case: Case) -> list[CrashRun]:
    return list(crash_everywhere(answer, case.args[0]))


def difference(got: Sequence[CrashRun], want: Sequence[CrashRun]) -> str | None:
    return next((fault for r in got if (fault := r.fault())), None)


def same_runs(one: Sequence[CrashRun], other: Sequence[CrashRun]) -> bool:
    """Whether all runs of two answers come to the same, point by point."""
    return [(r.summary, r.outcome()) for r in one] == [(r.summary, r.outcome()) for r in other]


def same_faults(one: Sequence[CrashRun], other: Sequence[CrashRun]) -> bool:
    """Whether the same things happen to pushes, wherever the points are that an answer has."""
    return _faults(one) == _faults(other)


def _faults(runs: Sequence[CrashRun]) -> set[str]:
    kinds = set()
    for r in runs:
        if r.stuck is not None:
            kinds.add("never acknowledged")
            continue
        for where, count in (("primary", r.applied), ("backup", r.on_backup)):
            if (count < 1).any():
                kinds.add(f"missing on the {where}")
            if (count > 1).any():
                kinds.add(f"twice on the {where}")
    return kinds


def under_kills(answer: Answer, outcomes: Sequence[Any]) -> str | None:
    """What is wrong with processes that are killed, or None."""
    report = _under_kills(answer)
    if isinstance(report, str):
        return f"right in one process, but with real processes {report.rstrip('.')}."
    if report.lost or report.twice or not (report.applied == 1).all():
        return f"right in one process, but with real processes: {report}."
    return None


@where_it_runs
def _under_kills(answer: Answer) -> KillReport | str:
    """What became of the pushes, or how the processes failed."""
    try:
        return run_with_kills(list(KILLS), pushes=30, handle=answer, timeout=30.0)
    except RankError as error:
        return str(error)


EXERCISE = Exercise(
    task="Fix the server: no push that was acknowledged is lost, and none is applied twice.",
    reference=serve_with_backup,
    cases=cases,
    run=run,
    by_hand=False,
    difference=difference,
    demand=under_kills,
    kinships=(same_runs, same_faults),
)
