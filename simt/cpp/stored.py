"""PTX of the lessons' own kernels, which travels with the package for where no compiler is."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["FILE", "key", "stored"]

FILE = Path(__file__).with_name("stored.json")


def key(source: str, options: Sequence[str] = (), names: Sequence[str] = ()) -> str:
    """What a compilation is kept under: all that its result depends on."""
    text = json.dumps([source, list(options), list(names)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@functools.cache
def _entries() -> dict[str, dict[str, Any]]:
    entries: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))["entries"]
    return entries


def stored(
    source: str, options: Sequence[str] = (), names: Sequence[str] = ()
) -> dict[str, Any] | None:
    """What the compiler made of a lesson's source: `ptx` and `lowered`, or what it `refused`."""
    return _entries().get(key(source, options, names))
