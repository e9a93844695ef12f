"""What a launch costs, counted per instruction of a warp: as Nsight Compute counts.

Every counter has the name of the SIMT machine's (`simt.observers.counters`), so that the two
can be held beside each other. `words` are the different instructions behind a counter.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from gpulearn.simt.observers.traffic import AWAY, bank_passes, sectors

from .parse import Instruction
from .values import WARP, Array

COUNTERS = (
    "global_load_requests", "global_load_sectors", "global_store_requests",
    "global_store_sectors", "shared_load_wavefronts", "shared_load_conflicts",
    "shared_store_wavefronts", "shared_store_conflicts", "atomics", "atomic_contention",
    "bytes_requested", "barriers", "flops32", "flops64",
)  # fmt: skip
FLOPS = {"add": 1, "sub": 1, "mul": 1, "fma": 2, "mad": 2}  # what ncu has metrics for
FUNCTIONS = ("div", "sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos", "tanh")


class Tally:
    """Counters of one launch, by the number of the instruction that they come from."""

    def __init__(self, warps: int) -> None:
        self._warps = warps
        self.at: dict[int, Counter[str]] = {}
        # (what, addresses, bytes, sectors or passes and conflicts) of each request, when asked to
        self.requests: list[tuple[str, Array, int, Array]] | None = None

    def totals(self) -> Counter[str]:
        """The sums over all instructions; a name that never came up counts 0."""
        total: Counter[str] = Counter()
        for counter in self.at.values():
            total.update(counter)
        total["atomic_contention"] = max(
            (counter["atomic_contention"] for counter in self.at.values()), default=0
        )
        return total

    def bump(self, pc: int, name: str, amount: int) -> None:
        self.at.setdefault(pc, Counter())[name] += int(amount)

    def rows(self, addresses: Array, lanes: Array) -> Array:
        """(requests, 32): the addresses of each warp that has a lane here."""
        wide = np.full(self._warps * WARP, AWAY)
        wide[lanes] = addresses.astype(np.int64)
        rows = wide.reshape(-1, WARP)
        return rows[(rows != AWAY).any(axis=1)]

    def access(
        self, pc: int, space: str, kind: str, addresses: Array, size: int, lanes: Array
    ) -> None:
        """A load or store of `size` bytes by each lane: one request for each warp."""
        rows = self.rows(addresses, lanes)
        self.bump(pc, f"{space}_{kind}_requests", len(rows))
        found: tuple[Array, ...] = ()
        if space == "global":
            found = (sectors(rows, size),)
            self.bump(pc, f"global_{kind}_sectors", found[0].sum())
            self.bump(pc, "bytes_requested", size * len(lanes))
        elif space == "shared":
            wavefronts, ideal = bank_passes(rows, size, kind == "load")
            found = wavefronts, wavefronts - ideal
            self.bump(pc, f"shared_{kind}_wavefronts", found[0].sum())
            self.bump(pc, f"shared_{kind}_conflicts", found[1].sum())
        if self.requests is not None and found:
            self.requests.append((f"{space}_{kind}", rows, size, np.stack(found, axis=1)))

    def atomic(self, pc: int, space: str, addresses: Array, lanes: Array) -> None:
        """An atomic operation of each lane; contention is the most that meet at one address."""
        self.bump(pc, "atomics", len(lanes))
        pairs = Counter(zip((lanes // WARP).tolist(), addresses.tolist(), strict=True))
        self.bump(pc, f"{space}_atomic_requests", len({warp for warp, _ in pairs}))
        counter = self.at[pc]
        counter["atomic_contention"] = max(counter["atomic_contention"], *pairs.values())

    def barrier(self, pc: int, lanes: Array) -> None:
        self.bump(pc, "barriers", len(np.unique(lanes // WARP)))

    def arithmetic(self, pc: int, instruction: Instruction, lanes: int) -> None:
        """Operations on floats, per active lane; a fused multiply-add is two."""
        op = instruction.op
        word = {"f32": "32", "f64": "64"}.get(op[-1])
        if word is None or op[0] not in (*FLOPS, *FUNCTIONS):
            return
        if op[0] in FLOPS:
            self.bump(pc, f"flops{word}", FLOPS[op[0]] * lanes)
            self.bump(pc, f"{op[0]}{word}", lanes)
        else:
            self.bump(pc, f"{op[0]}{word}", lanes)
