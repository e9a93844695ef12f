"""What a GPU of a planned run holds at its fullest moment, by parts."""

import math
from dataclasses import replace

from gpulearn_lessons.plan_a_run.plan.layout import Layout, Workload
from gpulearn_lessons.sharded_training.memory import zero_memory
from gpulearn_lessons.tensor_parallel.costs import part_activation_bytes


def kept_bytes(work: Workload, layout: Layout, *, scores: bool) -> float:
    """Bytes that one layer keeps on a GPU for the backward pass of one micro-batch.

    `part_activation_bytes` of two layers minus that of one. It is the course's own decoder, with
    no dropout; the masks of dropout would come on top. With sequence parallelism a GPU keeps its
    share of what the norms give, and gathers the rest again (Korthikanti et al., arXiv 2205.05198,
    2022, section 4.2.2), where the course's decoder keeps all of it. `scores`: with attention's.
    """
    single, double = (
        part_activation_bytes(
            replace(work.shape, layers=count), work.micro_batch, layout.tensor,
            work.weight_bytes, by_positions=layout.sequence_parallel,
        )
        for count in (1, 2)
    )  # fmt: skip
    layer_bytes = double - single
    if not scores:  # s² for each sequence and head
        heads = work.shape.heads // layout.tensor
        layer_bytes -= work.weight_bytes * work.micro_batch * heads * work.shape.context**2
    if layout.sequence_parallel:
        places = work.micro_batch * work.shape.context * work.shape.width
        layer_bytes -= 2 * work.weight_bytes * (places - places // layout.tensor)
    return float(layer_bytes)


def memory_per_gpu(work: Workload, layout: Layout) -> dict[str, float]:
    """Bytes on a GPU of the first stage, by parts.

    Weights, gradients and state as `zero_memory`; with ZeRO's stage 3 two whole layers on top,
    one that computes and one that is gathered. Activations of the micro-batches that are on
    their way: in 1F1B as many as there are stages, interleaved 1 + (p−1)/(p·v) times as many
    (Narayanan et al., arXiv 2104.04473, 2021, and Korthikanti et al., arXiv 2205.05198, 2022).
    What is recomputed keeps the input of each layer alone, and one layer's activations at a time.
    """
    own = math.ceil(work.parameters / (layout.tensor * layout.pipeline))
    weights, gradients, state = zero_memory(
        [own], layout.data, layout.zero, weights=work.weight_bytes,
        gradients=work.gradient_bytes, state=work.state_bytes,
    )  # fmt: skip
    layers, _ = layout.stage_layers(work)
    if layout.zero >= 3 and layout.data > 1:
        weights += 2 * work.weight_bytes * own / layers
    flying: float = min(layout.pipeline, layout.micro_batches(work))
    if layout.interleave > 1:
        flying *= 1 + (layout.pipeline - 1) / (layout.pipeline * layout.interleave)
    all_of_layer = kept_bytes(work, layout, scores=not work.fused_attention)
    without = kept_bytes(work, layout, scores=False)
    whole = layers * flying
    if work.recompute == "none":
        activations = whole * all_of_layer
    elif work.recompute == "selective":
        activations = whole * without + (all_of_layer - without)
    else:
        again = 1.0 if work.recompute == "full" else float(work.recompute)
        places = work.micro_batch * work.shape.context * work.shape.width
        inputs = work.weight_bytes * places / (layout.tensor if layout.sequence_parallel else 1)
        activations = whole * (again * inputs + (1 - again) * all_of_layer) + all_of_layer
    return {
        "weights": weights, "gradients": gradients, "optimizer state": state,
        "activations": activations,
    }  # fmt: skip
