"""One training step of a pipeline: the gradients of one process, from stages on several ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.require import shown
from gpulearn.train.memory import SavedMeter
from gpulearn.train.recompute import in_stages
from gpulearn_lessons.model_parallel.pipeline_parallel.execution import carry_out, position
from gpulearn_lessons.model_parallel.pipeline_parallel.schedule import Action, Schedule


class SplitStage:
    """One forward pass through a stage to `output`, whose backward pass can be done in two halves.

    For y = x·Wᵀ + b with the gradient g of y, the gradient of the input is g·W, and only that is
    needed by the stage before. That of the weights is gᵀ·x, a product of the same size, which
    can wait (Qi et al., "Zero bubble pipeline parallelism", ICLR 2024, section 2). It waits for
    each `nn.Linear`; all other parameters, of norms and tables, get theirs in the first half.

    >>> layer, x = nn.Linear(2, 2), torch.ones(3, 2, requires_grad=True)
    >>> passed = SplitStage(layer, x)
    >>> passed.for_input(torch.ones(3, 2)).shape, layer.weight.grad
    (torch.Size([3, 2]), None)
    >>> passed.for_weights()
    >>> layer.weight.grad.tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """

    def __init__(self, module: nn.Module, given: Tensor) -> None:
        self._given = given
        self._seen: list[tuple[nn.Linear, Tensor, Tensor]] = []  # layer, what came in, came out
        self._late: list[tuple[nn.Linear, Tensor, Tensor]] = []  # layer, what came in, gradient
        linear = [part for part in module.modules() if isinstance(part, nn.Linear)]
        later = {id(p) for part in linear for p in part.parameters(recurse=False)}
        self._others = [p for p in module.parameters() if p.requires_grad and id(p) not in later]
        hooks = [part.register_forward_hook(self._note) for part in linear]
        try:
            self.output: Tensor = module(given)
        finally:
            for hook in hooks:
                hook.remove()

    def _note(self, layer: Any, given: tuple[Tensor, ...], output: Tensor) -> None:
        if output.requires_grad:
            self._seen.append((layer, given[0].detach(), output))

    def for_input(self, gradient: Tensor | None, result: Tensor | None = None) -> Tensor | None:
        """The first half: the gradient of the input; None if it needs none.

        `gradient` is that of the result, None for a loss; the result is the output, or what was
        computed from it.
        """
        result = self.output if result is None else result
        if not result.requires_grad:
            return None
        inputs = [self._given] if self._given.requires_grad else []
        graph_inputs = [*inputs, *self._others, *(output for _, _, output in self._seen)]
        # torch computes what leads to these, and leaves the product for a layer's weights out
        gradients = list(torch.autograd.grad(result, graph_inputs, gradient, allow_unused=True))
        own = gradients.pop(0) if inputs else None
        for parameter in self._others:
            _add(parameter, gradients.pop(0))
        for (layer, given, _), of_output in zip(self._seen, gradients, strict=True):
            if of_output is not None:
                self._late.append((layer, given, of_output))
        self._seen.clear()
        return own

    def for_weights(self) -> None:
        """The second half: the gradients of each linear layer's weights and bias."""
        for layer, given, gradient in self._late:
            flat = gradient.flatten(0, -2)
            if layer.weight.requires_grad:
                _add(layer.weight, flat.mT @ given.flatten(0, -2))
            if layer.bias is not None and layer.bias.requires_grad:
                _add(layer.bias, flat.sum(0))
        self._late.clear()


def _add(parameter: Tensor, gradient: Tensor | None) -> None:
    if gradient is not None:
        parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient


