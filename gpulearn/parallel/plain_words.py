"""What torch's backends say when ranks lose each other, without their insides."""

from __future__ import annotations

import re

__all__ = ["MISMATCH", "from_transport", "plain"]

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


def from_transport(said: str) -> bool:
    """Whether gloo, which carries the messages, says so, and not the reader's own code."""
    return bool(PLACE.search(said))


def plain(said: str) -> str:
    """The message without file names, ports and advice that leads nowhere.

    >>> plain("[/a/gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:56244: Connection reset")
    'Read error: Connection reset'
    >>> plain("[Rank 0]: Ranks 2 failed to pass monitoredBarrier in 2000 ms")
    'rank 2 did not come to this collective within 2 s'
    """
    if said.startswith(MISMATCH):
        calls = [
            f"rank {rank} calls {what.lower()}" + (f" with {shape} of {dtype}" if shape else "")
            for rank, what, shape, dtype in PRINT.findall(said)
        ]
        return f"{MISMATCH}: {', '.join(calls)}" if calls else said
    if found := ABSENT.search(said):
        ranks = found[1].strip(", ")
        return f"rank {ranks} did not come to this collective within {int(found[2]) / 1e3:g} s"
    if not from_transport(said):
        return said
    return ADVICE.sub("", PORT.sub("", PLACE.sub("", said))).rstrip(". ")
