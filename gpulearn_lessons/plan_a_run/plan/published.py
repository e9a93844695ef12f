"""Published runs, as their sources tell them, and how far the planner is off each."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gpulearn import require
from gpulearn.parallel.links import NETWORK_SECONDS, Link
from gpulearn_lessons.plan_a_run.plan.plan import ClusterPlan, plan_run
from gpulearn_lessons.plan_a_run.plan.step import Calibration


class Source(NamedTuple):
    """Where rows are from, and what all of them have in common: a line of `sources.csv`.

    Sources are in order of their dates, for each generation of GPUs: the first, third … are fitted,
    the others are held out, and so is Llama 3 405B, the run that this lesson is about. Of a table
    with several numbers of GPUs there are the smallest and the largest of each model, for sequences
    of up to 8,192 tokens.
    """

    date: str  # year, month and where it matters day
    set: str  # "fitted" or "held out"
    citation: str
    unit: str  # of what is reported: see `PublishedRun.modeled`
    settings: Mapping[str, Any]  # arguments of `plan_run`
    assumed: str  # what the source does not tell


@dataclass(frozen=True)
class PublishedRun:
    """One step time or rate that a source reports."""

    source: str  # its name
    about: Source
    model: str  # which of `models.csv`
    plan: Mapping[str, Any]  # arguments of `plan_run`
    reported: float  # in the source's unit

    @property
    def name(self) -> str:
        """What tables and figures call it."""
        bits = ", 8 bits" if self.plan.get("precision") == "float8" else ""
        return f"{self.source}: {self.model} on {self.plan['gpus']:,}{bits}"

    def planned(self, calibration: Calibration | None = None) -> ClusterPlan:
        """The plan of this run."""
        return plan_run(**self.plan, calibration=calibration)

    def modeled(self, calibration: Calibration | None = None) -> float:
        """What the planner says, in the unit of the source.

        "s" is the time of a step, "tokens/s" is for each GPU, "MFU" in percent, and "TFLOP/s" for
        each GPU with recomputed operations.
        """
        plan = self.planned(calibration)
        return {
            "s": plan.step_seconds,
            "tokens/s": plan.tokens_per_second / plan.layout.gpus,
            "MFU": 100 * plan.model_flops_utilization,
            "TFLOP/s": plan.hardware_flops_utilization * plan.gpu.peak / 1e12,
        }[self.about.unit]

    def error(self, calibration: Calibration | None = None) -> float:
        """Planned speed / published speed − 1: above zero where the plan is too fast."""
        ratio = self.modeled(calibration) / self.reported
        return (1 / ratio if self.about.unit == "s" else ratio) - 1


def _read(name: str) -> list[dict[str, str]]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _arguments(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Arguments of `plan_run` from texts; the network's is in Gbit/s for each GPU."""
    result: dict[str, Any] = {}
    for name, text in pairs:
        value: Any = text.replace("_", " ")
        if name == "overlap":
            value = tuple(text.split("+")) if text != "none" else ()
        elif name == "interconnect":
            value = Link(NETWORK_SECONDS, float(text) / 8 * 1e9, f"{text} Gbit/s for each GPU")
        elif text[0].isdigit():
            value = float(text) if {*text} & {".", "e"} else int(text)
        result[name] = value
    return result


def _settings(text: str) -> dict[str, Any]:
    return _arguments(tuple(part.split("=", 1)) for part in text.split())  # type: ignore[misc]


@cache
def models() -> dict[str, dict[str, Any]]:
    """Sizes of the models, as arguments of `plan_run`."""
    return {row.pop("model"): _arguments(row.items()) for row in _read("models.csv")}


@cache
def published(which: str = "held out") -> tuple[PublishedRun, ...]:
    """The rows of the sources that are "fitted" or "held out"."""
    require.choice("set of runs", which, ("fitted", "held out"))
    sources = {
        row.pop("source"): Source(**{**row, "settings": _settings(row["settings"])})  # type: ignore[arg-type]
        for row in _read("sources.csv")
    }
    runs = []
    for row in _read("runs.csv"):
        source, model, reported = row.pop("source"), row.pop("model"), float(row.pop("reported"))
        if sources[source].set == which:
            more = _settings(row.pop("more"))
            plan = {
                **sources[source].settings,
                **models()[model],
                **_arguments(row.items()),
                **more,
            }
            plan["data"] = plan["gpus"] // (plan["tensor"] * plan["context"] * plan["pipeline"])
            runs.append(PublishedRun(source, sources[source], model, plan, reported))
    return tuple(runs)
