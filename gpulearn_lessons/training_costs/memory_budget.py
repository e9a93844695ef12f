"""Memory of a training step: parameters, gradients, optimizer state and activations."""

from typing import Any

import torch
from torch import nn

from gpulearn.judge.compare import NOTHING, is_number
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn.train.memory import MemoryBudget, memory_budget
from gpulearn.train.models import MLP, LeNet
from gpulearn_lessons.training.trial import apart


def partly_frozen() -> nn.Sequential:
    with apart(0):
        first = nn.Linear(64, 32)
        first.requires_grad_(False)
        return nn.Sequential(nn.Flatten(), first, nn.ReLU(), nn.Linear(32, 10))


def with_one_layer_twice() -> nn.Sequential:
    with apart(0):
        relu = nn.ReLU()
        layers = nn.Flatten(), nn.Linear(64, 16), relu, nn.Linear(16, 16), relu, nn.Linear(16, 10)
        return nn.Sequential(*layers)


def with_one_weight_twice() -> nn.Sequential:
    """A network in which two layers share one weight, and each has a bias of its own."""
    with apart(0):
        first, second = nn.Linear(16, 16), nn.Linear(16, 16)
        second.weight = first.weight
        layers = nn.Flatten(), nn.Linear(64, 16), first, nn.Tanh(), second, nn.Linear(16, 10)
        return nn.Sequential(*layers)


def cases() -> list[Case]:
    """Several networks, batches, optimizers and precisions; frozen, shared and stored tensors."""
    small, frozen, stored = MLP((64, 16, 10)), partly_frozen(), MLP((64, 16, 10))
    stored.register_buffer("mean", torch.zeros(64))
    work: tuple[tuple[str, nn.Module, int, str, str], ...] = (
        ("an MLP, 32 images, Adam", small, 32, "adam", "float32"),
        ("an MLP, 1 image, gradient descent", small, 1, "sgd", "float32"),
        ("an MLP, 50 images, momentum, bfloat16", small, 50, "momentum", "bfloat16"),
        ("LeNet, 8 images, AdamW", LeNet(width=4), 8, "adamw", "float32"),
        ("LeNet, 8 images, Adagrad, float16", LeNet(width=4), 8, "adagrad", "float16"),
        ("a network partly frozen, 20 images, Adam", frozen, 20, "adam", "float32"),
        ("a ReLU in two places, 9 images", with_one_layer_twice(), 9, "nesterov", "float32"),
        ("a network with a buffer of 64 numbers", stored, 9, "adam", "float32"),
        ("a weight that two layers share", with_one_weight_twice(), 9, "rmsprop", "float32"),
    )
    return [
        Case(label, (model, (images, 1, 8, 8), optimizer, precision))
        for label, model, images, optimizer, precision in work
    ]


def difference(got: Any, expected: Any) -> str | None:
    """Compare field by field; any sequence of four numbers will do."""
    if got is None:
        return NOTHING
    if not isinstance(got, tuple | list) or len(got) != len(expected):
        return f"it returns {shown(got)} ({type(got).__name__}), expected a MemoryBudget"
    for name, value, want in zip(MemoryBudget._fields, got, expected, strict=True):
        if not is_number(value):
            return f"{name} is {shown(value)}, expected {want:,} bytes"
        if value != want:
            return f"{name} is {value:,} bytes, expected {want:,}"
    return None


EXERCISE = Exercise(
    task="Add up the bytes of parameters, gradients, optimizer state and activations.",
    reference=memory_budget,
    cases=cases,
    difference=difference,
)
