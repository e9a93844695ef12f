"""The four sums of a plan: operations, memory, the best layout, and what a run costs."""

from collections.abc import Callable

from gpulearn import require
from gpulearn_lessons.sharded_training.memory import zero_memory


@require.sizes("layers", "hidden", "sequence")
@require.positive("parameters", "tokens")
def model_flops(
    parameters: float,
    layers: int,
    hidden: int,
    sequence: int,
    tokens: float,
    *,
    recompute: bool = False,
) -> tuple[float, float]:
    """Operations of training a Transformer: those of the model, and those that are carried out.

    Forward a token takes 2 for each parameter, and 4·s·h in each layer for attention (Q·Kᵀ and
    shares·V); backward takes twice as many (Chowdhery et al., "PaLM: scaling language modeling
    with pathways", arXiv 2204.02311, 2022, appendix B: 6·P + 12·l·h·s for each token). Full
    recomputation carries the forward pass out once more (Narayanan et al., arXiv 2104.04473,
    2021), which no model needs.

    P are the parameters, l the layers, h the numbers for each token, s the tokens of a sequence;
    `tokens` are those of the whole training. Returned are operations of the model, and of the
    hardware, which may run the forward pass once more for the backward pass.

    >>> model, hardware = model_flops(174.6e9, 96, 12288, 2048, 300e9, recompute=True)
    >>> f"{model:.3g} {hardware:.3g}"
    '3.23e+23 4.31e+23'
    """
    forward = 2 * parameters + 4 * layers * hidden * sequence
    model = 3 * forward * tokens
    hardware = 4 * forward * tokens if recompute else model
    return model, hardware


@require.sizes("parameters", "tensor", "pipeline", "data", "micro_batches")
@require.positive("memory", or_zero=("activations",))
def fits_in_memory(
    parameters: int,
    activations: float,
    micro_batches: int,
    *,
    tensor: int,
    pipeline: int,
    data: int,
    stage: int,
    memory: float,
) -> bool:
    """Whether a GPU of the first pipeline stage holds its part of a training with 1F1B.

    A GPU has ⌈P / (tensor · pipeline)⌉ parameters, each with 2 bytes of weight, 4 of gradient
    and 12 of optimizer state, of which ZeRO's stage cuts some among the `data` replicas. In 1F1B
    the first of p stages starts p micro-batches before the first comes back, if there are as
    many (Narayanan et al., arXiv 2104.04473, 2021, section 2.2).

    P are the parameters of the whole model, activations the bytes that one GPU keeps of one micro-
    batch, micro-batches those of one step on each replica, memory the bytes of one GPU.

    >>> fits_in_memory(7_000_000_000, 1e9, 4, tensor=1, pipeline=1, data=1, stage=0, memory=80e9)
    False
    """
    own = -(-parameters // (tensor * pipeline))
    kept = zero_memory([own], data, stage, weights=2, gradients=4, state=12)
    return sum(kept) + min(pipeline, micro_batches) * activations <= memory


@require.sizes("gpus", "layers", "heads", "machine")
def best_layout(
    gpus: int,
    layers: int,
    heads: int,
    seconds: Callable[[int, int, int], float | None],
    machine: int = 8,
) -> tuple[int, int, int] | None:
    """The layout with the shortest step, among those that are allowed.

    The product is the number of GPUs; the tensor-parallel GPUs are in one machine and divide the
    heads; the stages divide the layers.

    Seconds of a step come from (tensor, pipeline, data), None where it does not fit. Returned is
    (tensor, pipeline, data), None where nothing fits. Of equal times it is the first, with the
    fewest tensor-parallel GPUs, then the fewest stages.

    >>> best_layout(16, 4, 8, lambda tensor, pipeline, data: 1 / tensor + pipeline)
    (8, 1, 2)
    """
    best, least = None, None
    for tensor in range(1, min(machine, gpus) + 1):
        for pipeline in range(1, layers + 1):
            if heads % tensor or layers % pipeline or gpus % (tensor * pipeline):
                continue
            layout = (tensor, pipeline, gpus // (tensor * pipeline))
            time = seconds(*layout)
            if time is not None and (least is None or time < least):
                best, least = layout, time
    return best


@require.sizes("gpus")
@require.positive("tokens", "tokens_per_second", "availability", or_zero=("price", "power"))
def run_cost(
    tokens: float,
    tokens_per_second: float,
    gpus: int,
    price: float,
    power: float,
    *,
    availability: float = 1.0,
) -> tuple[float, float, float]:
    """Days, dollars and kilowatt-hours of a run.

    Tokens are those of the whole training, `tokens_per_second` those of all GPUs together. The
    price is in dollars for one GPU and one hour, the power in watts of one GPU; availability is the
    fraction of the time spent on steps whose result is kept.

    >>> run_cost(86.4e9, 1e6, gpus=10, price=2, power=500)
    (1.0, 480.0, 120.0)
    """
    seconds = tokens / (tokens_per_second * availability)
    hours = seconds / 3600
    return hours / 24, gpus * hours * price, gpus * hours * power / 1000
