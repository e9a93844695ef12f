"""Which samples each rank's loader drew, epoch by epoch, and how many batches it holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, DistributedSampler, Subset

from gpulearn.parallel.watch.finding import EVEN, Finding, Record, named
from gpulearn.require import counted

if TYPE_CHECKING:
    from gpulearn.parallel.watch.watch import Watch

MAX_SAMPLES = 100_000  # of an epoch, whose indices are kept
MAX_EPOCHS = 4


class Samples:
    """The loaders that were iterated: their batches, samplers and the indices drawn."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._loaders: dict[int, dict[str, Any]] = {}
        self._of_sampler: dict[int, dict[str, Any]] = {}
        self._kept: list[DataLoader[Any]] = []  # so that no id is given twice
        watch.replace(DataLoader, "__iter__", self._iterated)
        self._watch_indices()

    def _iterated(self, loader: DataLoader[Any]) -> None:
        if id(loader) not in self._loaders:
            sampler: Any = loader.sampler
            distributed = isinstance(sampler, DistributedSampler)
            dataset, base = _base(loader.dataset)
            self._kept.append(loader)
            self._loaders[id(loader)] = self._of_sampler[id(loader.batch_sampler)] = {
                "where": self._watch.line(),
                "batch_size": loader.batch_size,
                "batches": _length(loader),
                "samples": _length(loader.dataset),
                "fingerprint": _fingerprint(dataset),
                "subset": base,
                "distributed": distributed,
                "replicas": sampler.num_replicas if distributed else 1,
                "shuffles": distributed and sampler.shuffle,
                "drops": loader.drop_last or (distributed and sampler.drop_last),
                "trains": False,  # whether optimizer steps are taken while it is read
                "epochs": [],
            }
        if len(self._loaders[id(loader)]["epochs"]) < MAX_EPOCHS:
            self._watch.write()

    def _watch_indices(self) -> None:
        original = BatchSampler.__iter__

        def drawn(sampler: BatchSampler) -> Iterator[list[int]]:
            loader = self._of_sampler.get(id(sampler))
            if loader is None or len(loader["epochs"]) >= MAX_EPOCHS:
                yield from original(sampler)
                return
            subset, first_step = loader["subset"], self._watch.step
            indices: list[int] = []
            epoch: dict[str, Any] = {"indices": indices, "whole": False, "trains": False}
            loader["epochs"].append(epoch)
            try:
                for batch in original(sampler):
                    if len(indices) < MAX_SAMPLES and all(isinstance(i, int) for i in batch):
                        # as the data set below a subset numbers them
                        indices += batch if subset is None else [int(subset[i]) for i in batch]
                    yield batch
                epoch["whole"] = len(indices) < MAX_SAMPLES
            finally:
                epoch["trains"] = self._watch.step > first_step
                loader["trains"] |= epoch["trains"]

        BatchSampler.__iter__ = drawn  # type: ignore[method-assign]

    def record(self) -> dict[str, Any]:
        """For the rank's record."""
        loaders = self._loaders.values()
        return {"loaders": [{**a, "subset": a["subset"] is not None} for a in loaders]}


def _length(sized: Any) -> int | None:
    try:
        return len(sized)
    except (TypeError, NotImplementedError):
        return None


def _base(dataset: Dataset[Any]) -> tuple[Dataset[Any], Sequence[int] | None]:
    """The data set below `Subset`s, and which of its samples they name."""
    indices: Sequence[int] | None = None
    while isinstance(dataset, Subset):
        own = dataset.indices
        indices = own if indices is None else [own[i] for i in indices]
        dataset = dataset.dataset
    return dataset, indices


def _fingerprint(dataset: Any) -> str:
    """Equal for two data sets that hold the same, as far as their attributes show it."""
    sha = hashlib.sha1(type(dataset).__qualname__.encode())
    for name, value in sorted(getattr(dataset, "__dict__", {}).items()):
        sha.update(name.encode())
        sha.update(_summary(value))
    return sha.hexdigest()


