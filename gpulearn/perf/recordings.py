"""Results that were measured on a named GPU and travel with the package as JSON.

`make gpu` writes them on a machine with a GPU. A file holds the schema's number, the name,
device, driver, date, versions and command, and rows: one measurement each, with a `seconds`
above zero where it is a time.
"""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gpulearn import __version__, require
from gpulearn.errors import RecordingError
from gpulearn.perf.series import Provenance
from simt.device import driver, selection

__all__ = [
    "FOLDER",
    "SCHEMA",
    "Recording",
    "available",
    "find",
    "growing",
    "load",
    "path_of",
    "recorded_here",
    "save",
    "versions_here",
]

SCHEMA = 2
COMMAND = "make gpu"
FOLDER = Path(__file__).parent / "recorded"

# field -> what it must be
FIELDS = {
    "schema": int,
    "name": str,
    "device": str,
    "driver": str,
    "date": str,
    "versions": dict,
    "command": str,
    "rows": list,
}


@dataclass(frozen=True)
class Recording:
    """One set of measurements; `rows` are plain dictionaries, `seconds` in those that are times."""

    name: str
    device: str
    driver: str
    date: str
    versions: dict[str, str]
    command: str
    rows: list[dict[str, Any]]

    @property
    def provenance(self) -> Provenance:
        """The label under which these numbers are shown."""
        return Provenance("recorded", self.device, self.date)

    def where(self, **wanted: Any) -> list[dict[str, Any]]:
        """The rows that have all the given values, such as `where(dtype="float32")`."""
        return [row for row in self.rows if all(row.get(k) == v for k, v in wanted.items())]


def available(folder: Path = FOLDER, name: str = "*") -> list[Path]:
    """The files of all recordings, or of those of one name."""
    return sorted(folder.glob(f"{name}-*.json"))


def load(path: Path) -> Recording:
    """Read a recording and hold it against the schema.

    Raises:
        RecordingError: the file is missing, is not JSON, or a field is missing or wrong.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path.name} cannot be read as a recording: {error}") from None
    fault = _fault(data)
    if fault:
        raise RecordingError(f"{path.name} {fault}; `make gpu` on a GPU writes it anew.")
    return Recording(**{key: value for key, value in data.items() if key != "schema"})


def _fault(data: Any) -> str | None:
    """What is wrong with a recording's data, or None."""
    if not isinstance(data, dict):
        return f"holds a {type(data).__name__} where a recording is an object"
    if unknown := sorted(set(data) - set(FIELDS)):
        return f"has the unknown field {unknown[0]!r}"
    for name, kind in FIELDS.items():
        if name not in data:
            return f"has no field {name!r}"
        if not isinstance(data[name], kind) or isinstance(data[name], bool):
            return f"has {name} = {data[name]!r}, which is not a {kind.__name__}"
    if data["schema"] != SCHEMA:
        return f"has schema {data['schema']}, and this version reads {SCHEMA}"
    try:
        datetime.date.fromisoformat(data["date"])
    except ValueError:
        return f"has the date {data['date']!r}, which is not YYYY-MM-DD"
    for number, row in enumerate(data["rows"]):
        if not isinstance(row, dict) or not row:
            return f"has row {number} = {row!r}, which is no object with fields"
        seconds = row.get("seconds", 1)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
            return f"has no time above zero in row {number}: {row!r}"
    return None


def find(name: str, folder: Path = FOLDER) -> Recording | None:
    """The newest recording of that name, or None where none has been made."""
    found = map(load, available(folder, name))
    # "ladder-*.json" are also the files of "ladder-ideas"
    return max((r for r in found if r.name == name), key=lambda r: r.date, default=None)


def path_of(recording: Recording, folder: Path = FOLDER) -> Path:
    """The file of a recording: `name-device.json`."""
    where = "".join(c if c.isalnum() else "-" for c in recording.device.lower())
    return folder / f"{recording.name}-{where}.json"


def save(recording: Recording, folder: Path = FOLDER) -> Path:
    """Write a recording as `name-device.json`; return the file."""
    data = {"schema": SCHEMA, **asdict(recording)}
    if fault := _fault(data):
        raise RecordingError(f"This recording {fault}, so it was not written.")
    path = path_of(recording, folder)
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")  # who is stopped while writing leaves the old file whole
    part.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    part.replace(path)
    return path


_growing: ContextVar[Callable[[Recording], object] | None] = ContextVar("growing", default=None)


@contextmanager
def growing(see: Callable[[Recording], object]) -> Iterator[None]:
    """Show `see` every recording that is made within the block after each of its rows.

    Who keeps them on disk loses little when a measurement is cut short.
    """
    token = _growing.set(see)
    try:
        yield
    finally:
        _growing.reset(token)


def recorded_here(name: str, rows: Iterable[dict[str, Any]], on: str = "cuda") -> Recording:
    """What is measured on this machine's GPU (`on` = "cuda") or CPU (`on` = "cpu").

    Args:
        name: of the recording.
        rows: the measurements; an iterator may make them one by one, and `growing` sees each.
        on: what they are measured on.
    """
    found: list[dict[str, Any]] = []
    recording = _empty(name, on)
    see = _growing.get()
    for row in rows:
        found.append(row)
        if see is not None:
            see(replace(recording, rows=list(found)))
    return replace(recording, rows=found)


def _empty(name: str, on: str) -> Recording:
    gpus = selection.current().gpus
    return Recording(
        name=name,
        device=gpus[0].name if on == "cuda" and gpus else selection.cpu_name(),
        driver=driver.version(),
        date=datetime.date.today().isoformat(),
        versions=versions_here(),
        command=COMMAND,
        rows=[],
    )


def versions_here() -> dict[str, str]:
    """The versions that a recording depends on, by name."""
    names = ("numpy", "numba", "numba-cuda", "torch")
    found = {name: require.installed(name) for name in names}
    own = {"python": platform.python_version(), "gpulearn": __version__}
    return own | {name: version for name, version in found.items() if version}
