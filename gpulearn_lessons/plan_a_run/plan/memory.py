"""What a GPU of a planned run holds at its fullest moment, by parts."""

import math

from gpulearn_lessons.plan_a_run.plan.layout import Layout, Workload
from gpulearn_lessons.sharded_training.memory import zero_memory


def activation_bytes(work: Workload, layout: Layout, *, kept: bool = True) -> float:
    """Bytes of activations of one layer for one micro-batch on a GPU: kept, or all written.

    For each token the inputs of both norms and their outputs, Q, K, V and what attention gives,
    and both sides of the MLP's activation function. Tensor parallelism divides them, those of the
    norms only with sequence parallelism. Attention that is not fused adds its scores, weights and
    dropout's mask, 5·s² bytes for each head, unless they are recomputed; fused kernels do not keep
    what a norm or an activation function gives, but compute it again (Korthikanti and others,
    arXiv 2205.05198, 2022, section 4, whose sizes are these).
    """
    h, t = work.shape.width, layout.tensor
    tokens = work.micro_batch * work.shape.context / layout.context
    spared = kept and work.fused == "all"
    norms = (2 if spared else 4) * h / (t if layout.sequence_parallel else 1)
    keys = h // work.shape.heads * work.kv_heads
    inside = 2 * h + 2 * keys + (1 + work.gated + (not spared)) * work.ffn
    each = work.weight_bytes * (norms + inside / t)
    if work.fused == "none" and not (kept and work.recompute == "selective"):
        each += 5 * work.shape.heads / t * work.shape.context
    return tokens * each


def memory_per_gpu(work: Workload, layout: Layout) -> dict[str, float]:
    """Bytes on a GPU of the first stage, by parts.

    Weights, gradients and state as `zero_memory`; with ZeRO's stage 3 two whole layers on top,
    one that computes and one that is gathered. Activations of the micro-batches in flight: in 1F1B
    as many as there are stages, interleaved 1 + (p−1)/(p·v) times as many (Narayanan and others,
    arXiv 2104.04473, 2021; Korthikanti and others, 2022). Full recomputation keeps each layer's
    input only, and the activations of one layer. Where the first stage is also the last, the loss
    keeps scores of 2 and gradients of 4 bytes for each entry of the table, unless it is fused.
    """
    own = math.ceil(work.parameters / (layout.tensor * layout.pipeline))
    weights, gradients, state = zero_memory(
        [own], layout.shards, layout.zero, weights=work.weight_bytes,
        gradients=work.gradient_bytes, state=work.state_bytes,
    )  # fmt: skip
    layers, _ = layout.stage_layers(work)
    if layout.zero >= 3 and layout.shards > 1:
        weights += 2 * work.weight_bytes * own / layers
    flying: float = min(layout.pipeline, layout.micro_batches(work))
    if layout.interleave > 1:
        flying *= 1 + (layout.pipeline - 1) / (layout.pipeline * layout.interleave)
    one = activation_bytes(work, layout)
    tokens = work.micro_batch * work.shape.context / layout.context
    share = layout.tensor if layout.sequence_parallel else 1
    inputs = work.weight_bytes * tokens * work.shape.width / share
    activations = layers * flying * (work.again * inputs + (1 - work.again) * one)
    activations += one if work.again else 0.0
    if layout.pipeline == 1 and work.fused != "all":
        activations += 6 * tokens * work.shape.vocabulary / layout.tensor
    return {
        "weights": weights, "gradients": gradients, "optimizer state": state,
        "activations": activations,
    }  # fmt: skip
