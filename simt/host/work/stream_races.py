"""Stream races: accesses to the same memory that no stream, event or wait of the host orders.

Two operations race if one is in the clock of neither and they touch a common byte that one of them
writes (atomics of both are no race). What a kernel touches is what it did touch; a copy touches
its bytes, pinned memory of the host included. What the host itself does to pinned memory NumPy
tells nobody: a write is noticed where the bytes have changed between the call of a copy and its
turn, a read only by what it gives, which is what was there before. Of arrays that host and device
both reach (mapped, managed) nothing is seen of the host.
"""

from typing import Protocol

from simt.core.findings import Finding, FindingLog
from simt.core.places import Place
from simt.host.work.operations import StreamOperation
from simt.host.work.program import HostProgram
from simt.host.work.ranges import Access, conflict

KIND = "stream-race"
WORDS = {
    "copy-in": "the copy to the device", "copy-out": "the copy to the host", "set": "the memset",
    "allocate": "the allocation", "free": "the freeing",
}  # fmt: skip


class Racer(Protocol):
    """An operation with what it touches."""

    operation: StreamOperation
    place: Place
    accesses: list[Access]


def race(earlier: Racer, later: Racer, host: HostProgram) -> Finding | None:
    """The finding for two operations that nothing orders, `earlier` asked for before `later`."""
    accesses = conflict(_ordered(earlier, later), _ordered(later, earlier))
    if accesses is None:
        return None
    first, second = accesses
    ours, theirs = earlier.operation, later.operation
    array = _name(ours, first) or _name(theirs, second) or host.name_of(first) or second.name
    early, late = ours.stream_name, theirs.stream_name
    if early == late:  # a name that a loop has given to another stream since
        early = f"the earlier {early}"
    staged = ours.kind == "copy-in" and ours.host_waits
    why = " (a copy from memory that is not pinned may go on after its call)" if staged else ""
    message = (
        f"{_text(theirs)} on {late} {_verb(theirs, second)} {array or 'an array'}, which "
        f"{_text(ours)} of line {ours.line} on {early} {_verb(ours, first)}, and nothing says "
        f"which comes first{why}: {host.order(early, late, ours.line)}"
    )
    return Finding(KIND, theirs.line, message, array=array or None, other_line=ours.line)


def _ordered(racer: Racer, other: Racer) -> list[Access]:
    """Its accesses that want an order with another's: what a kernel polls, a copy may set."""
    kernels = other.operation.kind == "kernel"
    return [access for access in racer.accesses if kernels or access.kind != "poll"]


def _name(operation: StreamOperation, access: Access) -> str:
    """The array's name where the operation has the program's own for it."""
    return access.name if operation.kind != "kernel" else ""


def _text(operation: StreamOperation) -> str:
    if operation.kind == "kernel":
        return operation.name
    return WORDS.get(operation.kind, "the copy on the device")


def _verb(operation: StreamOperation, access: Access) -> str:
    return {"allocate": "makes", "free": "frees"}.get(operation.kind, access.verb)


def _host_name(racer: Racer) -> str:
    """What the program calls the host's array of a copy."""
    inward = racer.operation.kind == "copy-in"
    sides = [access.name for access in racer.accesses if (access.kind == "load") == inward]
    return (sides and sides[0]) or "the host array"


def meddled(racer: Racer, host: HostProgram, how: str) -> Finding:
    """The host has freed, unpinned or changed (`how`) pinned memory before a copy was done."""
    operation, name = racer.operation, _host_name(racer)
    wait = host.wait(operation.stream_name)
    advice = f"keep it until after {wait}"
    if how == "changed":
        advice = f"its memory is pinned, so the call does not wait; wait first, with {wait}"
    message = (
        f"{name} was {how} by the host after line {operation.line} had handed it to a copy on "
        f"{operation.stream_name}, and before the copy was done: {advice}"
    )
    return Finding(KIND, operation.line, message, array=name)


class FindingQueue:
    """Findings that wait to be reported; each pair of lines once."""

    def __init__(self, host: HostProgram) -> None:
        self._host = host
        self._log = FindingLog()
        self._files: list[str] = []

    def add(self, finding: Finding | None, where: Place) -> None:
        """A new finding, or one more of a kind that is known; the file is that of a place."""
        if finding is not None:
            key = where.file, finding.line, finding.message
            if not self._log.again(key):
                self._log.add(key, finding)
                self._files.append(where.file)

    def tell(self) -> None:
        """Reports them."""
        findings = list(zip(self._files, self._log.findings, strict=True))
        self._log.clear()
        self._files = []
        self._host.tell(findings)
