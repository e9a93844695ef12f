"""What torch's backends say when ranks lose each other, without their insides."""

from __future__ import annotations

import re

__all__ = ["LOG", "MISMATCH", "absent", "from_transport", "plain", "too_much"]

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


def absent(said: str) -> str | None:
    """Which ranks did not come to a collective, if torch waited for each by name (debug)."""
    found = ABSENT.search(said)
    if not found:
        return None
    ranks = found[1].strip(", ")
    many = "s" if "," in ranks else ""
    return f"rank{many} {ranks} did not come to this collective within {int(found[2]) / 1e3:g} s"


def from_transport(said: str) -> bool:
    """Whether gloo, which carries the messages, says so, and not the reader's own code."""
    return bool(PLACE.search(said))


def too_much(errors: str) -> str | None:
    """What a process that gloo ended has to say of it, by what it wrote to standard error.

    >>> too_much("  what():  [… pair.cc:456] … 12 vs 8. Received data size doesn't match …")
    'was sent 12 bytes where it had room for 8: every rank must give as many numbers of one dtype'
    """
    found = TOO_MUCH.search(errors)
    if not found:
        return None
    sent, room = found.groups()
    return (
        f"was sent {sent} bytes where it had room for {room}: every rank must give as many "
        f"numbers of one dtype"
    )


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
    if missing := absent(said):
        return missing
    if not from_transport(said):
        return said
    return ADVICE.sub("", PORT.sub("", PLACE.sub("", said))).rstrip(". ")
