"""What the steps of all ranks show side by side: replicas apart, and gradients that are no mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpulearn.parallel.watch.finding import EVEN, Finding, Record, is_split, named
from gpulearn.require import counted

CLOSE = 1e-3  # relative, of gradients that are to be a multiple of one another
AVERAGE = "Average gradients: wrap the model in DistributedDataParallel, or all_reduce each p.grad."


class Step:
    """One sampled step on all ranks."""

    def __init__(self, looks: Sequence[dict[str, Any]], ranks: tuple[int, ...]) -> None:
        self.looks, self.ranks = looks, ranks
        self.number: int = looks[0]["step"]
        self.line: str = looks[0]["line"]

    def apart(self, what: str) -> list[str]:
        """Names whose digests are not the same on all ranks, `what` being "before" and so on.

        Only of what all ranks step: an optimizer may step a share of the parameters on each.
        """
        states = [look.get(what) or {} for look in self.looks]
        shared = (name for name in states[0] if all(name in state for state in states))
        return [name for name in shared if len({_digest(s[name]) for s in states}) > 1]

    def finding(self, kind: str, level: str, message: str, cure: str) -> Finding:
        """One of this step, on all ranks."""
        return Finding(kind, level, message, cure, self.line, self.ranks, self.number)

    def distance(self, what: str, name: str) -> float:
        """How far two ranks are apart at most, over the entries that were kept."""
        entries = np.array([look[what][name][1] for look in self.looks])
        return float(np.ptp(entries, axis=0).max()) if entries.size else 0.0


def findings(records: Sequence[Record], failed: bool) -> list[Finding]:
    """What is wrong with the steps, each kind once."""
    counts = [record["begun" if failed else "steps"] for record in records]
    if is_split(records):
        return []
    steps = [
        Step(looks, _ranks(records))
        for looks in zip(*(record["sampled"] for record in records), strict=False)
        if len({look["step"] for look in looks}) == 1
    ]
    if not steps:
        return []
    unused = _unused(records, steps)
    found = [*_uneven(records, counts), *unused, *_late(records, steps)]
    if not (failed and unused):  # the exchange that waits for them leaves replicas apart
        found += _apart(records, steps)
    if not any(f.kind in ("never-synchronized", "replicas-differ") for f in found):
        found += [*_scaled(records, steps), *_statistics(records, steps)]
    return [*found, *_undivided(records), *_draws(records, steps)]


def _digest(state: Any) -> Any:
    return None if state is None else state[0]


def _ranks(records: Sequence[Record]) -> tuple[int, ...]:
    return tuple(record["rank"] for record in records)


def _apart(records: Sequence[Record], steps: Sequence[Step]) -> list[Finding]:
    """Replicas that part, with the cause where it is seen."""
    first = next((s for s in steps if s.apart("before") or s.apart("after")), None)
    if first is None or _meet_again(records, steps, first):
        return []
    moment = "before" if first.apart("before") else "after"
    names = first.apart(moment)
    name, distance = names[0], first.distance(moment, names[0])
    others = f" ({counted(len(names) - 1, 'other parameter')} too)" if names[1:] else ""
    gap = f"{moment} step {first.number} {name} differs by up to {distance:.3g}{others}"
    own = first.apart("gradients")
    wrapped = all(record["wrappers"] for record in records)
    alone = own and not wrapped and set(own) == set(first.looks[0]["gradients"])
    place, kind = first.line, "replicas-differ"
    past = next((record["past"] for record in records if record["past"]), None)
    unwrapped = [n for n in names if any(n in look["unwrapped"] for look in first.looks)]
    if wrapped and past and past[1] <= first.number:
        place = past[0]
        cause = "the forward goes past the wrapper, which therefore exchanges no gradient"
        cure = "Call the wrapped model itself, not model.module."
    elif wrapped and own and all(look["held"] for look in first.looks):
        kind = "never-synchronized"
        cause = "all micro-batches of the step ran under no_sync, so that nothing was exchanged"
        cure = "Run the last micro-batch of each step outside no_sync()."
    elif wrapped and unwrapped:
        name, cause = unwrapped[0], f"{unwrapped[0]} lies outside the wrapper"
        cure = "Wrap one module that holds all parameters which the optimizer has."
    elif wrapped and own:
        cause = f"the gradient of {own[0]} is each rank's own"
        cure = "Make the wrapper last, after parameters are added, replaced or thawed."
    elif moment == "before" and first.number == 0:
        seeded = "DistributedDataParallel broadcasts weights when it is made, so they changed later"
        cause = seeded if wrapped else "the ranks began with different weights"
        cure = "Broadcast rank 0's weights before the first step, or seed all ranks alike."
        if alone:
            cause += ", and exchange no gradient before the step"
            cure += f" {AVERAGE}"
    elif moment == "before" and not own:
        cause = "gradients are equal, and weights changed between two steps"
        odd = _odd_one(first, name, records)
        cause += f" on {odd}" if odd else ""
        cure = "Change weights on all ranks alike, or broadcast them afterwards."
    elif alone:
        kind = "never-synchronized"
        cause = "each rank steps by its own gradient, and nothing is exchanged before the step"
        cure = AVERAGE
    elif own:
        cause = f"the gradient of {own[0]} is each rank's own"
        cure = f"Average the gradient of every parameter, {own[0]} too."
    else:
        cause = "gradients are equal and the update is not: the optimizers differ"
        cure = "Give every rank the same optimizer, with the same options."
    message = f"{len(records)} replicas are not one model: {gap}; {cause}."
    return [Finding(kind, "error", message, cure, place, _ranks(records), first.number)]


def _meet_again(records: Sequence[Record], steps: Sequence[Step], first: Step) -> bool:
    """Weights are averaged in place of gradients, as local SGD and federated averaging do."""
    if not any(sum(record["calls"].values()) for record in records):
        return False
    later = [s for s in steps if s.number > first.number and not s.apart("before")]
    ends = [record["end"] for record in records]
    shared = set.intersection(*(set(end) for end in ends))
    met = shared and all(len({_digest(end[name]) for end in ends}) == 1 for name in shared)
    return bool(later or met) and bool(first.apart("after"))


def _odd_one(step: Step, name: str, records: Sequence[Record]) -> str:
    digests = [_digest(look["before"][name]) for look in step.looks]
    odd = [r for r, d in zip(_ranks(records), digests, strict=True) if digests.count(d) == 1]
    return named(odd) if len(odd) == 1 < len(digests) - 1 else ""


def _scaled(records: Sequence[Record], steps: Sequence[Step]) -> list[Finding]:
    """The gradient of the step as a multiple of the mean of what the ranks computed."""
    ranks = len(records)
    factors = []
    for step in steps:
        locals_ = [look["local"] for look in step.looks]
        for name in locals_[0]:
            if not all(name in local for local in locals_) or name in step.apart("gradients"):
                continue
            state = step.looks[0]["gradients"].get(name)
            mean = np.mean([local[name] for local in locals_], axis=0)
            if state is None or not np.any(mean):
                continue
            gradient = np.array(state[1])
            factor = float(gradient @ mean / (mean @ mean))
            if np.allclose(
                gradient, factor * mean, rtol=CLOSE, atol=CLOSE * np.abs(gradient).max()
            ):
                factors.append((factor, step))
    if len({step.number for _, step in factors}) < 2:
        return []
    values = np.array([factor for factor, _ in factors])
    for wrong in (ranks, 1 / ranks):
        if ranks > 1 and np.allclose(values, wrong, rtol=10 * CLOSE):
            step = factors[0][1]
            times = f"{ranks} times" if wrong > 1 else f"1/{ranks} of"
            why = "summed over ranks and never divided" if wrong > 1 else "divided twice"
            message = (
                f"the gradient of the step is {times} the mean of what the {ranks} ranks "
                f"computed: {why}."
            )
            cure = "Divide once by dist.get_world_size() (DistributedDataParallel does it)."
            return [step.finding("step-scaled", "error", message, cure)]
    return []


def _undivided(records: Sequence[Record]) -> list[Finding]:
    """Micro-batches whose mean losses are added up."""
    seen = [record["undivided"] for record in records if record["undivided"]]
    if len(seen) < len(records):
        return []
    line, times, step = seen[0]
    message = (
        f"{times} micro-batches are added up before a step, and no loss is divided by {times}."
    )
    cure = f"Divide each loss by {times} before backward."
    return [Finding("step-scaled", "warning", message, cure, line, _ranks(records), step)]


def _uneven(records: Sequence[Record], counts: Sequence[int]) -> list[Finding]:
    if len(set(counts)) == 1 or any(record["joins"] for record in records):
        return []
    told = ", ".join(f"rank {r} {n}" for r, n in zip(_ranks(records), counts, strict=True))
    most = tuple(r for r, n in zip(_ranks(records), counts, strict=True) if n == max(counts))
    message = f"ranks began unequal numbers of steps: {told}."
    line = records[0]["step_line"]
    return [Finding("uneven-steps", "error", message, EVEN, line, most, min(counts))]


def _unused(records: Sequence[Record], steps: Sequence[Step]) -> list[Finding]:
    """Parameters without a gradient, under a wrapper that waits for all, or on some ranks only."""
    for step in steps:
        missing = [
            [n for n, g in look["gradients"].items() if g is None and n not in look["unwrapped"]]
            for look in step.looks
        ]
        waits = any(w and not w["finds_unused"] for r in records for w in r["wrappers"])
        differ = any(names != missing[0] for names in missing)
        if not any(missing) or not (waits or differ):
            continue
        names = sorted(set().union(*missing))
        few = ", ".join(names[:3]) + (", …" if names[3:] else "")
        on = tuple(r for r, m in zip(_ranks(records), missing, strict=True) if m)
        message = (
            f"{few} got no gradient in step {step.number} on {named(on)}: their part of the "
            f"exchange never starts."
        )
        cure = (
            "Use them in every forward, freeze them before wrapping (requires_grad=False), or "
            "pass find_unused_parameters=True."
        )
        return [Finding("unused-parameters", "error", message, cure, step.line, on, step.number)]
    return []


def _late(records: Sequence[Record], steps: Sequence[Step]) -> list[Finding]:
    """Parameters of the optimizer that the wrapper does not know, though replicas still agree."""
    step = steps[0]
    names = [name or "a parameter" for name in step.looks[0]["unwrapped"]]
    if not names or step.apart("after"):
        return []
    message = (
        f"the optimizer holds {counted(len(names), 'parameter')} that the wrapper did not have "
        f"when it was made ({names[0]}): their gradients are not exchanged."
    )
    cure = "Make the wrapper after all parameters exist, and the optimizer from model.parameters()."
    return [step.finding("late-parameters", "warning", message, cure)]


def _statistics(records: Sequence[Record], steps: Sequence[Step]) -> list[Finding]:
    if not all(record["normalizes"] for record in records):
        return []
    if any(w and w["broadcasts"] for record in records for w in record["wrappers"]):
        return []
    for step in steps:
        if names := step.apart("buffers"):
            message = (
                f"{names[0]} differs between ranks by up to "
                f"{step.distance('buffers', names[0]):.3g} in step {step.number}: each rank "
                f"normalizes by its own batches, and evaluation depends on the rank."
            )
            cure = (
                "Leave broadcast_buffers=True, or convert with "
                "nn.SyncBatchNorm.convert_sync_batchnorm (on GPUs)."
            )
            return [step.finding("statistics-differ", "warning", message, cure)]
    return []


def _draws(records: Sequence[Record], steps: Sequence[Step]) -> list[Finding]:
    """Dropout that draws the same on all ranks though their batches differ."""
    if not all(record["dropout"] for record in records):
        return []
    if any(len({look["draws"] for look in step.looks}) > 1 for step in steps):
        return []
    message = "dropout draws the same numbers on all ranks in every step compared."
    cure = "Seed alike for the weights, then torch.manual_seed(seed + rank)."
    return [steps[0].finding("same-random-numbers", "note", message, cure)]
