"""A function of another source, for tests: some places of its text changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpulearn.judge import answers

__all__ = ["edited"]


def edited(function: Any, edits: Mapping[str, str]) -> Any:
    """The function with other text in some places, each of which occurs once."""

    def change(source: str) -> str:
        for old, new in edits.items():
            assert source.count(old) == 1, old
            source = source.replace(old, new)
        return source

    return answers.edited(function, change)
