"""The search for the layout with the shortest step."""

from __future__ import annotations

import itertools
from typing import Any

from gpulearn.errors import BadInput
from gpulearn_lessons.plan_a_run.plan import by_hand
from gpulearn_lessons.plan_a_run.plan.accelerators import MACHINE
from gpulearn_lessons.plan_a_run.plan.layout import RECOMPUTE
from gpulearn_lessons.plan_a_run.plan.plan import ClusterPlan, plan_run


def best_layout(*, gpus: int, layers: int, heads: int, **run: Any) -> ClusterPlan:
    """The plan with the shortest step, over all layouts of tensor, pipeline and data.

    Where they are not given, ZeRO's stage is 1 or 3, stages have 1, 2 or 4 parts, and as little
    is recomputed as the memory allows.

    `run` has the other arguments of `plan_run`. Where no layout fits, the error says what the last
    one that was tried lacks.

    >>> best_layout(parameters=1.3e9, layers=24, hidden=2048, heads=16, vocabulary=50257,
    ...             sequence=2048, batch=512, gpus=8, fused_attention=True)
    8 × A100 80GB as 1 tensor × 1 pipeline × 8 data: ...
    """
    refused = "none divides layers, heads and batch"
    plans: dict[tuple[int, int, int], ClusterPlan] = {}
    ways = [run.pop("recompute")] if "recompute" in run else [*RECOMPUTE]
    stages = [run.pop("zero")] if "zero" in run else [1, 3]
    parts = [run.pop("interleave")] if "interleave" in run else [1, 2, 4]

    def least_recomputed(**layout: Any) -> ClusterPlan | None:
        nonlocal refused
        for way in ways:
            try:
                return plan_run(gpus=gpus, layers=layers, heads=heads, recompute=way, **layout,
                                **run)  # fmt: skip
            except BadInput as error:
                refused = str(error)
        return None

    def seconds(tensor: int, pipeline: int, data: int) -> float | None:
        layout = {"tensor": tensor, "pipeline": pipeline, "data": data}
        fitting = []
        for zero, interleave in itertools.product(stages, parts):
            whole = any(count % (pipeline * interleave) == 0 for count in (layers, layers + 2))
            if whole and (pipeline > 1 or interleave == 1) and (pipeline == 1 or zero < 3):
                plan = least_recomputed(**layout, zero=zero, interleave=interleave)
                fitting += [] if plan is None else [plan]
        if not fitting:
            return None
        best = min(fitting, key=lambda plan: plan.step_seconds)
        plans[tensor, pipeline, data] = best
        return best.step_seconds

    # with and without the two tables as a layer each
    for count in (layers, layers + 2):
        by_hand.best_layout(gpus, count, heads, seconds, MACHINE)
    if not plans:
        many = f"{gpus:,} GPU{'s' * (gpus > 1)}"
        raise BadInput(f"No layout of {many} works; of the last one tried: {refused}")
    return min(plans.values(), key=lambda plan: plan.step_seconds)
