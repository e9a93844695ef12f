"""What ranks save: one path for several of them, and names that a plain model does not have."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from gpulearn.parallel.watch.finding import Finding, Record, named

if TYPE_CHECKING:
    from gpulearn.parallel.watch.watch import Watch

PREFIX = "module."


class Files:
    """Each path that was saved to: from which line, and whether its keys begin with `module.`."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._saved: dict[str, tuple[str, bool]] = {}
        watch.replace(torch, "save", self._save)

    def _save(self, obj: Any, f: Any, *_args: Any, **_keywords: Any) -> None:
        if isinstance(f, (str, os.PathLike)):
            path = os.path.realpath(f)
            self._saved[path] = (self._watch.line(), _is_prefixed(obj))
            self._watch.write()

    def record(self) -> dict[str, Any]:
        """For the rank's record."""
        return {"saved": self._saved}


def _is_prefixed(obj: Any, depth: int = 2) -> bool:
    if not isinstance(obj, Mapping) or not obj:
        return False
    if all(isinstance(value, torch.Tensor) for value in obj.values()):
        return all(str(key).startswith(PREFIX) for key in obj)
    return depth > 0 and any(_is_prefixed(value, depth - 1) for value in obj.values())


def findings(records: Sequence[Record]) -> list[Finding]:
    """A file that several ranks of one machine write; a wrapper's names in a file."""
    writers: dict[tuple[str, str], list[int]] = defaultdict(list)
    for record in records:
        for path in record["saved"]:
            writers[record["host"], path].append(record["rank"])
    found = []
    for (host, path), ranks in writers.items():
        record = next(r for r in records if r["host"] == host and path in r["saved"])
        line, prefixed = record["saved"][path]
        name = Path(path).name
        if len(ranks) > 1:
            message = (
                f"{named(ranks)} all saved to {name}: who finishes last wins, and two that "
                f"write at once leave a broken file."
            )
            cure = (
                "Save on rank 0 only (if dist.get_rank() == 0), then dist.barrier() on all "
                "ranks before anyone loads it."
            )
            found.append(Finding("file-written-by-all", "error", message, cure, line, tuple(ranks)))
        if prefixed:
            message = (
                f"every key in {name} begins with {PREFIX!r}: a model without the wrapper "
                f"will not find its parameters there."
            )
            cure = "Save model.module.state_dict()."
            found.append(Finding("wrapped-names-saved", "note", message, cure, line, tuple(ranks)))
    return found
