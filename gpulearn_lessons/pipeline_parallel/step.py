"""One training step of a pipeline: the gradients of one process, from stages on several ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.communicator import rank
from gpulearn.require import shown
from gpulearn.train.activation_memory import SavedMeter
from gpulearn.train.recompute import in_stages
from gpulearn_lessons.pipeline_parallel.actions import Action, Schedule
from gpulearn_lessons.pipeline_parallel.execution import carry_out

Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class PipelineStep:
    """What one step of a pipeline was on this rank.

    `loss` is the mean over the batch, on the rank of the last stage, None on the others; `held` and
    `held_bytes` are the forward passes whose activations were held, and what autograd stored for
    them, at most at any time.
    """

    loss: float | None
    held: int
    held_bytes: int


def split_stages(layers: nn.Sequential, stages: int) -> list[nn.Module]:
    """Cut a chain of layers into stages of consecutive ones, as even in number as can be.

    The stages share the layers with the model, such as a `gl.nn.Decoder`.

    >>> [len(stage) for stage in split_stages(nn.Sequential(*map(nn.Identity, range(5))), 3)]
    [2, 2, 1]
    """
    return list(in_stages(layers, stages))


def run_schedule(
    schedule: Schedule,
    stages: Sequence[nn.Module],
    micro_batches: Sequence[tuple[Tensor, Tensor]],
    loss: Loss,
) -> PipelineStep:
    """Forward and backward of one batch through a pipeline: gradients as of one process.

    Every rank of the pipeline calls, with the same schedule. The gradients of this rank's stages
    are added to `.grad`, as `backward` does; they are those of the mean loss of the whole batch.
    Each micro-batch counts by its rows, so that the last one may be shorter. What a layer does
    with a batch as a whole (batch norm) or by chance (dropout) it does to each micro-batch.

    Args:
        schedule: what each rank does, such as `pipeline_parallel.schedule("1F1B", 4, 8)`.
        stages: all of them; each takes one tensor and gives one, whose first axis are the rows.
        micro_batches: pairs of inputs and targets, (n, …) each; the first stage reads the inputs,
            the last the targets, and the others look only at the number of rows.
        loss: of the last stage's output and the targets; a mean over rows.

    Returns:
        The loss, and how much was held.

    >>> import gpulearn as gl
    >>> from gpulearn_lessons import pipeline_parallel
    >>> def step():
    ...     torch.manual_seed(0)
    ...     stages = [nn.Linear(3, 4), nn.Linear(4, 1)]
    ...     rows = [(x, x.sum(1, keepdim=True)) for x in torch.ones(5, 3).split(2)]
    ...     plan = pipeline_parallel.schedule("1F1B", ranks=2, micro_batches=3)
    ...     ran = run_schedule(plan, stages, rows, nn.functional.mse_loss)
    ...     return ran.held, ran.loss is None
    >>> gl.launch(step, 2, backend="simulated")
    [(2, True), (1, False)]
    """
    work = _Training(schedule, _own(schedule, stages), _parts(schedule, micro_batches), loss)
    carry_out(schedule, work)
    return PipelineStep(work.total, work.held, work.held_bytes)


def _own(schedule: Schedule, stages: Sequence[nn.Module]) -> dict[int, nn.Module]:
    """The modules of this rank's stages."""
    if len(stages) != schedule.stages:
        raise BadInput(
            f"stages has {len(stages)} entries, and the schedule {schedule.name!r} is for "
            f"{schedule.stages}."
        )
    own = {stage: module for stage, module in enumerate(stages) if schedule.place[stage] == rank()}
    for stage, module in own.items():
        if not isinstance(module, nn.Module):
            raise BadInput(f"stage {stage} is {shown(module)}: give an nn.Module.")
    return own


def _parts(
    schedule: Schedule, micro_batches: Sequence[tuple[Tensor, Tensor]]
) -> list[tuple[Tensor, Tensor]]:
    """The micro-batches, none of which is empty."""
    pairs = list(require.several("micro_batches", micro_batches, "[(inputs, targets), …]"))
    if len(pairs) != schedule.micro_batches:
        raise BadInput(
            f"there are {len(pairs)} micro-batches, and the schedule {schedule.name!r} is for "
            f"{schedule.micro_batches}."
        )
    for number, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise BadInput(f"micro-batch {number} is {shown(pair)}: give (inputs, targets).")
        if not len(pair[0]):
            raise BadInput(f"micro-batch {number} has no rows: cut the batch into fewer.")
    return pairs


class _Pass:
    """A forward pass that waits for its backward pass."""

    def __init__(self, module: nn.Module, given: Tensor) -> None:
        self._given = given
        self.kept = SavedMeter(module)
        with self.kept.watch():
            self.output: Tensor = module(given)
        self._result = self.output  # what the backward pass starts from

    def weigh(self, loss: Loss, targets: Tensor, share: float) -> float:
        """Go on to the loss; returns its part of the mean."""
        with self.kept.watch():
            self._result = loss(self.output, targets) * share
        return float(self._result.detach())

    def backward(self, gradient: Tensor | None) -> Tensor | None:
        """The gradient of what came in."""
        if self._result.requires_grad:
            torch.autograd.backward(self._result, gradient)
        if self._given.grad is None and self._given.requires_grad:
            return torch.zeros_like(self._given)  # nothing depends on it
        return self._given.grad


class _Training:
    """Passes through the modules of one rank."""

    tells_shapes = True

    def __init__(
        self,
        schedule: Schedule,
        modules: dict[int, nn.Module],
        micro_batches: list[tuple[Tensor, Tensor]],
        loss: Loss,
    ) -> None:
        self._modules = modules
        self._micro_batches = micro_batches
        self._loss = loss
        self._last = schedule.stages - 1
        self._rows = sum(len(inputs) for inputs, _ in micro_batches)
        self._passes: dict[tuple[int, int], _Pass] = {}
        self.total = 0.0 if self._last in modules else None
        self.held = self.held_bytes = 0

    def landing(self, action: Action) -> Tensor:
        return torch.empty_like(self._passes[action.stage, action.micro].output)

    def do(self, action: Action, given: Tensor | None) -> Tensor | None:
        if action.kind == "F":
            return self._forward(action, given)
        return self._passes.pop((action.stage, action.micro)).backward(given)

    def _forward(self, action: Action, given: Tensor | None) -> Tensor:
        module, (inputs, targets) = self._modules[action.stage], self._micro_batches[action.micro]
        # what comes from another stage begins a graph of its own here
        entered = inputs if given is None else given.detach().requires_grad_()
        passed = self._passes[action.stage, action.micro] = _Pass(module, entered)
        if self.total is not None and action.stage == self._last:
            self.total += passed.weigh(self._loss, targets, len(inputs) / self._rows)
        self.held = max(self.held, len(self._passes))
        stored = sum(passed.kept.bytes() for passed in self._passes.values())
        self.held_bytes = max(self.held_bytes, stored)
        return passed.output.detach()
