"""Gradient buckets: which gradients travel together."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.compare import NOTHING
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.averaging import bucket_gradients
from gpulearn.require import shown

answers = Answers(bucket_gradients)

Kind = tuple[int, str]  # how many numbers; a dtype, and perhaps "frozen" or a device


@dataclass(frozen=True)
class SeenBuckets:
    """What an answer gave.

    Attributes:
        buckets: the numbers of the parameters in each bucket; what is none of them is described.
        said: what is wrong with the form, if anything.
    """

    buckets: tuple[tuple[int | str, ...], ...] = ()
    said: str = ""


def cases() -> list[Case]:
    """Full to the byte and over it, too large, frozen, of several dtypes and devices."""

    def plain(*sizes: int) -> tuple[Kind, ...]:
        return tuple((size, "float32") for size in sizes)

    works: dict[str, tuple[tuple[Kind, ...], int]] = {
        "128, 32, 64 and 8 bytes, at most 120": (plain(32, 8, 16, 2), 120),
        "a bucket that is full to the byte": (plain(10, 5, 10, 5, 5), 60),
        "second buckets that lack one byte": (plain(10, 5, 10, 5, 5), 59),
        "all in one bucket": (plain(4, 6, 2), 1000),
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


def run(answer: Answer, case: Case) -> SeenBuckets:
    """Build the parameters, ask, and say the buckets in numbers."""
    kinds, most_bytes = case.args
    parameters = [built(*kind) for kind in kinds]
    given = list(parameters)
    returned = answer(given, most_bytes)
    if returned is None:
        return SeenBuckets(said=NOTHING)
    if len(given) != len(parameters) or any(map(operator.is_not, given, parameters)):
        return SeenBuckets(said="it changes the list that it is given: work on a copy")
    if [one.requires_grad for one in parameters] != ["frozen" not in kind for _, kind in kinds]:
        return SeenBuckets(said="it changes what needs a gradient: only look at requires_grad")
    if isinstance(returned, list | tuple) and all(isinstance(b, list | tuple) for b in returned):
        return SeenBuckets(
            tuple(tuple(named(one, parameters) for one in bucket) for bucket in returned)
        )
    return SeenBuckets(said=f"it returns {shown(returned)}, expected a list of lists of parameters")


class OnGpu(nn.Parameter):
    """A parameter that says it is on a GPU, which need not be there."""

    number = 0

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """What is asked of a parameter to find out where it is."""
        return torch.device("cuda", self.number)

    def get_device(self) -> int:
        """The number of the GPU."""
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


def named(one: Any, parameters: list[nn.Parameter]) -> int | str:
    """A parameter's number in the list, or what is there in place of one."""
    found = next((n for n, parameter in enumerate(parameters) if parameter is one), None)
    return found if found is not None else shown(one)


def difference(got: SeenBuckets, wanted: SeenBuckets) -> str | None:
    """One sentence on the buckets, or None."""
    if got.said:
        return got.said
    if got.buckets == wanted.buckets:
        return None
    strange = next((one for bucket in got.buckets for one in bucket if isinstance(one, str)), "")
    if strange:
        return (
            f"a bucket holds {strange}, which is none of the parameters that it is given: put "
            f"them there themselves"
        )
    return (
        f"its buckets hold parameters number {_said(got)}, expected {_said(wanted)}, where 0 is "
        f"the first"
    )


def _said(seen: SeenBuckets) -> str:
    listed = (f"[{', '.join(map(str, bucket))}]" for bucket in seen.buckets)
    return f"[{', '.join(listed)}]"


FROZEN = "not parameter.requires_grad"
SKIP = f"        if {FROZEN}:\n            continue\n"
KIND = "(parameter.dtype, parameter.device)"
OTHER_KIND = "own_kind != kind"
FULL = "filled + parameter.nbytes > most_bytes"
RESET = "kind, filled = own_kind, 0"
ADD = "filled += parameter.nbytes"
END = "return buckets"

