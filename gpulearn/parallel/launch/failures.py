"""Which rank failed first, what it said, and what became of the others: one readable error."""

import linecache
import os
import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from gpulearn import require
from gpulearn.errors import RankError
from gpulearn.parallel.launch.flight_recorder import differing, late
from gpulearn.parallel.launch.messages import STUCK, Call, Failure, Result, TraceFrame
from simt.errors import in_lines

MISMATCH = "Detected mismatch between collectives on ranks"
# gloo puts its file and line in front, the peer's port in the middle, and advice behind
PLACE = re.compile(r"\[\S*gloo/\S+:\d+\]\s*")
PORT = re.compile(r"\s*\[[\d.:a-f]*\]:?:?\d+\b")
ADVICE = re.compile(r"\s*This is typically caused by.*", re.S)
PRINT = re.compile(
    r"Rank (\d+) is running collective: CollectiveFingerPrint\(SequenceNumber=\d+, OpType=(\w+)"
    r"(?:, TensorShape=(\[[^\]]*\]), TensorDtypes=(\w+))?"
)
ABSENT = re.compile(r"\[Rank \d+\]: Ranks ([\d, ]+) failed to pass monitoredBarrier in (\d+) ms")

TOO_MUCH = re.compile(r"what\(\):.* (\d+) vs (\d+)\. Received data size doesn't match")

# what torch and gloo log: the error says the same
LOG = re.compile(
    r"\[rank\d+\]:\[E.*monitoredBarrier|terminate called .*'gloo::EnforceNotMet'|\s*"
    + TOO_MUCH.pattern
)


def absent(message: str) -> str | None:
    """Which ranks did not reach a collective, if torch waited for each by name (debug)."""
    match = ABSENT.search(message)
    if not match:
        return None
    ranks = match[1].strip(", ")
    many = "s" if "," in ranks else ""
    return f"rank{many} {ranks} did not reach this collective within {int(match[2]) / 1e3:g} s"


def too_much(errors: str) -> str | None:
    """What a process that gloo ended has to say of it, by what it wrote to standard error."""
    match = TOO_MUCH.search(errors)
    return match and (
        f"was sent {match[1]} bytes where it had room for {match[2]}: every rank must give as many "
        f"numbers of one dtype"
    )


def plain(message: str) -> str:
    """The message without file names, ports and advice that leads nowhere.

    >>> plain("[/a/gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:56244: Connection reset")
    'Read error: Connection reset'
    >>> plain("[Rank 0]: Ranks 2 failed to pass monitoredBarrier in 2000 ms")
    'rank 2 did not reach this collective within 2 s'
    """
    if message.startswith(MISMATCH):
        calls = [
            f"rank {rank} calls {what.lower()}" + (f" with {shape} of {dtype}" if shape else "")
            for rank, what, shape, dtype in PRINT.findall(message)
        ]
        return f"{MISMATCH}: {', '.join(calls)}" if calls else message
    if missing := absent(message):
        return missing
    if not PLACE.search(message):
        return message
    return ADVICE.sub("", PORT.sub("", PLACE.sub("", message))).rstrip(". ")


class Interrupted(KeyboardInterrupt):
    """A person ended the ranks; no `except Exception` holds it up."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a stack trace."""
        return in_lines(self)


# what a rank says that waited for one that is gone, or did not come
ECHO = re.compile(
    r"closed by peer|reset by peer|broken pipe|timed out waiting \w+|timed? ?out|socket closed",
    re.I,
)
MAX_FRAMES = 6
MAX_NAMED = 8  # ranks in one sentence
PARALLEL = Path(__file__).parents[1]
OURS = (f"{PARALLEL}{os.sep}", f"{PARALLEL.parents[1] / 'gpulearn_lessons'}{os.sep}")
# what lies between a rank's function and its messages
MACHINERY = {
    *(str(PARALLEL / f"{name}.py") for name in ("communicator", "torch_messages")),
    str(PARALLEL / "launch" / "rank.py"),
    *(str(PARALLEL / "simulate" / f"{name}.py") for name in ("scheduler", "simulate", "network")),
    require.__file__,
    threading.__file__,
}


def error_of(outcomes: Sequence[Result | Failure]) -> RankError | None:
    """One error that names the first rank to fail and, in one line each, its echoes; or None.

    A rank that lost its connection is an echo of the one that it was connected to.
    """
    all_calls = [outcome.calls for outcome in outcomes]
    if difference := differing(all_calls):
        return _of_calls(len(outcomes), *difference)
    failed = {rank: o for rank, o in enumerate(outcomes) if isinstance(o, Failure)}
    if not failed:
        return None
    first = min(failed, key=lambda rank: (_order(failed[rank]), failed[rank].moment))
    cause = failed.pop(first)
    known: Failure | None = None  # what the rank itself tells of its end
    ended = [rank for rank, outcome in enumerate(outcomes) if isinstance(outcome, Result)]
    if ended and _lost(cause):  # it still waited for others that had done all they had to
        happened = f"waited, but {_ranks(ended)} had ended. Every rank must take part."
    else:
        happened, known = _happened(cause), cause
    lines = [f"rank {first} of {len(outcomes)} {happened}"]
    lines += [f"  raised from {error}" for error in cause.causes]
    lines += _stack(cause.frames) or (_last_call(outcomes) if not failed else [])
    lines += [f"rank {rank} then {_echo(other, cause)}" for rank, other in failed.items()]
    # one that raised, or was killed, is the cause itself: nobody is late
    behind = late(all_calls) if _order(cause) == 1 or _lost(cause) else None
    if behind is not None:
        lines.append(
            f"rank {behind.rank} did not reach collective {behind.number}, {behind.call}"
            f"{_where(behind.call.frames)}: {_ranks(behind.waiting)} did."
        )
    error = RankError("\n".join(lines))
    error.rank, error.traceback, error.late = first, cause.traceback, behind
    if known:
        waited = known.kind == STUCK or ECHO.search(happened)
        error.kind, error.about = "deadlock" if waited else known.kind, known.about
        error.message = plain(known.message).partition("\n")[0]
    return error


