"""What the script itself sends: collectives, and clipping before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
import torch.distributed.rpc
from torch.distributed.algorithms.join import Join

from gpulearn.parallel.watch.finding import Finding, Record, named, shown
from gpulearn.require import counted

if TYPE_CHECKING:
    from gpulearn.parallel.watch.watch import Watch

COLLECTIVES = (
    *("all_reduce", "reduce", "broadcast", "gather", "scatter", "barrier", "all_to_all"),
    *("all_gather", "all_gather_into_tensor", "reduce_scatter", "reduce_scatter_tensor"),
    *("all_to_all_single", "all_gather_object", "broadcast_object_list", "gather_object"),
)
MESSAGES = ("send", "recv", "isend", "irecv", "batch_isend_irecv")
CLIPPERS = ("clip_grad_norm_", "clip_grad_value_")


class Collectives:
    """Counts of calls by line, and what clipped gradients before one."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.calls: dict[str, int] = {}  # "all_reduce, train.py:31" → how often
        self._seen = {"messages": False, "rpc": False, "joins": False, "splits": False}
        self._clipped = ""  # where gradients were clipped since the last backward
        self._clipped_first: tuple[str, str, int] | None = None
        for name in COLLECTIVES:
            watch.replace(dist, name, self._collective(name))
        for name in MESSAGES:
            watch.replace(dist, name, self._see("messages"))
        if dist.rpc.is_available():
            watch.replace(dist.rpc, "init_rpc", self._see("rpc"))
        watch.replace(Join, "__enter__", self._see("joins"))  # uneven inputs are taken care of
        for name in CLIPPERS:
            watch.replace(torch.nn.utils, name, self._clip)

    def _collective(self, name: str) -> Callable[..., None]:
        def note(*args: Any, **keywords: Any) -> None:
            line = self._watch.line()
            call = f"{name}, {line}"
            if name not in ("broadcast", "barrier"):
                self._seen["splits"] |= self._watch.forwards.splits()
            self.calls[call] = self.calls.get(call, 0) + 1
            if self.calls[call] == 1:
                self._watch.write()  # the rank may hang in it
            if name == "all_reduce" and self._clipped and not self._clipped_first:
                tensor: torch.Tensor = args[0] if args else keywords["tensor"]
                if tensor.numel() > 1:
                    self._clipped_first = (self._clipped, line, self._watch.step)

        return note

    def _see(self, what: str) -> Callable[..., None]:
        return lambda *_args, **_keywords: self._seen.update({what: True})

    def _clip(self, *_args: Any, **_keywords: Any) -> None:
        self._clipped = self._watch.line()

    def renewed(self) -> None:
        """Gradients are new, or used: nothing has clipped the next ones yet."""
        self._clipped = ""

    def record(self) -> dict[str, Any]:
        """For the rank's record."""
        return {"calls": self.calls, **self._seen, "clipped_first": self._clipped_first}


def findings(records: Sequence[Record], failed: bool) -> list[Finding]:
    """Clipping before the mean; a collective that some ranks alone called."""
    return [*_clipped(records), *(_lonely(records) if failed else ())]


def _clipped(records: Sequence[Record]) -> list[Finding]:
    ranks = tuple(record["rank"] for record in records if record["clipped_first"])
    if not ranks or any(record["wrappers"] for record in records):
        return []
    clip, exchange, step = next(r["clipped_first"] for r in records if r["clipped_first"])
    message = (
        f"{named(ranks)} clipped gradients of their own before {shown(exchange)} averaged them: "
        f"the mean of clipped gradients is not the clipped mean, and each rank scaled its part "
        f"by another factor."
    )
    cure = "Average first, then clip: every rank then clips the same gradient."
    return [Finding("clipped-before-the-mean", "error", message, cure, clip, ranks, step)]


def _lonely(records: Sequence[Record]) -> list[Finding]:
    found = []
    for call in sorted(set().union(*(record["calls"] for record in records))):
        counts = {record["rank"]: record["calls"].get(call, 0) for record in records}
        callers = tuple(rank for rank, count in counts.items() if count)
        if 0 < len(callers) < len(records):
            name, _, line = call.partition(", ")
            others = [rank for rank in counts if rank not in callers]
            message = (
                f"{named(callers)} called {name} {counted(counts[callers[0]], 'time')}, "
                f"{named(others)} never: a collective returns when all ranks of its group "
                f"have called it."
            )
            cure = f"Move {name} out of the branch that not every rank takes."
            found.append(Finding("collective-of-some-ranks", "error", message, cure, line, callers))
    return found
