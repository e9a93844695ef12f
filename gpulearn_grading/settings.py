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
DAY = 86400.0

K = TypeVar("K")
V = TypeVar("V")
Reader = Callable[[str, Any], Any]  # of a key and its value; what the settings have


class Override(NamedTuple):
    """What an instructor decides about one answer, or about all of a student."""

    points: float | None = None  # in place of what was computed
    comment: str = ""  # for the student


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
    # by student, and name of an exercise, or "" for all of them
    overrides: Mapping[tuple[str, str], Override] = field(default_factory=dict)
    # the file that says all this, whose folder no answer sees, and what it says
    file: Path | None = field(default=None, compare=False)
    data: Mapping[str, Any] = field(default_factory=dict, compare=False)

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
        return _said(self.overrides, [(name, exercise) for name in names], Override())

    @property
    def named(self) -> set[str]:
        """The students of whom something is said."""
        return {*self.due_for, *self.handed_in, *(student for student, _ in self.overrides)}


def _said(table: Mapping[K, V], keys: Iterable[K], usual: V) -> V:
    """What a table says under one of the keys."""
    return next((table[key] for key in keys if key in table), usual)


def load(file: Path) -> GradingSettings:
    """Read a settings file, and the overrides beside it."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error}.") from None
    except ValueError as error:
        raise BadInput(f"{file} is no TOML: {error}.") from None
    values = _values(f"in {file.name}", data, SETTINGS)
    values |= values.pop("deadline", {})
    values["limits"] = Limits(**values.get("limits", {}))
    values["exercises"] = tuple(_place(p, file.parent) for p in values.get("exercises", ()))
    names = [find(place).name for place in values["exercises"]]
    for name in [*values.get("weights", {}), *values.get("partial", ())]:
        require.choice("exercise with points", name, names or [find(name).name])
    overrides = overrides_of(file.with_name(OVERRIDES))
    return GradingSettings(**values, overrides=overrides, file=file, data=data)


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
            checked = None if number is None else POINTS(what, number)
            found[student, name] = Override(checked, comment)
    return found


def written(data: Mapping[str, Any], above: tuple[str, ...] = ()) -> str:
    """What a settings file says as its text; `above` are the tables in which the data stands."""
    lines = [f"[{'.'.join(map(_text, above))}]"] if above else []
    tables = []
    for key, value in data.items():
        if isinstance(value, Mapping):
            tables.append(written(value, (*above, key)))
        else:
            lines.append(f"{_text(key)} = {_text(value)}")
    return "\n".join([*lines, "", *tables])


def _text(value: Any) -> str:
    """A value as TOML has it: JSON, but for dates; lists have a line for each item."""
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, list):
        return "".join(["[\n", *(f"    {_text(item)},\n" for item in value), "]"])
    return json.dumps(value, ensure_ascii=False)


def _place(place: str, folder: Path) -> str:
    """An exercise as workers find it: a file is looked for beside the settings."""
    file, colon, name = place.rpartition(":")
    return f"{(folder / file).resolve()}:{name}" if colon else find(place).name


def _values(what: str, table: Mapping[str, Any], readers: Mapping[str, Reader]) -> dict[str, Any]:
    """The values of a table, each as the reader of its key has it."""
    return {
        key: readers[require.choice(f"setting {what}", key, readers)](key, value)
        for key, value in table.items()
    }


def _reader(advice: str, accepts: Callable[[Any], bool], convert: Callable[[Any], Any]) -> Reader:
    """Reads values that are accepted; another is refused with the advice."""

    def read(key: str, value: Any) -> Any:
        if not accepts(value):
            raise BadInput(f"{key} is {shown(value)}: {advice.format(key)}.")
        return convert(value)

    return read


def _number(advice: str, accepts: Callable[[float], bool]) -> Reader:
    def is_number(value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and value < 1e9

    return _reader(advice, lambda value: is_number(value) and accepts(value), float)


def _table(readers: Mapping[str, Reader]) -> Reader:
    """Reads a table of settings."""
    return lambda key, value: _values(f"of the {key}", MAPPING(key, value), readers)


def _each(read: Reader) -> Reader:
    """Reads a table of names, whose values are of one kind."""
    return lambda key, value: {
        name: read(f"{key} of {name}", item) for name, item in MAPPING(key, value).items()
    }


MAPPING = _reader("write it as a table, [{}]", lambda value: isinstance(value, dict), dict)
NAMES = _reader(
    'give a list of names, ["vector_add"]',
    lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    tuple,
)
FLAG = _reader("give true or false", lambda value: isinstance(value, bool), bool)
POINTS = _number("give a number from 0 on", lambda number: number >= 0)
SHARE = _number("give a share from 0 to 1, such as 0.1", lambda number: 0 <= number <= 1)
LIMIT = _number("give a number above 0", lambda number: number > 0)
MOMENT = _reader(  # without a zone it is this computer's
    "give date and time, 2026-11-30T23:59:00+01:00",
    lambda value: isinstance(value, datetime.datetime),
    datetime.datetime.timestamp,
)
SETTINGS: Mapping[str, Reader] = {
    "exercises": NAMES,
    "partial": NAMES,
    "best_attempt": FLAG,
    "weights": _each(POINTS),
    "deadline": _table({
        "due": MOMENT, "due_for": _each(MOMENT), "grace_minutes": POINTS, "lost_per_day": SHARE,
        "most_lost": SHARE, "handed_in": _each(MOMENT),
    }),
    "limits": _table(dict.fromkeys(vars(Limits()), LIMIT)),
}  # fmt: skip
