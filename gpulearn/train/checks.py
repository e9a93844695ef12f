"""What gl.fit looks at before it changes anything: the model, the files and the callbacks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.train.recompute import Stages

__all__ = ["check_callbacks", "check_files", "check_model"]


def check_model(model: object, recompute: bool) -> None:
    """Check that a model can be trained.

    Raises:
        BadInput: it is no model, has no parameter to train, is not in float32, or cannot
            recompute and shall.
    """
    if not isinstance(model, nn.Module) or not any(p.requires_grad for p in model.parameters()):
        raise BadInput(
            f"model is {require.shown(model)}: give a torch module with parameters to train, "
            f"such as gl.train.LeNet()."
        )
    for name, p in model.named_parameters():
        if p.dtype != torch.float32:
            raise BadInput(
                f"{name} is of {str(p.dtype)[6:]}: give model.float(), `precision` is that of the "
                f"passes."
            )
    if recompute and not isinstance(model, Stages):
        raise BadInput(
            f"recompute needs a model in stages, such as gl.train.LeNet(), not "
            f"{type(model).__name__}: derive it from gpulearn.train.recompute.Stages."
        )


def check_files(log: Any, checkpoint: Any, resume: Any) -> None:
    """Check that the files of a run can be what they are to be.

    Raises:
        BadInput: one is no path, a file where a folder is needed, or cannot be written.
        MissingPackage: TensorBoard is needed and not installed.
    """
    for name, path in (("log", log), ("checkpoint", checkpoint), ("resume", resume)):
        if path is not None and not isinstance(path, str | os.PathLike):
            raise BadInput(f"{name} is {require.shown(path)}: give a path, such as 'run.pt'.")
    if log is not None:
        require.package("tensorboard", "gl.fit(log=…)")
        if Path(log).is_file():
            raise BadInput(f"log is {str(log)!r}, a file: give a folder.")
        _writable("log", Path(log))
    if checkpoint is not None:
        if Path(checkpoint).is_dir():
            raise BadInput(
                f"checkpoint is {str(checkpoint)!r}, a folder: give a file, such as run.pt."
            )
        _writable("checkpoint", Path(checkpoint).parent)


def check_callbacks(**given: object) -> None:
    """Check that what is to be called can be.

    Raises:
        BadInput: one is no function.
    """
    for name, value in given.items():
        if value is not None and not callable(value):
            raise BadInput(f"{name} is {require.shown(value)}: give a function, or None.")


def _writable(name: str, folder: Path) -> None:
    """Look at the folder, or where it is yet to be made at the nearest one above it."""
    folder = folder.absolute()
    there = next(above for above in (folder, *folder.parents) if above.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise BadInput(f"{name} cannot be written, {there} is no folder for it: give another path.")
