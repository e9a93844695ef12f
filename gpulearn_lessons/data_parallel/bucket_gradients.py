"""Gradient buckets: which gradients travel together."""

import operator
from typing import Any

import torch
from torch import nn

from gpulearn.judge.answers import Answer
from gpulearn.judge.compare import NOTHING
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.averaging import bucket_gradients
from gpulearn.require import shown

Buckets = list[list[int | str]]  # the numbers of the parameters; what is none is described
Kind = tuple[int, str]  # how many numbers; a dtype, and perhaps "frozen" or a device


def cases() -> list[Case]:
    """Full to the byte and over it, too large, frozen, of several dtypes and devices."""

    def plain(*sizes: int) -> tuple[Kind, ...]:
        return tuple((size, "float32") for size in sizes)

    works: dict[str, tuple[tuple[Kind, ...], int]] = {
        "128, 32, 64 and 8 bytes, at most 120": (plain(32, 8, 16, 2), 120),
        "a bucket that is full to the byte": (plain(10, 5, 10, 5, 5), 60),
        "second buckets that lack one byte": (plain(10, 5, 10, 5, 5), 59),
        "all in one bucket": (plain(4, 6, 2), 1000),
        "a last parameter without numbers": (plain(4, 6, 0), 1000),
        "a last parameter that is larger than a bucket": (plain(4, 5, 100), 80),
        "a parameter in the middle that is larger than a bucket": (plain(3, 4, 100, 5, 6), 80),
        "two parameters that are each larger than a bucket": (plain(100, 200, 3), 80),
        "a bucket that is smaller than every parameter": (plain(3, 4, 5), 4),
        "a frozen parameter in the middle": (
            ((5, "float32"), (4, "float32 frozen"), (6, "float32"), (7, "float32")),
            80,
        ),
        "a frozen parameter among others that share a bucket": (
            ((5, "float32"), (6, "float32"), (1, "float32 frozen"), (7, "float32")),
            100,
        ),
        "a frozen parameter of float16 among others of float32": (
            ((5, "float32"), (6, "float32"), (1, "float16 frozen"), (7, "float32")),
            100,
        ),
        "a last parameter that is frozen and large": (
            ((5, "float32"), (100, "float32 frozen")),
            60,
        ),
        "float16, float32 and float16 again": (
            ((4, "float16"), (4, "float32"), (4, "float32"), (6, "float16"), (2, "float16")),
            100,
        ),
        "float64 and float32, where bytes decide": (
            ((4, "float64"), (3, "float64"), (5, "float64"), (7, "float32"), (8, "float32")),
            60,
        ),
        "float16 and bfloat16": (((3, "float16"), (5, "float16"), (4, "bfloat16")), 100),
        "float32 after float16, where the bytes begin anew": (
            ((4, "float32"), (5, "float32"), (6, "float32"), (9, "float16"), (7, "float16")),
            60,
        ),
        "two devices": (((3, "float32"), (4, "float32 meta"), (5, "float32 meta")), 100),
        "two GPUs": (((3, "float32 cuda:0"), (4, "float32 cuda:1"), (5, "float32 cuda:1")), 100),
        "parameters that are all frozen": (((5, "float32 frozen"), (6, "float32 frozen")), 60),
        "sizes up and down": (plain(9, 2, 7, 1, 8, 3, 6), 44),
    }
    return [Case(label, work) for label, work in works.items()]


def run(answer: Answer, case: Case) -> Buckets | str:
    """Build the parameters, ask, and say the buckets in numbers, or what is wrong with them."""
    kinds, most_bytes = case.args
    parameters = [built(*kind) for kind in kinds]
    handed_over = list(parameters)
    returned = answer(handed_over, most_bytes)
    if returned is None:
        return NOTHING
    if len(handed_over) != len(parameters) or any(map(operator.is_not, handed_over, parameters)):
        return "it changes the list that it is given: work on a copy"
    if [p.requires_grad for p in parameters] != ["frozen" not in kind for _, kind in kinds]:
        return "it changes what needs a gradient: only look at requires_grad"
    if isinstance(returned, list | tuple) and all(isinstance(b, list | tuple) for b in returned):
        return [[index_of(p, parameters) for p in bucket] for bucket in returned]
    return f"it returns {shown(returned)}, expected a list of lists of parameters"


class OnGpu(nn.Parameter):
    """A parameter that says it is on a GPU, which need not be there."""

    number = 0

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """What is asked of a parameter to find out where it is."""
        return torch.device("cuda", self.number)

    def get_device(self) -> int:
        return self.number


def built(size: int, kind: str) -> nn.Parameter:
    """A parameter of so many numbers."""
    dtype, _, rest = kind.partition(" ")
    frozen = rest == "frozen"
    place, _, number = ("" if frozen else rest).partition(":")
    numbers = torch.zeros(size, dtype=getattr(torch, dtype), device="meta" if place else None)
    if place != "cuda":
        return nn.Parameter(numbers, requires_grad=not frozen)
    parameter = OnGpu(numbers)
    parameter.number = int(number)
    return parameter


def index_of(item: Any, parameters: list[nn.Parameter]) -> int | str:
    """A parameter's number in the list, or what is there in place of one."""
    number = next((n for n, parameter in enumerate(parameters) if parameter is item), None)
    return number if number is not None else shown(item)


def difference(got: Buckets | str, want: Buckets) -> str | None:
    if isinstance(got, str) or got == want:
        return got if isinstance(got, str) else None
    strange = next((item for bucket in got for item in bucket if isinstance(item, str)), "")
    if strange:
        return (
            f"a bucket holds {strange}, which is none of the parameters that it is given: put "
            f"them there themselves"
        )
    return f"its buckets hold parameters number {got}, expected {want}, where 0 is the first"


EXERCISE = Exercise(
    task="Group parameters, the last ones first, into buckets of at most so many bytes.",
    reference=bucket_gradients,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(operator.eq,),
)
