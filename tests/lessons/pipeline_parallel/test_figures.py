"""Pictures of pipeline schedules: times of the simulated clock, and what ranks hold."""

import pytest

import gpulearn as gl
from gpulearn_lessons import pipeline_parallel
from gpulearn_lessons.pipeline_parallel import time_schedule
from gpulearn_lessons.pipeline_parallel.figures import doing, draw, held_at, pipeline, timed
from gpulearn_lessons.pipeline_parallel.orders import SCHEDULES


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_player_shows_the_simulated_clock(name):
    times = timed(name, 3, 4)
    micro = 6 if name == "interleaved" else 4  # rounded up to groups of 3
    chunks = 2 if name == "interleaved" else 1
    schedule = pipeline_parallel.schedule(name, 3, micro, chunks)
    assert times.schedule == schedule
    assert times.seconds == time_schedule(schedule).seconds
    picture, text = draw(name, 3, 4, 5)
    assert picture.alt == text
    assert f"take {times.seconds:.4g} s, modeled" in text
    assert ("in groups of 3: 6 here, not 4." in text) == (name == "interleaved")


@pytest.mark.parametrize("name", SCHEDULES)
def test_what_is_held_over_time_is_what_the_schedule_holds(name):
    times = timed(name, 3, 6)
    quarters = [quarter / 4 for quarter in range(int(4 * times.seconds) + 2)]
    for rank, most in enumerate(times.schedule.most_held):
        held = [held_at(times, rank, now) for now in quarters]
        assert max(held) == most
        assert held[0] == held[-1] == 0


def test_at_each_time_a_rank_does_one_pass_or_none():
    times = timed("1F1B", 2, 3)
    first = [span for span in times.spans if span.rank == 0]
    done = " ".join(doing(first, second) for second in range(1, 13))
    assert done == "F0 F1 idle idle B0 B0 F2 B1 B1 idle B2 B2"


def test_several_schedules_stand_below_one_another():
    both = {name: timed(name, 2, 2) for name in ("GPipe", "1F1B")}
    alt = pipeline(both).alt
    assert alt.startswith("GPipe: 2 ranks and 2 micro-batches take 9 s, modeled; 33.3 %")
    assert "1F1B: 2 ranks" in alt


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(gl.errors.BadInput, match="times is empty"):
        pipeline({})
    with pytest.raises(gl.errors.BadInput, match="give what time_schedule returns"):
        pipeline(3)
