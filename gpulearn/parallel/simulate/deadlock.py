"""Which simulated ranks wait for which, and what became of the others when one failed."""

import sys
import threading
import traceback
from collections.abc import Mapping, Sequence

from gpulearn.errors import RankError
from gpulearn.parallel.launch.failures import location, own_frames
from gpulearn.parallel.launch.messages import TraceFrame
from gpulearn.parallel.simulate.network import AnyRequest, Request

MAX_LISTED = 8  # that are listed


def frames_of_thread(thread: threading.Thread) -> tuple[TraceFrame, ...]:
    """Where a thread is now, outermost first, as far as it is the reader's."""
    frame = sys._current_frames().get(thread.ident or 0)
    stack = reversed(list(traceback.walk_stack(frame) if frame else ()))
    frames = [TraceFrame(f.f_code.co_filename, line, f.f_code.co_name) for f, line in stack]
    return tuple(own_frames(frames))


def deadlock(
    waiting: Mapping[int, Request | AnyRequest], threads: Sequence[threading.Thread]
) -> RankError:
    """The error for ranks of which none can continue: who waits for whom, and where.

    `waiting` is what each rank that is left waits for; `threads` are those of all ranks.
    """
    ring = _ring(waiting)
    ranks = ring or sorted(waiting)
    lines = [f"deadlock: {len(waiting)} of {len(threads)} ranks wait, and none can continue."]
    for rank in ranks[:MAX_LISTED]:
        frames = frames_of_thread(threads[rank])
        where = f" in {location(frames[-1])}" if frames else ""
        suffix = "" if waiting[rank].peer in waiting else ", which has ended"
        lines.append(f"  rank {rank} {waiting[rank]}{where}{suffix}")
    if (more := len(waiting) - len(ranks[:MAX_LISTED])) > 0:
        lines.append(f"  and {more} more")
    lines.append(_advice([waiting[rank] for rank in ranks], bool(ring)))
    error = RankError("\n".join(lines))
    error.rank, error.kind = ranks[0], "deadlock"
    error.waits = tuple(
        (rank, waiting[rank].verb, waiting[rank].peer, waiting[rank].peer not in waiting)
        for rank in ranks[:MAX_LISTED]
    )
    return error


def _ring(waiting: Mapping[int, Request | AnyRequest]) -> list[int]:
    """Ranks of which each waits for the next and the last for the first; empty if none do."""
    for start in sorted(waiting):
        path: list[int] = []
        rank = start
        while rank in waiting and rank not in path:
            path.append(rank)
            rank = waiting[rank].peer
        if rank in path:
            ring = path[path.index(rank) :]
            first = ring.index(min(ring))
            return ring[first:] + ring[:first]
    return []


def _advice(requests: Sequence[Request | AnyRequest], ring: bool) -> str:
    if not ring:
        return "Every rank must take part: one that has ended neither sends nor receives."
    if all(request.sends for request in requests):
        return (
            "A send ends when the other side receives: let some receive first, or use "
            "gl.parallel.sendrecv."
        )
    return "Each send needs one receive by the rank that it names, with the same tag."
