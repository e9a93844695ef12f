"""Measured and modeled scaling: on a simulated clock, and against the simulator."""

import functools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn.parallel.torch_collectives import begin_sum
from gpulearn_lessons.scaling_out import (
    data_parallel_seconds,
    how_many_gpus,
    measure_scaling,
    modeled_scaling,
    scaling,
    scaling_efficiency,
    scaling_studies,
)
from gpulearn_lessons.scaling_out.laws import Scaling
from gpulearn_lessons.scaling_out.measured import slowest, take_turns

COUNTS = (1, 2, 4)


def turns_on_a_simulated_clock():
    """Groups of N whose last rank is the slowest: 1/N + 0.1 for each rank before it."""
    order = []

    def work(count):
        order.append(count)
        gl.parallel.compute(1 / count + 0.1 * gl.parallel.rank())

    times = take_turns({count: lambda c=count: work(c) for count in COUNTS}, repeats=3)
    return times, order


def test_the_slowest_rank_of_the_group_counts_and_the_groups_take_turns():
    ranks = gl.simulate(turns_on_a_simulated_clock, 4, link=gl.parallel.Link(1e-6, 1e9)).results
    seconds = slowest([times for times, _ in ranks])
    for count in COUNTS:
        assert seconds[count] == pytest.approx([1 / count + 0.1 * (count - 1)] * 3)
    assert ranks[0][1] == [1, 2, 4, 4, 2, 1, 1, 2, 4]  # a slow minute falls on all
    assert ranks[3][1] == [4, 4, 4]
    assert ranks[3][0][2] == [0.0] * 3


@pytest.mark.parametrize("kind", ["strong", "weak"])
def test_ratios_are_within_a_repeat_so_that_a_slow_minute_cancels(kind):
    load = (1.0, 5.0, 2.0)
    quick = {1: 8.0, 2: 5.0}
    run = Scaling(kind, {n: tuple(t * slow for slow in load) for n, t in quick.items()}, cores=2)
    wanted = scaling_efficiency(8.0, 5.0, 2, kind)
    assert tuple(run.efficiency(2)) == pytest.approx((wanted,) * 3)
    assert run.speedup(2).median == pytest.approx(2 * wanted)


@pytest.mark.parametrize("kind", ["strong", "weak"])
def test_real_ranks_are_measured(kind):
    sizes = {"batch": 17, "repeats": 2, "steps": 1, "shape": (5,)}
    build = functools.partial(gl.train.MLP, (5, 10))
    run = measure_scaling((1, 2), kind=kind, model=build, **sizes)
    assert run.ranks == (1, 2)
    assert all(len(times) == 2 and min(times) > 0 for times in run.seconds.values())
    assert run.source == "measured"


def plain(compute, elements):
    gl.parallel.compute(compute)
    gl.parallel.all_reduce(torch.zeros(elements), algorithm="ring")


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_one_after_the_other_costs_what_the_simulator_says(ranks):
    link, elements = gl.parallel.Link(2e-5, 1e9), 24 * 100
    run = gl.simulate(plain, ranks, 3e-3, elements, link=link)
    seconds = data_parallel_seconds(ranks, 3e-3, 4 * elements, link)
    assert seconds == pytest.approx(run.seconds, rel=1e-9)


