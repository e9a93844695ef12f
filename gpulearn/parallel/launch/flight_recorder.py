"""Which collectives each rank called, by torch's own record, and where the ranks' calls differ.

gloo adds what it is given: other shapes or dtypes on another rank end a process, or give wrong
numbers without a word. torch (from 2.8 on) notes each collective of a process as it begins, at
no cost to us. What the ranks noted is compared when they have ended.
"""

from __future__ import annotations

import math
import operator
import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from gpulearn.parallel.launch.messages import RANK, Call, Calls, TraceFrame

__all__ = ["differing", "recorded"]

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
        noted = pickle.loads(dump(True, True, False))["entries"]  # all, with stacks, ended or not
        stacks: dict[Any, tuple[TraceFrame, ...]] = {}
        return {
            (one["process_group"][0], one["collective_seq_id"]): _call(one, stacks)
            for one in noted
            if one["process_group"][1] == "default_pg" and not one["is_p2p"]
        }
    except Exception:  # an older torch notes nothing, and another one may note it otherwise
        return {}


def _call(noted: Mapping[str, Any], stacks: dict[Any, tuple[TraceFrame, ...]]) -> Call:
    name = noted["profiling_name"].rpartition(":")[2]
    side = SAME.get(name)
    numbers = "" if side is None else ", ".join(
        f"{math.prod(size)} {KINDS.get(kind, kind.lower())}"
        for size, kind in zip(noted[f"{side}_sizes"], noted[f"{side}_dtypes"], strict=True)
    )  # fmt: skip
    frames = noted.get("frames", ())
    key = tuple((one["filename"], one["line"]) for one in frames)
    if key not in stacks:  # the same lines call again and again
        stack = [TraceFrame(one["filename"], one["line"], one["name"]) for one in reversed(frames)]
        own = [n for n, frame in enumerate(stack) if frame.file == RANK]
        stacks[key] = tuple(stack[own[-1] + 1 :] if own else stack)
    return Call(name, numbers, stacks[key])


def differing(ranks: Sequence[Calls]) -> tuple[int, Call, int, Call] | None:
    """The first collective in which ranks differ: one rank and its call, another and its call.

    The first one named is of the fewer.

    >>> from gpulearn.parallel.launch.messages import Call
    >>> sums = {("0", 1): Call("all_reduce", "2 float32", ())}
    >>> fewer = {("0", 1): Call("all_reduce", "1 float32", ())}
    >>> rank, call, other, usual = differing([sums, fewer, sums])
    >>> rank, str(call), other, str(usual)
    (1, 'all_reduce with 1 float32', 0, 'all_reduce with 2 float32')
    """
    for place in sorted({place for calls in ranks for place in calls}):
        here = {rank: calls[place] for rank, calls in enumerate(ranks) if place in calls}
        counted = Counter(call[:2] for call in here.values()).most_common()
        if len(counted) > 1:
            (usual, _), (odd, _) = counted[0], counted[-1]
            one = next(rank for rank, call in here.items() if call[:2] == odd)
            other = next(rank for rank, call in here.items() if call[:2] == usual)
            return one, here[one], other, here[other]
    return None
