"""Memory of a CUDA program: the device's, and what host and device share.

A device pointer is a number that no address of the program's process has, so that the host cannot
read through it. Managed and pinned memory is a file that both processes map; its address is the
same for host and kernels.
"""

import itertools
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simt.core.memory import Allocation
from simt.host.devices import current_context
from simt.host.settings import checking
from simt.observers.initialized import WriteMap
from simt.programs.cuda.errors import ApiError
from simt.ptx.memory import GLOBAL_BITS, POISON
from simt.ptx.parse import WINDOWS
from simt.ptx.textures import Texels, Texture

DEVICE = 1 << 12  # the first number of device memory: addresses from 2⁵² on, which nobody has
ON_DEVICE = ("device", "managed", "array")
SHARED = range(0x10, 0x50)  # numbers of what both map: 16 to 80 TiB, where no program lies


@dataclass(eq=False)
class Piece:
    """One piece of memory that a program has asked for, or a variable of the device's."""

    kind: str  # device, managed, pinned, variable or array
    allocation: Allocation
    size: int
    line: int
    freed: int = 0  # the line where it was
    name: str = ""  # as a kernel calls it
    variable: str = ""  # as the host does
    lasts: bool = False  # as long as the program: a variable that is managed
    pool: object = None  # from which it comes
    surfaces: bool = False  # an array that surfaces may be made of

    @property
    def address(self) -> int:
        """Where it begins, for the program."""
        return self.allocation.address

    @property
    def shared(self) -> bool:
        """Whether host and device both reach it."""
        return self.kind in ("managed", "pinned")

    def __str__(self) -> str:
        kinds = {"device": "device memory", "variable": "a variable", "array": "a CUDA array"}
        name = self.name or kinds.get(self.kind, f"{self.kind} memory")
        return f"{name} ({self.size:,} bytes from line {self.line})" if self.line else name


class DeviceMemory:
    """The allocations of a program, by the upper bits of their addresses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.blocks: dict[int, Piece] = {}
        self.freed: dict[int, Piece] = {}
        self.textures: dict[int, Texture | Texels] = {}  # and surfaces, by their objects
        quarter = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
        self.total = max(current_context().get_memory_info().total, quarter)
        self._numbers = itertools.count(DEVICE)

    @property
    def used_bytes(self) -> int:
        """How many bytes of the device are in use."""
        return sum(b.size for b in self.blocks.values() if b.kind in ON_DEVICE)

    def _affordable(self, size: int) -> None:
        if self.used_bytes + size > self.total:
            raise ApiError(
                f"{size:,} bytes are asked for, and {self.total - self.used_bytes:,} of "
                f"{self.total:,} are free on this device",
                "cudaErrorMemoryAllocation",
            )

    def _keep(self, kind: str, allocation: Allocation, number: int, size: int, line: int) -> Piece:
        allocation.address = number << GLOBAL_BITS
        block = self.blocks[number] = Piece(kind, allocation, size, line)
        return block

    def take(self, size: int, line: int) -> Piece:
        """New device memory."""
        self._affordable(size)
        data = np.zeros(size, np.uint8)  # as a GPU's memory that no other program has used
        allocation = Allocation("global", data)
        if checking():
            data[: size // 2 * 2].view(np.uint16)[:] = POISON.view(np.uint16)[0]
            allocation.written = WriteMap(size, 1)
        return self._keep("device", allocation, next(self._numbers), size, line)

    def share(self, kind: str, size: int, line: int) -> tuple[Piece, Path]:
        """Memory of host and device, and the file that the program is to map there."""
        if kind == "managed":
            self._affordable(size)
        number = next((n for n in SHARED if n not in self.blocks), None)
        if number is None:
            raise ApiError(
                f"there are {len(SHARED)} pieces of managed and pinned memory already, which is "
                "all that there can be here: ask for one large piece",
                "cudaErrorMemoryAllocation",
            )
        file = self.folder / f"shared-{number}"
        with file.open("wb") as output:
            output.truncate(max(size, 1))
        data = np.asarray(np.memmap(file, np.uint8, "r+"))  # whose parts cost less
        self.freed.pop(number, None)
        return self._keep(kind, Allocation("global", data[:size]), number, size, line), file

    def place(self, allocation: Allocation) -> Piece:
        """Gives a variable of the device's an address."""
        size = allocation.data.size
        return self._keep("variable", allocation, next(self._numbers), size, 0)

    def keep(self, block: Piece) -> None:
        """Memory that was given back is there again."""
        block.freed = 0
        self.freed.pop(block.address >> GLOBAL_BITS, None)
        self.blocks[block.address >> GLOBAL_BITS] = block

    def free(self, block: Piece, line: int) -> None:
        """Gives memory back."""
        number, nothing = block.address >> GLOBAL_BITS, Allocation("global", np.empty(0, np.uint8))
        block.freed, nothing.address = line, block.address
        self.freed[number] = replace(self.blocks.pop(number), allocation=nothing)  # named, not kept
        if block.shared:
            (self.folder / f"shared-{number}").unlink()

    def at(self, pointer: int) -> Piece | None:
        """What an address lies in or before or behind; None if it is the host's or nobody's."""
        return self.blocks.get(pointer >> GLOBAL_BITS)

    def is_device(self, pointer: int) -> bool:
        """Whether an address is the device's, whatever lies there."""
        return pointer >> GLOBAL_BITS >= DEVICE

    def of_pointer(self, pointer: int) -> str:
        """What an address is, in words."""
        number = pointer >> GLOBAL_BITS
        if pointer == 0:
            return "a null pointer"
        if number in self.freed:
            return f"{self.freed[number]}, freed in line {self.freed[number].freed}"
        block = self.blocks.get(number)
        if block is not None:
            return str(block)
        host = [f"{s} memory of another grid" for s, n in WINDOWS.items() if n <= pointer < 2 * n]
        return "no memory of the device's" if number >= DEVICE else [*host, "memory of the host"][0]


def written(allocation: Allocation, start: int, values: np.ndarray[Any, Any]) -> None:
    """Copies bytes into memory and marks them written."""
    allocation.data[start : start + len(values)] = values
    mark_written(allocation, start, start + len(values))


def mark_written(allocation: Allocation, start: int, stop: int) -> None:
    """Notes that bytes of memory hold what somebody has set."""
    written_map = allocation.written
    if written_map is not None:
        written_map.done[start // written_map.grain : -(-stop // written_map.grain)] = True
        written_map.fresh = True
