"""What is trained and how it is laid out over GPUs, with what makes a layout impossible."""

from dataclasses import dataclass
from functools import cached_property

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.nn.transformer_costs import DecoderShape
from gpulearn.require import shown

RECOMPUTE = ("none", "selective", "full")  # from the least to the most that is done again


@dataclass(frozen=True)
class Workload:
    """A model and the batch of one step."""

    parameters: float  # of the model, P
    shape: DecoderShape  # its sizes; `context` is the length of a row
    batch: int  # rows of one step
    micro_batch: int  # rows that go through a replica at a time
    # the part of the forward pass that is carried out again, from 0 to 1, or "none", "selective"
    # (attention alone) or "full"
    recompute: str | float
    fused_attention: bool  # the scores of attention are never written to memory
    parallel_blocks: bool  # attention and MLP side by side, with one all-reduce for both (PaLM)
    weight_bytes: int  # of each weight on its way and in a product
    gradient_bytes: int  # of each gradient, kept and on its way
    state_bytes: int  # of the optimizer, for each parameter

    def __post_init__(self) -> None:
        require.above_zero("parameters", self.parameters)
        require.whole("batch", self.batch)
        require.whole("micro_batch", self.micro_batch)
        part = self.recompute
        if isinstance(part, str):
            require.choice("way to recompute", part, RECOMPUTE)
        elif isinstance(part, bool) or not 0 <= part <= 1:
            raise BadInput(
                f"recompute is {shown(part)}: give 'none', 'selective', 'full', or a part of the "
                f"forward pass from 0 to 1."
            )
        if self.parameters <= self.table:
            raise BadInput(
                f"parameters is {self.parameters:,.0f}, and the table of {self.shape.vocabulary:,} "
                f"tokens already has {self.table:,}: give those of the whole model."
            )

    @property
    def table(self) -> int:
        """Parameters of the table of tokens, which gives the scores of the next token too."""
        return self.shape.vocabulary * self.shape.width

    @property
    def tokens(self) -> int:
        """Of one step."""
        return self.batch * self.shape.context

    @cached_property
    def attention_flops(self) -> int:
        """Of Q·Kᵀ and shares·V in one layer, forward, for each token: 4·s·h."""
        single, double = (self.shape.flops_per_token(k * self.shape.context) for k in (1, 2))
        return (double - single) // self.shape.layers

    @property
    def layer_flops(self) -> float:
        """Of one layer, forward, for each token: 2 for each of its parameters, and attention."""
        return 2 * (self.parameters - self.table) / self.shape.layers + self.attention_flops

    @property
    def recomputed_flops(self) -> float:
        """Of one layer, for each token, carried out a second time; never the scores' table."""
        if self.recompute == "full":
            return self.layer_flops
        if isinstance(self.recompute, str):
            again = self.recompute == "selective" or self.fused_attention
            return self.attention_flops if again else 0.0
        return self.recompute * self.layer_flops

    @property
    def recomputed(self) -> float:
        """The part of a layer's forward pass that is carried out again."""
        return self.recomputed_flops / self.layer_flops


@dataclass(frozen=True)
class Layout:
    """How the GPUs share the work."""

    gpus: int  # all of them
    tensor: int  # that share each layer
    pipeline: int  # stages
    data: int  # replicas
    interleave: int  # parts of the model on each stage, one after another round the stages
    zero: int  # ZeRO's stage, 0 to 3: what the replicas cut among them
    sequence_parallel: bool  # whether norms are shared by the tensor-parallel GPUs too

    def __post_init__(self) -> None:
        for name in ("gpus", "tensor", "pipeline", "data", "interleave"):
            require.whole(name, getattr(self, name))
        if type(self.zero) is not int or self.zero not in range(4):
            raise BadInput(f"zero is {shown(self.zero)}: give 0 (nothing is cut), 1, 2 or 3.")
        product = self.tensor * self.pipeline * self.data
        if product != self.gpus:
            raise BadInput(
                f"tensor × pipeline × data is {self.tensor} × {self.pipeline} × {self.data} = "
                f"{product:,}, and there are {self.gpus:,} GPUs: each GPU has one place."
            )
        if self.interleave > 1 and self.pipeline == 1:
            raise BadInput(f"interleave is {self.interleave}, and there is one stage: give 1.")

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
        parts = self.pipeline * self.interleave
        if work.shape.layers % parts:
            full = (work.shape.layers + 2) // self.pipeline
            return full, full - 1
        return (work.shape.layers // self.pipeline,) * 2

    def micro_batches(self, work: Workload) -> int:
        """Of one replica in one step."""
        return work.batch // (self.data * work.micro_batch)
