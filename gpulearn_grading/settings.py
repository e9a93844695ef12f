"""What an instructor decides: exercises, points, the deadline, limits, and single marks.

`grading.toml` holds all but the last, which stand in `overrides.csv` beside it.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.judge.catalogue import find
from gpulearn.require import shown
from gpulearn_grading.apart.limits import Limits

USUAL = "grading.toml"  # the name of the file, in the folder of submissions
OVERRIDES = "overrides.csv"
COLUMNS = ("student", "exercise", "points", "comment")
LIMITS = {"seconds": 1.0, "memory_mib": 1 << 20, "processes": 1, "disk_mib": 1 << 20,
          "output_mib": 1 << 20}  # fmt: skip
DAY = 86400.0

K = TypeVar("K")
V = TypeVar("V")


class Override(NamedTuple):
    """What an instructor decides about one answer, or about all of a student."""

    points: float | None  # in place of what was computed
    comment: str  # for the student


@dataclass(frozen=True)
class GradingSettings:
    """How submissions are graded; students are called by name or by number."""

    # names, or `file.py:name`, in their order; if none, those that are answered
    exercises: tuple[str, ...] = ()
    # names of those in which a wrong answer gets the share of cases in which it is right
    partial: tuple[str, ...] = ()
    # whether each file or folder in a student's folder is an attempt, of which the best counts
    best_attempt: bool = False
    # points of an exercise by its name; 1 where nothing is said
    weights: Mapping[str, float] = field(default_factory=dict)
    # when submissions are due, in seconds since 1970; None for no deadline
    due: float | None = None
    due_for: Mapping[str, float] = field(default_factory=dict)  # when it is another for a student
    grace_minutes: float = 0.0  # after the deadline, in which nothing is late
    lost_per_day: float = 0.0  # share of the points that each day begun after it costs
    most_lost: float = 1.0  # share of the points that being late costs at most
    # when a student handed in, where the file's own date does not tell
    handed_in: Mapping[str, float] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)  # of each answer
    # the folder of the file that says all this, which no answer sees
    home: Path | None = field(default=None, compare=False)
    # by student, and name of an exercise, or "" for all of them
    overrides: Mapping[tuple[str, str], Override] = field(default_factory=dict)

    def days_late(self, names: Iterable[str], moment: float) -> int:
        """Days begun after the deadline, for what a student of these names handed in then."""
        due = _said(self.due_for, names, self.due)
        late = 0.0 if due is None else _said(self.handed_in, names, moment) - due
        return -int(-late // DAY) if late > 60 * self.grace_minutes else 0

    def kept(self, days: int) -> float:
        """The share of the points that is kept after so many days."""
        return 1.0 - min(self.most_lost, self.lost_per_day * days)

    def points(self, name: str, share: float) -> float:
        """The points for an answer that is right in a share of the cases."""
        return self.weights.get(name, 1.0) * (share if name in self.partial else share // 1)

    def override(self, names: Iterable[str], exercise: str = "") -> Override:
        """What the instructor decided about a student of these names, or about one answer."""
        return _said(self.overrides, [(name, exercise) for name in names], Override(None, ""))

    @property
    def named(self) -> set[str]:
        """The students of whom something is said."""
        return {*self.due_for, *self.handed_in, *(student for student, _ in self.overrides)}


def _said(table: Mapping[K, V], keys: Iterable[K], usual: V) -> V:
    """What a table says under one of the keys."""
    return next((table[key] for key in keys if key in table), usual)


class Kind(NamedTuple):
    """How a value of the file is read, and written as TOML."""

    read: Callable[[str, Any], Any]
    write: Callable[[Any], str]


def load(file: Path) -> GradingSettings:
    """Read a settings file, and the overrides beside it."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error}.") from None
    except ValueError as error:
        raise BadInput(f"{file} is no TOML: {error}.") from None
    known = [*KEYS[""], *filter(None, KEYS)]
    for key in data:
        require.choice(f"setting in {file.name}", key, known)
    values: dict[str, Any] = {}
    for table, kinds in KEYS.items():
        for key, value in (_table(table, data.get(table, {})) if table else data).items():
            if table or key not in KEYS:
                kind = kinds[require.choice(f"setting of the {table}", key, kinds)]
                values[key] = kind.read(key, value)
    exercises = tuple(_place(place, file.parent) for place in values.get("exercises", ()))
    names = [find(place).name for place in exercises]
    for name in [*values.get("weights", {}), *values.get("partial", ())]:
        require.choice("exercise with points", name, names or [find(name).name])
    limits = Limits(
        **{key.removesuffix("_mib"): values.pop(key) for key in LIMITS if key in values}
    )
    overrides = overrides_of(file.with_name(OVERRIDES))
    values |= {"exercises": exercises, "home": file.parent}
    return GradingSettings(**values, limits=limits, overrides=overrides)


