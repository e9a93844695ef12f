"""A picture with controls: change one, and the picture is drawn anew.

All thinking is in a pure function from the controls' values to a picture and a sentence.
Without a front end, or untouched, the first picture and its sentence are what is read.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from gpulearn import require
from gpulearn.display import Picture

__all__ = ["Explorer"]

Draw = Callable[..., tuple[Picture, str]]


class Explorer:
    """Controls above a picture; `controls` maps the parameters of `draw` to widgets."""

    def __init__(self, draw: Draw, controls: dict[str, Any]) -> None:
        widgets = require.package("ipywidgets", "An interactive figure")
        self._draw = draw
        self.controls = controls
        self._static = self._html()
        self.picture = widgets.HTML(self._static)
        # Whatever goes wrong in a redraw stands under the picture, not in a hidden log.
        self.faults = widgets.Output()
        for control in controls.values():
            control.observe(self._redraw, names="value")
        box = widgets.HBox(list(controls.values()), layout={"flex_flow": "row wrap"})
        self.widget = widgets.VBox([box, self.picture, self.faults])

    def __repr__(self) -> str:
        return f"[interactive figure: {self._said}]"

    def _html(self) -> str:
        picture, self._said = self._draw(**{name: c.value for name, c in self.controls.items()})
        return f'<p role="status">{escape(self._said)}</p>{picture._repr_html_()}'

    def _redraw(self, change: Any) -> None:
        self.faults.clear_output()
        with self.faults:
            self.picture.value = self._html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        # Built here, since ipywidgets 7 (Colab) shows its widgets in another way than 8 does.
        view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
        return {
            "application/vnd.jupyter.widget-view+json": view,
            "text/html": self._static,
            "text/plain": repr(self),
        }
