"""The predictions of the course: what can be said beforehand, and what each would mean.

A topic's are in its `predictions` module, in the order of its notebook. What came is read from
the notebook's own names after the cell that has the answer, so that it is never only claimed.
"""

from __future__ import annotations

import functools
import importlib
import math
import pkgutil
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from gpulearn.errors import BadInput
from gpulearn.judge.catalogue import topics
from gpulearn.require import choice

__all__ = ["Choices", "Judged", "Number", "Prediction", "below", "find", "predictions"]

NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+(?:[eE][-+]?\d+)?")
ROUNDING = 0.03  # as a part of a wrong number, within which what was said is that number


class Judged(NamedTuple):
    """Whether it came as predicted, what came, and if not, what the prediction would need."""

    foresaw: bool
    came: str
    why: str


@dataclass(frozen=True)
class Prediction(ABC):
    """One question of a notebook.

    Args:
        name: what `gl.predict` is given.
        came: an expression over the notebook's names, once the cell with the answer has run.
        notebook: given by the topic.
    """

    name: str
    came: str = field(default="", kw_only=True)
    notebook: str = field(default="", kw_only=True)

    @abstractmethod
    def read(self, said: str) -> str:
        """What was said, in the words in which it is kept.

        Raises:
            BadInput: it is no answer to this question.
        """

    def value(self, names: Mapping[str, Any]) -> Any:
        """What came, read from the names of the notebook; None where nothing has to be read.

        Raises:
            NameError: the cell that has the answer has not run yet.
        """
        return eval(self.came, dict(names)) if self.came else None

    @abstractmethod
    def judged(self, said: str, value: Any) -> Judged:
        """What was said, held against what came."""

    @property
    @abstractmethod
    def misconceptions(self) -> Mapping[str, str]:
        """What may be said and is wrong → what would have to be true for it."""


@dataclass(frozen=True)
class Choices(Prediction):
    """A question with choices.

    Args:
        choices: each as it is shown, to the sentence that says what would have to be true for
            it; the right one has none.
        pick: what came → the choice that was right, where that is measured; then each choice
            has a sentence.
    """

    choices: Mapping[str, str]
    pick: Callable[[Any], str] | None = field(default=None, kw_only=True)

    def read(self, said: str) -> str:
        """The choice itself."""
        return choice("choice", said, self.choices)

    def judged(self, said: str, value: Any) -> Judged:
        """Whether the choice was the right one."""
        right = next((one for one, why in self.choices.items() if not why), "")
        if self.pick is not None:
            right = self.pick(value)
        came = right if value is None else _written(value)
        return Judged(said == right, came, "" if said == right else self.choices[said])

    @property
    def misconceptions(self) -> Mapping[str, str]:
        """The choices that have a sentence; of what is measured, all of them."""
        return {one: why for one, why in self.choices.items() if why}


@dataclass(frozen=True)
class Number(Prediction):
    """A question for a number.

    Args:
        unit: of the number, in the plural; may be empty.
        wrong: numbers that a misconception leads to, each to what would have to be true for it;
            where `within` allows for it, whoever rounds in another way is told the same.
        within: how far off, as a part of what came, still counts as foreseen.
    """

    unit: str
    wrong: Mapping[float, str] = field(default_factory=dict)
    within: float = field(default=0.0, kw_only=True)

    def read(self, said: str) -> str:
        """The number that the text begins with, and its unit."""
        digits = NUMBER.match(said.lstrip())
        if digits is None:
            raise BadInput(f"{said!r} is no number: write it in digits, such as 32 or 1.5.")
        return self._said(float(digits[0].replace(",", "")))

    def _said(self, value: Any) -> str:
        written = _written(value)
        return f"{written} {_of_one(self.unit) if written == '1' else self.unit}".rstrip()

    def _misconception(self, number: float) -> str:
        """What is said to a number that a misconception leads to, however it is rounded."""
        nearest = min(self.wrong, key=lambda one: abs(one - number), default=math.nan)
        same = math.isclose(number, nearest, rel_tol=max(min(self.within, ROUNDING), 1e-9))
        return self.wrong[nearest] if same else ""

    def judged(self, said: str, value: Any) -> Judged:
        """Whether the number is what came, or near enough."""
        number = float(self.read(said).split()[0].replace(",", ""))
        foresaw = math.isclose(number, value, rel_tol=max(self.within, 1e-9))
        why = "" if foresaw else self._misconception(number) or _factor(number, value)
        return Judged(foresaw, self._said(value), why)

    @property
    def misconceptions(self) -> Mapping[str, str]:
        """The numbers that a misconception leads to."""
        return {self._said(number): why for number, why in self.wrong.items()}


def below(bounds: Mapping[str, float], otherwise: str) -> Callable[[str], str]:
    """A pick by the first number in what came: the first choice whose bound lies above it."""

    def pick(came: str) -> str:
        number = NUMBER.search(came)
        value = math.inf if number is None else float(number[0].replace(",", ""))
        return next((choice for choice, bound in bounds.items() if value < bound), otherwise)

    return pick


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value
    if not float(value).is_integer():
        value = float(f"{value:.4g}")
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,g}"


def _of_one(unit: str) -> str:
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


@functools.cache
def predictions() -> dict[str, Prediction]:
    """All predictions by name, in the order of the course."""
    found: list[Prediction] = []
    for folder in topics():
        if "predictions" in (m.name for m in pkgutil.iter_modules(folder.__path__)):
            module = importlib.import_module(f"{folder.__name__}.predictions")
            found += (replace(one, notebook=folder.NOTEBOOK) for one in module.PREDICTIONS)
    found.sort(key=lambda one: one.notebook)
    return {one.name: one for one in found}


def find(name: object) -> Prediction:
    """Look a prediction up by name.

    Raises:
        BadInput: there is none of that name; the nearest is named.
    """
    return predictions()[choice("prediction", name, predictions())]