def overrides_of(file: Path) -> dict[tuple[str, str], Override]:
    """Student and exercise, or "" → what the file of overrides says; nothing if it is not there."""
    if not file.is_file():
        return {}
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise BadInput(f"{file} cannot be read: {error}.") from None
    first = text.partition("\n")[0]  # a spreadsheet may write semicolons
    lines = csv.DictReader(io.StringIO(text), delimiter=";" if ";" in first else ",")
    for column in lines.fieldnames or ():
        require.choice(f"column in {file.name}", column, COLUMNS)
    found = {}
    for line in lines:
        student, name, points, comment = ((line.get(column) or "").strip() for column in COLUMNS)
        what = f"points of {student} in {file.name}"
        try:
            number = float(points.replace(",", ".")) if points else None
        except ValueError:
            raise BadInput(f"{what} is {points!r}: give a number, or nothing.") from None
        if student:
            checked = None if number is None else _number(what, number)
            found[student, name] = Override(checked, comment)
    return found


def written(settings: GradingSettings) -> str:
    """Settings as the text of a file, from which `load` makes the same, but for overrides."""
    sizes = {key: getattr(settings.limits, key.removesuffix("_mib")) for key in LIMITS}
    values, usual = vars(settings) | sizes, vars(GradingSettings()) | {"exercises": None}
    text = ""
    for table, kinds in KEYS.items():
        lines = []
        for key, kind in kinds.items():
            value = values[key]
            if isinstance(value, Mapping):
                lines += [f"{key}.{_text(name)} = {kind.write(one)}" for name, one in value.items()]
            elif value != usual.get(key):
                lines.append(f"{key} = {kind.write(value)}")
        text += "\n".join([*[f"[{table}]"] * bool(table), *lines, "", ""]) if lines else ""
    return text


def _text(value: str) -> str:
    """A basic string of TOML, which is also one of JSON."""
    return json.dumps(value, ensure_ascii=False)


def _names(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadInput(f'{key} is {shown(value)}: give a list of names, ["vector_add"].')
    return tuple(value)


def _place(place: str, folder: Path) -> str:
    """An exercise as workers find it: a file is looked for beside the settings."""
    file, colon, name = place.rpartition(":")
    return f"{(folder / file).resolve()}:{name}" if colon else find(place).name


def _table(key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"{key} is {shown(value)}: write it as a table, [{key}].")
    return value


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{key} is {shown(value)}: give true or false.")
    return value


def _number(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise BadInput(f"{key} is {shown(value)}: give a number from 0 on.")
    return float(value)


def _share(key: str, value: Any) -> float:
    if _number(key, value) > 1:
        raise BadInput(f"{key} is {shown(value)}: give a share from 0 to 1, such as 0.1.")
    return float(value)


def _moment(key: str, value: Any) -> float:
    """Seconds since 1970 of a date with its time; without a zone it is this computer's."""
    if not isinstance(value, datetime.datetime):
        raise BadInput(f"{key} is {shown(value)}: give date and time, 2026-11-30T23:59:00+01:00.")
    return value.timestamp()


def _date(moment: float) -> str:
    return datetime.datetime.fromtimestamp(moment, datetime.UTC).isoformat()


def _each(kind: Kind) -> Kind:
    """A table whose values are of a kind."""

    def read(key: str, value: Any) -> dict[str, Any]:
        table = _table(key, value).items()
        return {name: kind.read(f"{key} of {name}", value) for name, value in table}

    return Kind(read, kind.write)


def _limit(unit: float) -> Kind:
    """What an answer may use, in that unit."""

    def read(key: str, value: Any) -> float:
        if _number(key, value) <= 0:
            raise BadInput(f"{key} is {shown(value)}: give a number above 0.")
        amount = value * unit
        return float(amount) if key == "seconds" else int(amount)

    return Kind(read, lambda value: f"{value / unit:.15g}")


NAMES = Kind(_names, lambda names: "".join(["[\n", *(f"    {_text(n)},\n" for n in names), "]"]))
FLAG = Kind(_flag, lambda flag: str(flag).lower())
NUMBER = Kind(_number, "{:.15g}".format)
SHARE = Kind(_share, "{:.15g}".format)
MOMENT = Kind(_moment, _date)
# table of the file → its keys, each that of a field; those of limits are in their units
KEYS: Mapping[str, Mapping[str, Kind]] = {
    "": {"exercises": NAMES, "partial": NAMES, "best_attempt": FLAG, "weights": _each(NUMBER)},
    "deadline": {
        "due": MOMENT, "due_for": _each(MOMENT), "grace_minutes": NUMBER, "lost_per_day": SHARE,
        "most_lost": SHARE, "handed_in": _each(MOMENT),
    },
    "limits": {key: _limit(unit) for key, unit in LIMITS.items()},
}  # fmt: skip
