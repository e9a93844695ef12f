"""What a rank prints, as whole lines with the rank's number in front."""

import codecs
import contextlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

WARNING = re.compile(r"\S.*:\d+: \w*Warning: ")  # as Python writes it


class RankLines:
    """Joins pieces of a rank's output into lines and writes each at once.

    Of a progress bar, which returns to the start of its line again and again, the end is shown:
    bars of several ranks would overwrite one another. Left out are a line that begins like `but`,
    and a warning that is in `known`, which it joins, with the line that it quotes: each rank gives
    the same ones. Without a target, as under `redirect_stdout(None)`, nothing is written.
    """

    def __init__(
        self,
        rank: int,
        target: TextIO | None,
        but: re.Pattern[str] | None = None,
        known: set[str] | None = None,
    ) -> None:
        self._but = but
        self._known = known
        self._quoted = False  # whether the line before was a warning that is left out
        self._prefix = f"[rank {rank}] "
        self._target = target
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._pending = ""

    def feed(self, piece: bytes) -> None:
        """Take bytes as they come; write the lines that are complete."""
        *whole, rest = (self._pending + self._decode(piece)).split("\n")
        self._pending = _visible(rest) + "\r" * rest.endswith("\r")
        self._write(whole)

    def close(self) -> None:
        """Write what has no end of line."""
        if rest := self._pending + self._decode(b"", final=True):
            self._write([rest])
        self._pending = ""

    def _again(self, line: str) -> bool:
        """Whether a line is of a warning that another rank, or this one, has given already."""
        if self._known is None:
            return False
        if self._quoted and line.startswith("  "):
            self._quoted = False
            return True
        self._quoted = line in self._known
        if WARNING.match(line):
            self._known.add(line)
        return self._quoted

    def _write(self, lines: Sequence[str]) -> None:
        text = "".join(
            f"{self._prefix}{line}\n"
            for line in map(_visible, lines)
            if not (self._but and self._but.match(line)) and not self._again(line)
        )
        if text and self._target is not None:
            try:
                self._target.write(text)
            except UnicodeEncodeError:  # an ASCII terminal: the rank's work must not end for that
                self._target.write(text.encode("ascii", "backslashreplace").decode())
            self._target.flush()


def _visible(line: str) -> str:
    """What is left of a line that overwrites itself."""
    return line.rstrip("\r").rpartition("\r")[2]


class PrefixedOutput:
    """Standard output while ranks run: what a rank prints gets its number in front."""

    def __init__(self, target: TextIO, rank_of: Callable[[], int | None]) -> None:
        self._target = target
        self._rank_of = rank_of
        self._lines: dict[int, RankLines] = {}

    def write(self, text: str) -> int:
        """Write text; whole lines only, if a rank writes it."""
        rank = self._rank_of()
        if rank is None:
            return self._target.write(text)
        lines = self._lines.setdefault(rank, RankLines(rank, self._target))
        lines.feed(text.encode(errors="replace"))
        return len(text)

    def close(self) -> None:
        """Write what has no end of line."""
        for lines in self._lines.values():
            lines.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


@contextlib.contextmanager
def prefixed_output(rank_of: Callable[[], int | None]) -> Iterator[None]:
    """Let each line that a simulated rank prints begin with its number, by `rank_of` its thread."""
    before = sys.stdout, sys.stderr
    prefixed = [PrefixedOutput(stream, rank_of) if stream else None for stream in before]
    sys.stdout, sys.stderr = prefixed
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for stream in prefixed:
            if stream:
                stream.close()
