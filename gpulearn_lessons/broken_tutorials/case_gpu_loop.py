"""A training loop that has never met a second device, to be mended."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.virtual_gpu import VirtualGpu, zigzag
from gpulearn.require import counted, shorten
from gpulearn_lessons.broken_tutorials import trial
from gpulearn_lessons.broken_tutorials.mended_loops import case_gpu_loop
from gpulearn_lessons.training.trial import Outcome, apart

# A device of torch on which tensors have a place, a shape and a dtype, and no numbers.
DRY = "meta"
# what brings numbers from a device to the host, and so waits for the device
FETCHES = ("item", "tolist", "__float__", "numpy", "cpu", "__format__", "__repr__")
EVERYWHERE = "all on the device"
EACH = "the loss of each batch"
OWN = "0.1 times the gradient of its batch"


class DeviceReads(TorchFunctionMode):
    """Waits for a virtual GPU where numbers are fetched; those of the dry device are zeros."""

    def __init__(self, gpu: VirtualGpu | None = None) -> None:
        super().__init__()
        self.gpu = gpu

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        fetched = getattr(function, "__name__", "") in FETCHES and isinstance(args[0], torch.Tensor)
        # a loader fetches its whole numbers on the CPU
        fetched = fetched and args[0].is_floating_point()
        if fetched and self.gpu is not None:
            self.gpu.synchronize()
        if fetched and args[0].device.type == DRY:
            args = (torch.zeros(args[0].shape, dtype=args[0].dtype), *args[1:])
        return function(*args, **(kwargs or {}))


def cases() -> list[Case]:
    """Batches that come out even and that do not; a device that is busy at the start."""
    plans = ((64, 2, 0.0), (70, 2, 0.4), (40, 1, 0.4))
    return [
        Case(f"{n} images, {counted(epochs, 'epoch')}", (n, epochs, busy))
        for n, epochs, busy in plans
    ]


def run(answer: Answer, case: Case) -> Outcome:
    """Train without numbers on another device, then with numbers and a clock on the CPU."""
    n, epochs, busy = case.args
    images, labels = trial.pictures(n, n)
    model, twin = trial.classifier(n), trial.classifier(n)
    facts: dict[str, Any] = {"what it computes": dry(answer, model, images, labels, epochs)}
    gpu = VirtualGpu(10e-3, zigzag, pending=busy)
    begin: list[float] = []

    def forward(module: Any, inputs: Any) -> None:
        if not begin:
            begin.append(max(gpu.now, gpu.busy_until))
        gpu.run()

    model.register_forward_pre_hook(forward)
    with trial.watching(model, images) as log, DeviceReads(gpu):
        returned = answer(model, images, labels, "cpu", gpu.clock, gpu.synchronize, epochs)
    two = isinstance(returned, tuple | list) and len(returned) == 2
    losses, seconds = returned if two else ("nothing of the kind", None)
    weights, right = trial.replayed(twin, labels, log, [0.1] * len(log.steps))
    losses, right_losses = trial.numbers(losses), np.array(right)
    if not isinstance(losses, str):
        equal = losses.shape == right_losses.shape and np.allclose(losses, right_losses, rtol=1e-5)
        losses = EACH if equal else f"{len(losses)} other numbers"
    took = gpu.busy_until - begin[0] if begin else 0.0
    share = float(seconds) / took if isinstance(seconds, int | float) and took else 0.0
    close = abs(share - 1) < 0.02
    facts |= {
        "the size of a batch": f"up to {max(map(len, log.batches), default=0)}",
        "what it learns from": log.by_epoch(epochs),
        "the update of each step": log.goes_by(weights, OWN),
        "what the list of losses holds": losses,
        "the time that it reports": "that of the work" if close else amount(share, busy / took),
    }
    return Outcome(facts)


def amount(share: float, waiting: float) -> str:
    """What a time is that is not that of the work."""
    if share < 0.5:
        return "that of the launches, without the work"
    if abs(share - 1 - waiting) < 0.02:
        return "that of the work and of what the device had to do before"
    return "not that of the work"


def loaded(answer: Answer) -> Answer:
    """The answer; torch loads more where it first computes without numbers, which takes seconds."""
    linear = torch.nn.Linear(1, 2, device=DRY)
    functional.cross_entropy(
        linear(torch.zeros(1, 1, device=DRY)), torch.zeros(1, dtype=torch.long, device=DRY)
    ).backward()
    torch.optim.SGD(linear.parameters()).step()
    return answer


def dry(answer: Answer, model: Any, images: Any, labels: Any, epochs: int) -> str:
    """Where everything is, seen on a device that has no numbers."""
    model, places = copy.deepcopy(model), []
    model.register_forward_pre_hook(lambda module, inputs: places.append(inputs[0].device.type))
    try:
        with apart(0), DeviceReads():
            answer(model, images, labels, DRY, lambda: 0.0, lambda: None, epochs)
    except RuntimeError as error:  # without numbers often its kind, a NotImplementedError
        return f"nothing: it raises {shorten(str(error).partition(chr(10))[0], 90)}"
    return EVERYWHERE if {*places} == {DRY} else f"on the {', '.join({*places})}"


def expected(case: Case) -> Outcome:
    """Everything on the device, each image once in each epoch, the time of the work."""
    n, _, _ = case.args
    return Outcome(
        {
            "what it computes": EVERYWHERE,
            "the size of a batch": f"up to {min(32, n)}",
            "what it learns from": trial.ORDER,
            "the update of each step": OWN,
            "what the list of losses holds": EACH,
            "the time that it reports": "that of the work",
        }
    )


def differs(got: Outcome, want: Outcome) -> str | None:
    for phrase, right in want.facts.items():
        if (value := got.facts[phrase]) != right:
            end = f", expected {right}" if phrase != "what it computes" else ""
            where = " on a device that is not the CPU" if not end else ""
            return f"{phrase}{where} is {value}{end}"
    return None


EXERCISE = Exercise(
    task="Mend the loop: one device for model, images and labels, shuffled batches, a true time.",
    reference=case_gpu_loop,
    cases=cases,
    run=run,
    ready=loaded,
    expect=expected,
    difference=differs,
    kinships=(trial.same_way,),
    by_hand=False,
)
