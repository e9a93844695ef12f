"""What the learner has solved: a small JSON in the user's data folder, never in a notebook."""

from __future__ import annotations

import datetime
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Progress", "file", "load", "record"]

ENVIRONMENT_VARIABLE = "GPULEARN_PROGRESS"


@dataclass(frozen=True)
class Progress:
    """The solved exercises with their dates, or None and why they cannot be had."""

    solved: dict[str, str] | None
    fault: str = ""
    damaged: bool = False


def file(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """Where progress is kept; `GPULEARN_PROGRESS` names another file."""
    env = os.environ if environment is None else environment
    if named := env.get(ENVIRONMENT_VARIABLE):
        return Path(named).expanduser()
    home = Path(env.get("HOME") or env.get("USERPROFILE") or tempfile.gettempdir())
    if platform == "win32":
        folder = Path(env.get("APPDATA") or home / "AppData" / "Roaming")
    elif platform == "darwin":
        folder = home / "Library" / "Application Support"
    else:
        folder = Path(env.get("XDG_DATA_HOME") or home / ".local" / "share")
    return folder / "gpulearn" / "progress.json"


def load() -> Progress:
    """Read what has been solved; a missing file means nothing yet."""
    path = file()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Progress({})
    except OSError as error:
        return Progress(None, f"{path} cannot be read ({error})")
    except ValueError as error:
        return Progress(None, f"{path} is damaged ({error})", damaged=True)
    if not isinstance(data, dict) or not all(isinstance(v, str) for v in data.values()):
        return Progress(None, f"{path} does not hold names and dates", damaged=True)
    return Progress(data)


def record(name: str) -> str:
    """Note an exercise as solved; return why that failed, or "".

    Nothing is raised, and a damaged file is kept beside the new one, as `progress.damaged`.
    """
    path = file()
    before = load()
    if before.solved is None and not before.damaged:
        return before.fault
    try:
        if before.damaged:
            path.replace(_free(path.with_suffix(".damaged")))
        solved = {name: datetime.date.today().isoformat(), **(before.solved or {})}
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(solved, indent=1) + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        return f"{path} cannot be written ({error})"
    return ""


def _free(path: Path) -> Path:
    """The path, or the first of path-2, path-3, … that does not exist yet."""
    others = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    return next(p for p in itertools.chain([path], others) if not p.exists())
