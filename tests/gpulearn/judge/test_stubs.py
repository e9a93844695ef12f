"""What counts as a stub, and when a stub has drifted from its solution."""

import pytest

from gpulearn.judge.catalogue import find
from gpulearn.judge.stubs import is_stub, notebook_source, same_code
from tests.support.edits import edited
from tests.support.stub_drift import altered, drift


def stub_empty(m): ...


def stub_pass(m):
    pass


def stub_docstring(m):
    """Do it."""


def stub_hole(m):
    total = 0
    for i in range(m):
        total += ...
    return total


def indexed(a):
    return a[..., 0]


def answered(m):
    """Ellipsis in a subscript's text is fine: "..."."""
    return m


@pytest.mark.parametrize("function", [stub_empty, stub_pass, stub_docstring, stub_hole])
def test_stubs(function):
    assert is_stub(function)


@pytest.mark.parametrize("function", [answered, indexed, lambda m: m, max])
def test_answers(function):
    assert not is_stub(function)


def total(values, start=0):
    """The solution."""
    result = start
    for value in values:
        result += value
    return result


def adder(start: int) -> object:
    """The solution."""

    def add(
        value: "Unknown",  # noqa: F821 - nobody imports what only a hint says
    ) -> "Unknown":  # noqa: F821
        return start + value

    return add


def test_hints_of_inner_functions_are_left_out_too():
    shown = notebook_source(adder)
    assert shown == (
        "def adder(start):\n    def add(value):\n        return start + value\n\n    return add"
    )
    stub = "def adder(start):\n    def add(value):\n        ...\n\n    return add"
    assert drift(stub, adder) is None
    assert "def add(other):" in drift(stub.replace("add(value)", "add(other)"), adder)


def test_a_stub_of_the_solution_has_not_drifted():
    source = (
        "def total(values, start=0):\n    result = start\n    for value in values:\n        ...\n"
    )
    assert drift(source, total) is None


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def sum_up(values, start=0):\n    ...", "does not define total"),
        ("def total(items, start=0):\n    ...", "takes (items, start=0), the solution (values, "),
        ("def total(values, start=1):\n    ...", "takes (values, start=1), the solution"),
        ("def total(values, start=0):\n    result = 0\n    ...", "'result = 0' is not in"),
        ("def total(values, start=0):\n    for v in values:\n        ...", "'for v in values:' is"),
    ],
)
def test_drift_is_named(source, said):
    assert said in drift(source, total)


def test_hole_in_a_line_may_hold_anything():
    source = "def total(values, start=0):\n    result = ...\n    return result"
    assert drift(source, total) is None


GIVEN = """
@decorated
def total(values, start=0):
    result = start
    for value in values:
        result -= value  # is it?
    return result
"""


def test_what_is_to_be_mended_is_given_as_it_is():
    given = edited(total, {"+=": "-="})
    assert altered(GIVEN, given) is None
    said = "what is to be mended is not what the exercise gives"
    assert altered(GIVEN.replace("-=", "+="), given) == said
    assert altered("x = 1", given) == said


def test_the_same_lines_are_known_whatever_stands_around_them():
    given = edited(total, {"+=": "-="})
    assert same_code(given, edited(total, {"+=": " -= "}))
    assert not same_code(given, total)
    assert not same_code(given, max)


def test_a_body_on_the_line_of_its_def_is_read():
    # fmt: off
    def short(a: int): return a + 1
    # fmt: on
    assert notebook_source(short) == "def short(a):\n    return a + 1"


def test_a_kernel_in_triton_keeps_its_decorator_and_its_constants():
    source = notebook_source(find("softmax_tile").reference)
    head = "@triton.jit\ndef softmax_tile(scores, out, columns, BLOCK: tl.constexpr):\n"
    assert source.startswith(head)