Loss = Callable[[Tensor, Tensor], Tensor]
Stages = Sequence[nn.Module] | Mapping[int, nn.Module]


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
    stages: Stages,
    micro_batches: Sequence[tuple[Tensor, Tensor]],
    loss: Loss,
    ranks: Sequence[int] | None = None,
) -> PipelineStep:
    """Forward and backward of one batch through a pipeline: gradients as of one process.

    Every rank of the pipeline calls, with the same schedule. The gradients of this rank's stages
    are added to `.grad`, as `backward` does; they are those of the mean loss of the whole batch.
    Each micro-batch counts by its rows, so that the last one may be shorter. What a layer does
    with a batch as a whole (batch norm) or by chance (dropout) it does to each micro-batch.

    Args:
        schedule: what each rank does, such as `model_parallel.schedule("1F1B", 4, 8)`.
        stages: all stages, or a dictionary from stage to module with at least those of this rank;
            each takes one tensor and gives one, whose first axis are the rows.
        micro_batches: pairs of inputs and targets, (n, …) each; the first stage reads the inputs,
            the last the targets, and the others look only at the number of rows.
        loss: of the last stage's output and the targets; a mean over rows.
        ranks: the ranks of the pipeline, first to last, where it is not all of them: pipelines
            side by side have other ranks each.

    Returns:
        The loss, and how much was held.

    >>> import gpulearn as gl
    >>> from gpulearn_lessons import model_parallel
    >>> def step():
    ...     torch.manual_seed(0)
    ...     stages = [nn.Linear(3, 4), nn.Linear(4, 1)]
    ...     rows = [(x, x.sum(1, keepdim=True)) for x in torch.ones(5, 3).split(2)]
    ...     plan = model_parallel.schedule("1F1B", ranks=2, micro_batches=3)
    ...     ran = run_schedule(plan, stages, rows, nn.functional.mse_loss)
    ...     return ran.held, ran.loss is None
    >>> gl.launch(step, 2, backend="simulated")
    [(2, True), (1, False)]
    """
    me, _ = position(schedule, ranks)
    work = _Training(schedule, _own(schedule, me, stages), _parts(schedule, micro_batches), loss)
    carry_out(schedule, work, ranks)
    return PipelineStep(work.total, work.held, work.held_bytes)


def _own(schedule: Schedule, me: int, stages: Stages) -> dict[int, nn.Module]:
    """The modules of this rank's stages."""
    modules = stages if isinstance(stages, Mapping) else dict(enumerate(stages))
    if not isinstance(stages, Mapping) and len(modules) != schedule.stages:
        raise BadInput(
            f"stages has {len(modules)} entries, and the schedule {schedule.name!r} is for "
            f"{schedule.stages}."
        )
    own = schedule.stages_of(me)
    if missing := [stage for stage in own if stage not in modules]:
        raise BadInput(f"stages lacks stage {missing[0]}, which this rank has by the schedule.")
    for stage in own:
        if not isinstance(modules[stage], nn.Module):
            raise BadInput(f"stage {stage} is {shown(modules[stage])}: give an nn.Module.")
    return {stage: modules[stage] for stage in own}


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

    def __init__(self, module: nn.Module, given: Tensor, split: bool) -> None:
        self._given = given
        self.kept = SavedMeter(module)
        with self.kept.watch():
            self._split = SplitStage(module, given) if split else None
            self.output: Tensor = self._split.output if self._split else module(given)
        self._result = self.output  # what the backward pass starts from

    def weigh(self, loss: Loss, targets: Tensor, share: float) -> float:
        """Go on to the loss; returns its part of the mean."""
        with self.kept.watch():
            self._result = loss(self.output, targets) * share
        return float(self._result.detach())

    def backward(self, gradient: Tensor | None) -> Tensor | None:
        """Both halves, or the first one where it is split: the gradient of what came in."""
        if self._split:
            own = self._split.for_input(gradient, self._result)
        else:
            if self._result.requires_grad:
                torch.autograd.backward(self._result, gradient)
            own = self._given.grad
        if own is None and self._given.requires_grad:
            return torch.zeros_like(self._given)  # nothing depends on it
        return own

    def for_weights(self) -> None:
        """The second half."""
        assert self._split
        self._split.for_weights()


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
        self._splits = any(a.kind == "W" for actions in schedule.ranks for a in actions)
        self._passes: dict[tuple[int, int], _Pass] = {}
        self.total = 0.0 if self._last in modules else None
        self.held = self.held_bytes = 0

    def landing(self, action: Action) -> Tensor:
        return torch.empty_like(self._passes[action.stage, action.micro].output)

    def do(self, action: Action, given: Tensor | None) -> Tensor | None:
        place = action.stage, action.micro
        if action.kind == "F":
            return self._forward(action, given)
        if action.kind == "I":
            return self._passes[place].backward(given)
        passed = self._passes.pop(place)
        if action.kind == "B":
            return passed.backward(given)
        passed.for_weights()
        return None

    def _forward(self, action: Action, given: Tensor | None) -> Tensor:
        module, (inputs, targets) = self._modules[action.stage], self._micro_batches[action.micro]
        # what comes from another stage begins a graph of its own here
        entered = inputs if given is None else given.detach().requires_grad_()
        passed = self._passes[action.stage, action.micro] = _Pass(module, entered, self._splits)
        if self.total is not None and action.stage == self._last:
            self.total += passed.weigh(self._loss, targets, len(inputs) / self._rows)
        self.held = max(self.held, len(self._passes))
        stored = sum(passed.kept.bytes() for passed in self._passes.values())
        self.held_bytes = max(self.held_bytes, stored)
        return passed.output.detach()
