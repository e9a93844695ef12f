"""What the learner has tried, solved and foreseen: a small JSON in the user's data folder."""

import datetime
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

ENVIRONMENT_VARIABLE = "GPULEARN_PROGRESS"
MAX_HINTS = 20  # that are kept of an exercise, the latest
_here: list[str] = []


@dataclass(frozen=True)
class Foresight:
    """What was predicted; whether it came so, once that has been seen."""

    said: str
    foresaw: bool | None = None


@dataclass(frozen=True)
class Tries:
    """How often an exercise was tried until it was solved, and what its wrong answers were told."""

    count: int = 0
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Progress:
    """The solved exercises with their dates and the predictions made, or why there are none."""

    solved: dict[str, str] = field(default_factory=dict)
    tried: dict[str, Tries] = field(default_factory=dict)
    predicted: dict[str, Foresight] = field(default_factory=dict)
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
    """Read what has been kept; a missing file means nothing yet."""
    path = file()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        for date in data["solved"].values():
            datetime.date.fromisoformat(date)
        tried = {
            name: Tries(int(kept["count"]), tuple(map(str, kept["hints"])))
            for name, kept in data.get("tried", {}).items()  # not there before they were counted
        }
        predicted = {name: Foresight(**entry) for name, entry in data["predicted"].items()}
        return Progress(data["solved"], tried, predicted)
    except FileNotFoundError:
        return Progress()
    except OSError as error:
        return Progress(fault=f"{path} cannot be read ({error})")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        return Progress(fault=f"{path} is damaged ({error})", damaged=True)


def visit(notebook: str) -> None:
    """Note the notebook that the learner is in."""
    _here[:] = [notebook]


def here() -> str:
    """The notebook that the learner was in last, or ""."""
    return "".join(_here)


def record(name: str) -> str:
    """Note an exercise as solved; return why that failed, or "". The first date stays."""
    today = datetime.date.today().isoformat()

    def note(state: Progress) -> None:
        _count(state, name, ())
        state.solved.setdefault(name, today)

    return _keep(note)


def record_try(name: str, hint: str) -> str:
    """Note a wrong answer and what it was told; return why that failed, or "".

    Whatever is tried once an exercise is solved does not count.
    """
    return _keep(lambda state: _count(state, name, (hint,)))


def _count(state: Progress, name: str, hints: tuple[str, ...]) -> None:
    if name not in state.solved:
        before = state.tried.get(name, Tries())
        latest = tuple(dict.fromkeys((*before.hints, *hints)))[-MAX_HINTS:]
        state.tried[name] = Tries(before.count + 1, latest)


def record_prediction(name: str, foresight: Foresight) -> str:
    """Note what was predicted; return why that failed, or "". What was seen to come stays."""

    def note(state: Progress) -> None:
        before = state.predicted.get(name)
        if before is None or before.foresaw is None:
            state.predicted[name] = foresight

    return _keep(note)


def _keep(change: Callable[[Progress], object]) -> str:
    """Change what is kept; return why that failed, or "".

    Nothing is raised, and a damaged file is kept beside the new one, as `progress.damaged`.
    """
    path = file()
    state = load()
    if state.fault and not state.damaged:
        return state.fault
    change(state)
    kept = {key: asdict(state)[key] for key in ("solved", "tried", "predicted")}
    try:
        if state.damaged:
            aside = path.with_suffix(".damaged")
            for number in itertools.count(2):
                if not aside.exists():
                    break
                aside = path.with_suffix(f".damaged-{number}")
            path.replace(aside)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        return f"{path} cannot be written ({error})"
    return ""
