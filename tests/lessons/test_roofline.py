"""The exercises of notebook 02, with answers written by other hands than the catalogue's."""

import numpy as np
import pytest

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose


def stencil(rows, columns, peak, bandwidth):
    flops, moved = 4 * (rows - 2) * (columns - 2), 8 * rows * columns
    limit = "memory" if flops / moved < peak / bandwidth else "arithmetic"
    return flops, moved, limit, max(flops / peak, moved / bandwidth)


def stencil_with_a_capital(*machine):
    flops, moved, limit, seconds = stencil(*machine)
    return flops, moved, limit.title(), seconds


def stencil_in_the_wrong_order(*machine):
    flops, moved, limit, seconds = stencil(*machine)
    return moved, flops, limit, seconds


def stencil_without_seconds(*machine):
    return stencil(*machine)[:3]


def stencil_on_squares(rows, columns, peak, bandwidth):
    return stencil(rows, rows, peak, bandwidth)


def stencil_with_a_launch(*machine):
    flops, moved, limit, seconds = stencil(*machine)
    return flops, moved, limit, seconds + 5e-6


def stencil_memory_at_the_ridge(rows, columns, peak, bandwidth):
    flops, moved, _, seconds = stencil(rows, columns, peak, bandwidth)
    limit = "memory" if flops / peak <= moved / bandwidth else "arithmetic"
    return flops, moved, limit, seconds


def stencil_without_an_edge(rows, columns, peak, bandwidth):
    flops, moved, _, seconds = stencil(rows, columns, peak, bandwidth)
    return flops, moved, "memory" if peak / bandwidth > 0.5 else "arithmetic", seconds


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("arithmetic_intensity", lambda f, b: np.float64(f) / np.float64(b), None),
        ("arithmetic_intensity", lambda f, b: f * (1 / b), None),
        ("ridge_point", np.divide, None),
        ("ridge_point", lambda p, b: 1 / (b / p), None),
        ("attainable", lambda i, p, b: sorted([p, i * b])[0], None),
        ("attainable", lambda i, p, b: np.minimum(p, i * b), None),
        ("attainable", lambda i, p, b: p if i >= p / b else i * b, None),
        ("arithmetic_intensity", lambda f, b: b / max(f, 1e-9), "expected"),
        (
            "arithmetic_intensity",
            lambda f, b: int(f / b),
            "drops the digits after the decimal point",
        ),
        ("arithmetic_intensity", lambda f, b: str(f / b), "(str), expected"),
        ("arithmetic_intensity", lambda flops: flops, "it takes (flops), and is called with"),
        ("ridge_point", lambda p, b: p - b, "expected"),
        ("ridge_point", lambda p, b: print(end=""), "returns nothing (None)"),
        ("attainable", lambda i, p, b: p * b, "expected"),
        ("attainable", lambda i, p, b: i / 0, "it raises ZeroDivisionError"),
        ("analyze_stencil", stencil_with_a_capital, "the limit is 'Memory', expected 'memory'"),
        ("analyze_stencil", stencil_in_the_wrong_order, "the operations: it returns 6400000"),
        ("analyze_stencil", stencil_without_seconds, "expected four things: operations, bytes"),
        ("analyze_stencil", stencil_on_squares, "the operations: it returns 3984016"),
        ("analyze_stencil", stencil_with_a_launch, "the seconds: it returns 2.5e-05"),
        ("analyze_stencil", stencil_without_an_edge, "3 × 4 on a chip with slow arithmetic, the"),
        ("analyze_stencil", stencil_memory_at_the_ridge, "for a grid that needs the same time"),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    diagnosis = diagnose(find(name), answer)
    assert diagnosis is None if said is None else said in diagnosis
