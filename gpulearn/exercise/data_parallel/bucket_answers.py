"""What is written for buckets of gradients: wrong answers, and other right ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpulearn.checker.answers import Answers

__all__ = ["answers"]

answers = Answers()


def trained(parameters: Any) -> list[Any]:
    """Those that need a gradient, the last one first."""
    return [parameter for parameter in reversed(parameters) if parameter.requires_grad]


def kind_of(parameter: Any) -> Any:
    return parameter.dtype, parameter.device


def bytes_of(bucket: Any) -> int:
    return sum(parameter.nbytes for parameter in bucket)


def filled(ordered: Any, fits: Callable[[Any, Any], bool]) -> list[list[Any]]:
    """Parameters one after another, in a new bucket where one does not fit into the last."""
    buckets: list[list[Any]] = []
    for parameter in ordered:
        if not buckets or not fits(buckets[-1], parameter):
            buckets.append([])
        buckets[-1].append(parameter)
    return buckets


def alike(bucket: Any, parameter: Any) -> bool:
    return bool(kind_of(bucket[-1]) == kind_of(parameter))


def within(most_bytes: int) -> Callable[[Any, Any], bool]:
    """Whether a parameter fits, as it should be decided."""
    return lambda bucket, one: alike(bucket, one) and bytes_of([*bucket, one]) <= most_bytes


@answers.wrong(
    "the buckets go forward: the first one holds the first layers, whose gradients come last, so "
    "that it is full when backward ends. Begin with the last parameter."
)
def forward(parameters: Any, most_bytes: int) -> Any:
    return filled(trained(parameters)[::-1], within(most_bytes))


@answers.wrong(
    "the buckets are made from the first parameter on and then turned round: begin with the last "
    "one, so that the first bucket is the full one."
)
def forward_then_turned(parameters: Any, most_bytes: int) -> Any:
    return [b[::-1] for b in reversed(filled(trained(parameters)[::-1], within(most_bytes)))]


@answers.wrong("the buckets are in the right order, and in each of them the parameters go forward.")
def forward_inside(parameters: Any, most_bytes: int) -> Any:
    return [bucket[::-1] for bucket in filled(trained(parameters), within(most_bytes))]


@answers.wrong(
    "a bucket is closed when it is over the limit, which is one parameter too late: ask whether "
    "the next one still fits."
)
def over_the_limit(parameters: Any, most_bytes: int) -> Any:
    return filled(
        trained(parameters),
        lambda bucket, one: alike(bucket, one) and bytes_of(bucket) < most_bytes,
    )


@answers.wrong("a bucket may be full to the byte: compare with <=, not with <.")
def never_full(parameters: Any, most_bytes: int) -> Any:
    return filled(
        trained(parameters),
        lambda bucket, one: alike(bucket, one) and bytes_of([*bucket, one]) < most_bytes,
    )


@answers.wrong("each parameter has a bucket of its own, which saves no message at all.")
def one_each(parameters: Any, most_bytes: int) -> Any:
    return [[parameter] for parameter in trained(parameters)]


@answers.wrong(
    "most_bytes makes no difference: all that is of one dtype and device is in one bucket. It is "
    "in bytes, as parameter.nbytes is."
)
def one_for_all(parameters: Any, most_bytes: int) -> Any:
    return filled(trained(parameters), alike)


@answers.wrong(
    "all parameters are in one bucket, whatever their bytes, dtypes and devices: the next one "
    "must be looked at before it is put there."
)
def one_for_all_kinds(parameters: Any, most_bytes: int) -> Any:
    return [trained(parameters)]


@answers.wrong(
    "a parameter that is larger than a bucket is left out, and would never be averaged: give it a "
    "bucket of its own."
)
def large_ones_lost(parameters: Any, most_bytes: int) -> Any:
    small = [one for one in trained(parameters) if one.nbytes <= most_bytes]
    return filled(small, within(most_bytes))


@answers.wrong(
    "a parameter that is larger than a bucket is split: its gradient is one tensor, which has a "
    "bucket of its own."
)
def large_ones_split(parameters: Any, most_bytes: int) -> Any:
    parts: list[Any] = []
    for one in trained(parameters):
        most = max(1, most_bytes // one.element_size())
        parts += one.detach().split(most) if one.nbytes > most_bytes else [one]
    return filled(parts, within(most_bytes))


@answers.wrong(
    "a parameter that is larger than a bucket is put beside the others, and those that come after "
    "it go into the bucket before it: buckets would not leave in the order in which they fill."
)
def large_ones_aside(parameters: Any, most_bytes: int) -> Any:
    buckets: list[list[Any]] = []
    current: list[Any] = []
    for one in trained(parameters):
        if one.nbytes > most_bytes:
            buckets.append([one])
            continue
        if not current or not within(most_bytes)(current, one):
            current = []
            buckets.append(current)
        current.append(one)
    return buckets


@answers.wrong(
    "there is an empty bucket: it begins with one, and a first parameter that does not fit begins "
    "another."
)
def empty_first(parameters: Any, most_bytes: int) -> Any:
    buckets: list[list[Any]] = [[]]
    for one in trained(parameters):
        last = buckets[-1]
        if (last and not alike(last, one)) or bytes_of([*last, one]) > most_bytes:
            buckets.append([])
        buckets[-1].append(one)
    return buckets


@answers.wrong(
    "where nothing needs a gradient there is an empty bucket, which would be sent: there are "
    "no buckets then."
)
def empty_at_the_end(parameters: Any, most_bytes: int) -> Any:
    return filled(trained(parameters), within(most_bytes)) or [[]]


@answers.wrong(
    "frozen parameters are in the buckets, and they never have a gradient, so their buckets are "
    "never full: leave out those whose requires_grad is False."
)
def frozen_too(parameters: Any, most_bytes: int) -> Any:
    return filled(parameters[::-1], within(most_bytes))


@answers.wrong(
    "frozen parameters are left out, and yet count among a bucket's bytes: pass them over first."
)
def frozen_take_room(parameters: Any, most_bytes: int) -> Any:
    buckets: list[list[Any]] = []
    for bucket in filled(parameters[::-1], within(most_bytes)):
        buckets.append([one for one in bucket if one.requires_grad])
    return [bucket for bucket in buckets if bucket]


@answers.wrong(
    "a frozen parameter closes the bucket: leave it out, and go on with the same bucket."
)
def frozen_ones_close(parameters: Any, most_bytes: int) -> Any:
    buckets: list[list[Any]] = []
    closed = True
    for one in reversed(parameters):
        if one.requires_grad:
            if closed or not within(most_bytes)(buckets[-1], one):
                buckets.append([])
            buckets[-1].append(one)
        closed = not one.requires_grad
    return buckets


@answers.wrong(
    "it compares how long a number is, not what it is: float16 and bfloat16 both have 2 bytes, "
    "and do not go into one flat tensor. Compare parameter.dtype."
)
def by_itemsize(parameters: Any, most_bytes: int) -> Any:
    return filled(
        trained(parameters),
        lambda bucket, one: (
            (bucket[-1].itemsize, bucket[-1].device) == (one.itemsize, one.device)
            and bytes_of([*bucket, one]) <= most_bytes
        ),
    )


@answers.wrong(
    "a bucket that is begun for another dtype or device takes over the bytes of the one before: "
    "set the count to 0 there as well."
)
def kept_where_the_kind_changes(parameters: Any, most_bytes: int) -> Any:
    buckets: list[list[Any]] = []
    total = 0
    for one in trained(parameters):
        if not buckets or total + one.nbytes > most_bytes:
            buckets.append([])
            total = 0
        elif not alike(buckets[-1], one):
            buckets.append([])
        buckets[-1].append(one)
        total += one.nbytes
    return buckets


@answers.wrong(
    "a bucket mixes dtypes or devices: its gradients travel in one flat tensor, which has one of "
    "each. Begin a new bucket where either changes."
)
def mixes(parameters: Any, most_bytes: int) -> Any:
    return filled(trained(parameters), lambda bucket, one: bytes_of([*bucket, one]) <= most_bytes)


@answers.wrong("a bucket mixes devices: begin a new one where the device changes, too.")
def mixes_devices(parameters: Any, most_bytes: int) -> Any:
    return filled(
        trained(parameters),
        lambda bucket, one: (
            bucket[-1].dtype == one.dtype and bytes_of([*bucket, one]) <= most_bytes
        ),
    )


@answers.wrong(
    "a bucket mixes two GPUs: cuda:0 and cuda:1 are both of type cuda. Compare parameter.device "
    "itself, which knows its number."
)
def mixes_gpus(parameters: Any, most_bytes: int) -> Any:
    return filled(
        trained(parameters),
        lambda bucket, one: (
            (bucket[-1].dtype, bucket[-1].device.type) == (one.dtype, one.device.type)
            and bytes_of([*bucket, one]) <= most_bytes
        ),
    )


@answers.wrong("a bucket mixes dtypes: begin a new one where the dtype changes, too.")
def mixes_dtypes(parameters: Any, most_bytes: int) -> Any:
    return filled(
        trained(parameters),
        lambda bucket, one: (
            bucket[-1].device == one.device and bytes_of([*bucket, one]) <= most_bytes
        ),
    )


@answers.wrong(
    "there is a row of buckets for each dtype and device, several of them open at once: only the "
    "bucket that was begun last takes another parameter."
)
def sorted_by_kind(parameters: Any, most_bytes: int) -> Any:
    buckets: list[list[Any]] = []
    open_ones: dict[Any, list[Any]] = {}
    for one in trained(parameters):
        current = open_ones.get(kind_of(one))
        if current is None or bytes_of([*current, one]) > most_bytes:
            current = open_ones[kind_of(one)] = []
            buckets.append(current)
        current.append(one)
    return buckets


@answers.wrong(
    "a parameter goes into any earlier bucket that has room: then that one is not full before the "
    "last layers are through. Only the bucket that was begun last takes another parameter."
)
def first_that_fits(parameters: Any, most_bytes: int) -> Any:
    buckets: list[list[Any]] = []
    for one in trained(parameters):
        room = next((bucket for bucket in buckets if within(most_bytes)(bucket, one)), None)
        if room is None:
            room = []
            buckets.append(room)
        room.append(one)
    return buckets


@answers.wrong(
    "the parameters are sorted by their size, and backward does not go by size: keep their order."
)
def sorted_by_size(parameters: Any, most_bytes: int) -> Any:
    ordered = sorted(trained(parameters), key=lambda one: one.nbytes)
    return filled(ordered, within(most_bytes))


@answers.wrong(
    "numel() counts numbers, and most_bytes is in bytes: take parameter.nbytes, or multiply by "
    "element_size()."
)
def counts_numbers(parameters: Any, most_bytes: int) -> Any:
    return filled(
        trained(parameters),
        lambda bucket, one: (
            alike(bucket, one) and sum(p.numel() for p in [*bucket, one]) <= most_bytes
        ),
    )


@answers.wrong("each number is taken for 4 bytes, also where it is a float16 or a float64.")
def four_bytes_each(parameters: Any, most_bytes: int) -> Any:
    return filled(
        trained(parameters),
        lambda bucket, one: (
            alike(bucket, one) and 4 * sum(p.numel() for p in [*bucket, one]) <= most_bytes
        ),
    )


@answers.wrong("the last bucket is lost: put it on the list after the loop, too.")
def last_lost(parameters: Any, most_bytes: int) -> Any:
    return filled(trained(parameters), within(most_bytes))[:-1]


@answers.wrong(
    "the count of bytes goes on from bucket to bucket: set it to 0 where a new one begins."
)
def never_reset(parameters: Any, most_bytes: int) -> Any:
    buckets: list[list[Any]] = []
    total = 0
    for one in trained(parameters):
        if not buckets or total + one.nbytes > most_bytes or not alike(buckets[-1], one):
            buckets.append([])
        buckets[-1].append(one)
        total += one.nbytes
    return buckets


@answers.wrong(
    "the parameter that begins a bucket is not counted among its bytes: set the count to 0, and "
    "add every parameter that is put there."
)
def first_not_counted(parameters: Any, most_bytes: int) -> Any:
    return filled(
        trained(parameters),
        lambda bucket, one: alike(bucket, one) and bytes_of([*bucket[1:], one]) <= most_bytes,
    )


@answers.wrong("the buckets are right, but listed from the last to the first: leave them as begun.")
def turned(parameters: Any, most_bytes: int) -> Any:
    return filled(trained(parameters), within(most_bytes))[::-1]


@answers.wrong(
    "all buckets are one and the same list, which clear() empties: begin each with a new one, "
    "current = []."
)
def one_list(parameters: Any, most_bytes: int) -> Any:
    buckets = filled(trained(parameters), within(most_bytes))
    return [buckets[-1]] * len(buckets)


@answers.wrong(
    "only the last parameter of a bucket is counted: add up the bytes of all that are in it."
)
def last_counted(parameters: Any, most_bytes: int) -> Any:
    return filled(
        trained(parameters),
        lambda bucket, one: alike(bucket, one) and bytes_of([bucket[-1], one]) <= most_bytes,
    )


@answers.wrong(
    "there are no buckets: before backward every .grad is None. requires_grad says what needs one."
)
def none_has_a_gradient(parameters: Any, most_bytes: int) -> Any:
    return filled([p for p in trained(parameters) if p.grad is not None], within(most_bytes))


@answers.wrong(
    "what comes before a frozen parameter is lost: pass it over with continue, break ends the loop."
)
def stops_at_frozen(parameters: Any, most_bytes: int) -> Any:
    buckets: list[list[Any]] = []
    for one in reversed(parameters):
        if not one.requires_grad:
            break
        if not buckets or not within(most_bytes)(buckets[-1], one):
            buckets.append([])
        buckets[-1].append(one)
    return buckets


@answers.wrong(
    "the first bucket is empty, whatever comes: begin with no bucket, or fill the empty one."
)
def always_empty_first(parameters: Any, most_bytes: int) -> Any:
    return [[], *filled(trained(parameters), within(most_bytes))]


@answers.wrong("the buckets hold gradients, which are None before backward: put parameters there.")
def gradients(parameters: Any, most_bytes: int) -> Any:
    buckets = filled(trained(parameters), within(most_bytes))
    return [[parameter.grad for parameter in bucket] for bucket in buckets]


@answers.right
def by_the_buckets_bytes(parameters: Any, most_bytes: int) -> Any:
    return filled(trained(parameters), within(most_bytes))


@answers.right
def with_a_current_bucket(parameters: Any, most_bytes: int) -> Any:
    buckets: list[list[Any]] = []
    current: list[Any] = []
    left = most_bytes
    for number in range(len(parameters) - 1, -1, -1):
        one = parameters[number]
        if one.requires_grad:
            if current and (one.nbytes > left or kind_of(one) != kind_of(current[0])):
                buckets.append(current)
                current, left = [], most_bytes
            current.append(one)
            left -= one.numel() * one.element_size()
    return [*buckets, current] if current else buckets
