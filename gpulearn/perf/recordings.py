"""Results that were measured on a named GPU and travel with the package as JSON.

`make gpu` writes them on a machine with a GPU. A file holds the schema's number, the name,
device, driver, date, versions and command, and rows: one measurement each, with a `seconds`
above zero where it is a time.
"""

import datetime
import json
import platform
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpulearn import __version__, require
from gpulearn.errors import RecordingError
from gpulearn.perf.series import Provenance
from simt.device import driver, selection

SCHEMA = 2
FOLDER = Path(__file__).parent / "recorded"


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


def available(folder: Path = FOLDER, name: str = "*") -> list[Path]:
    """The files of all recordings, or of those of one name."""
    return sorted(folder.glob(f"{name}-*.json"))


def load(path: Path) -> Recording:
    """Read a recording."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        schema = data.pop("schema")
        if schema != SCHEMA:
            raise ValueError(f"it has schema {schema}, and this version reads {SCHEMA}")
        return Recording(**data)
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise RecordingError(
            f"{path.name} cannot be read as a recording: {error}; `make gpu` on a GPU writes it "
            f"anew."
        ) from None


def find(name: str, folder: Path = FOLDER) -> Recording | None:
    """The newest recording of that name, or None where none has been made."""
    # "ladder-*.json" would also be the files of a recording "ladder-ideas"
    own = (r for r in map(load, available(folder, name)) if r.name == name)
    return max(own, key=lambda r: r.date, default=None)


def save(recording: Recording, folder: Path = FOLDER) -> Path:
    """Write a recording as `name-device.json`; return the file."""
    device = "".join(c if c.isalnum() else "-" for c in recording.device.lower())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{recording.name}-{device}.json"
    part = path.with_suffix(".part")  # an interrupted write leaves the old file whole
    data = {"schema": SCHEMA, **asdict(recording)}
    part.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    part.replace(path)
    return path


class OutOfTimeError(BaseException):
    """The time for a recording is over; no row of it is at fault, so no `except Exception` sees it.

    `make gpu` raises it from an alarm.
    """


def recorded_here(name: str, rows: Iterable[dict[str, Any]], on: str = "cuda") -> Recording:
    """What is measured on this machine's GPU (`on` = "cuda") or CPU (`on` = "cpu").

    An iterator may make the rows one by one; where the time is over (`OutOfTimeError`), those that
    it has made by then are the recording.
    """
    measured: list[dict[str, Any]] = []
    with suppress(OutOfTimeError):
        for row in rows:
            measured.append(row)
    gpus = selection.current().gpus
    packages = ("numpy", "numba", "numba-cuda", "torch")
    versions = {"python": platform.python_version(), "gpulearn": __version__}
    versions |= {p: version for p in packages if (version := require.installed(p))}
    return Recording(
        name=name,
        device=gpus[0].name if on == "cuda" and gpus else selection.cpu_name(),
        driver=driver.version(),
        date=datetime.date.today().isoformat(),
        versions=versions,
        command="make gpu",
        rows=measured,
    )
