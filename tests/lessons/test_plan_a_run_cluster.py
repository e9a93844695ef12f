"""The exercises of notebook 23, with answers written by other hands than the catalogue's."""

import pytest

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose


def always(answer):
    def fits(parameters, activations, micro_batches, *, tensor, pipeline, data, stage, memory):
        return answer

    return fits


def layout_by_sorting(gpus, layers, heads, seconds, machine=8):
    fitting = []
    for t in range(1, machine + 1):
        for p in range(1, layers + 1):
            if gpus % (t * p) == 0 and layers % p == 0 and heads % t == 0:
                took = seconds(t, p, gpus // t // p)
                if took is not None:
                    fitting.append((took, t, p))
    if not fitting:
        return None
    _, t, p = sorted(fitting)[0]
    return [t, p, gpus // (t * p)]


def layout_that_asks_all(gpus, layers, heads, seconds, machine=8):
    found = layout_by_sorting(gpus, layers, heads, seconds, machine)
    seconds(1, 1, gpus)
    return found


def layout_in_powers(gpus, layers, heads, seconds, machine=8):
    powers = [2**k for k in range(12)]
    every = {
        (t, p, gpus // (t * p)): seconds(t, p, gpus // (t * p))
        for t in powers
        for p in powers
        if t <= machine and gpus % (t * p) == 0 and layers % p == 0 and heads % t == 0
    }
    every = {key: took for key, took in every.items() if took is not None}
    return min(every, key=every.get) if every else None


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("fits_in_memory", always(True), "it does not fit, but the answer is True"),
        ("fits_in_memory", always(False), "it fits, but the answer is False"),
        ("fits_in_memory", always(1), "it returns 1, expected True or False"),
        ("best_layout", layout_that_asks_all, "is asked for more than once"),
        ("best_layout", layout_in_powers, "expected"),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    assert said in diagnose(find(name), answer)
