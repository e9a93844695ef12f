"""Asks what will happen before a cell runs: `gl.predict("name", "question")`.

The notebook has the question. The choices, and what each wrong one would mean, are in the
topic's `predictions.toml`. Below the next cell, what was predicted and what came stand side by
side.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from gpulearn.display import bundle
from gpulearn.errors import BadInput
from gpulearn.judge import progress
from gpulearn.judge.prediction import Choices, Comparison, Number, find
from gpulearn.judge.progress import Foresight
from gpulearn.require import installed, shown

PAGE = Path(__file__).with_name("page.js")
_waiting: dict[str, Callable[[Any], None]] = {}  # for the cells that show what comes, by name


@dataclass(frozen=True)
class Outcome:
    """What was predicted beside what came; it shows itself."""

    answer: str
    comparison: Comparison

    def _columns(self) -> list[tuple[str, str]]:
        came = self.comparison.came
        if self.comparison.foresaw:
            return [("✓ You foresaw it", came)]
        return [("You predicted", self.answer), ("What came", came)]

    def __repr__(self) -> str:
        columns = [f"{head}: {text}" for head, text in self._columns()]
        return " · ".join([*columns, *filter(None, [self.comparison.why])])

    def _repr_html_(self) -> str:
        columns = "".join(
            f'<div style="margin-right:3em"><strong>{head}</strong><br>{escape(text)}</div>'
            for head, text in self._columns()
        )
        return (
            '<div role="status" style="border-left:4px solid #888;padding:0.2em 0.8em">'
            f'<div style="display:flex">{columns}</div>{escape(self.comparison.why)}</div>'
        )


class Question:
    """A question, and the answer to it until the next cell has shown what comes."""

    def __init__(self, prediction: Choices | Number, question: str) -> None:
        self.prediction = prediction
        self.question = question
        self.choices = list(prediction.choices) if isinstance(prediction, Choices) else []
        self.answer = ""
        self.came: Any = None
        self.over = False
        self.widget: Any = None
        if installed("ipywidgets"):
            self._build()

    def say(self, text: str) -> None:
        """Note what is predicted; BadInput if it is no answer to the question."""
        answer = self.prediction.read(text)
        if self.over:
            outcome = Outcome(answer, self.prediction.judged(answer, self.came))
            return self._tell(f"{outcome} (Said after the cell had run: not counted.)")
        self.answer, name = answer, self.prediction.name
        unsaved = progress.record_prediction(name, Foresight(answer))
        first = progress.load().predicted.get(name, Foresight(answer)).said
        more = f" (Counted is what you said first: {first}.)" if first != answer else ""
        more = f" (Not saved: {unsaved}.)" if unsaved else more
        return self._tell(f"Noted: {answer}. Now run the next cell.{more}")

    def settle(self, names: dict[str, Any]) -> Outcome | None:
        """Hold what was predicted against what came; None if nothing was predicted."""
        self.came, self.over = self.prediction.value(names), True
        if self.widget is not None:
            self.widget.add_class("gl-over")
        answer = self.answer or self._noted()
        if not answer:
            return None
        comparison = self.prediction.judged(answer, self.came)
        progress.record_prediction(self.prediction.name, Foresight(answer, comparison.foresaw))
        return Outcome(answer, comparison)

    def _noted(self) -> str:
        """What was said before, and has not been seen to come."""
        last = progress.load().predicted.get(self.prediction.name)
        return last.said if last is not None and last.foresaw is None else ""

    def _build(self) -> None:
        import ipywidgets as widgets

        if self.choices:
            width = {"width": "max-content"}
            entry = row = widgets.RadioButtons(options=self.choices, index=None, layout=width)
        else:
            entry = row = widgets.Text(placeholder="a number", continuous_update=False)
            if unit := getattr(self.prediction, "unit", ""):
                row = widgets.HBox([entry, widgets.Label(unit)])
        self._note = widgets.HTML()
        self.widget = widgets.VBox([widgets.HTML(self._html()), row, self._note])
        self.widget.add_class("gl-predict")
        entry.observe(self._entered, names="value")
        with suppress(BadInput):  # the choices may have changed since
            if noted := self._noted():  # also where the cell with the question has been run twice
                text = self.prediction.read(noted)
                entry.value = text if self.choices else text.split()[0]

    def _entered(self, change: Any) -> None:
        try:
            if change["new"]:
                self.say(change["new"])
        except BadInput as error:
            self._tell(str(error))

    def _tell(self, text: str) -> None:
        if self.widget is not None:
            self._note.value = f'<span role="status">{escape(text)}</span>'

    def _html(self) -> str:
        return f"<strong>Predict:</strong> {escape(self.question)}"

    def __repr__(self) -> str:
        return "\n".join([f"Predict: {self.question}", *(f"  ○ {c}" for c in self.choices)])

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        items = "".join(f"<li>{escape(choice)}</li>" for choice in self.choices)
        return bundle(
            self.widget, self._html() + (f"<ul>{items}</ul>" if items else ""), repr(self)
        )


def predict(name: str, question: str) -> Question:
    """Ask what the next cell will show; what you say is held against it, below that cell.

    Click a choice, or pick it with Shift+Tab and the arrow keys and press Enter, or type a number
    and press Enter: the next cell is selected. You may change your mind until it runs. To skip the
    question, run that cell. In JupyterLab, what stands below that cell waits until it has run.

    Args:
        name: the prediction's name in the course.
        question: the question, as it stands in the notebook.
    """
    prediction = find(name)
    if not isinstance(question, str) or not question.strip():
        raise BadInput(f'question is {shown(question)}: write gl.predict("{name}", "…?").')
    progress.visit(prediction.notebook)
    prompt = Question(prediction, question)
    _watch(prompt)
    return prompt


def _watch(question: Question) -> None:
    """Wait for the cell that shows what comes; outside of a notebook there is none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None:
        return
    name = question.prediction.name

    def after(result: Any) -> None:
        if not result.success or "gl.predict(" in (result.info.raw_cell or ""):
            return
        try:
            outcome = question.settle(shell.user_ns)
        except (NameError, LookupError, AttributeError):  # it is not there yet
            return
        shell.events.unregister("post_run_cell", _waiting.pop(name))
        if outcome is not None:
            from IPython.display import display

            display(outcome)

    _send_page()
    if name in _waiting:
        shell.events.unregister("post_run_cell", _waiting.pop(name))
    _waiting[name] = after
    shell.events.register("post_run_cell", after)


def _send_page() -> None:
    """Give the page what it lacks, such as the keys of questions; each time: it may be new."""
    from IPython.display import display

    script = PAGE.read_text(encoding="utf-8")
    display({"application/javascript": script, "text/plain": ""}, raw=True)
