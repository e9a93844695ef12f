"""The ladder of matrix products: each rung by a counter or by its rate, published ones beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.perf.gpus import GPUS
from gpulearn.plot.controls import Explorer, choices
from gpulearn.plot.style import figure
from gpulearn.tables import Table, table
from gpulearn_lessons.matmul.ladder import (
    CUBLAS_BY_PEAK,
    LADDER,
    PUBLISHED,
    PUBLISHED_SOURCE,
)
from gpulearn_lessons.matmul.rung_rates import PEAK, Rate, ladder_rates, modeled_rates, whole_of
from simt.observers.traffic import WARP

if TYPE_CHECKING:
    from simt.observers.counters import Counts

RATE, SHARE = "rate", "share"


@dataclass(frozen=True)
class Measure:
    """What a bar can stand for: `value` from a rung's counters, or None for a rate."""

    label: str
    best: str
    value: Callable[[Counts], float] | None = None


MEASURES = {
    SHARE: Measure("share of {whole} (%)", "more is better"),
    RATE: Measure("rate (GFLOP/s)", "more is better"),
    "FLOP per byte": Measure(
        "operations for each byte that is moved", "more is better", lambda t: t.arithmetic_intensity
    ),
    "sectors per load": Measure(
        "sectors for each load request",
        "best: 4 for 4-byte words, 8 for 8-byte",
        lambda t: t.sectors_per_load,
    ),
    "load requests": Measure(
        "load requests to global memory (millions)",
        "fewer is better",
        lambda t: t.global_load_requests / 1e6,
    ),
    "shared loads per product": Measure(
        "passes over shared memory for each product of a warp",
        "fewer is better with tiles",
        lambda t: t.shared_load_wavefronts * 2 * WARP / (t.flops32 + t.flops64),
    ),
}


def draw_ladder(
    counts: Mapping[str, Counts], rates: Mapping[str, Rate], measure: str
) -> tuple[Picture, str]:
    """Draw one of `MEASURES` for every rung, the published shares beside it; say its numbers."""
    chosen, whole = MEASURES[measure], whole_of(rates)
    if chosen.value is not None:
        ours = {name: chosen.value(counted) for name, counted in counts.items()}
        origin, missing = "counted by the SIMT machine", "not counted"
    else:
        unit = 1e9 if measure == RATE else rates[whole].flops_per_second / 100
        rungs = [*(name for name in counts if name in rates), whole]
        ours = {name: rates[name].flops_per_second / unit for name in rungs}
        origin, missing = str(rates[whole].provenance), "not timed"
    label = chosen.label.format(whole="the peak rate" if whole == PEAK else f"{whole}'s rate")
    names = [*counts, whole]
    # shares of cuBLAS, as shares of the same whole: the library, or the peak
    percent = 100 * (CUBLAS_BY_PEAK if whole == PEAK else 1.0)
    published = {name: percent * share for name, share in PUBLISHED.items()}
    others = f"% of {'the peak rate' if whole == PEAK else 'cuBLAS'}"
    with figure(9.5, 3.9, columns=2, sharey=True, width_ratios=(3, 2)) as (fig, (left, right)):
        shares = {**published, whole: 100.0}
        far = max(ours.values())
        far = max(far, 100.0) if measure == SHARE else far  # both shares to one scale
        _bars(left, names, ours, missing, far, color="C0")
        _bars(right, names, shares, "not published", 100.0, color="C1", hatch="///")
        left.set_xlabel(f"{label}; {chosen.best}", fontsize=9)
        left.set_title(f"these kernels, {origin}", loc="left", fontsize=9)
        right.set_xlabel(f"{others}; more is better", fontsize=9)
        right.set_title("published: CUDA C++, RTX A6000", loc="left", fontsize=9)
        left.invert_yaxis()
    numbers = ", ".join(f"{name} {_number(value)}" for name, value in ours.items())
    text = f"{label[0].upper()}{label[1:]}, {origin}: {numbers}."
    elsewhere = ", ".join(f"{name} {_number(share)}" for name, share in published.items())
    return show(fig, f"{text} Published, {others}, {PUBLISHED_SOURCE}: {elsewhere}."), text


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 1 else f"{value:.3g}"


def _bars(
    axes: Any, names: list[str], values: Mapping[str, float], missing: str, far: float, **look: str
) -> None:
    lengths = [values.get(name, 0.0) for name in names]
    bars = axes.barh(names, lengths, edgecolor="white", height=0.62, **look)
    labels = [f" {_number(values[n])}" if n in values else f" {missing}" for n in names]
    axes.bar_label(bars, labels=labels, fontsize=9)
    axes.set_xlim(0, 1.22 * far)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="both", labelsize=9)


def ladder_explorer(counts: Mapping[str, Counts]) -> Explorer:
    """The ladder chart for `ladder_counts`: choose what the bars stand for, and a GPU to model."""
    _check(counts)
    here = ladder_rates(counts)
    origin = here[whole_of(here)].provenance
    first = [] if origin.kind == "modeled" else [(str(origin), "")]
    models = [(f"modeled: {name}", name) for name in GPUS]
    # sliders, since the arrow keys of a list belong to JupyterLab
    controls = {
        "measure": choices("bars show", list(MEASURES), SHARE),
        "gpu": choices("GPU", [*first, *models], "" if first else "T4"),
    }

    def draw(measure: str, gpu: str) -> tuple[Picture, str]:
        return draw_ladder(counts, modeled_rates(counts, gpu) if gpu else here, measure)

    return Explorer(draw, controls)


def compare_rungs(counts: Mapping[str, Counts]) -> Table:
    """`ladder_counts` as a table: rates, shares of the library or limits, and published shares."""
    _check(counts)
    rates = ladder_rates(counts)
    whole = whole_of(rates)
    best, rows = rates[whole].flops_per_second, []
    for name in (*counts, whole):
        if name not in rates:
            continue
        rate = rates[name].flops_per_second
        row = {"rung": name, "GFLOP/s": _number(rate / 1e9)}
        if whole == PEAK:
            row["limit"] = rates[name].limit or "–"
        else:
            row[f"% of {whole}"] = _number(100 * rate / best)
        row["published, % of cuBLAS"] = _number(100 * PUBLISHED[name]) if name in PUBLISHED else "–"
        rows.append(row)
    return table(rows, f"GFLOP/s: {rates[whole].provenance}. Published: {PUBLISHED_SOURCE}.")


def _check(counts: Any) -> None:
    if not isinstance(counts, Mapping) or set(counts) != set(LADDER):
        raise BadInput(f"counts is {require.shown(counts)}: give what ladder_counts() returns.")
