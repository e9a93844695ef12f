"""The search for the layout with the shortest step."""

from __future__ import annotations

from typing import Any

from gpulearn.errors import BadInput
from gpulearn.scaling.plan import by_hand
from gpulearn.scaling.plan.accelerators import accelerator
from gpulearn.scaling.plan.plan import RunPlan, plan_run

__all__ = ["best_layout"]


def best_layout(*, gpus: int, layers: int, heads: int, **run: Any) -> RunPlan:
    """The plan with the shortest step, over all layouts of tensor, pipeline and data.

    Args:
        gpus: how many there are.
        layers: of the model.
        heads: of its attention.
        run: the other arguments of `plan_run`, all but tensor, pipeline and data.

    Raises:
        BadInput: no layout fits; the message gives what the last one that was tried lacks.

    >>> best_layout(parameters=1.3e9, layers=24, hidden=2048, heads=16, vocabulary=50257,
    ...             sequence=2048, batch=512, gpus=8, fused_attention=True)
    8 × A100 80GB as 1 tensor × 1 pipeline × 8 data: ...
    """
    refused = "there is no layout that divides layers and heads"
    plans: dict[tuple[int, int, int], RunPlan] = {}

    def seconds(tensor: int, pipeline: int, data: int) -> float | None:
        nonlocal refused
        try:
            plan = plan_run(
                gpus=gpus, layers=layers, heads=heads, tensor=tensor, pipeline=pipeline,
                data=data, **run,
            )  # fmt: skip
        except BadInput as error:
            refused = str(error)
            return None
        plans[tensor, pipeline, data] = plan
        return plan.step_seconds

    machine = accelerator(run.get("gpu", "A100 80GB"), run.get("precision", "bfloat16")).machine
    found = by_hand.best_layout(gpus, layers, heads, seconds, min(machine, 8))
    if found is None:
        raise BadInput(f"No layout of {gpus:,} GPUs works; of the last one tried: {refused}")
    return plans[found]
