"""The plan of a run: how long a step of training takes, what limits it, what the run costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.nn.transformer_costs import DecoderShape
from gpulearn.parallel.links import Link, as_link
from gpulearn.perf.gpus import BYTES
from gpulearn_lessons.plan_a_run.plan.accelerators import PRECISIONS, Processor, accelerator
from gpulearn_lessons.plan_a_run.plan.by_hand import model_flops, run_cost
from gpulearn_lessons.plan_a_run.plan.layout import Layout, Workload
from gpulearn_lessons.plan_a_run.plan.memory import memory_per_gpu
from gpulearn_lessons.plan_a_run.plan.step import CALIBRATED, Calibration, step_parts

LIMITS = {
    "products": "matrix products",
    "memory": "moving activations through memory",
    "tensor": "tensor and context parallelism",
    "pipeline": "transfers between stages",
    "data": "communication among replicas",
    "bubble": "the pipeline bubble",
    "optimizer": "the optimizer",
}


@dataclass(frozen=True)
class ClusterPlan:
    """A run as the model foresees it; all of its times are modeled."""

    work: Workload  # the model and its batch
    layout: Layout  # how it lies on the GPUs
    gpu: Processor  # on what it runs
    # seconds of a step, by what they are spent on; they add up to `step_seconds`
    parts: Mapping[str, float]
    memory_per_gpu: Mapping[str, float]  # bytes by parts, at the fullest moment

    @property
    def step_seconds(self) -> float:
        """Of one step, of the whole batch."""
        return sum(self.parts.values())

    @property
    def tokens_per_second(self) -> float:
        """Of all GPUs together, while steps are made."""
        return self.work.tokens / self.step_seconds

    @property
    def model_flops_utilization(self) -> float:
        """Operations that the model needs, attention included, of what the GPUs could do.

        (6·P + 12·l·h·s) for each token; recomputed ones are not in it.
        """
        return self._flops[0] / (self.gpu.peak * self.layout.gpus * self.step_seconds)

    @property
    def hardware_flops_utilization(self) -> float:
        """Operations that run, recomputed ones included, of what the GPUs could do."""
        return sum(self._flops) / (self.gpu.peak * self.layout.gpus * self.step_seconds)

    @property
    def _flops(self) -> tuple[float, float]:
        """Operations of a step that the model needs, and those that recomputation adds."""
        work, shape = self.work, self.work.shape
        sizes = shape.layers, shape.width, shape.context
        model, _ = model_flops(work.parameters, *sizes, work.tokens)
        return model, work.recomputed_flops * shape.layers * work.tokens

    @property
    def limit(self) -> str:
        """What limits it, in one sentence: the largest loss of time beside the products."""
        lost = {name: part for name, part in self.parts.items() if name != "products"}
        worst = max(lost, key=lost.__getitem__)
        share, products = lost[worst] / self.step_seconds, self.parts["products"]
        if lost[worst] > products:
            return f"It is limited by {LIMITS[worst]}, {share:.0%} of its time."
        return (
            f"It is limited by {LIMITS['products']}, {products / self.step_seconds:.0%} of its "
            f"time, and then by {LIMITS[worst]}, {share:.0%}."
        )

    def days(self, tokens: float, availability: float = 1.0) -> float:
        """Days until so many tokens are trained on.

        Availability is the fraction of the time spent on steps whose result is kept.
        """
        return self._run(tokens, 0.0, 0.0, availability)[0]

    def cost(self, tokens: float, price: float | None = None, availability: float = 1.0) -> float:
        """Dollars for renting the GPUs all of this time.

        The price is for one GPU and one hour; the lowest of the table if None.
        """
        if price is None:
            if self.gpu.price is None:
                raise BadInput(f"No price of the {self.gpu.name} is known: give price=….")
            price = self.gpu.price.low
        return self._run(tokens, price, 0.0, availability)[1]

    def energy(self, tokens: float, availability: float = 1.0) -> float:
        """Kilowatt-hours of the GPUs at their design power, without hosts, network and cooling."""
        return self._run(tokens, 0.0, self.gpu.power, availability)[2]

    def _run(
        self, tokens: float, price: float, power: float, availability: float
    ) -> tuple[float, float, float]:
        require.above_zero("availability", availability)
        if availability > 1:
            raise BadInput(f"availability is {availability}: give a part, at most 1.")
        speed, gpus = self.tokens_per_second, self.layout.gpus
        return run_cost(tokens, speed, gpus, price, power, availability=availability)

    def __repr__(self) -> str:
        layout = self.layout
        chunks = f" ({layout.interleave} virtual stages each)" if layout.interleave > 1 else ""
        split = f" × {layout.context} context" if layout.context > 1 else ""
        where = f"{layout.tensor} tensor{split} × {layout.pipeline} pipeline{chunks}"
        return (
            f"{layout.gpus:,} × {self.gpu.name} as {where} × {layout.data} data: "
            f"{self.step_seconds:.3g} s a step, "
            f"{self.tokens_per_second:,.0f} tokens/s, {self.model_flops_utilization:.1%} MFU, "
            f"{sum(self.memory_per_gpu.values()) / 1e9:.0f} GB on a GPU (modeled)"
        )


def plan_run(
    *,
    parameters: float,
    layers: int,
    hidden: int,
    heads: int,
    vocabulary: int,
    sequence: int,
    batch: int,
    gpus: int,
    kv_heads: int | None = None,
    ffn: int | None = None,
    gated: bool = False,
    tensor: int = 1,
    context: int = 1,
    pipeline: int = 1,
    data: int = 1,
    gpu: str = "A100 80GB",
    interconnect: Link | str = "200 Gbit",
    micro_batch: int = 1,
    interleave: int = 1,
    zero: int = 1,
    shards: int | None = None,
    recompute: str | float = "none",
    precision: str = "bfloat16",
    gradient_bytes: int = 4,
    sequence_parallel: bool = False,
    fused: str = "none",
    parallel_blocks: bool = False,
    overlap: Sequence[str] = ("data", "pipeline"),
    calibration: Calibration | None = None,
) -> ClusterPlan:
    """Plan the training of a dense decoder on many GPUs: time of a step, memory, what limits it.

    Matrix products take the sum of their arithmetic and their memory traffic, at the rates that
    `accelerators` cites; activations are passed over at the memory's bandwidth; collectives go by
    α and β, the bubble by `bubble_fraction`, memory by `zero_memory`. Two numbers are fitted to
    published runs: `Calibration`. A mixture of experts also sends each token to its experts, which
    is not modeled.

    The model has `parameters` and `layers`, `hidden` numbers for each token, `heads` of attention
    (`kv_heads` for keys and values), an MLP of width `ffn` (4 · hidden if None; `gated`: SwiGLU)
    and a `vocabulary`; a step takes a `batch` of sequences of `sequence` tokens on all `gpus`.

    `tensor` GPUs share each layer, `context` share each sequence, `pipeline` are stages with
    `interleave` virtual stages on each GPU, and `data` replicas, through which a `micro_batch` of
    sequences goes at a time; ZeRO's stage `zero` is 0 to 3, among `shards` GPUs (all with the same
    parameters if None). `gpu` is one of `gpulearn.perf.gpus.GPUS`, and `interconnect` the network
    link of each to other machines, or its name. `recompute` is "none", "selective" (attention),
    "full", or a fraction of the layers; `precision` that of the products, of which "float8" has
    only those of layers in 8 bits; `gradient_bytes` those of a gradient. Tensor-parallel GPUs may
    share the norms too (`sequence_parallel`); `fused` kernels compute "none", "attention", or
    "all": the loss, norms and activation functions too. With `parallel_blocks`, attention and MLP
    stand side by side, with one all-reduce for both. `overlap` names whose messages overlap with
    computation: "data", "pipeline", "tensor". The default is what FSDP and Megatron-Core do today;
    the runs of 2021 overlapped nothing.

    >>> plan_run(parameters=174.6e9, layers=96, hidden=12288, heads=96, vocabulary=51200,
    ...          sequence=2048, batch=1536, gpus=384, tensor=8, pipeline=12, data=4,
    ...          recompute="full")
    384 × A100 80GB as 8 tensor × 12 pipeline × 4 data: ...
    """
    require.choice("precision", precision, PRECISIONS)
    itemsize = BYTES.get(precision, 2)
    work = Workload(
        parameters=parameters,
        shape=DecoderShape(vocabulary, sequence, hidden, heads, layers),
        kv_heads=heads if kv_heads is None else kv_heads,
        ffn=4 * hidden if ffn is None else ffn,
        gated=gated,
        batch=batch,
        micro_batch=micro_batch,
        recompute=recompute,
        fused=fused,
        parallel_blocks=parallel_blocks,
        weight_bytes=itemsize,
        gradient_bytes=2 if precision == "float16" else gradient_bytes,
        state_bytes=12 if itemsize == 2 else 8,
    )
    layout = Layout(
        gpus, tensor, context, pipeline, data, interleave, zero,
        data * context if shards is None else shards, sequence_parallel, tuple(overlap),
    )  # fmt: skip
    layout.check(work)
    chosen, network = accelerator(gpu, precision), as_link(interconnect)
    memory = memory_per_gpu(work, layout)
    needed = sum(memory.values())
    if needed > chosen.memory:
        most = max(memory, key=memory.__getitem__)
        raise BadInput(
            f"Each GPU would need {needed / 1e9:,.0f} GB, and the {gpu} has "
            f"{chosen.memory / 1e9:.0f} GB: {memory[most] / 1e9:,.0f} GB are {most}. Split a "
            f"replica over more GPUs, or recompute."
        )
    calibration = calibration or CALIBRATED[chosen.generation]
    return ClusterPlan(
        work, layout, chosen, step_parts(work, layout, chosen, network, calibration), memory
    )
