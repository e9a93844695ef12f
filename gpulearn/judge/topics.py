"""The topics of the course: a folder each, with its notebook, exercises and predictions."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from gpulearn import exercise


def topics() -> Iterator[ModuleType]:
    """The folders of the topics; of their modules none is imported."""
    for topic in pkgutil.iter_modules(exercise.__path__):
        if topic.ispkg:
            yield importlib.import_module(f"{exercise.__name__}.{topic.name}")
