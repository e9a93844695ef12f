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
from gpulearn_lessons.plan_a_run.plan.published import PublishedRun, models
from gpulearn_lessons.plan_a_run.plan.search import best_layout

PARTS = {
    "products": "matrix products",
    "memory": "activations, read and written",
    "tensor": "tensor and context parallel",
    "pipeline": "pipeline transfers",
    "data": "data parallel",
    "bubble": "bubble",
    "optimizer": "optimizer",
}
# the optimizer's first, in the color of its time
MEMORY = ("optimizer state", "weights", "gradients", "activations")
MODELS = {
    "1.3 billion": "MPT 1B",
    "7 billion": "Llama 2 7B",
    "70 billion": "Llama 3 70B",
    "175 billion": "GPT-3 175B",
    "405 billion": "Llama 3 405B",
    "1 trillion": "GPT 1008B",
}
COMMON: dict[str, Any] = {
    "sequence": 4096, "batch": 2048, "fused": "all", "sequence_parallel": True,
}  # fmt: skip
TOKENS = (20e9, 100e9, 300e9, 1e12, 2e12, 15e12)
COUNTS = (1, 8, 64, 512, 1024, 2048, 4096, 8192, 16_384)
NETWORKS = ("10 Gbit", "100 Gbit", "200 Gbit", "400 Gbit")
NEAR, FAR = 10, 20  # percent


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


def published_runs(runs: Sequence[PublishedRun]) -> Picture:
    """Draw how far the planner is off published speeds: a line for each source, a dot for each run.

    `runs` are those of `published()`.
    """
    if not runs or not all(isinstance(run, PublishedRun) for run in runs):
        raise BadInput(f"runs is {shown(runs)}: give what published() returned.")
    errors = [100 * run.error() for run in runs]
    near, far = (sum(abs(error) <= most for error in errors) for most in (NEAR, FAR))
    worst = max(range(len(runs)), key=lambda k: abs(errors[k]))
    alt = (
        f"Of {len(runs)} published speeds the plan is within {NEAR}% of {near} and within {FAR}% "
        f"of {far}; {sum(error < 0 for error in errors)} plans are too slow. The farthest is "
        f"{runs[worst].name}, planned {errors[worst]:+.0f}%."
    )
    sources = [run.source for run in runs]
    with figure(8.6, 1.2 + 0.3 * len(set(sources))) as (fig, axes):
        axes.axvspan(-FAR, FAR, color="0.95")
        axes.axvspan(-NEAR, NEAR, color="0.88")
        axes.axvline(0, color="0.3", linewidth=1)
        axes.plot(errors, sources, "o", markersize=7, alpha=0.6)
        axes.invert_yaxis()
        axes.set_xlabel("planned speed − published speed (%); gray: within 10% and 20%")
        return show(fig, alt)


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
    run = {**COMMON, **models()[MODELS[model]], "gpu": gpu, "interconnect": link}
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
