"""What an instructor decides: exercises, their weights, the deadline, limits; a TOML file."""

from __future__ import annotations

import datetime
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.judge.catalogue import find
from gpulearn.require import shown
from gpulearn_grading.apart.limits import Limits

USUAL = "grading.toml"  # the name of the file, in the folder of submissions
KEYS = ("exercises", "weights", "deadline", "limits")
DEADLINE = ("due", "lost_per_day", "handed_in")
LIMITS = {"seconds": 1.0, "memory_mib": 1 << 20, "processes": 1, "disk_mib": 1 << 20,
          "output_mib": 1 << 20}  # fmt: skip
DAY = 86400.0


@dataclass(frozen=True)
class GradingSettings:
    """How submissions are graded."""

    # names, or `file.py:name`, in their order; if none, those that are answered
    exercises: tuple[str, ...] = ()
    # points of an exercise by its name; 1 where nothing is said
    weights: Mapping[str, float] = field(default_factory=dict)
    # when submissions are due, in seconds since 1970; None for no deadline
    due: float | None = None
    lost_per_day: float = 0.0  # share of the score that each day begun after that costs
    # when a student handed in, where the file's own date does not tell
    handed_in: Mapping[str, float] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)  # of each answer

    def days_late(self, student: str, moment: float) -> int:
        """Days begun after the deadline, for what was handed in at a moment."""
        if self.due is None:
            return 0
        late = self.handed_in.get(student, moment) - self.due
        return max(0, -int(-late // DAY))

    def kept(self, days: int) -> float:
        """The share of the score that is kept after so many days."""
        return max(0.0, 1.0 - self.lost_per_day * days)


def load(file: Path) -> GradingSettings:
    """Read a settings file."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error}.") from None
    except ValueError as error:
        raise BadInput(f"{file} is no TOML: {error}.") from None
    for key in data:
        require.choice(f"setting in {file.name}", key, KEYS)
    exercises = data.get("exercises", [])
    if not isinstance(exercises, list) or not all(isinstance(item, str) for item in exercises):
        raise BadInput(f'exercises is {shown(exercises)}: give a list of names, ["vector_add"].')
    places = tuple(_place(place, file.parent) for place in exercises)
    names = [find(place).name for place in places]
    weights = {}
    for name, weight in _table(data, "weights").items():
        weights[name] = _number(f"the weight of {name}", weight)
        require.choice("exercise with a weight", name, names or [find(name).name])
    deadline = _table(data, "deadline")
    for key in deadline:
        require.choice("setting of the deadline", key, DEADLINE)
    return GradingSettings(
        exercises=places,
        weights=weights,
        due=_moment("due", deadline["due"]) if "due" in deadline else None,
        lost_per_day=_number("lost_per_day", deadline.get("lost_per_day", 0)),
        handed_in={
            student: _moment(f"handed_in of {student}", when)
            for student, when in _table(deadline, "handed_in").items()
        },
        limits=_limits(_table(data, "limits")),
    )


def written(settings: GradingSettings) -> str:
    """Settings as the text of a file, from which `load` makes the same."""
    lines = ["exercises = [", *(f"    {_text(place)}," for place in settings.exercises), "]", ""]
    lines += _lines("weights", {name: f"{w:.15g}" for name, w in settings.weights.items()})
    if settings.due is not None:
        named = {student: _date(moment) for student, moment in settings.handed_in.items()}
        each = ", ".join(f"{_text(student)} = {date}" for student, date in named.items())
        deadline = {"due": _date(settings.due), "lost_per_day": f"{settings.lost_per_day:.15g}"}
        lines += _lines("deadline", deadline | ({"handed_in": f"{{ {each} }}"} if each else {}))
    amounts = {key: getattr(settings.limits, key.removesuffix("_mib")) / unit
               for key, unit in LIMITS.items()}  # fmt: skip
    return "\n".join([*lines, *_lines("limits", {k: f"{n:.15g}" for k, n in amounts.items()})])


def _lines(table: str, values: Mapping[str, str]) -> list[str]:
    """A table of a TOML file, and an empty line below it."""
    return [f"[{table}]", *(f"{key} = {value}" for key, value in values.items()), ""] * bool(values)


def _text(value: str) -> str:
    """A basic string of TOML, which is also one of JSON."""
    return json.dumps(value, ensure_ascii=False)


def _date(moment: float) -> str:
    return datetime.datetime.fromtimestamp(moment, datetime.UTC).isoformat()


def _place(place: str, folder: Path) -> str:
    """An exercise as workers find it: a file is looked for beside the settings."""
    file, colon, name = place.rpartition(":")
    return f"{(folder / file).resolve()}:{name}" if colon else find(place).name


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = data.get(key, {})
    if not isinstance(table, dict):
        raise BadInput(f"{key} is {shown(table)}: write it as a table, [{key}].")
    return table


def _number(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise BadInput(f"{what} is {shown(value)}: give a number from 0 on.")
    return float(value)


def _moment(what: str, value: Any) -> float:
    """Seconds since 1970 of a date with its time; without a zone it is this computer's."""
    if not isinstance(value, datetime.datetime):
        raise BadInput(f"{what} is {shown(value)}: give date and time, 2026-11-30T23:59:00+01:00.")
    return value.timestamp()


def _limits(table: Mapping[str, Any]) -> Limits:
    fields: dict[str, Any] = {}
    for key, value in table.items():
        unit = LIMITS[require.choice("limit", key, LIMITS)]
        if _number(key, value) <= 0:
            raise BadInput(f"{key} is {shown(value)}: give a number above 0.")
        amount = value * unit
        fields[key.removesuffix("_mib")] = amount if key == "seconds" else int(amount)
    return Limits(**fields)