def overlapped(compute, elements, buckets):
    gl.parallel.compute(compute / 3)
    sums = []
    for _ in range(buckets):
        gl.parallel.compute(compute * 2 / 3 / buckets)
        sums.append(begin_sum(torch.zeros(elements // buckets)))
    for pending in sums:
        pending.wait()


@pytest.mark.parametrize("buckets", [1, 2, 4, 6])
@pytest.mark.parametrize("bandwidth", [1e7, 1e8, 1e10])
def test_overlapping_costs_what_the_simulator_says(buckets, bandwidth):
    link, elements = gl.parallel.Link(3e-5, bandwidth), 2400
    run = gl.simulate(overlapped, 2, 6e-4, elements, buckets, link=link)
    # two ranks sum directly, in one message each way; a ring of two takes two half as long
    link = gl.parallel.Link(1.5e-5, bandwidth)
    modeled = data_parallel_seconds(2, 6e-4, 4 * elements, link, overlap=True, buckets=buckets)
    assert modeled == pytest.approx(run.seconds, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    ranks=st.integers(1, 2048),
    compute=st.floats(1e-5, 10),
    size=st.floats(0, 1e11),
    buckets=st.integers(1, 50),
    kind=st.sampled_from(["strong", "weak"]),
)
def test_overlap_never_costs_and_never_hides_more_than_there_is(
    ranks, compute, size, buckets, kind
):
    given_ = (ranks, compute, size, "400 Gbit")
    plain = data_parallel_seconds(*given_, kind=kind, buckets=buckets)
    hidden = data_parallel_seconds(*given_, kind=kind, buckets=buckets, overlap=True)
    share = compute / ranks if kind == "strong" else compute
    each = gl.parallel.all_reduce_seconds("ring", ranks, size / buckets, "400 Gbit")
    # bucket by bucket: it leaves when it is full and the one before it is through
    through = 0.0
    for number in range(1, buckets + 1):
        through = max(through, share / 3 + 2 / 3 * share * number / buckets) + each
    assert hidden == pytest.approx(through)
    assert hidden <= plain * (1 + 1e-12)
    assert hidden >= max(share, buckets * each)
    assert ranks > 1 or plain == compute


def test_the_picture_says_what_was_measured_and_marks_the_cores(monkeypatch):
    figures, show = [], scaling_studies.show
    monkeypatch.setattr(
        scaling_studies, "show", lambda figure, alt: figures.append(figure) or show(figure, alt)
    )
    seconds = {1: (8.0, 8.0, 8.0), 2: (5.0, 4.0, 4.2), 4: (4.4, 4.0, 4.1)}
    strong = Scaling("strong", seconds, cores=2)
    model = modeled_scaling(0.1, 1e8, "100 Gbit", ranks=COUNTS)
    alt = scaling({"here": strong, "network": model}).alt
    assert "here, strong scaling, measured here on 2 cores: 1.9 times as fast with 2 ranks" in alt
    assert "efficiency 95% (80% to 100%)" in alt
    assert "network, weak scaling, modeled" in alt
    many = modeled_scaling(0.4, 2e8, "100 Gbit", kind="strong", ranks=[1, 1024])
    assert "with 1,024 ranks, efficiency 0.8%" in scaling({"many": many}).alt
    figures.pop()
    speed, share = figures[0].axes
    assert [speed.yaxis.get_major_formatter()(y) for y in (0.5, 1, 1024)] == ["0.5", "1", "1,024"]
    assert share.texts[0].get_text() == "2 cores here"
    (ideal,) = [line for line in speed.lines if line.get_label() == "ideal"]
    assert list(ideal.get_xdata()) == list(ideal.get_ydata()) == [1, 2, 4]
    labels = [text.get_text() for text in figures[0].legends[0].get_texts()]
    assert {"here, measured here", "network, modeled", "ideal"} == set(labels)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: measure_scaling((2, 4)), "begin with 1"),
        (lambda: measure_scaling((1, 8), batch=4), "batch is 4"),
        (lambda: measure_scaling(kind="large"), "There is no kind"),
        (lambda: modeled_scaling(0.1, 1e8, "carrier pigeon"), "carrier pigeon"),
        (lambda: data_parallel_seconds(2, 0.0, 1e8, "100 Gbit"), "compute is 0"),
        (lambda: modeled_scaling(1.0, 1.0, "100 Gbit").efficiency(3), "ranks is 3"),
        (lambda: how_many_gpus(1, 1, gl.parallel.Link(0, 1), 8, 1.5), "at most 1"),
        (lambda: scaling({}), "one to six of them"),
        (lambda: scaling(3), "runs is 3"),
    ],
)
def test_bad_input_is_told(call, message):
    with pytest.raises(gl.errors.BadInput, match=message):
        call()
