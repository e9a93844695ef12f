"""What is trained and how it is laid out over GPUs, with what makes a layout impossible."""

from dataclasses import dataclass

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.nn.transformer_costs import DecoderShape
from gpulearn.require import shown
from gpulearn_lessons.plan_a_run.plan.accelerators import MACHINE

RECOMPUTE = ("none", "selective", "full")  # from the least to the most that runs again
OVERLAP = ("data", "pipeline", "tensor")
FUSED = ("none", "attention", "all")


@dataclass(frozen=True)
class Workload:
    """A model and the batch of one step."""

    parameters: float  # of the model, P
    shape: DecoderShape  # its sizes; `context` is the length of a sequence
    kv_heads: int  # heads of keys and values, fewer than `heads` in grouped-query attention
    ffn: int  # width of the MLP
    gated: bool  # whether the MLP has two matrices in (SwiGLU) or one
    batch: int  # sequences of one step
    micro_batch: int  # sequences that go through a replica at a time
    # "none", "selective" (attention), "full", or a fraction of the layers
    recompute: str | float
    fused: str  # what fused kernels compute: "none", "attention", or "all", with loss and norms
    parallel_blocks: bool  # attention and MLP side by side, with one all-reduce for both
    weight_bytes: int  # of each weight in a product and on its way
    gradient_bytes: int  # of each gradient
    state_bytes: int  # of the optimizer, for each parameter

    def __post_init__(self) -> None:
        require.above_zero("parameters", self.parameters)
        for name in ("batch", "micro_batch", "kv_heads", "ffn", "gradient_bytes"):
            require.whole(name, getattr(self, name))
        part = self.recompute
        if isinstance(part, str):
            require.choice("way to recompute", part, RECOMPUTE)
        elif isinstance(part, bool) or not 0 <= part <= 1:
            raise BadInput(
                f"recompute is {shown(part)}: give 'none', 'selective', 'full', or a fraction of "
                f"the layers from 0 to 1."
            )
        require.choice("fused", self.fused, FUSED)
        if self.shape.heads % self.kv_heads:
            raise BadInput(f"kv_heads is {self.kv_heads}: give a divisor of {self.shape.heads}.")
        counted = self.shape.layers * sum(k * n for k, n in self.matrices) + self.table
        if not 0.8 < counted / self.parameters < 1.1:
            raise BadInput(
                f"parameters is {self.parameters:,.0f}, and the matrices of these sizes have "
                f"{counted:,}: give all parameters, and ffn, gated and kv_heads as the model has."
            )

    @property
    def table(self) -> int:
        """Parameters of the table that gives the scores of the next token."""
        return self.shape.vocabulary * self.shape.width

    @property
    def tokens(self) -> int:
        """Of one step."""
        return self.batch * self.shape.context

    @property
    def matrices(self) -> tuple[tuple[int, int], ...]:
        """Rows and columns of a layer's matrices: to Q, K and V; from attention; to the MLP; back.

        Tensor parallelism divides the columns of the first and third, the rows of the others.
        """
        h = self.shape.width
        keys = h // self.shape.heads * self.kv_heads
        return (h, h + 2 * keys), (h, h), (h, (1 + self.gated) * self.ffn), (self.ffn, h)

    @property
    def attention_flops(self) -> int:
        """Of Q·Kᵀ and attention weights · V in one layer, forward, for each token: 4·s·h."""
        return 4 * self.shape.context * self.shape.width

    @property
    def layer_flops(self) -> float:
        """Of one layer, forward, for each token."""
        return 2 * sum(k * n for k, n in self.matrices) + self.attention_flops

    @property
    def again(self) -> float:
        """The fraction of the layers that run forward a second time."""
        if isinstance(self.recompute, str):
            return float(self.recompute == "full")
        return self.recompute

    @property
    def recomputed_flops(self) -> float:
        """Of one layer, for each token, that run a second time: all of it, or attention alone."""
        selective = self.recompute == "selective" and self.fused == "none"
        return self.attention_flops if selective else self.again * self.layer_flops


