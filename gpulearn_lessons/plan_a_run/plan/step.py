"""The seconds of a step of a planned run, by what they are spent on."""

import math
from dataclasses import dataclass

from gpulearn.parallel.costs import all_reduce_seconds
from gpulearn.parallel.links import Link
from gpulearn_lessons.pipeline_parallel.clock import bubble_fraction
from gpulearn_lessons.plan_a_run.plan.accelerators import Processor
from gpulearn_lessons.plan_a_run.plan.layout import Layout, Workload
from gpulearn_lessons.plan_a_run.plan.memory import kept_bytes
from gpulearn_lessons.sharded_training.memory import zero_bytes_per_rank

PASSES = 2  # over what a layer keeps, forward: it is written once and read once


@dataclass(frozen=True)
class Calibration:
    """What no data sheet tells, two numbers for all runs."""

    product: float  # the part of its peak that a GPU reaches in a large product of matrices
    link: float  # the part of its bandwidth that a link reaches in a collective


# fitted to the runs of `published.CALIBRATION` by `published.fit`, and to no others
CALIBRATED = Calibration(product=0.654, link=0.644)


def product_rate(
    tokens: int, hidden: int, tensor: int, gpu: Processor, weight_bytes: int = 2,
    calibration: Calibration = CALIBRATED,
) -> float:  # fmt: skip
    """Operations per second of a layer's products, by their size.

    A product of sides m, k and n makes 2·m·k·n operations and moves (m·k + k·n + m·n) numbers
    once; it takes the sum of both times. With the sides of a layer, tokens, h and h/t, that is
    e·peak / (1 + (e·peak / bandwidth) · bytes/2 · (1/tokens + 1/h + t/h)): for large sides the
    calibrated part e of the peak, for small ones what the memory gives.
    """
    peak = calibration.product * gpu.peak
    sides = 1 / tokens + 1 / hidden + tensor / hidden
    return peak / (1 + peak / gpu.bandwidth * weight_bytes / 2 * sides)


def reached(link: Link, calibration: Calibration) -> Link:
    """A link as collectives find it: its latency, and the calibrated part of its bandwidth."""
    return Link(link.latency, calibration.link * link.bandwidth)


def step_parts(
    work: Workload, layout: Layout, gpu: Processor, network: Link,
    calibration: Calibration = CALIBRATED,
) -> dict[str, float]:  # fmt: skip
    """Seconds of one step, by parts that add up.

    The slowest stage sets the pace, the last one where the scores make it longer. Forward counts
    once, backward twice, and what is recomputed once more. Nothing is hidden but the gathers and
    reduce-scatters of ZeRO's stage 3: of them only what is longer than the computing of the same
    pass counts, as with many layers and prefetching.
    """
    shape, m = work.shape, layout.micro_batches(work)
    tokens, t = work.micro_batch * shape.context, layout.tensor
    full, last = layout.stage_layers(work)
    rate = product_rate(tokens, shape.width, t, gpu, work.weight_bytes, calibration)
    passes = 3 + work.recomputed
    product = (3 * work.layer_flops + work.recomputed_flops) * tokens / t / rate
    activations = kept_bytes(work, layout, scores=not work.fused_attention)
    memory = passes * PASSES * activations / gpu.bandwidth
    near, far = reached(gpu.neighbors, calibration), reached(network, calibration)
    size = work.weight_bytes * tokens * shape.width
    each = tensor_all_reduce(t, size, gpu.machine, near, far)
    tensor = (2 + work.recomputed) * (1 if work.parallel_blocks else 2) * each
    scores = 3 * 2 * work.table * tokens / t / rate
    layer = product + memory + tensor
    stages = [(last, scores), *([(full, 0.0)] if layout.pipeline > 1 else [])]
    longest, own_scores = max(stages, key=lambda stage: stage[0] * layer + stage[1])
    parts = {
        "products": m * (longest * product + own_scores),
        "memory": m * longest * memory,
        "tensor": m * longest * tensor,
        "pipeline": 0.0,
    }
    if layout.pipeline > 1:
        hop = near if layout.gpus <= gpu.machine else far
        parts["pipeline"] = m * 2 * layout.interleave * hop.seconds(size / t)
    busy = sum(parts.values())
    idle = bubble_fraction(layout.pipeline, m, layout.interleave)
    parts["bubble"] = busy * idle / (1 - idle)
    forward, backward = data_seconds(work, layout, near if layout.gpus <= gpu.machine else far)
    if layout.zero >= 3:
        forward = max(0.0, forward - busy / passes)
        backward = max(0.0, backward - busy * (1 - 1 / passes))
    parts["data"] = forward + backward
    parts["optimizer"] = optimizer_seconds(work, layout, gpu)
    return parts


def tensor_all_reduce(ranks: int, size: float, machine: int, near: Link, far: Link) -> float:
    """Seconds in which the GPUs that share a layer add their results up.

    Within a machine they are one ring. Over several it is the cheaper of one ring and two levels:
    equally many GPUs of each machine reduce-scatter, each adds its part up with its peers in the
    other machines over its own network card, and the parts are gathered within the machine again.
    (Cho et al., "BlueConnect: Decomposing all-reduce for deep learning on heterogeneous network
    hierarchy", MLSys 2019.)

    `ranks` GPUs, each with `size` bytes; `near` joins two of one machine, `far` one of them to
    another machine.
    """
    if ranks <= machine:
        return all_reduce_seconds("ring", ranks, size, near)
    inside = math.gcd(ranks, machine)
    within = all_reduce_seconds("ring", inside, size, near)
    between = all_reduce_seconds("ring", ranks // inside, size / inside, far)
    return min(within + between, all_reduce_seconds("ring", ranks, size, far))


def data_seconds(work: Workload, layout: Layout, link: Link) -> tuple[float, float]:
    """Seconds in which the replicas hand weights round, forward, and both of them, backward.

    Each GPU uses its own network card. Stage 3 of ZeRO gathers each layer forward, gathers it
    again backward and reduce-scatters its gradients, for each micro-batch; the other stages
    exchange all of them once, after the last backward pass.
    """
    d = layout.data
    if d == 1:
        return 0.0, 0.0
    own = round(work.parameters / (layout.tensor * layout.pipeline))
    if layout.zero == 0:
        return 0.0, all_reduce_seconds("ring", d, own * work.gradient_bytes, link)
    latency = (d - 1) * link.latency * (work.shape.layers if layout.zero >= 3 else 1)
    # half of what stage 1 sends is one lap of a ring: a gather or a reduce-scatter
    gather, scatter = (
        latency + zero_bytes_per_rank([own], d, 1, itemsize=size) / 2 / link.bandwidth
        for size in (work.weight_bytes, work.gradient_bytes)
    )
    if layout.zero < 3:
        return 0.0, gather + scatter
    m = layout.micro_batches(work)
    return m * gather, m * (gather + scatter)


def optimizer_seconds(work: Workload, layout: Layout, gpu: Processor) -> float:
    """Seconds to read gradients and to read and write state and weights once."""
    own = work.parameters / (layout.tensor * layout.pipeline)
    cut = layout.data if layout.zero else 1
    each = work.gradient_bytes + 2 * (work.state_bytes + work.weight_bytes)
    return own / cut * each / gpu.bandwidth
