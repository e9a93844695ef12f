"""The host's program, as the queue knows it: where it is, what it is told, how it writes a wait."""

from collections.abc import Sequence

from simt.core.findings import Finding
from simt.core.places import Place, place
from simt.host.settings import listeners
from simt.host.work.operations import WorkRecord, open_records
from simt.host.work.ranges import Access


class HostProgram:
    """A program in Python with `cuda`; one in another language overrides what differs."""

    at_once = True  # what nothing comes before is carried out when it is asked for

    def place(self) -> Place:
        """The line that asks for something."""
        return place()

    def records(self) -> list[WorkRecord]:
        """The records of what it asks for."""
        return open_records

    def name_of(self, access: Access) -> str:
        """What it calls the memory that a kernel touches; else the kernel's name for it."""
        return access.name

    def order(
        self, first: str, second: str, line: int | None,
        calls: str = "event.record(…) and event.wait(…)",
    ) -> str:  # fmt: skip
        """What to do, and to call, so that one stream waits for another's work up to a line."""
        return f"record an event on {first} after line {line} and let {second} wait for it, {calls}"

    def wait(self, stream: str) -> str:
        """What it calls to wait for a stream."""
        return f"{stream}.synchronize()"

    def tell(self, findings: Sequence[tuple[str, Finding]]) -> None:
        """Hands findings with their files to the records, or warns where there is none."""
        records = self.records()
        for record in records:
            record.findings += [finding for _, finding in findings]
        for file, finding in findings:
            for listener in listeners:
                listener.hear_race(file, finding)
            if not records:
                self.place().warn(str(finding))
