"""The search for the layout with the shortest step."""

from __future__ import annotations

import itertools
from typing import Any

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn_lessons.plan_a_run.plan import by_hand
from gpulearn_lessons.plan_a_run.plan.accelerators import MACHINE
from gpulearn_lessons.plan_a_run.plan.layout import RECOMPUTE
from gpulearn_lessons.plan_a_run.plan.plan import ClusterPlan, plan_run


def best_layout(*, gpus: int, layers: int, heads: int, **run: Any) -> ClusterPlan:
    """The plan with the shortest step, over all layouts of tensor, context, pipeline and data.

    Where they are not given, it tries micro-batches of 1, 2, 4 and 8 sequences, every number of
    virtual stages, ZeRO's stages 1 and 3, up to 16 GPUs for a sequence, and recomputes as little as
    the memory allows. `run` has the other arguments of `plan_run`. If no layout fits, the error
    says what the last one that was tried lacks.

    >>> best_layout(parameters=1.3e9, layers=24, hidden=2048, heads=16, vocabulary=50257,
    ...             sequence=2048, batch=512, gpus=8, fused="all")
    8 × A100 80GB as 1 tensor × 1 pipeline × 8 data: ...
    """
    for name in {"context", "micro_batch", "interleave"} & run.keys():
        require.whole(name, run[name])
    refused = "none divides layers, heads and batch"
    plans: dict[tuple[int, int, int], ClusterPlan] = {}

    def given(name: str, *usual: Any) -> list[Any]:
        return [run.pop(name)] if name in run else [*usual]

    # fused attention has nothing that selective recomputation could spare
    levels = RECOMPUTE if run.get("fused", "none") == "none" else ("none", "full")
    ways, stages = given("recompute", *levels), given("zero", 1, 3)
    parts, sizes = given("interleave", *range(1, layers + 1)), given("micro_batch", 1, 2, 4, 8)
    splits, batch, sequence = given("context", 1, 2, 4, 8, 16), run["batch"], run["sequence"]

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
        fitting, full = [], set()
        virtual = [
            v for v in parts
            if (v == 1 or pipeline > 1)
            and any(count % (pipeline * v) == 0 for count in (layers, layers + 2))
        ]  # fmt: skip
        for zero, v, context, size in itertools.product(stages, virtual, splits, sizes):
            replicas, rest = divmod(data, context)
            if rest or sequence % context or batch % (replicas * size):
                continue
            if (zero, v, context) in full or (zero >= 3 and pipeline > 1):
                continue
            plan = least_recomputed(
                tensor=tensor, pipeline=pipeline, data=replicas, context=context, zero=zero,
                interleave=v, micro_batch=size,
            )  # fmt: skip
            if plan is None:
                full.add((zero, v, context))  # larger micro-batches do not fit either
            else:
                fitting.append(plan)
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
