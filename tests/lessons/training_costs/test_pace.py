"""What sets the pace of a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulearn_lessons.training_costs.pace import find_the_bottleneck


def simulated(fetch, copy, compute, workers, batches=400):
    """Seconds a step of a run: each batch waits for its worker, the link and the GPU in turn."""
    fetched, copied, computed = [], [], []
    for i in range(batches):
        if workers == 0:
            began = computed[-1] if i else 0.0
            fetched.append(began + fetch)
            copied.append(fetched[i] + copy)
            computed.append(copied[i] + compute)
            continue
        began = fetched[i - workers] if i >= workers else 0.0
        if i >= 2 * workers:  # a worker is at most two batches ahead
            began = max(began, copied[i - 2 * workers])
        fetched.append(began + fetch)
        copied.append(max(fetched[i], copied[-1] if i else 0.0) + copy)
        computed.append(max(copied[i], computed[-1] if i else 0.0) + compute)
    half = batches // 2
    return (computed[-1] - computed[half - 1]) / (batches - half)


TIME = st.floats(0.1, 10.0)


@given(TIME, TIME, TIME, st.sampled_from([0, 1, 2, 4, 8]))
def test_the_slowest_part_sets_the_pace_of_a_run(fetch, copy, compute, workers):
    name, step, busy = find_the_bottleneck(fetch, copy, compute, workers)
    assert step == pytest.approx(simulated(fetch, copy, compute, workers), rel=1e-6)
    assert busy == pytest.approx(compute / step)
    times = {"fetch": fetch / (workers or 1), "copy": copy, "compute": compute}
    assert times[name] == max(times.values())
