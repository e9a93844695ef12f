"""The options of a data-parallel training run, also as a command line."""

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.require import shown
from gpulearn.train.settings import checked_seed

MODELS = ("LeNet", "MLP")
# option -> its type, and its --help
OPTIONS: dict[str, tuple[Callable[[str], object], str]] = {
    "model": (str, "LeNet or MLP"),
    "epochs": (int, "passes over the digits"),
    "batch": (int, "images per step, for all ranks together"),
    "lr": (float, "learning rate"),
    "momentum": (float, "from 0 to below 1"),
    "seed": (int, "of the weights and the order of the digits"),
    "timeout": (float, "seconds that ranks wait for one another"),
    "output": (Path, "write the losses to this .json file"),
    "checkpoint": (Path, "write model, optimizer and losses to this file after each epoch"),
    "resume": (Path, "resume from this checkpoint; rank 0 reads it. If it is also the "
                     "--checkpoint and does not exist, the run begins from scratch"),
    "stop": (Path, "stop after the epoch in which this file appears; rank 0 looks for it"),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of a run; they determine its batches, however many ranks share them.

    `python -m gpulearn_lessons.fault_tolerance.train --help` explains them.
    """

    model: str = "LeNet"
    epochs: int = 3
    batch: int = 64
    lr: float = 0.1
    momentum: float = 0.9
    seed: int = 0
    timeout: float = 30.0
    output: Path | None = None
    checkpoint: Path | None = None
    resume: Path | None = None
    stop: Path | None = None

    def __post_init__(self) -> None:
        require.choice("model", self.model, MODELS)
        require.whole("epochs", self.epochs)
        require.whole("batch", self.batch)
        require.above_zero("lr", self.lr)
        require.above_zero("timeout", self.timeout)
        checked_seed(self.seed)
        if self.momentum != 0:
            require.above_zero("momentum", self.momentum)
        if self.momentum >= 1:
            raise BadInput(f"momentum is {shown(self.momentum)}: give a number from 0 to below 1.")
        for name in ("output", "checkpoint", "resume", "stop"):
            self._check_path(name, getattr(self, name))
        if self.stop is not None and self.checkpoint is None:
            raise BadInput(
                f"stop is {str(self.stop)!r}, but nothing would be saved: give checkpoint too."
            )
        if self.output is not None and Path(self.output).suffix != ".json":
            raise BadInput(f"output is {str(self.output)!r}: give a name that ends in .json.")

    def identity(self) -> dict[str, object]:
        """What a run must have in common with the one whose checkpoint it resumes."""
        names = ("model", "batch", "lr", "momentum", "seed")
        return {name: getattr(self, name) for name in names}

    def _check_path(self, name: str, path: object) -> None:
        if path is None:
            return
        if not isinstance(path, str | Path):
            raise BadInput(f"{name} is {shown(path)}: give a path, such as 'run.pt'.")
        if name in ("output", "checkpoint") and Path(path).is_dir():
            raise BadInput(f"{name} is {str(path)!r}, a folder: give a file in it.")
        if name in ("output", "checkpoint") and not Path(path).absolute().parent.is_dir():
            raise BadInput(
                f"{name} is {str(path)!r}, but there is no folder {str(Path(path).parent)!r}: "
                f"create it first."
            )


def options_from(arguments: Sequence[str] | None, program: str, description: str) -> Options:
    """Read a command line; `--help` and errors end the program, as argparse does.

    >>> options_from(["--model", "MLP", "--epochs", "2"], "train", "").epochs
    2
    """
    parser = argparse.ArgumentParser(
        prog=program, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    defaults = {field.name: field.default for field in dataclasses.fields(Options)}
    for name, (kind, text) in OPTIONS.items():
        default = defaults[name]
        help_text = text if default is None else f"{text} ({default})"
        parser.add_argument(f"--{name}", type=kind, default=default, help=help_text)
    try:
        return Options(**vars(parser.parse_args(arguments)))
    except BadInput as error:
        parser.error(str(error))