answers.edit(
    {"reversed(parameters)": "parameters"},
    "the buckets go forward: the first one holds the first layers, whose gradients come last, so "
    "that it is full when backward ends. Begin with the last parameter.",
)
answers.edit(
    {
        "reversed(parameters)": "parameters",
        END: "return [bucket[::-1] for bucket in reversed(buckets)]",
    },
    "the buckets are made from the first parameter on and then turned round: begin with the last "
    "one, so that the first bucket is the full one.",
)
answers.edit(
    {END: "return [bucket[::-1] for bucket in buckets]"},
    "the buckets are in the right order, and in each of them the parameters go forward.",
)
answers.edit(
    {FULL: "filled >= most_bytes"},
    "a bucket is closed when it is over the limit, which is one parameter too late: ask whether "
    "the next one still fits.",
)
answers.edit(
    {"> most_bytes": ">= most_bytes"},
    "a bucket may be full to the byte: compare with <=, not with <.",
)
answers.edit(
    {f"{OTHER_KIND} or {FULL}": "True"},
    "each parameter has a bucket of its own, which saves no message at all.",
)
answers.edit(
    {f" or {FULL}": ""},
    "most_bytes makes no difference: all that is of one dtype and device is in one bucket. It is "
    "in bytes, as parameter.nbytes is.",
)
answers.edit(
    {"]] = []": "]] = [[]]", f"{OTHER_KIND} or {FULL}": "False"},
    "all parameters are in one bucket, whatever their bytes, dtypes and devices: the next one "
    "must be looked at before it is put there.",
)
answers.edit(
    {FROZEN: f"{FROZEN} or parameter.nbytes > most_bytes"},
    "a parameter that is larger than a bucket is left out, and would never be averaged: give it a "
    "bucket of its own.",
)
answers.edit(
    {
        f"    for parameter in reversed(parameters):\n{SKIP}": (
            "    parts = []\n"
            "    for one in reversed(parameters):\n"
            "        if one.requires_grad:\n"
            "            most = max(1, most_bytes // one.element_size())\n"
            "            parts += one.detach().split(most) if one.nbytes > most_bytes else [one]\n"
            "    for parameter in parts:\n"
        )
    },
    "a parameter that is larger than a bucket is split: its gradient is one tensor, which has a "
    "bucket of its own.",
)
answers.edit(
    {
        SKIP: (
            f"{SKIP}        if parameter.nbytes > most_bytes:\n"
            "            buckets.append([parameter])\n"
            "            continue\n"
        ),
        "buckets.append([])": "current = []\n            buckets.append(current)",
        "buckets[-1].append(parameter)": "current.append(parameter)",
    },
    "a parameter that is larger than a bucket is put beside the others, and those that come after "
    "it go into the bucket before it: buckets would not leave in the order in which they fill.",
)
answers.edit(
    {
        "]] = []": "]] = [[]]",
        OTHER_KIND: "kind not in (None, own_kind)",
        RESET: "filled = 0",
        ADD: f"{ADD}\n        kind = own_kind",
    },
    "there is an empty bucket: it begins with one, and a first parameter that does not fit begins "
    "another.",
)
answers.edit(
    {END: "return buckets or [[]]"},
    "where nothing needs a gradient there is an empty bucket, which would be sent: there are "
    "no buckets then.",
)
answers.edit(
    {SKIP: ""},
    "frozen parameters are in the buckets, and they never have a gradient, so their buckets are "
    "never full: leave out those whose requires_grad is False.",
)
answers.edit(
    {
        SKIP: "",
        END: (
            "trained = [[one for one in bucket if one.requires_grad] for bucket in buckets]\n"
            "    return [bucket for bucket in trained if bucket]"
        ),
    },
    "frozen parameters are left out, and yet count among a bucket's bytes: pass them over first.",
)
answers.edit(
    {"            continue": "            kind = None\n            continue"},
    "a frozen parameter closes the bucket: leave it out, and go on with the same bucket.",
)
answers.edit(
    {
        SKIP: (
            f"        own_kind = {KIND}\n        if {FROZEN}:\n"
            "            kind = own_kind\n            continue\n"
        ),
        f"        own_kind = {KIND}\n        if {OTHER_KIND}": f"        if {OTHER_KIND}",
    },
    "dtype and device are compared with those of the parameter before it in the list, also where "
    "that one is frozen and in no bucket: compare with what is in the bucket.",
)
answers.edit(
    {"parameter.dtype": "parameter.itemsize"},
    "it compares how long a number is, not what it is: float16 and bfloat16 both have 2 bytes, "
    "and do not go into one flat tensor. Compare parameter.dtype.",
)
answers.edit(
    {RESET: f"kind, filled = own_kind, 0 if {FULL} else filled"},
    "a bucket that is begun for another dtype or device takes over the bytes of the one before: "
    "set the count to 0 there as well.",
)
answers.edit(
    {OTHER_KIND: "not buckets"},
    "a bucket mixes dtypes or devices: its gradients travel in one flat tensor, which has one of "
    "each. Begin a new bucket where either changes.",
)
answers.edit(
    {KIND: "parameter.dtype"},
    "a bucket mixes devices: begin a new one where the device changes, too.",
)
answers.edit(
    {"parameter.device)": "parameter.device.type)"},
    "a bucket mixes two GPUs: cuda:0 and cuda:1 are both of type cuda. Compare parameter.device "
    "itself, which knows its number.",
)
answers.edit(
    {KIND: "parameter.device"},
    "a bucket mixes dtypes: begin a new one where the dtype changes, too.",
)
answers.edit(
    {
        "kind, filled = None, 0": "rows = {}",
        f"{OTHER_KIND} or {FULL}": (
            "own_kind not in rows or "
            "sum(one.nbytes for one in [*rows[own_kind], parameter]) > most_bytes"
        ),
        RESET: "rows[own_kind] = buckets[-1]",
        "buckets[-1].append(parameter)": "rows[own_kind].append(parameter)",
        f"        {ADD}\n": "",
    },
    "a bucket holds parameters between which another dtype or device stands in the list: only the "
    "bucket that was begun last takes another parameter, in the order of the list.",
)


