"""The seconds of a step of a planned run, by what they are spent on."""

from dataclasses import dataclass

from gpulearn.parallel.links import Link
from gpulearn_lessons.pipeline_parallel.clock import bubble_fraction
from gpulearn_lessons.plan_a_run.plan.accelerators import AMPERE, HOPPER, MACHINE, Processor
from gpulearn_lessons.plan_a_run.plan.layout import Layout, Workload
from gpulearn_lessons.plan_a_run.plan.memory import activation_bytes

# Fractions of a link's bandwidth that collectives reach: 235 of 300 GB/s inside a DGX A100
# (Bekman, "Machine learning engineering", network), 192 of 200 between two (NVIDIA/nccl, issue 812)
NEAR, FAR = 0.78, 0.96
# Numbers that a layer's kernels read and write, forward, for each activation that they write: 2,
# once each; fused ones pass over 22 for 16 (inputs and outputs of norms, attention, MLP, sums).
PASSES = {"none": 2.0, "attention": 2.0, "all": 22 / 16}
# for each score: to float32 and back (12 bytes), log-softmax forward (8) and backward (8)
LOSS_BYTES = 28


@dataclass(frozen=True)
class Calibration:
    """What neither data sheets nor measurements of single operations tell."""

    kernels: float  # how fast kernels run within a training, as a fraction of the published rates
    hidden: float  # the fraction of overlapped communication that is really hidden


# fitted to `published("fitted")`: kernels for each generation, hidden for both; the sum of
# |log(planned / published speed)| is least
CALIBRATED = {AMPERE: Calibration(0.86, 0.37), HOPPER: Calibration(0.78, 0.37)}


def ring_seconds(
    ranks: int, size: float, together: int, near: Link, far: Link, laps: int = 2, pieces: int = 1
) -> float:
    """Seconds of a ring all-reduce of `size` bytes (two laps), or of a gather or scatter (one).

    `together` ranks are in each machine. The library builds a ring for each of their network
    cards, so between machines all of them carry a share, and a ring is as fast as the links
    inside or all of those cards together, whichever is slower (NVIDIA/nccl-tests, issue 277). In
    `pieces` it pays its latency as often.
    """
    if ranks == 1:
        return 0.0
    latency, bandwidth = near.latency, NEAR * near.bandwidth
    if ranks > together:
        bandwidth = min(bandwidth, together * FAR * far.bandwidth)
        latency += (far.latency - near.latency) / together
    return laps * (ranks - 1) * (pieces * latency + size / ranks / bandwidth)


