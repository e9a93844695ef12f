"""Pipeline schedules: legal, as long as their formulas say, and holding as much."""

import itertools
import random

import pytest
import torch

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn.parallel.communicator import isend, rank, recv
from gpulearn_lessons import pipeline_parallel
from gpulearn_lessons.pipeline_parallel import bubble_fraction, check_schedule, time_schedule
from gpulearn_lessons.pipeline_parallel.actions import schedule_of
from gpulearn_lessons.pipeline_parallel.orders import SCHEDULES, pipeline_schedule, warm_up

PLANS = [
    (name, p, m, v)
    for name, p, m, v in itertools.product(SCHEDULES, (1, 2, 3, 8), (1, 3, 8), (1, 2, 3))
    if (v == 1 or name == "interleaved") and not (name == "interleaved" and m % p)
]
TIMED = [p for p in PLANS if p[1] < 8]


def formula(name, p, m, v):
    return (p - 1) / p if name == "naive" else bubble_fraction(p, m, v)


def most_held(name, p, m, v):
    return {
        "naive": [1] * p,
        "GPipe": [m] * p,
        "1F1B": [min(m, p - rank) for rank in range(p)],
        "interleaved": [min(m * v, 2 * (p - rank - 1) + (v - 1) * p + 1) for rank in range(p)],
    }[name]


@pytest.mark.parametrize(("name", "p", "m", "v"), PLANS)
def test_every_schedule_can_be_carried_out_and_holds_what_the_formula_says(name, p, m, v):
    schedule = pipeline_parallel.schedule(name, p, m, v)
    check_schedule(schedule)
    assert schedule.most_held == most_held(name, p, m, v)
    assert (schedule.micro_batches, schedule.stages, len(schedule.ranks)) == (m, p * v, p)
    assert schedule.place == {stage: stage % p for stage in range(p * v)}


@pytest.mark.parametrize(("name", "p", "m", "v"), TIMED)
def test_the_bubble_on_the_simulated_clock_is_its_formula(name, p, m, v):
    schedule = pipeline_parallel.schedule(name, p, m, v)
    times = time_schedule(schedule, forward=1.3, backward=2.1)
    wanted = formula(name, p, m, v)
    assert times.bubble == pytest.approx(wanted, abs=1e-9)
    assert times.seconds == pytest.approx(m * 3.4 / (1 - wanted), abs=1e-9)
    assert all(one == pytest.approx(wanted, abs=1e-9) for one in times.idle)  # on every rank


@pytest.mark.parametrize("name", ["1F1B", "interleaved"])
def test_messages_that_take_time_only_make_it_longer(name):
    schedule = pipeline_parallel.schedule(name, 3, 6, 2 if name == "interleaved" else 1)
    free = time_schedule(schedule)
    slow = time_schedule(schedule, link=gl.parallel.Link(0.01, 1e9), size=10_000_000)
    assert free.seconds + 0.02 < slow.seconds
    # no message is longer than 0.02 s, and none is waited for more than once
    assert slow.seconds < free.seconds + 0.02 * sum(map(len, schedule.ranks))


def test_uneven_groups_and_chunks_are_refused():
    with pytest.raises(BadInput, match="micro_batches is 5, which 4 ranks do not divide.*8 would"):
        pipeline_parallel.schedule("interleaved", 4, 5, 2)
    with pytest.raises(BadInput, match="chunks is 2: GPipe has one stage on each rank"):
        pipeline_parallel.schedule("GPipe", 4, 4, 2)
    with pytest.raises(BadInput, match="did you mean '1F1B'"):
        pipeline_parallel.schedule("1f1b", 4, 4)
    with pytest.raises(BadInput, match="rank is 4: there are 4 ranks, 0 to 3"):
        pipeline_schedule(4, 4, 4)
    with pytest.raises(BadInput, match="forward is 0"):
        time_schedule(pipeline_parallel.schedule("GPipe", 3, 1), forward=0)


def test_the_warm_up_of_chunks_ends_when_the_first_gradient_can_come():
    assert [warm_up(rank, 4, 8, 2) for rank in range(4)] == [11, 9, 7, 5]


# --- what is refused


def order(text):
    return [(one[0], int(one[1:])) for one in text.split()]


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        (["F0 B0", "B0 F0"], "rank 1 does B0 before F0: a backward pass needs"),
        (["F0 B0", "F0"], "micro-batch 0 on rank 1 lacks B0"),
        (["F0 F1 B0 B1", "F0 B0"], "micro-batch 1 on rank 1 lacks F1"),
        (["F0 F0 B0", "F0 B0"], "rank 0 does F0 twice"),
        (["", ""], "is empty: no rank does anything"),
        (["", "F0 B0"], "stage 0 is on no rank, and there are 2"),
        (
            ["F0 B0 F1 B1", "F0 F1 B0 B1"],
            "deadlock: rank 0 needs B0 of rank 1 for B0, and rank 1 needs F1 of rank 0 for F1: "
            "each comes before what the next one waits for",
        ),
    ],
)
def test_what_cannot_be_carried_out_is_refused_in_a_sentence(ranks, said):
    schedule = schedule_of("mine", [order(one) for one in ranks])
    with pytest.raises(BadInput, match=said.replace("(", r"\(")):
        check_schedule(schedule)


def test_a_ring_of_three_names_three():
    orders = ["F0 B0 F1 B1", "F0 F1 B0 B1", "F0 B0 F1 B1"]
    with pytest.raises(BadInput, match="rank 0 needs B0 of rank 1 for B0, and rank 1 needs F1"):
        check_schedule(schedule_of("", [order(one) for one in orders]))


@pytest.mark.parametrize("p", [2, 3])
def test_the_check_and_the_ranks_agree_on_random_orders(p):
    """What is refused as a deadlock deadlocks on ranks, and what passes comes to its end."""
    generator = random.Random(p)
    seen = set()
    for _ in range(40):
        orders = []
        for _ in range(p):
            ahead, done, one = 0, 0, []
            while done < 3:
                if ahead < 3 and (ahead == done or generator.random() < 0.5):
                    one.append(("F", ahead))
                    ahead += 1
                else:
                    one.append(("B", done))
                    done += 1
            orders.append(one)
        schedule = schedule_of("random", orders)
        checked = outcome(check_schedule, schedule)
        # plain messages of simulated ranks, which have a detector of their own
        assert outcome(gl.simulate, exchange, p, schedule.ranks) == checked
        seen.add(checked)
    assert seen == {"ends", "deadlock"}


def outcome(act, *args):
    try:
        act(*args)
    except (BadInput, gl.errors.RankError) as error:
        return str(error).partition(":")[0]
    return "ends"


def exchange(ranks):
    me, last, leaving = rank(), len(ranks) - 1, []
    for action in ranks[me]:
        step = 1 if action.kind == "F" else -1
        nothing = torch.zeros(1)
        if 0 <= me - step <= last:
            recv(nothing, me - step, tag=2 * action.micro + (step < 0))
        if 0 <= me + step <= last:
            leaving.append(isend(nothing, me + step, tag=2 * action.micro + (step < 0)))
    for handle in leaving:
        handle.wait()


# --- as data


def test_a_schedule_prints_as_a_table():
    text = repr(pipeline_parallel.schedule("interleaved", 2, 2, 2))
    assert "0     0, 2    0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1" in text
    assert "interleaved: 4 stages on 2 ranks, 2 micro-batches." in text
    assert "<table" in pipeline_parallel.schedule("1F1B", 2, 2)._repr_html_()
