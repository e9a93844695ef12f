"""Where a rank stands: what torchrun says, what the machines have, and what follows for each."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gpulearn.device import selection
from gpulearn.errors import BadInput
from gpulearn.require import shown

__all__ = ["Place", "exchange_cards", "place_of", "said_by_torchrun", "usable_gpus"]

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class Place:
    """Where this rank stands in its group.

    Attributes:
        rank: its number, from 0.
        size: how many ranks there are.
        device: where its model and data belong.
        backend: "nccl" if each rank has a GPU of its own, else "gloo"; or "simulated".
        threads: of torch on the CPU.
        reason: why this backend, in a few words.
    """

    rank: int
    size: int
    device: torch.device
    backend: str
    threads: int
    reason: str

    def __str__(self) -> str:
        ranks = f"{self.size} ranks" if self.size > 1 else "1 rank"
        threads = f"{self.threads} threads" if self.threads > 1 else "1 thread"
        each = " each" if self.size > 1 else ""
        return f"{ranks}, messages by {self.backend} ({self.reason}), {threads}{each}"


def said_by_torchrun(variables: Mapping[str, str]) -> dict[str, int]:
    """This rank's number, how many there are, and its number on this machine if that is said.

    Args:
        variables: the environment.

    Returns:
        "rank", "size" and perhaps "local"; empty if this process was started alone.

    Raises:
        BadInput: only some of the variables are set, or one is no number in its range.

    >>> said_by_torchrun({"HOME": "/root"})
    {}
    """
    given = [name for name in VARIABLES if variables.get(name)]
    if not given:
        return {}
    if absent := [name for name in VARIABLES if name not in given]:
        raise BadInput(
            f"{_are(given)} set, and {_are(absent)} not: torchrun sets all four; start by "
            f"torchrun, or unset {_listed(given)} to run as one process."
        )
    size = _number(variables, "WORLD_SIZE", 1)
    _number(variables, "MASTER_PORT", 1, 65536)
    found = {"size": size, "rank": _number(variables, "RANK", 0, size)}
    if variables.get("LOCAL_RANK"):
        found["local"] = _number(variables, "LOCAL_RANK", 0, size)
    return found


def usable_gpus() -> int:
    """How many GPUs torch may use here."""
    if os.environ.get(selection.ENVIRONMENT_VARIABLE) == "cpu":
        return 0
    return torch.cuda.device_count()


def exchange_cards(store: Any, rank: int, size: int, local: int | None) -> list[dict[str, Any]]:
    """What each rank says of itself: its machine, its number there, and the GPUs it can see.

    Two agents of torchrun on one machine know nothing of each other; their ranks still have to
    share its cores and must not take one GPU twice.
    """
    gpus = [str(torch.cuda.get_device_properties(n).uuid) for n in range(usable_gpus())]
    mine = {"machine": platform.node(), "local": local, "gpus": gpus}
    keys = [f"gpulearn/{number}" for number in range(size)]
    store.set(keys[rank], json.dumps(mine))
    return [json.loads(card) for card in store.multi_get(keys)]


def place_of(rank: int, cards: Sequence[Mapping[str, Any]]) -> Place:
    """A rank's place, by the cards of all: so every rank comes to the same backend.

    >>> card = {"machine": "a", "local": None, "gpus": ["one", "two"]}
    >>> [str(place_of(rank, [card, card]).device) for rank in range(2)]
    ['cuda:0', 'cuda:1']
    >>> place_of(2, [card, card, card]).reason
    'they share 2 GPUs'
    """
    chosen = []
    for number, card in enumerate(cards):
        here = [other["machine"] for other in cards[:number]].count(card["machine"])
        local = here if card["local"] is None else card["local"]
        chosen.append(card["gpus"][local % len(card["gpus"])] if card["gpus"] else None)
    mine, size = cards[rank], len(cards)
    apart = len(set(chosen))
    own = None not in chosen and apart == size
    if own:
        reason = "each has a GPU of its own" if size > 1 else "it has a GPU"
    elif None in chosen:
        reason = "not every rank has a GPU" if any(chosen) else "no GPU here"
    else:
        reason = f"they share {apart} GPU{'s' if apart > 1 else ''}"
    where = torch.device("cpu")
    if chosen[rank] is not None:
        where = torch.device("cuda", mine["gpus"].index(chosen[rank]))
    neighbours = sum(card["machine"] == mine["machine"] for card in cards)
    threads = max(1, selection.cores() // neighbours)
    return Place(rank, size, where, "nccl" if own else "gloo", threads, reason)


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _are(names: Sequence[str]) -> str:
    return f"{_listed(names)} {'are' if len(names) > 1 else 'is'}"


def _number(variables: Mapping[str, str], name: str, low: int, above: int | None = None) -> int:
    text = variables[name]
    number = int(text) if text.isascii() and text.isdigit() else low - 1
    if number < low or (above is not None and number >= above):
        upto = "" if above is None else f" to {above - 1}"
        raise BadInput(f"{name} is {shown(text)}: it must be a whole number from {low}{upto}.")
    return number
