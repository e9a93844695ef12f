"""A launch step by step: one warp of a block, line after line."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from gpulearn.display import Drawing
from gpulearn.errors import BadInput
from gpulearn.plot.controls import Player, dropdown, slider
from gpulearn.plot.memory_requests import sentence
from simt.observers.trace import IDLE, TraceStep
from simt.observers.traffic import WARP

if TYPE_CHECKING:
    from simt.report.report import Report

# of a lane's box: filled in the first color of all figures, or empty
ACTIVE = "background:#3f90da;color:#000;font-weight:700"
WAITING = "opacity:0.65"  # which can still be read


def _lanes(step: TraceStep, warp: int) -> list[bool]:
    lanes = step.active[warp * WARP : (warp + 1) * WARP]
    return lanes + [False] * (WARP - len(lanes))


def frame(report: Report, step: int, warp: int) -> tuple[Drawing, str]:
    """The picture of one recorded step, from 0, of one warp, and the sentence that says it."""
    assert report.steps is not None
    now, last = report.steps[step], len(report.steps)
    active = _lanes(now, warp)
    code = report.source.get(now.line, "").strip() or f"(in {now.function})"
    text = f"Step {step + 1} of {last}: warp {warp} waits while others run line {now.line}."
    if count := sum(active):
        text = (
            f"Step {step + 1} of {last}: warp {warp} runs line {now.line} with {count} of 32 "
            f"lanes: {code.rstrip(':')}."
        )
    touched = [touch for touch in now.touches if warp in touch.warps()]
    text = " ".join([text, *(sentence(touch, warp) for touch in touched)])
    rows = "".join(
        f'<div style="white-space:pre;font-family:monospace;line-height:1.3;'
        f'{"font-weight:700;border-left:3px solid currentColor" if n == now.line else ""}">'
        f"{'►' if n == now.line else ' '} {n:>4}  {escape(line)}</div>"
        for n, line in report.source.items()
    )
    boxes = "".join(
        '<td style="border:1px solid #717581;width:1.6em;text-align:center;padding:0;'
        f'{ACTIVE if on else WAITING}">{n}</td>'
        for n, on in enumerate(active)
    )
    lanes = (
        "<p style='margin:6px 0 2px'>Lanes; the active ones are filled.</p>"
        f'<table style="border-collapse:collapse;font-size:85%"><tr>{boxes}</tr></table>'
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
    return Drawing(f"{rows}{lanes}{memory}", text), text


def kernel_player(report: Report) -> Player:
    """The player: play, step, slider, choice of warp.

    Without a front end it stands at the first step in which only some lanes of warp 0 are active,
    if there is one.
    """
    steps = report.steps
    if steps is None or not len(steps):
        raise BadInput("this report holds no steps to play")
    warps = [(f"warp {w}", w) for w in range(-(-steps.threads // WARP))]
    controls = {"step": slider("step", 1, 1, len(steps)), "warp": dropdown("show", warps, 0)}

    def draw(step: int, warp: int) -> Any:
        return frame(report, step - 1, warp)  # the slider counts as the sentence does: from 1

    count = [sum(_lanes(step, 0)) for step in steps]
    parted = next((number for number, lanes in enumerate(count, 1) if 0 < lanes < max(count)), 1)
    return Player(draw, controls, "step", interval=600, still=parted)
