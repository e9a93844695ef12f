"""Wrong answers made by machine: what is changed, and that what the cases miss is printed."""

import ast

import pytest

from gpulearn.judge.exercise import Case, Exercise
from tools import mutants


def clipped(x, limit):
    """The solution of an exercise."""
    if x < limit:
        return x
    return limit


def exercise(*inputs):
    return Exercise(
        task="Return the smaller of two numbers.",
        reference=clipped,
        cases=lambda: [Case(f"{x} and {limit}", (x, limit)) for x, limit in inputs],
    )


@pytest.mark.parametrize(
    ("written", "changed"),
    [
        ("return a - b", {"return a + b", "return b - a", "return a", "return b", "pass"}),
        ("return a < b", {"return a <= b"}),
        ("return a and b", {"return a or b", "return a"}),
        ("return f(a, b)", {"return f(b, a)"}),
        ("return f(a, dim=1)", {"return f(a)", "return f(a, dim=0)", "return f(a, dim=2)"}),
        ("return a[i]", {"return a[i + 1]", "return a[i - 1]"}),
        ("return a[1:n]", {"return a[:n]", "return a[1:n - 1]", "return a[1:]"}),
        ("return range(n)", {"return range(n - 1)", "return range(n + 1)"}),
        ("return a.sum(axis=0)", {"return a.mean(axis=0)", "return a.sum()"}),
        ("return a.clone()", {"return a"}),
        ("return max(a, b)", {"return min(a, b)"}),
        ("a = a - b", {"a -= b\n    a = a", "a = b - a"}),
        ("return (a, b)", {"return (b, a)"}),
        ("return [a for a in b if a]", {"return [a for a in b]"}),
        ("if a:\n        f()", {"if not a:\n        f()", "f()", "if a:\n        pass", "pass"}),
        ("for a in b:\n        f()", {"for a in list(b)[:1]:\n        f()"}),
    ],
)
def test_one_place_is_changed(written, changed):
    head = "def function(a, b):\n    "
    found = list(mutants.mutants(head + written))
    assert {head + text for text in changed} <= set(found)
    assert head + written not in found
    assert len(found) == len(set(found))
    for text in found:
        ast.parse(text)


def test_what_the_cases_miss_is_found_and_nothing_else():
    def passed(*inputs):
        return {difference for difference, told in mutants.judged(exercise(*inputs)) if not told}

    same = "-    if x < limit:\n+    if x <= limit:"
    missed = "-    return limit"
    assert passed((1.0, 2.0), (3.0, 2.0)) == {same}
    assert passed((1.0, 2.0)) >= {same, missed}


def test_a_topic_is_counted(capsys, monkeypatch):
    monkeypatch.setattr(mutants, "find", lambda name: exercise((1.0, 2.0), (3.0, 2.0)))
    mutants.main(["gradient_descent", "momentum_step", "--told", "1"])
    said = capsys.readouterr().out
    assert said.startswith("momentum_step: 6 mutants, 5 refused, 1 passed\n-    if x < limit:\n")
    assert said.count("    told: for ") == 1
