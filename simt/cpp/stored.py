"""PTX of known sources, kept in files (`simt.stored_ptx`) for where no compiler is."""

import functools
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import simt


def key(source: str, options: Sequence[str] = (), names: Sequence[str] = ()) -> str:
    """What a compilation is kept under: all that its result depends on."""
    text = json.dumps([source, list(options), list(names)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@functools.cache
def _entries() -> dict[str, dict[str, Any]]:
    entries: dict[str, dict[str, Any]] = {}
    for file in simt.stored_ptx:
        entries |= json.loads(Path(file).read_text(encoding="utf-8"))["entries"]
    return entries


def stored(
    source: str, options: Sequence[str] = (), names: Sequence[str] = ()
) -> dict[str, Any] | None:
    """What the compiler made of a kept source: `ptx` and `lowered`, or what it `refused`."""
    return _entries().get(key(source, options, names))
