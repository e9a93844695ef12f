"""Planned runs: where time and memory go, and the plans beside published runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.perf.gpus import GPUS
from gpulearn.plot.controls import Explorer, choices, dropdown
from gpulearn.plot.style import centered, figure, stacked_bars
from gpulearn.require import shown
from gpulearn_lessons.plan_a_run.plan.plan import ClusterPlan
from gpulearn_lessons.plan_a_run.plan.published import ErrorReport
from gpulearn_lessons.plan_a_run.plan.search import best_layout

PARTS = {
    "products": "matrix products",
    "memory": "activations, read and written",
    "tensor": "tensor parallel",
    "pipeline": "pipeline transfers",
    "data": "data parallel",
    "bubble": "bubble",
    "optimizer": "optimizer",
}
# the optimizer's first, in the color of its time
MEMORY = ("optimizer state", "weights", "gradients", "activations")
MODELS: dict[str, dict[str, Any]] = {
    "1.3 billion": {"parameters": 1.3e9, "layers": 24, "hidden": 2048, "heads": 16},
    "7 billion": {"parameters": 6.7e9, "layers": 32, "hidden": 4096, "heads": 32},
    "70 billion": {"parameters": 69e9, "layers": 80, "hidden": 8192, "heads": 64},
    "175 billion": {"parameters": 174.6e9, "layers": 96, "hidden": 12288, "heads": 96},
    "1 trillion": {"parameters": 1008e9, "layers": 128, "hidden": 25600, "heads": 160},
}
COMMON: dict[str, Any] = {
    "vocabulary": 51_200, "sequence": 4096, "batch": 2048, "fused_attention": True,
    "sequence_parallel": True,
}  # fmt: skip
TOKENS = (20e9, 100e9, 300e9, 1e12, 2e12, 15e12)
COUNTS = (1, 8, 64, 512, 1024, 2048, 4096, 8192, 16_384)
NETWORKS = ("10 Gbit", "100 Gbit", "200 Gbit", "400 Gbit")
WITHIN = 0.1


def plan_bars(plans: Mapping[str, ClusterPlan]) -> Picture:
    """Draw where the time of a step goes, and what fills a GPU's memory, a bar for each plan.

    Plans are what a bar is called → what `plan_run` returned.
    """
    require.named("plans", plans, '{"name": plan_run(…), …}')
    require.each(plans, ClusterPlan, "what plan_run returned")
    text = "; ".join(
        f"{name} {plan.step_seconds:.3g} s, {plan.parts['products'] / plan.step_seconds:.0%} of it "
        f"matrix products, and {sum(plan.memory_per_gpu.values()) / 1e9:.0f} GB on a GPU"
        for name, plan in plans.items()
    )
    times = {
        name: {PARTS[part]: seconds for part, seconds in plan.parts.items()}
        for name, plan in plans.items()
    }
    with figure(9.4, 1.9 + 0.9 * len(plans), rows=2) as (fig, (time, memory)):
        stacked_bars(time, times, 1, 0.6)
        time.set_xlabel("time of a step, modeled (s)")
        sizes = {
            name: {part: plan.memory_per_gpu[part] for part in MEMORY}
            for name, plan in plans.items()
        }
        stacked_bars(memory, sizes, 1e9, 0.6, list(PARTS).index("optimizer"))
        for axes in (time, memory):
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=9)
        most_bytes = {plan.gpu.memory / 1e9 for plan in plans.values()}
        for most in most_bytes:
            memory.axvline(most, color="0.2", linestyle="--")
        memory.set_xlim(0, 1.05 * max(most_bytes))
        memory.set_xlabel("memory of a GPU (GB); dashed: its size")
        return show(fig, f"Planned steps: {text}.")


def published_runs(held: Sequence[ErrorReport]) -> Picture:
    """Draw how far the planner is off published numbers, a row for each `hold_against` returned."""
    if not held:
        raise BadInput(f"held is {shown(held)}: give what hold_against returned.")
    names = [f"{result.row.run}, {result.row.row}" for result in held]
    speeds = [_speed(result.error, result.row.unit) for result in held]
    near = sum(abs(result.error) <= WITHIN for result in held)
    worst = max(range(len(held)), key=lambda k: abs(held[k].error))
    alt = (
        f"{near} of {len(held)} published numbers are within 10% of the plan; the farthest is "
        f"{names[worst]}, planned {speeds[worst]:+.0%} in speed."
    )
    with figure(8.6, 1.2 + 0.3 * len(held)) as (fig, axes):
        axes.axvspan(-100 * WITHIN, 100 * WITHIN, color="0.9")
        axes.axvline(0, color="0.3", linewidth=1)
        axes.plot([100 * s for s in speeds], names, "o", markersize=7, label="fitted")
        left_out = {
            name: 100 * _speed(result.left_out, result.row.unit)
            for name, result in zip(names, held, strict=True)
            if result.left_out is not None
        }
        if left_out:
            axes.plot([*left_out.values()], [*left_out], "x", markersize=8, color="C1",
                      label="its run left out of the fit")  # fmt: skip
            axes.legend(loc="best", fontsize=9)
        axes.invert_yaxis()
        axes.set_xlabel("planned speed, difference from published (%); gray: within 10%")
        return show(fig, alt)


def _speed(error: float, unit: str) -> float:
    """An error of a time as one of a speed, so that right of 0 is always too fast."""
    return 1 / (1 + error) - 1 if unit == "s" else error


def sentence(plan: ClusterPlan, tokens: float) -> str:
    """What a plan comes to, and what limits it."""
    price = plan.gpu.price
    cost = " (no price known)"
    if price is not None:
        ends = sorted({price.low, price.high})
        cost = " to ".join(_money(plan.cost(tokens, dollars)) for dollars in ends)
        cost = f", cost {cost} ({price.when})"
    used = sum(plan.memory_per_gpu.values()) / plan.gpu.memory
    return (
        f"{plan!r}. {_count(tokens)} tokens take {_time(plan.days(tokens))}{cost}, and at "
        f"most {_energy(plan.energy(tokens))} for the GPUs without their hosts; {used:.0%} of "
        f"their memory is used. {plan.limit}"
    )


def _energy(kilowatt_hours: float) -> str:
    """In the unit that needs no power of ten.

    >>> _energy(220_000), _energy(4_580_000)
    ('220 MWh', '4.58 GWh')
    """
    scale, unit = (1e6, "GWh") if kilowatt_hours >= 999_500 else (1e3, "MWh")
    return f"{kilowatt_hours / scale:.3g} {unit}"


def _money(dollars: float) -> str:
    """Three digits at most, in the unit that the rounded sum has.

    >>> [_money(dollars) for dollars in (999, 999.5, 999_499, 999_999.5, 1e6, 999_499_999)]
    ['$999', '$1,000', '$999,000', '$1 million', '$1 million', '$999 million']
    >>> [_money(dollars) for dollars in (999_500_000, 1e9, 999_499_999_999, 999_999_999_999)]
    ['$1 billion', '$1 billion', '$999 billion', '$1 trillion']
    """
    scales = (1e12, " trillion"), (1e9, " billion"), (1e6, " million"), (1e3, ",000")
    for scale, unit in scales:
        if dollars >= 0.9995 * scale:
            digits = f"{dollars / scale:.3g}" if unit != ",000" else f"{dollars / scale:.0f}"
            return f"${digits}{unit}"
    return f"${dollars:.0f}"


def _count(tokens: float) -> str:
    scale, unit = (1e12, "trillion") if tokens >= 1e12 else (1e9, "billion")
    return f"{tokens / scale:g} {unit}"


def _time(days: float) -> str:
    if days >= 730:
        return f"{days / 365.25:,.3g} years"
    return f"{days:,.3g} days" if days >= 1 else f"{24 * days:.2g} hours"


def draw(model: str, tokens: float, gpu: str, gpus: int, link: str) -> tuple[Picture, str]:
    """The best plan for one choice, or why there is none, with the sizes of its parts."""
    run = {**COMMON, **MODELS[model], "gpu": gpu, "interconnect": link}
    if "bfloat16" not in GPUS[gpu].peak:
        run["precision"] = "float16"
    try:
        plan = best_layout(gpus=gpus, **run)
    except BadInput as error:
        text = f"{model} parameters on {gpus:,} × {gpu}: {error}"
        with figure(9.4, 1.0) as (fig, axes):
            axes.axis("off")
            centered(axes, 0.5, 0.5, "no layout works", fontsize=14)
            return show(fig, text), text
    return plan_bars({f"{gpus:,} × {gpu}": plan}), sentence(plan, tokens)


def plan_explorer() -> Explorer:
    """Choose model, tokens, GPU, how many and the network; see days, dollars, energy and memory.

    Each picture is the best plan of `plan_a_run.best_layout`, for steps of 2,048 sequences of
    4,096 tokens; all of its numbers are modeled.

    >>> plan_explorer()
    [interactive figure: 1,024 × H100 as ...]
    """
    names = [name for name, spec in GPUS.items() if {"bfloat16", "float16"} & set(spec.peak)]
    controls = {
        "model": dropdown("parameters", list(MODELS), "70 billion"),
        "tokens": choices("tokens", [(_count(n), n) for n in TOKENS], 1e12),
        "gpu": dropdown("GPU", names, "H100"),
        "gpus": choices("how many", COUNTS, 1024, "{:,}"),
        "link": dropdown("network", list(NETWORKS), "400 Gbit"),
    }
    return Explorer(draw, controls)