def _last_call(outcomes: Sequence[Result | Failure]) -> list[str]:
    """What another rank called last, for one that failed alone and did not say where it was."""
    for rank, outcome in enumerate(outcomes):
        call = [*outcome.calls.values()][-1] if outcome.calls else None
        if call and (stack := _stack(call.frames)):
            return [f"rank {rank} last called {call}:", *stack]
    return []


def _of_calls(count: int, rank: int, call: Call, other: int, usual: Call) -> RankError:
    """The error for ranks that called a collective with different tensors, or different ones."""
    advice = (
        "every rank must give as many numbers of one dtype."
        if call.name == usual.name
        else "all ranks must call the same collectives in the same order."
    )
    lines = [f"rank {rank} of {count} calls {call} where rank {other} calls {usual}: {advice}"]
    lines += _stack(call.frames)
    if where := _where(usual.frames):
        lines.append(f"rank {other} is{where}.")
    error = RankError("\n".join(lines))
    error.rank = rank
    return error


def _order(failure: Failure) -> int:
    """What comes first as a cause: a failure, a rank that never came, one that waited too long.

    Of those that waited, one that knows for whom comes first. Last come those that lost the
    connection to such a one.
    """
    if failure.kind == STUCK:
        return 1
    if failure.kind and absent(failure.message):
        return 2
    echo = ECHO.search(failure.message) if failure.kind else None
    if not echo:
        return 0
    return 3 if "time" in echo.group().lower() else 4


def _happened(failure: Failure) -> str:
    if failure.kind in ("", STUCK):
        return f"{failure.message}."
    end = "" if failure.message else "."
    return f"raised {failure.kind}: {plain(failure.message)}".rstrip(": ") + end


def _lost(failure: Failure) -> bool:
    """Whether a rank lost those it waited for, as torch or gloo says, and none of them failed."""
    return _order(failure) == 2 or (_order(failure) > 2 and bool(PLACE.search(failure.message)))


def _ranks(ranks: Sequence[int]) -> str:
    names = ", ".join(map(str, ranks[:MAX_NAMED])) + (", …" if len(ranks) > MAX_NAMED else "")
    return f"rank{'s' if len(ranks) > 1 else ''} {names}"


def _echo(failure: Failure, cause: Failure) -> str:
    """What became of another rank, in one line."""
    where, message = _where(failure.frames), failure.message
    mismatch = message.startswith(MISMATCH) and cause.message.startswith(MISMATCH)
    if mismatch or (failure.kind == "BadInput" and message == cause.message):
        return f"found the same{where}."
    if failure.kind and (missing := absent(message)):
        return f"waited{where}, but {missing}."
    if failure.kind and (echo := ECHO.search(message)):
        return f"waited for it{where}: {echo.group().lower()}."
    first_line = message.partition("\n")[0].rstrip(".")
    if failure.kind in ("", STUCK):
        return f"{first_line}{where}."
    return f"raised {failure.kind}{where}: {first_line}."


def _where(frames: Sequence[TraceFrame]) -> str:
    """The reader's own line, as a part of a sentence."""
    own = own_frames(frames)
    return f" in {location(own[-1])}" if own else ""


def own_frames(frames: Sequence[TraceFrame]) -> Sequence[TraceFrame]:
    """The reader's own frames: not of an installed package, nor of what carries messages.

    Where there are none, those of this package but not of its machinery; else those of
    installed packages; none if the machinery alone was at work.
    """
    ours = [frame for frame in frames if "site-packages" not in frame.file]
    readers = [f for f in ours if not f.file.startswith(OURS) and f.file not in MACHINERY]
    return readers or [f for f in ours or frames if f.file not in MACHINERY]


def _stack(frames: Sequence[TraceFrame]) -> list[str]:
    lines = []
    for frame in own_frames(frames)[-MAX_FRAMES:]:
        source = linecache.getline(frame.file, frame.line).strip()
        line = f"  {location(frame)}, in {frame.function}"
        lines.append(f"{line}: {source}" if source else line)
    return lines


def location(frame: TraceFrame) -> str:
    """Where a frame is, as a reader knows it: a notebook's cell or a file, and the line."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    name = shell.compile.format_code_name(frame.file) if shell else None
    file = f"{name[0].lower()} {name[1]}" if name else frame.file.rpartition("/")[2]
    return f"{file}, line {frame.line}"
