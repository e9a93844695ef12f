"""Which simulated ranks wait for which, and what became of the others when one failed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from types import FrameType, TracebackType

from gpulearn.errors import RankError
from gpulearn.parallel.launch.failures import location, own_frames
from gpulearn.parallel.launch.messages import TraceFrame
from gpulearn.parallel.simulate.network import AnyRequest, Request

MOST_RANKS = 8  # that are listed


def frames_of_error(error: BaseException) -> tuple[TraceFrame, ...]:
    """The stack of an exception, outermost first, as far as it is the reader's."""
    found: list[TraceFrame] = []
    trace: TracebackType | None = error.__traceback__
    while trace:
        code = trace.tb_frame.f_code
        found.append(TraceFrame(code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    return tuple(own_frames(found))


def frames_of_thread(thread: threading.Thread) -> tuple[TraceFrame, ...]:
    """Where a thread is now, outermost first, as far as it is the reader's."""
    frame: FrameType | None = sys._current_frames().get(thread.ident or 0)
    found: list[TraceFrame] = []
    while frame:
        found.append(TraceFrame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return tuple(own_frames(found[::-1]))


def deadlock(
    waiting: Mapping[int, Request | AnyRequest], threads: Sequence[threading.Thread]
) -> RankError:
    """The error for ranks of which none can go on: who waits for whom, and where.

    Args:
        waiting: what each rank that is left waits for.
        threads: the threads of all ranks.
    """
    ring = _ring(waiting)
    shown = ring or sorted(waiting)
    lines = [
        f"deadlock: {len(waiting)} of {len(threads)} ranks wait, and none can go on.",
        *(
            f"  rank {rank} {waiting[rank]}{_where(frames_of_thread(threads[rank]))}"
            + _gone(waiting[rank].peer, waiting)
            for rank in shown[:MOST_RANKS]
        ),
    ]
    if len(waiting) > len(shown[:MOST_RANKS]):
        lines.append(f"  and {len(waiting) - len(shown[:MOST_RANKS])} more")
    lines.append(_advice([waiting[rank] for rank in shown], bool(ring)))
    error = RankError("\n".join(lines))
    error.rank = shown[0]
    return error


def _where(frames: Sequence[TraceFrame]) -> str:
    return f" in {location(frames[-1])}" if frames else ""


def _gone(peer: int, waiting: Mapping[int, Request | AnyRequest]) -> str:
    return "" if peer in waiting else ", which has ended"


def _ring(waiting: Mapping[int, Request | AnyRequest]) -> list[int]:
    """Ranks of which each waits for the next and the last for the first; empty if none do."""
    for start in sorted(waiting):
        path: list[int] = []
        rank = start
        while rank in waiting and rank not in path:
            path.append(rank)
            rank = waiting[rank].peer
        if rank in path:
            found = path[path.index(rank) :]
            first = found.index(min(found))
            return found[first:] + found[:first]
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