def _summary(value: Any) -> bytes:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy() if value.dtype != torch.bfloat16 else value.shape
    if isinstance(value, np.ndarray):
        flat = value.reshape(-1)
        few = flat[:: max(1, flat.size // 64)]
        return f"{value.shape}{value.dtype}".encode() + few.tobytes()
    if isinstance(value, (list, tuple)):
        items = value[:: max(1, len(value) // 16)]
        return f"{len(value)}".encode() + b"".join(_summary(item) for item in items)
    if isinstance(value, (str, bytes, int, float, bool, type(None))):
        return repr(value).encode()
    return type(value).__qualname__.encode()


def findings(records: Sequence[Record]) -> list[Finding]:
    """What the loaders of all ranks show, each compared with its counterpart."""
    if len({len(record["loaders"]) for record in records}) != 1:
        return []
    found = []
    for loaders in zip(*(record["loaders"] for record in records), strict=True):
        if len({loader["where"] for loader in loaders}) == 1:
            # in which order an evaluation reads does not matter
            if loaders[0]["trains"] or not any(record["steps"] for record in records):
                found += _same_order(loaders)
            found += _uneven_batches(loaders, records)
            found += _shares(loaders)
    return found


def _same_order(loaders: Sequence[Record]) -> list[Finding]:
    loader = loaders[0]
    # whoever takes one batch out, to see its shape, has not begun an epoch
    epochs = [e["indices"] for e in loader["epochs"] if e["whole"] or e["trains"]]
    if not (loader["shuffles"] and len(epochs) > 1 and len(set(epochs[0])) > 2):
        return []
    shortest = min(len(epoch) for epoch in epochs)
    repeated = sum(epoch[:shortest] == epochs[0][:shortest] for epoch in epochs)
    if repeated < len(epochs):
        return []
    message = (
        f"{len(epochs)} epochs drew their samples in the same order, {epochs[0][0]}, "
        f"{epochs[0][1]}, {epochs[0][2]}, …, and each rank kept its share: the sampler was not "
        f"told which epoch it is."
    )
    cure = "Call sampler.set_epoch(epoch) at the start of each epoch."
    return [Finding("same-order-every-epoch", "error", message, cure, loader["where"])]


def _uneven_batches(loaders: Sequence[Record], records: Sequence[Record]) -> list[Finding]:
    batches = [loader["batches"] for loader in loaders]
    if None in batches or len(set(batches)) == 1 or not loaders[0]["trains"]:
        return []
    if any(record["joins"] for record in records):
        return []
    least, most = min(batches), max(batches)
    short = tuple(r["rank"] for r, count in zip(records, batches, strict=True) if count == least)
    long = tuple(r["rank"] for r, count in zip(records, batches, strict=True) if count == most)
    message = (
        f"the loader of {named(long)} holds {counted(most, 'batch', 'batches')} an epoch, that of "
        f"{named(short)} only {least}: {named(long)} will wait in a collective for ranks that have "
        f"left the loop."
    )
    return [Finding("uneven-steps", "error", message, EVEN, loaders[0]["where"], long)]


def _shares(loaders: Sequence[Record]) -> list[Finding]:
    """Whether the shares of an epoch are disjoint and together whole."""
    first = loaders[0]
    total = first["samples"]
    if len({loader["fingerprint"] for loader in loaders}) > 1 or total is None:
        return []
    whole_epochs = [[e["indices"] for e in loader["epochs"] if e["whole"]] for loader in loaders]
    if not all(whole_epochs):
        return []
    ordered = [epochs[0] for epochs in whole_epochs]
    shares = [set(order) for order in ordered]
    drawn = sum(map(len, ordered))
    union = set().union(*shares)
    ranks = len(loaders)
    twice = drawn - len(union)
    if all(order == ordered[0] for order in ordered) and first["trains"]:
        return []  # the same data on all ranks: told of the batches themselves
    found = []
    if first["trains"] and twice > ranks and twice > drawn // 50:
        message = (
            f"of {drawn:,} samples drawn in an epoch by {ranks} ranks {twice:,} are repeats: "
            f"{len(union):,} of {total:,} were seen."
        )
        cure = (
            "Shuffle with one seed on all ranks before the cut, or use DistributedSampler."
            if first["subset"] or not first["distributed"]
            else "Give every rank's DistributedSampler the same seed, and its own rank."
        )
        found.append(Finding("overlapping-shards", "error", message, cure, first["where"]))
    elif twice and first["distributed"] and not first["trains"]:
        message = (
            f"{counted(twice, 'sample')} of {total:,} counted twice in evaluation: the "
            f"sampler repeats samples so that all ranks get as many."
        )
        cure = "Drop the repeats before the average, or evaluate on one rank."
        found.append(Finding("padding-counted", "note", message, cure, first["where"]))
    allowed = ranks * (first["batch_size"] or 1) if first["drops"] else 0
    whole = first["distributed"] and not found
    if whole and total - len(union) > allowed and first["replicas"] != ranks:
        message = (
            f"{total - len(union):,} of {total:,} samples were drawn by no rank: the sampler "
            f"cuts into {first['replicas']} shares, and there are {ranks} ranks."
        )
        cure = "Pass num_replicas=dist.get_world_size(), or leave it out."
        found.append(Finding("missing-samples", "error", message, cure, first["where"]))
    return found
