"""The files of a CUDA program, and the lines that its calls come from."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

FILE = 100_000  # what the lines of a file are counted from, times the file's number
SYSTEM = ("/usr/include/", "/usr/lib/", "/usr/local/cuda", "/tmp/tmpxft_")


class SourceFiles:
    """The files of a program, as debug information names them; the first is its main one."""

    def __init__(self, file: Path, folder: Path | None = None) -> None:
        self.files = [file]
        self._folder = folder  # where the text of a main file that is none has been compiled

    def place(self, line: int) -> str:
        """File and line, as compilers write it: `program.cu:12`."""
        number, line = divmod(line, FILE)
        return f"{self.files[number].name}:{line}"

    def in_words(self, message: str) -> str:
        """A message whose lines of other files are named with their file."""

        def named(match: re.Match[str]) -> str:
            number, line = divmod(int(match[1]), FILE)
            if not 0 < number < len(self.files):
                return match[0]
            return f"line {line} of {self.files[number].name}"

        return re.sub(r"\bline (\d{6,})\b", named, message)

    def text(self, number: int) -> str:
        """The text of a file; none if it is not here."""
        file = self.files[number]
        try:
            place = self._folder / file if self._folder and not number else file
            return place.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def line_text(self, line: int) -> str:
        """The text of a line."""
        number, at = divmod(line, FILE)
        lines = self.text(number).splitlines()
        return lines[at - 1] if 0 < at <= len(lines) else ""

    def number(self, file: str) -> int:
        """The number of a file, which is new if nobody has asked for it."""
        path = Path(file)
        if path.parent == self._folder:
            return 0
        for known, other in enumerate(self.files):
            if other == path or (other.exists() and path.exists() and other.samefile(path)):
                return known
        self.files.append(path)
        return len(self.files) - 1

    def locate(self, process: int, addresses: Sequence[int]) -> int:
        """The line of the program in which the first of some addresses lies; 0 if unknown."""
        for _, file, line in frames(process, addresses):
            if is_own(file):
                return self.number(file) * FILE + line
        return 0


def is_own(file: str) -> bool:
    """Whether a file is the program's: it is here, and no part of a compiler or toolkit."""
    return not (file.startswith(SYSTEM) or "/nvidia/cu" in file) and Path(file).is_file()


def frames(process: int, addresses: Sequence[int]) -> Iterator[tuple[str, str, int]]:
    """Function, file and line of addresses in a process, the innermost first, as far as known."""
    for binary, base, low, high in _objects(process):
        inside = tuple(a - base for a in addresses if low <= a < high)
        if inside and "libcudart" not in binary:
            yield from _resolved(binary, inside)


@lru_cache(maxsize=4096)
def _resolved(binary: str, addresses: tuple[int, ...]) -> list[tuple[str, str, int]]:
    tool = shutil.which("addr2line")
    if tool is None:
        return []
    listing = subprocess.run(
        [tool, "-fCi", "-e", binary, *map(hex, addresses)],
        capture_output=True, text=True, check=False,
    ).stdout.splitlines()  # fmt: skip
    resolved = []
    for function, place in zip(listing[::2], listing[1::2], strict=False):
        file, _, line = place.partition(" ")[0].rpartition(":")
        if line.isdigit():
            resolved.append((function, file, int(line)))
    return resolved


def _objects(process: int) -> list[tuple[str, int, int, int]]:
    """File, what to subtract from an address, first and last address of what a process runs."""
    found: dict[str, tuple[int, int]] = {}
    for line in Path(f"/proc/{process}/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and Path(fields[5]).is_file():  # not one that is deleted
            low, high = (int(word, 16) for word in fields[0].split("-"))
            first, _ = found.get(fields[5], (low, 0))
            found[fields[5]] = first, high
    objects = []
    for file, (low, high) in found.items():
        with Path(file).open("rb") as binary:
            head = binary.read(18)
        fixed = head[:4] == b"\x7fELF" and head[16] == 2  # an executable that cannot be moved
        objects.append((file, 0 if fixed else low, low, high))
    return objects
