"""Interactive figures: controls above a picture that is drawn anew, and step-by-step players.

All thinking is in a pure function from the controls' values to a picture and a sentence.
Without a front end, or untouched, the first picture and its sentence are what is read.
Sliders move with the arrow keys; a player's button is reached with Tab.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

from gpulearn import require
from gpulearn.display import AS_WRITTEN, Drawing, Picture, bundle

Draw = Callable[..., tuple[Picture | Drawing, str]]

LETTERS = 12  # fit beside a slider; a longer name gets the room that it needs


class Explorer:
    """Controls above a picture; `controls` maps the parameters of `draw` to widgets."""

    def __init__(self, draw: Draw, controls: dict[str, Any]) -> None:
        widgets = _widgets()
        self._draw = draw
        self.controls = controls
        self._static = self._html()
        self.picture = widgets.HTML(self._static)
        # Whatever goes wrong in a redraw stands under the picture, not in a hidden log.
        self.faults = widgets.Output()
        for control in controls.values():
            control.observe(self._redraw, names="value")
        self.busy = widgets.Label()
        row = [*map(_with_value, controls.values()), self.busy]
        box = widgets.HBox(row, layout={"flex_flow": "row wrap"})
        self.widget = widgets.VBox([box, self.picture, self.faults])

    def __repr__(self) -> str:
        return f"[interactive figure: {self._sentence}]"

    def _html(self, **instead: Any) -> str:
        values = {name: control.value for name, control in self.controls.items()}
        picture, self._sentence = self._draw(**values | instead)
        return f'<p role="status" {AS_WRITTEN}>{escape(self._sentence)}</p>{picture.image}'

    def _redraw(self, change: Any) -> None:
        self.faults.clear_output()
        self.busy.value = "computing …"
        with self.faults:
            self.picture.value = self._html()
        self.busy.value = ""

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return bundle(self.widget, self._static, repr(self))


class Player(Explorer):
    """An explorer with a play button, which moves the slider `step` every `interval` milliseconds.

    `last` says which step is the last by the other controls' values, where these change it; a
    change then leads back to the step that was shown first. `still` is the step to show where
    nobody can move it, if not the first one.
    """

    def __init__(
        self, draw: Draw, controls: dict[str, Any], step: str, *, interval: int,
        last: Callable[..., int] | None = None, still: int | None = None,
    ) -> None:  # fmt: skip
        widgets, slider = _widgets(), controls[step]
        first = slider.value
        play = widgets.Play(
            value=first, min=slider.min, max=slider.max, interval=interval, description="play"
        )
        widgets.jslink((play, "value"), (slider, "value"))
        others = {name: control for name, control in controls.items() if name != step}

        def fit(change: object) -> None:
            assert last is not None
            # the end first: a step beyond it cannot be drawn
            slider.max = play.max = last(**{name: other.value for name, other in others.items()})
            slider.value = play.value = min(first, slider.max)

        if last is not None:
            for other in others.values():
                other.observe(fit, names="value")  # before the explorer's own, which draws
        super().__init__(draw, controls)
        if still is not None:
            self._static = self._html(**{step: still})
        self.widget.children = (widgets.HBox([play]), *self.widget.children)


def _widgets() -> Any:
    return require.package("ipywidgets", "An interactive figure")


def _with_value(control: Any) -> Any:
    """A control, and beside it the value of one that shows none of its own."""
    if getattr(control, "readout", True):
        return control
    widgets = _widgets()

    def text(index: int) -> str:
        option = control.options[index]
        return str(option[0] if isinstance(option, tuple) else option)

    value = widgets.Label()
    widgets.dlink((control, "index"), (value, "value"), text)
    return widgets.HBox([control, value])


def slider(name: str, value: int, least: int, most: int) -> Any:
    """A slider of whole numbers from `least` to `most`."""
    wide = {"style": {"description_width": "initial"}} if len(name) > LETTERS else {}
    return _widgets().IntSlider(
        value=min(value, most), min=least, max=most, description=name, **wide
    )


def choices(name: str, options: Sequence[Any], value: Any, form: str = "") -> Any:
    """A slider over given values, or (label, value) pairs, which draws when it is let go.

    `form` makes labels of bare values. The slider shows no value of its own, which could be typed
    into: an explorer sets it beside.
    """
    if form:
        options = [(form.format(option), option) for option in options]
    return _widgets().SelectionSlider(
        options=options, value=value, description=name, continuous_update=False, readout=False
    )


def dropdown(name: str, options: Iterable[Any], value: Any, **more: Any) -> Any:
    """A list of values, or of (label, value) pairs, which opens with Space."""
    return _widgets().Dropdown(options=options, value=value, description=name, **more)
