"""How an answer ended on some rank, when it did not end as it should."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gpulearn.checker.answers import Answer
from gpulearn.checker.stubs import unwrapped
from gpulearn.errors import RankError
from gpulearn.parallel.launch.failures import ECHO
from gpulearn.require import shorten

__all__ = ["Ending", "ending"]

RAISED = re.compile(r"rank (\d+) of \d+ raised (\w+)(?:: (.*))?")
WAITS = re.compile(r"rank (\d+) (sends|receives|waits) .*?(to|from|for) rank (\d+)")
NOT_ENDED = "did not come to an end"
MOST = 4  # waiting ranks that are listed
KINDS = {
    "as many of one dtype": "misfit",
    "to is 0, which is this rank": "sends to itself",
    "which is this rank": "speaks to itself",
    "there are": "no such rank",
    "there is rank 0 alone": "no such rank",
    "process group": "torch.distributed",
    "wait() was called": "never waits",
    "changed before wait": "changes what is under way",
}


@dataclass(frozen=True)
class Ending:
    """How it ended; two are equal when they are of one kind and the same ranks wait.

    Attributes:
        kind: "deadlock", "endless", the name of an exception, or what it is about.
        said: one sentence without its full stop.
        waits: in a deadlock, who sends to or receives from whom.
    """

    kind: str
    said: str = field(compare=False)
    waits: frozenset[tuple[int, str, int]] = frozenset()


def ending(error: RankError, answer: Answer) -> Ending:
    """What a launcher's error says of an answer."""
    text = str(error)
    first = text.partition("\n")[0]
    if text.startswith("deadlock"):
        return _deadlock(text)
    line = _line(text, answer)
    where = f" in line {line} of your function" if line else ""
    if NOT_ENDED in first or ECHO.search(first):
        # a rank that fails of itself is named before those that waited for it
        return Ending("deadlock", f"it is a deadlock: rank {error.rank} waits in vain{where}")
    if found := RAISED.match(first):
        number, kind, said = found.groups()
        sentence = f"rank {number} raises {kind}{where}" + (
            f": {shorten(said.rstrip('.'), 160)}" if said else ""
        )
        about = next((name for words, name in KINDS.items() if words in (said or "")), kind)
        return Ending(about, sentence)
    kind = "endless" if "without speaking" in first else first
    return Ending(kind, shorten(first.rstrip("."), 160))


def _deadlock(text: str) -> Ending:
    waits, said = [], []
    for line in text.splitlines()[1:]:
        if found := WAITS.search(line):
            verb, word = found[2], found[3]
            one, other = int(found[1]), int(found[4])
            waits.append((one, verb, other))
            gone = ", which has ended" if line.endswith("which has ended") else ""
            said.append(f"rank {one} {verb} {word} rank {other}{gone}")
    more = [f"{len(said) - MOST} more wait"] if len(said) > MOST else []
    listed = "; ".join([*said[:MOST], *more]) or "all ranks wait"
    return Ending("deadlock", f"it is a deadlock: {listed}", frozenset(waits))


def _line(text: str, answer: Answer) -> int | None:
    """The line of the answer, from 1, in which a rank raised."""
    code = getattr(unwrapped(answer), "__code__", None)
    if code is None:
        return None
    found = re.findall(rf"line (\d+), in {re.escape(code.co_name)}\b", text)
    own = {line for _, _, line in code.co_lines() if line is not None}
    lines = [int(n) for n in found if int(n) in own]
    return lines[-1] - code.co_firstlineno + 1 if lines else None
