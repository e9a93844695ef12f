"""Which collectives each rank called, by torch's own record, and where the ranks' calls differ.

gloo adds what it is given: other shapes or dtypes on another rank end a process, or give wrong
numbers without a word. torch (from 2.8 on) notes each collective of a process as it begins, at
no cost to us. What the ranks noted is compared when they have ended.
"""

import math
import operator
import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import torch

from gpulearn.parallel.launch.messages import Call, Calls, TraceFrame, without_launcher

# in which of its tensors a collective is the same on every rank
SAME = {
    **dict.fromkeys(("all_gather", "all_reduce", "broadcast", "gather", "reduce"), "input"),
    "scatter": "output",
}
KINDS = {
    **{"Byte": "uint8", "Char": "int8", "Short": "int16", "Int": "int32", "Long": "int64"},
    **{"Half": "float16", "Float": "float32", "Double": "float64"},
    **{"ComplexFloat": "complex64", "ComplexDouble": "complex128"},
}


def recorded() -> Calls:
    """The latest collectives of all ranks that this process called, as torch noted them."""
    try:
        dump = operator.attrgetter("_C._distributed_c10d._dump_fr_trace")(torch)
        entries = pickle.loads(dump(True, True, False))["entries"]  # all, with stacks, ended or not
        stacks: dict[Any, tuple[TraceFrame, ...]] = {}
        return {
            (entry["process_group"][0], entry["collective_seq_id"]): _call(entry, stacks)
            for entry in entries
            if entry["process_group"][1] == "default_pg" and not entry["is_p2p"]
        }
    except Exception:  # an older torch notes nothing, and another one may note it otherwise
        return {}


def _call(entry: Mapping[str, Any], stacks: dict[Any, tuple[TraceFrame, ...]]) -> Call:
    name = entry["profiling_name"].rpartition(":")[2]
    numbers = ""
    if (side := SAME.get(name)) is not None:
        tensors = zip(entry[f"{side}_sizes"], entry[f"{side}_dtypes"], strict=True)
        numbers = ", ".join(
            f"{math.prod(s)} {KINDS.get(kind, kind.lower())}" for s, kind in tensors
        )
    frames = entry.get("frames", ())
    key = tuple((frame["filename"], frame["line"]) for frame in frames)
    if key not in stacks:  # the same lines call again and again
        stacks[key] = without_launcher(
            [TraceFrame(f["filename"], f["line"], f["name"]) for f in reversed(frames)]
        )
    return Call(name, numbers, stacks[key])


def differing(ranks: Sequence[Calls]) -> tuple[int, Call, int, Call] | None:
    """The first collective in which ranks differ: one rank and its call, another and its call.

    The first one named is of the fewer.
    """
    for place in sorted({place for calls in ranks for place in calls}):
        here = {rank: calls[place] for rank, calls in enumerate(ranks) if place in calls}
        counted = Counter(call[:2] for call in here.values()).most_common()
        if len(counted) > 1:
            (usual, _), (odd, _) = counted[0], counted[-1]
            rank = next(rank for rank, call in here.items() if call[:2] == odd)
            other = next(rank for rank, call in here.items() if call[:2] == usual)
            return rank, here[rank], other, here[other]
    return None


class LateRank(NamedTuple):
    """A rank that others wait for, and the collective to which it did not come."""

    rank: int
    number: int  # of the function's collectives, from 1
    call: Call  # what the others called
    waiting: tuple[int, ...]  # the ranks that have called more than it has


def late(ranks: Sequence[Calls]) -> LateRank | None:
    """The rank that has called the fewest collectives, and which one it left out; None if none.

    A rank that hangs, or has ended, has left out what comes after its last call. One that has
    left out a collective and gone on is given away by the lines from which it calls: they are
    those of the others again if the calls that it left out are taken from theirs. Where this fits
    in several places, as in a loop, the last is named. Of a rank of which nothing is known, nothing
    is said.
    """
    known = {rank: max(n for _, n in calls) for rank, calls in enumerate(ranks) if calls}
    if not known or min(known.values()) == max(known.values()):
        return None
    slowest, other = min(known, key=lambda r: known[r]), max(known, key=lambda r: known[r])
    mine, theirs = ({n: call for (_, n), call in ranks[r].items()} for r in (slowest, other))
    first = max(min(mine), min(theirs))  # a long record has lost its first calls
    numbers = range(first, known[slowest] + 1)
    missing = known[other] - known[slowest]
    before = [mine[n][:2] == theirs[n][:2] and _site(mine[n]) == _site(theirs[n]) for n in numbers]
    after = [_site(mine[n]) == _site(theirs[n + missing]) for n in numbers]
    fits = [0, *accumulate(before)]
    rest = [0, *accumulate(reversed(after))][::-1]
    place = max(range(len(fits)), key=lambda n: (fits[n] + rest[n], n))
    waiting = tuple(rank for rank, count in known.items() if count > known[slowest])
    # the first of all is the launcher's own
    return LateRank(slowest, first + place - 1, theirs[first + place], waiting)


def _site(call: Call) -> tuple[tuple[str, int], ...]:
    """The lines from which it was called."""
    return tuple((frame.file, frame.line) for frame in call.frames)
