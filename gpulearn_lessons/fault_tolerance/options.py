"""What a data-parallel training run is asked to do, and how a command line says it."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.require import shown
from gpulearn.train.settings import checked_seed

MODELS = ("LeNet", "MLP")
WRAPPERS = ("naive", "bucketed", "overlapping", "library")
# option -> what reads its text (None: a switch), and what --help says of it
OPTIONS: dict[str, tuple[Callable[[str], object] | None, str]] = {
    "model": (str, "LeNet or MLP"),
    "wrapper": (str, "naive, bucketed, overlapping, or library: DistributedDataParallel"),
    "epochs": (int, "passes over the digits"),
    "batch": (int, "images in a step, of all ranks together"),
    "lr": (float, "learning rate"),
    "momentum": (float, "of gradient descent, from 0 to below 1"),
    "lr_batch": (int, "the batch that --lr is meant for: the rate grows by batch / lr-batch, "
                   "the linear scaling rule; without it the rate is used as it is"),
    "warm_up": (int, "steps over which the rate grows to what the scaling rule gives"),
    "seed": (int, "of the weights and of the order of the digits"),
    "timeout": (float, "seconds that a rank waits for another"),
    "per_step": (None, "print the loss of each step"),
    "output": (Path, "write the losses to this file, .json or .csv"),
    "checkpoint": (Path, "write model, optimiser and losses to this file after each epoch"),
    "resume": (Path, "go on from this checkpoint; rank 0 reads it. If it is the file of "
                     "--checkpoint, a run that finds none begins anew"),
    "stop": (Path, "end after the epoch in which this file appears; rank 0 looks for it"),
}  # fmt: skip
METAVARS: dict[Callable[[str], object], str] = {
    int: "N",
    float: "NUMBER",
    str: "NAME",
    Path: "FILE",
}


@dataclasses.dataclass(frozen=True)
class Options:
    """A run. With the same options it sees the same batches, however many ranks share them.

    `python -m gpulearn_lessons.fault_tolerance.train --help` says what each is.

    >>> Options(batch=256, lr_batch=64).factor
    4.0
    """

    model: str = "LeNet"
    wrapper: str = "overlapping"
    epochs: int = 3
    batch: int = 64
    lr: float = 0.1
    momentum: float = 0.9
    lr_batch: int | None = None
    warm_up: int = 0
    seed: int = 0
    timeout: float = 30.0
    per_step: bool = False
    output: Path | None = None
    checkpoint: Path | None = None
    resume: Path | None = None
    stop: Path | None = None

    def __post_init__(self) -> None:
        require.choice("model", self.model, MODELS)
        require.choice("wrapper", self.wrapper, WRAPPERS)
        require.whole("epochs", self.epochs)
        require.whole("batch", self.batch)
        require.above_zero("lr", self.lr)
        require.above_zero("timeout", self.timeout)
        checked_seed(self.seed)
        if self.momentum != 0:
            require.above_zero("momentum", self.momentum)
        if self.momentum >= 1:
            raise BadInput(f"momentum is {shown(self.momentum)}: give a number from 0 to below 1.")
        if self.lr_batch is not None:
            require.whole("lr_batch", self.lr_batch)
        if self.warm_up != 0:
            require.from_zero("warm_up", self.warm_up)
            if self.lr_batch is None:
                raise BadInput(
                    f"warm_up is {self.warm_up}, but the rate does not grow: give lr_batch too."
                )
        for name in ("output", "checkpoint", "resume", "stop"):
            self._check_path(name, getattr(self, name))
        if self.stop is not None and self.checkpoint is None:
            raise BadInput(
                f"stop is {str(self.stop)!r}, and nothing is saved when it appears: give "
                f"checkpoint too."
            )
        if self.output is not None and Path(self.output).suffix not in (".json", ".csv"):
            raise BadInput(f"output is {str(self.output)!r}: let it end in .json or .csv.")

    @property
    def factor(self) -> float:
        """What the linear scaling rule multiplies the rate by."""
        return 1.0 if self.lr_batch is None else self.batch / self.lr_batch

    def identity(self) -> dict[str, object]:
        """What a run must share with the one whose checkpoint it goes on from."""
        names = ("model", "batch", "lr", "momentum", "lr_batch", "warm_up", "seed")
        return {name: getattr(self, name) for name in names}

    def _check_path(self, name: str, path: object) -> None:
        if path is None:
            return
        if not isinstance(path, str | Path):
            raise BadInput(f"{name} is {shown(path)}: give a path, such as 'run.pt'.")
        if name in ("output", "checkpoint") and Path(path).is_dir():
            raise BadInput(f"{name} is {str(path)!r}, a folder: name a file in it.")
        if name in ("output", "checkpoint") and not Path(path).absolute().parent.is_dir():
            raise BadInput(
                f"{name} is {str(path)!r}, and there is no folder {str(Path(path).parent)!r}: make "
                f"it first."
            )


def options_from(arguments: Sequence[str] | None, program: str, description: str) -> Options:
    """Read a command line; `--help` and what cannot be read end the program, as argparse does.

    >>> options_from(["--model", "MLP", "--lr-batch", "32"], "train", "").factor
    2.0
    """
    parser = argparse.ArgumentParser(
        prog=program, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    defaults = {field.name: field.default for field in dataclasses.fields(Options)}
    for name, (kind, text) in OPTIONS.items():
        option, default = f"--{name.replace('_', '-')}", defaults[name]
        if kind is None:
            parser.add_argument(option, action="store_true", help=text)
            continue
        help_text = text if default is None else f"{text} ({default})"
        parser.add_argument(
            option, type=kind, default=default, help=help_text, metavar=METAVARS[kind]
        )
    try:
        return Options(**vars(parser.parse_args(arguments)))
    except BadInput as error:
        parser.error(str(error))
