"""The predictions of the course: what can be said beforehand, and what each would mean.

A topic's are in its `predictions.toml`, in the order of its notebook. What came is read from
the notebook's own names after the cell that has the answer, so that it is never only claimed.
"""

import functools
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from gpulearn.errors import BadInput
from gpulearn.judge.topics import topics
from gpulearn.require import choice

NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+(?:[eE][-+]?\d+)?")
IN_TEXT = re.compile(rf"{NUMBER.pattern}|\binf\b")
ROUNDING = 0.03  # as a fraction of a wrong number, within which an answer is that number


class Comparison(NamedTuple):
    """Whether it came as predicted, what came, and if not, what the prediction would need."""

    foresaw: bool
    came: str
    why: str


@dataclass(frozen=True)
class Prediction:
    """One question of a notebook: `Choices`, or a `Number`."""

    name: str
    # an expression over the notebook's names, once the cell with the answer has run
    came: str = field(default="", kw_only=True)
    notebook: str = field(default="", kw_only=True)

    def value(self, names: Mapping[str, Any]) -> Any:
        """What came, read from the names of the notebook; None where nothing has to be read.

        While the cell that has the answer has not run, that is a NameError.
        """
        return eval(self.came, dict(names)) if self.came else None


@dataclass(frozen=True)
class Choices(Prediction):
    """A question with choices."""

    # each as it is shown, to the sentence that says what would have to be true for it; the right
    # one has none, unless it is measured
    choices: Mapping[str, str]
    # the right choice, as an expression over `came`, what came, and `numbers`, the numbers in it
    pick: str = field(default="", kw_only=True)
    # choice → bound; right is the first whose bound lies above the first number in what came
    below: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    @property
    def measured(self) -> bool:
        """Whether what came says which choice is right."""
        return bool(self.pick or self.below)

    @property
    def misconceptions(self) -> Mapping[str, str]:
        """The choices that have a sentence; of what is measured, all of them."""
        return {answer: why for answer, why in self.choices.items() if why}

    def read(self, text: str) -> str:
        """An answer as it is kept: the choice itself."""
        return choice("choice", text, self.choices)

    def right(self, value: Any) -> str:
        """The choice that is right, given what came."""
        if not self.measured:
            return next(answer for answer, why in self.choices.items() if not why)
        numbers = [_float(number) for number in IN_TEXT.findall(str(value))]
        if self.pick:
            return str(eval(self.pick, {"came": value, "numbers": numbers}))
        number = numbers[0] if numbers else math.inf
        bounds = self.below.items()
        return next(answer for answer, bound in bounds if number < bound or bound == math.inf)

    def judged(self, answer: str, value: Any) -> Comparison:
        """An answer, held against what came."""
        right = self.right(value)
        came = right if value is None else _written(value)
        return Comparison(answer == right, came, "" if answer == right else self.choices[answer])


@dataclass(frozen=True)
class Number(Prediction):
    """A question for a number."""

    unit: str = ""  # of the number, in the plural
    # numbers that a misconception leads to, each to what would have to be true for it; where
    # `within` allows for it, whoever rounds in another way is told the same
    wrong: Mapping[float, str] = field(default_factory=dict)
    # how far off, as a fraction of what came, still counts as foreseen
    within: float = field(default=0.0, kw_only=True)

    @property
    def misconceptions(self) -> Mapping[str, str]:
        """The numbers that a misconception leads to, each with its sentence."""
        return {self._with_unit(number): why for number, why in self.wrong.items()}

    def read(self, text: str) -> str:
        """An answer as it is kept: the number that the text begins with, and its unit."""
        digits = NUMBER.match(text.lstrip())
        if digits is None:
            raise BadInput(f"{text!r} is no number: write it in digits, such as 32 or 1.5.")
        return self._with_unit(_float(digits[0]))

    def judged(self, answer: str, value: Any) -> Comparison:
        """An answer, held against what came, or near enough to it."""
        number = _float(self.read(answer).split()[0])
        if math.isclose(number, value, rel_tol=max(self.within, 1e-9)):
            return Comparison(True, self._with_unit(value), "")
        nearest = min(self.wrong, key=lambda wrong: abs(wrong - number), default=math.nan)
        known = math.isclose(number, nearest, rel_tol=max(min(self.within, ROUNDING), 1e-9))
        why = self.wrong[nearest] if known else _factor(number, value)
        return Comparison(False, self._with_unit(value), why)

    def _with_unit(self, value: Any) -> str:
        written = _written(value)
        return f"{written} {_singular(self.unit) if written == '1' else self.unit}".rstrip()


def _float(digits: str) -> float:
    return float(digits.replace(",", ""))


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value
    if not float(value).is_integer():
        value = float(f"{value:.4g}")
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,g}"


def _singular(unit: str) -> str:
    """A unit as it follows a 1; "times" stays, as in "1 times as long"."""
    word, space, rest = unit.partition(" ")
    if word != "times" and "/" not in word:
        word = word.removesuffix("es" if word.endswith(("sses", "ches")) else "s")
    return f"{word}{space}{rest}"


def _factor(number: float, value: float) -> str:
    """How far a number is off, where nothing better is known."""
    if number <= 0 or value <= 0:
        return ""
    side = "large" if number > value else "small"
    ratio = max(number / value, value / number)
    if ratio < 1.05:  # two digits of it would say 1
        return f"That is a little too {side}."
    times = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"
    return f"That is {times} times too {side}."


# --- the files


@functools.cache
def predictions() -> dict[str, Choices | Number]:
    """All predictions by name, in the order of the course."""
    result: dict[str, Choices | Number] = {}
    for topic in sorted(topics(), key=lambda topic: topic.NOTEBOOK):
        file = Path(topic.__path__[0], "predictions.toml")
        if file.exists():
            result |= parse(file.read_text(encoding="utf-8"), topic.NOTEBOOK)
    return result


def find(name: object) -> Choices | Number:
    """Look a prediction up by name."""
    return predictions()[choice("prediction", name, predictions())]


def parse(text: str, notebook: str) -> dict[str, Choices | Number]:
    """The predictions of a file in TOML, which has a table for each, under its name."""
    result: dict[str, Choices | Number] = {}
    for name, table in _one_line(tomllib.loads(text)).items():
        if "choices" in table:
            result[name] = Choices(name, **table, notebook=notebook)
        else:
            wrong = {_float(number): why for number, why in table.pop("wrong", {}).items()}
            result[name] = Number(name, wrong=wrong, **table, notebook=notebook)
    return result


def _one_line(value: Any) -> Any:
    """What a file has, with each text on one line, however many lines it was written on."""
    if isinstance(value, dict):
        return {key: _one_line(inner) for key, inner in value.items()}
    return " ".join(map(str.strip, value.splitlines())) if isinstance(value, str) else value
