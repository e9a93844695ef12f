"""Operations per byte."""

from __future__ import annotations

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.perf.roofline import arithmetic_intensity

answers = Answers(arithmetic_intensity)

RATIO = "flops / bytes_moved"


def cases() -> list[Case]:
    """Work below one operation per byte and far above, whole and broken ratios, a copy."""
    work = (
        ("2 operations on 12 bytes", 2, 12),
        ("a product of 1024 × 1024 matrices", 2 * 1024**3, 12 * 1024**2),
        ("7e9 operations on 3e9 bytes", 7e9, 3e9),
        ("a copy of 800 bytes, which computes nothing", 0, 800),
        ("5 operations on 8 bytes", 5, 8),
    )
    return [Case(label, (flops, moved)) for label, flops, moved in work]


answers.edit(
    {RATIO: "bytes_moved / flops"},
    "that is bytes per operation, upside down: divide the operations by the bytes.",
)
answers.edit(
    {"/": "//"},
    "what is behind the decimal point is dropped, and 2 operations on 12 bytes are left with 0.",
)
answers.edit(
    {"/": "*"}, "that multiplies; an intensity is so many operations for each byte: divide."
)
answers.edit(
    {"/ bytes_moved": "/ (bytes_moved / 4)"},
    "that is operations per number of 4 bytes; count single bytes.",
)
answers.edit(
    {"/ bytes_moved": "/ (bytes_moved / 8)"},
    "that is operations per number of 8 bytes; count single bytes.",
)
answers.edit(
    {"/ bytes_moved": "/ (bytes_moved * 8)"}, "that is operations per bit; a byte has eight."
)
answers.edit(
    {RATIO: f"round({RATIO})"}, "that is rounded to a whole number; give the quotient as it is."
)
answers.edit({" / bytes_moved": ""}, "that leaves the bytes out.")
answers.edit(
    {"/": "-"}, "that is how many more operations there are than bytes; divide, do not subtract."
)
answers.edit(
    {RATIO: f"100 * {RATIO}"},
    "that is in percent; an intensity is operations per byte as it stands.",
)


@answers.right
def by_power(flops: float, bytes_moved: float) -> float:
    return flops * bytes_moved**-1


@answers.right
def in_floats(flops: float, bytes_moved: float) -> float:
    operations, moved = float(flops), float(bytes_moved)
    return operations / moved


EXERCISE = Exercise(
    task="Compute the operations per byte moved.",
    reference=arithmetic_intensity,
    cases=cases,
    answers=answers,
)