def step_parts(
    work: Workload, layout: Layout, gpu: Processor, network: Link, calibration: Calibration
) -> dict[str, float]:
    """Seconds of one step, by parts that add up.

    The slowest stage sets the pace, the last one where the scores make it longer. Forward counts
    once, backward twice, and what is recomputed once more. Of what overlaps, sends between stages
    are hidden; a tensor-parallel collective goes in t pieces, and the first is waited for; keys and
    values of a shared sequence are hidden behind attention; of the replicas' messages the
    calibrated fraction is hidden, at most as long as one micro-batch computes, or all of them with
    ZeRO's stage 3.
    """
    m, t, h = layout.micro_batches(work), layout.tensor, work.shape.width
    tokens = work.micro_batch * work.shape.context // layout.context

    def product(rows: float, inner: float, columns: float, rate: float) -> float:
        moved = rows * inner + inner * columns + rows * columns
        seconds = 2 * rows * inner * columns / rate + work.weight_bytes * moved / gpu.bandwidth
        return seconds / calibration.kernels

    to_qkv, from_heads, to_mlp, from_mlp = work.matrices
    forward = sum(product(tokens, k, n / t, gpu.product) for k, n in (to_qkv, to_mlp))
    forward += sum(product(tokens, k / t, n, gpu.product) for k, n in (from_heads, from_mlp))
    length, heads, attention = work.shape.context, work.shape.heads, 0.0
    if work.fused != "none":  # the later half is never computed; backward computes the scores again
        rate = gpu.attention[work.fused] * calibration.kernels
        attention = work.attention_flops / 2 * tokens / t / rate
        products = 3 * forward + 3.5 * attention
    else:
        each = product(length, h / heads, length, gpu.wide_product)
        attention = 2 * each * tokens / length * heads / t
        products = 3 * (forward + attention)
    selective = work.recompute == "selective" and work.fused == "none"
    products += attention if selective else work.again * (forward + attention)
    passes = 3 + work.recomputed_flops / work.layer_flops
    moved = PASSES[work.fused] * activation_bytes(work, layout, kept=False)
    memory = passes * moved / gpu.bandwidth
    size, near = work.weight_bytes * tokens * h, gpu.neighbors
    reduce = ring_seconds(t, size, layout.in_machine(t, 1), near, network)
    tensor = (2 + work.again) * (1 if work.parallel_blocks else 2) * reduce
    if "tensor" in layout.overlap:  # in t pieces, of which the first cannot overlap
        tensor = max(tensor / t, tensor - products)
    keys = 2 * size / h * (h // heads) * work.kv_heads / t  # of K and V together
    together = layout.in_machine(layout.context, t)
    turn = 3 * ring_seconds(layout.context, keys * layout.context, together, near, network, 1)
    tensor += max(0.0, turn - 3.5 * attention)

    columns = work.shape.vocabulary / t
    scores = 3 * product(tokens, h, columns, gpu.wide_product)
    if work.fused != "all":
        scores += LOSS_BYTES * tokens * columns / gpu.bandwidth
    full, last = layout.stage_layers(work)
    layer = products + memory + tensor
    stages = [(last, scores), *([(full, 0.0)] if layout.pipeline > 1 else [])]
    longest, own_scores = max(stages, key=lambda stage: stage[0] * layer + stage[1])
    parts = {
        "products": m * (longest * products + own_scores),
        "memory": m * longest * memory,
        "tensor": m * longest * tensor,
    }
    busy = sum(parts.values())
    hop = near if layout.gpus <= MACHINE else network
    hops = 0.0 if layout.pipeline == 1 else m * 2 * layout.interleave * hop.seconds(size / t)
    parts["pipeline"] = max(0.0, hops - busy) if "pipeline" in layout.overlap else hops
    idle = bubble_fraction(layout.pipeline, m, layout.interleave)
    parts["bubble"] = (busy + parts["pipeline"]) * idle / (1 - idle)
    gathers, scatters = data_seconds(work, layout, near, network)
    hidden = calibration.hidden if "data" in layout.overlap else 0.0
    meanwhile = busy if layout.zero >= 3 else busy / m
    parts["data"] = gathers - hidden * min(gathers, meanwhile / passes)
    parts["data"] += scatters - hidden * min(scatters, meanwhile * (1 - 1 / passes))
    parts["optimizer"] = optimizer_seconds(work, layout, gpu)
    return parts


def data_seconds(work: Workload, layout: Layout, near: Link, network: Link) -> tuple[float, float]:
    """Seconds in which replicas send weights forward, and weights and gradients backward.

    Stage 3 of ZeRO gathers each layer forward, gathers it again backward and reduce-scatters its
    gradients, for each micro-batch; the other stages exchange all of them once. Groups that shard
    on their own add up what they have (HSDP).
    """
    own, stride = work.parameters / (layout.tensor * layout.pipeline), layout.tensor
    copies, shards = layout.copies, layout.shards if layout.zero else layout.copies
    together = layout.in_machine(shards, stride)
    layers = layout.stage_layers(work)[0] if layout.zero >= 2 else 1  # each on its own

    def lap(itemsize: int) -> float:
        return ring_seconds(shards, own * itemsize, together, near, network, 1, layers)

    gather, scatter = lap(work.weight_bytes), lap(work.gradient_bytes)
    size = own / shards * work.gradient_bytes
    outside = layout.in_machine(copies // shards, stride * shards)
    between = ring_seconds(copies // shards, size, outside, near, network)
    if layout.zero >= 3:
        m = layout.micro_batches(work)
        return m * gather, m * (gather + scatter) + between
    return (gather, scatter + between) if layout.zero else (0.0, 2 * scatter)


def optimizer_seconds(work: Workload, layout: Layout, gpu: Processor) -> float:
    """Seconds to read gradients and to read and write state and weights once."""
    own = work.parameters / (layout.tensor * layout.pipeline)
    each = work.gradient_bytes + 2 * (work.state_bytes + work.weight_bytes)
    return own / (layout.shards if layout.zero else 1) * each / gpu.bandwidth
