"""A launch step by step: one warp of a block, line after line."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.plot.controls import Player, dropdown, slider
from gpulearn.plot.memory_requests import sentence
from simt.observers.trace import IDLE, TraceStep
from simt.observers.traffic import WARP

if TYPE_CHECKING:
    from simt.report.report import Report

__all__ = ["kernel_player"]

# of a lane's box: filled in the first colour of all figures, or empty
ACTIVE = "background:#3f90da;color:#000;font-weight:700"
WAITING = "opacity:0.65"  # which can still be read


class PlayerFrame:
    """One moment of one warp, as HTML and as text."""

    def __init__(self, html: str, text: str) -> None:
        self._html, self._text = html, text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html


def _lanes(step: TraceStep, warp: int) -> list[bool]:
    lanes = step.active[warp * WARP : (warp + 1) * WARP]
    return lanes + [False] * (WARP - len(lanes))


def _boxes(active: list[bool]) -> str:
    cells = "".join(
        '<td style="border:1px solid #717581;width:1.6em;text-align:center;padding:0;'
        f'{ACTIVE if on else WAITING}">{n}</td>'
        for n, on in enumerate(active)
    )
    return f'<table style="border-collapse:collapse;font-size:85%"><tr>{cells}</tr></table>'


def frame(report: Report, step: int, warp: int = 0) -> tuple[PlayerFrame, str]:
    """The picture of one step of one warp, and the sentence that says it.

    Raises:
        BadInput: if the report holds no such step or warp.
    """
    steps = report.steps
    if steps is None or not 0 <= step < len(steps):
        count = 0 if steps is None else len(steps)
        raise BadInput(f"there is no step {step}: {count} were recorded")
    if not 0 <= warp < -(-steps.threads // WARP):
        raise BadInput(f"there is no warp {warp} in a block of {steps.threads} threads")
    now = steps[step]
    active = _lanes(now, warp)
    count = sum(active)
    text = report.source.get(now.line, "").strip() or f"(in {now.function})"
    if count:
        said = f"Step {step + 1} of {len(steps)}: warp {warp} runs line {now.line} "
        said += f"with {count} of 32 lanes: {text.rstrip(':')}."
    else:
        said = (
            f"Step {step + 1} of {len(steps)}: warp {warp} waits while others run line {now.line}."
        )
    touched = [t for t in now.touches if warp in t.warps()]
    said = " ".join([said, *(sentence(t, warp) for t in touched)])
    rows = "".join(
        f'<div style="white-space:pre;font-family:monospace;line-height:1.3;'
        f'{"font-weight:700;border-left:3px solid currentColor" if n == now.line else ""}">'
        f"{'►' if n == now.line else ' '} {n:>4}  {escape(line)}</div>"
        for n, line in report.source.items()
    )
    memory = ""
    for touch in touched:
        cells = ", ".join(
            f"{lane}→{touch.array}[{e}]" for lane, e in enumerate(touch.warp(warp)) if e != IDLE
        )
        memory += (
            f"<p style='margin:4px 0'><b>{touch.kind}</b>, lane → element, counted in the order "
            f"of memory: {escape(cells)}</p>"
        )
    lanes = "<p style='margin:6px 0 2px'>Lanes; the active ones are filled.</p>" + _boxes(active)
    html = f"{rows}{lanes}{memory}"
    return PlayerFrame(html, said), said


def kernel_player(report: Report) -> Player:
    """The player: play, step, slider, choice of warp.

    Without a front end it stands at the first step in which only some lanes of warp 0 are active,
    if there is one. The slider moves with the arrow keys; play and pause are buttons.

    Raises:
        BadInput: if the report holds no steps.
    """
    steps = report.steps
    if steps is None or not len(steps):
        raise BadInput("this report holds no steps to play")
    require.package("ipywidgets", "The step-by-step player")
    warps = [(f"warp {w}", w) for w in range(-(-steps.threads // WARP))]
    controls = {"step": slider("step", 1, 1, len(steps)), "warp": dropdown("show", warps, 0)}

    def draw(step: int, warp: int) -> Any:
        return frame(report, step - 1, warp)  # the slider counts as the sentence does: from 1

    count = [sum(_lanes(step, 0)) for step in steps]
    parted = next((number for number, lanes in enumerate(count, 1) if 0 < lanes < max(count)), 1)
    return Player(draw, controls, "step", interval=600, still=parted)