@dataclass(frozen=True)
class Layout:
    """How the GPUs share the work."""

    gpus: int  # all of them
    tensor: int  # that share each layer
    context: int  # that share each sequence
    pipeline: int  # stages
    data: int  # replicas
    interleave: int  # virtual stages on each GPU
    zero: int  # ZeRO's stage, 0 to 3
    shards: int  # GPUs among which ZeRO shards; the groups of so many are replicas (HSDP)
    sequence_parallel: bool  # whether the tensor-parallel GPUs share the norms too
    overlap: tuple[str, ...]  # whose messages overlap with computation

    def __post_init__(self) -> None:
        for name in ("gpus", "tensor", "context", "pipeline", "data", "interleave", "shards"):
            require.whole(name, getattr(self, name))
        if type(self.zero) is not int or self.zero not in range(4):
            raise BadInput(f"zero is {shown(self.zero)}: give 0 (nothing is sharded), 1, 2 or 3.")
        for name in self.overlap:
            require.choice("overlap", name, OVERLAP)
        product = self.tensor * self.context * self.pipeline * self.data
        if product != self.gpus:
            raise BadInput(
                f"tensor × context × pipeline × data is {self.tensor} × {self.context} × "
                f"{self.pipeline} × {self.data} = {product:,}, and there are {self.gpus:,} GPUs."
            )
        if self.interleave > 1 and self.pipeline == 1:
            raise BadInput(f"interleave is {self.interleave}, and there is one stage: give 1.")
        if self.copies % self.shards:
            raise BadInput(
                f"shards is {self.shards}: give a divisor of data × context, {self.copies}."
            )

    @property
    def copies(self) -> int:
        """GPUs that have the same parameters: those of all replicas and parts of a sequence."""
        return self.data * self.context

    def in_machine(self, ranks: int, stride: int) -> int:
        """How many of a group of ranks, `stride` GPUs apart, are in one machine."""
        return max(1, min(ranks, MACHINE // stride))

    def check(self, work: Workload) -> None:
        """Whether this model and batch can be laid out like this."""
        shape = work.shape
        if shape.heads % self.tensor:
            raise BadInput(
                f"tensor is {self.tensor}, which does not divide {shape.heads} heads: each GPU "
                f"has whole heads."
            )
        parts = self.pipeline * self.interleave
        if shape.layers % parts and (shape.layers + 2) % parts:
            raise BadInput(
                f"pipeline × interleave is {self.pipeline} × {self.interleave}, which divides "
                f"neither {shape.layers} layers nor {shape.layers} + 2 (with the tables as a "
                f"layer each): stages have the same number."
            )
        if shape.context % self.context:
            raise BadInput(
                f"context is {self.context}, which does not divide {shape.context} tokens."
            )
        rows = self.data * work.micro_batch
        if work.batch % rows:
            raise BadInput(
                f"batch is {work.batch:,}, which {self.data:,} replicas with {work.micro_batch} "
                f"at a time do not divide: give a multiple of {rows:,}."
            )
        if self.zero >= 3 and self.pipeline > 1:
            raise BadInput(
                f"zero is 3 and pipeline {self.pipeline}: each micro-batch would gather the "
                f"weights again; give zero=2 or less with a pipeline."
            )

    def stage_layers(self, work: Workload) -> tuple[int, int]:
        """Layers of a full stage, and of the last one, which computes the scores besides."""
        if work.shape.layers % (self.pipeline * self.interleave):
            full = (work.shape.layers + 2) // self.pipeline
            return full, full - 1
        return (work.shape.layers // self.pipeline,) * 2

    def micro_batches(self, work: Workload) -> int:
        """Of one replica in one step."""
        return work.batch // (self.data * work.micro_batch)
