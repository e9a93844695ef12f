"""Notebook 21's intervals and queues, with answers written by other hands than the catalogue's."""

import math

import pytest

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn_lessons.fault_tolerance.intervals import lost_share


def by_bisection(save_seconds, restart_minutes, gpu_mtbf_hours, gpus):
    mtbf = gpu_mtbf_hours * 60 * 60 / gpus
    low, high = 0.0, mtbf
    for _ in range(200):
        middle = (low + high) / 2
        if math.exp(-(middle + save_seconds) / mtbf) > 1 - middle / mtbf:
            high = middle
        else:
            low = middle
    return low, lost_share(low, save_seconds, 60 * restart_minutes, mtbf)


def own_loss(*numbers):
    return by_bisection(*numbers)[0], 0.1


def young_and_own_loss(save, restart, hours, gpus):
    return math.sqrt(2 * save * hours * 3600 / gpus), 0.1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda *numbers: by_bisection(*numbers)[0], "expected two numbers"),
        (own_loss, "by the formula, not 0.1"),
        (young_and_own_loss, "this is Young's formula"),
        (lambda *numbers: (float("nan"), 0.5), "the interval is nan"),
    ],
)
def test_intervals_are_told_what_is_true_of_them(answer, said):
    assert said in diagnose(find("checkpoint_interval"), answer)


def with_a_set(job):
    came = set()
    job.on_signal(lambda name, *rest: came.add(name))
    while not (came or job.finished()):
        job.step()
    job.save()
    match job.finished(), "TERM" in came:
        case True, _:
            return 0
        case False, True:
            return 143
    job.requeue()
    return 75


def exits(job):
    def handler(name):
        raise SystemExit(75)

    job.on_signal(handler)
    while not job.finished():
        job.step()
    job.save()
    return 0


def saves_twice(job):
    status = with_a_set(job)
    job.save()
    return status


def says_true(job):
    status = with_a_set(job)
    return status and str(status)


def handles_too_late(job):
    came = []
    while not job.finished():
        job.step()
    job.on_signal(came.append)
    job.save()
    return 0


def forgets_nonlocal(job):
    stop = False

    def handler(name):
        stop = True  # noqa: F841 - it is the handler's own

    job.on_signal(handler)
    while not (job.finished() or stop):
        job.step()
    job.save()
    return 0


def goes_on_and_on(job):
    job.on_signal(print)
    job.save()
    while True:
        job.step()


def saves_for_ever(job):
    job.on_signal(print)
    while True:
        job.step()
        job.save()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (exits, "SystemExit"),
        (saves_twice, "save after 5, then save after 5"),
        (says_true, "it returns '75'"),
        (handles_too_late, "no handler is registered when the first step begins"),
        (forgets_nonlocal, "`nonlocal`"),
        (goes_on_and_on, "then a step after the last, 194 times; expected"),
        (saves_for_ever, "…; expected: save after 5."),
    ],
)
def test_drains_are_told_what_they_do(answer, said):
    assert said in diagnose(find("drain_and_requeue"), answer)