@answers.wrong(
    "a parameter goes into any earlier bucket that has room: then that one is not full before the "
    "last layers are through. Only the bucket that was begun last takes another parameter."
)
def first_that_fits(parameters: Any, most_bytes: int) -> Any:
    buckets: list[list[Any]] = []
    for one in [one for one in reversed(parameters) if one.requires_grad]:
        for bucket in buckets:
            alike = (one.dtype, one.device) == (bucket[0].dtype, bucket[0].device)
            if alike and sum(other.nbytes for other in [*bucket, one]) <= most_bytes:
                bucket.append(one)
                break
        else:
            buckets.append([one])
    return buckets


answers.edit(
    {"reversed(parameters)": "sorted(reversed(parameters), key=lambda one: one.nbytes)"},
    "the parameters are sorted by their size, and backward does not go by size: keep their order.",
)
answers.edit(
    {FULL: "filled + parameter.numel() > most_bytes", ADD: "filled += parameter.numel()"},
    "numel() counts numbers, and most_bytes is in bytes: take parameter.nbytes, or multiply by "
    "element_size().",
)
answers.edit(
    {FULL: "filled + 4 * parameter.numel() > most_bytes", ADD: "filled += 4 * parameter.numel()"},
    "each number is taken for 4 bytes, also where it is a float16 or a float64.",
)
answers.edit(
    {END: "return buckets[:-1]"},
    "the last bucket is lost: put it on the list after the loop, too.",
)
answers.edit(
    {RESET: "kind = own_kind"},
    "the count of bytes goes on from bucket to bucket: set it to 0 where a new one begins.",
)
answers.edit(
    {ADD: "filled += parameter.nbytes if len(buckets[-1]) > 1 else 0"},
    "the parameter that begins a bucket is not counted among its bytes: set the count to 0, and "
    "add every parameter that is put there.",
)
answers.edit(
    {END: "return buckets[::-1]"},
    "the buckets are right, but listed from the last to the first: leave them as begun.",
)
answers.edit(
    {END: "return [buckets[-1]] * len(buckets)"},
    "all buckets are one and the same list, which clear() empties: begin each with a new one, "
    "current = [].",
)
answers.edit(
    {ADD: "filled = parameter.nbytes"},
    "only the last parameter of a bucket is counted: add up the bytes of all that are in it.",
)
answers.edit(
    {FROZEN: "parameter.grad is None"},
    "there are no buckets: before backward every .grad is None. requires_grad says what needs one.",
)
answers.edit(
    {"continue": "break"},
    "what comes before a frozen parameter is lost: pass it over with continue, break ends the "
    "loop.",
)
answers.edit(
    {END: "return [[], *buckets]"},
    "the first bucket is empty, whatever comes: begin with no bucket, or fill the empty one.",
)
answers.edit(
    {END: "return [[parameter.grad for parameter in bucket] for bucket in buckets]"},
    "the buckets hold gradients, which are None before backward: put parameters there.",
)
answers.variant({FULL: "sum(one.nbytes for one in [*buckets[-1], parameter]) > most_bytes"})


@answers.right
def with_a_current_bucket(parameters: Any, most_bytes: int) -> Any:
    buckets: list[list[Any]] = []
    current: list[Any] = []
    left = most_bytes
    for number in range(len(parameters) - 1, -1, -1):
        one = parameters[number]
        if one.requires_grad:
            if current and (
                one.nbytes > left
                or (one.dtype, one.device) != (current[0].dtype, current[0].device)
            ):
                buckets.append(current)
                current, left = [], most_bytes
            current.append(one)
            left -= one.numel() * one.element_size()
    return [*buckets, current] if current else buckets


EXERCISE = Exercise(
    task="Group parameters, the last ones first, into buckets of at most so many bytes.",
    reference=bucket_gradients,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
    kinships=(operator.eq,),
)
