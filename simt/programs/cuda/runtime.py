"""The CUDA runtime behind `cudart.cpp`: a method for each request of the program.

What a call does wrong is its error for the program, and a finding with the line of the call.
"""

import struct
from collections.abc import Callable

from simt.core.limits import RESERVED_SHARED
from simt.host.devices import Device
from simt.programs.cuda.arrays import ARRAY_LIMITS, ArrayCalls
from simt.programs.cuda.binary_calls import BinaryCalls
from simt.programs.cuda.capture import CaptureCalls
from simt.programs.cuda.errors import ApiError, KernelFailure
from simt.programs.cuda.graphs import Request
from simt.programs.cuda.memory import Piece
from simt.programs.cuda.pools import PoolCalls
from simt.programs.cuda.state import Answer
from simt.ptx.memory import GLOBAL_BITS

# what is asked for though a kernel has failed
SAFE_CALLS = {
    "last_error", "fault", "attribute", "memory", "reset", "callback_end", "site", "refused",
    "binary", "function", "device_variable",
}  # fmt: skip
NEAR_NULL = 4096
# the number of a cudaDeviceAttr and what the machine calls it
ATTRIBUTES = {
    1: "MAX_THREADS_PER_BLOCK", 2: "MAX_BLOCK_DIM_X", 3: "MAX_BLOCK_DIM_Y", 4: "MAX_BLOCK_DIM_Z",
    5: "MAX_GRID_DIM_X", 6: "MAX_GRID_DIM_Y", 7: "MAX_GRID_DIM_Z",
    8: "MAX_SHARED_MEMORY_PER_BLOCK", 9: "TOTAL_CONSTANT_MEMORY", 10: "WARP_SIZE",
    12: "MAX_REGISTERS_PER_BLOCK", 13: "CLOCK_RATE", 16: "MULTIPROCESSOR_COUNT",
    17: "KERNEL_EXEC_TIMEOUT", 18: "INTEGRATED", 19: "CAN_MAP_HOST_MEMORY",
    31: "CONCURRENT_KERNELS", 32: "ECC_ENABLED", 36: "MEMORY_CLOCK_RATE",
    37: "GLOBAL_MEMORY_BUS_WIDTH", 38: "L2_CACHE_SIZE", 39: "MAX_THREADS_PER_MULTIPROCESSOR",
    41: "UNIFIED_ADDRESSING", 75: "COMPUTE_CAPABILITY_MAJOR", 76: "COMPUTE_CAPABILITY_MINOR",
    81: "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", 82: "MAX_REGISTERS_PER_MULTIPROCESSOR",
    83: "MANAGED_MEMORY", 95: "COOPERATIVE_LAUNCH", 97: "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    106: "MAX_BLOCKS_PER_MULTIPROCESSOR",
}  # fmt: skip
# those that Numba has no name for: copies beside kernels (15, and how many, 40), priorities of
# streams, L1 for global and for local memory, reserved shared memory, memory pools
CONSTANTS = ARRAY_LIMITS | {15: 1, 40: 2, 78: 1, 79: 1, 80: 1, 111: RESERVED_SHARED, 115: 1}


class Runtime(CaptureCalls, PoolCalls, ArrayCalls, BinaryCalls):
    """The device of one program."""

    def answer(self, name: str, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """Carries out a request."""
        self.line = line
        if self._sticky and name not in SAFE_CALLS:
            return Answer(error=self._sticky)
        try:
            if self._captures:
                taken = self.captured(Request(name, line, values, payload))
                if taken is not None:
                    return taken
            method: Callable[..., Answer | None] = getattr(self, f"do_{name}")
            return method(line, values, payload) or Answer()
        except ApiError as error:
            self._last = error.number
            self.find("api-error", line, str(error))
            return Answer(error=error.number)
        except KernelFailure as failed:
            self._sticky = self._last = failed.number
            return Answer(error=failed.number)

    # --- errors and the device

    def do_last_error(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaGetLastError`, which forgets it, or `cudaPeekAtLastError`."""
        error = self._sticky or self._last
        if values[0]:
            self._last = 0
        return Answer(error=error)

    def do_set_device(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaSetDevice`: there is device 0."""
        if values[0]:
            number = values[0] - (values[0] >> 63 << 64)
            raise ApiError(f"device {number} is asked for, of one", "cudaErrorInvalidDevice")

    def do_peer(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaDeviceEnablePeerAccess` and its kin: a device is no peer of itself."""
        self.do_set_device(line, values, payload)
        raise ApiError("device 0 is asked for as a peer, of itself", "cudaErrorInvalidDevice")

    def do_attribute(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """A limit of the device."""
        name = ATTRIBUTES.get(values[0])
        return Answer(int(getattr(Device, name)) if name else CONSTANTS.get(values[0], 0))

    def do_reset(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaDeviceReset`: waits, and gives all memory back."""
        if not self._sticky:
            self.queue.finish()
        for block in list(self.memory.blocks.values()):
            if block.kind in ("device", "array"):
                self.memory.free(block, line)

    # --- the host where it must not be

    def do_fault(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The host touches memory that work under way uses, or goes where it has none.

        1 if it can go on.
        """
        address, writes, count = values[:3]
        piece = self.memory.at(address)
        if piece is not None and self.held.holds(piece, address):
            self._fault(piece, address, writes, payload, count)
            return Answer(1)
        return self._bad_address(values, payload)

    def _fault(self, piece: Piece, address: int, writes: int, payload: bytes, count: int) -> None:
        how = {"writes": writes != 0, "atomic": writes == 3}
        first = conflict = self.held.use(piece, address, **how)
        while conflict is not None and conflict[1] is not None:  # it may touch other bytes only
            self.queue.progress(conflict[1])
            conflict = self.held.use(piece, address, **how)
        if conflict is None:
            if first is None:  # the page holds other bytes that are in use
                self.held.give(piece, address)
            return
        use, _ = conflict
        does = {0: "reads", 1: "writes", 3: "writes"}.get(writes, "uses")
        verb = "write" if use.writes else "read"
        self.find(
            "host-access", self._line_of(payload, count),
            f"the host {does} {use.piece} while {use.what} may still {verb} it: call "
            "cudaDeviceSynchronize() before",
        )  # fmt: skip
        self.held.give(piece)

    def _bad_address(self, values: tuple[int, ...], payload: bytes) -> Answer:
        """The host goes to an address that it does not have."""
        count = values[2]
        numbers = struct.unpack(f"<{len(payload) // 8}Q", payload)
        line = self._line_of(payload, count)
        pointer = next((n for n in numbers[:count] if self.memory.is_device(n) and n < 1 << 63), 0)
        block = self.memory.at(pointer) or self.memory.freed.get(pointer >> GLOBAL_BITS)
        if block is not None:
            message = (
                f"the host goes to {self.memory.of_pointer(block.address)}, which only kernels "
                "can reach: copy it to the host with cudaMemcpy"
            )
        else:
            freed = self.memory.freed.get(values[0] >> GLOBAL_BITS)
            what = (
                self.memory.of_pointer(freed.address) if freed
                else "a null pointer" if values[0] < NEAR_NULL
                else f"the address {values[0]:#x}, where it has no memory"
            )  # fmt: skip
            message = f"the host goes to {what}"
        self.find("host-access", line, message)
        return Answer()

    def _line_of(self, payload: bytes, count: int) -> int:
        numbers = struct.unpack(f"<{len(payload) // 8}Q", payload)
        return self.line_at(numbers[count:])

    # --- the end

    def finish(self, status: int) -> None:
        """What is left when the program has ended; of one that failed it says nothing."""
        self.line = 0
        printed, self.printed = self.printed, ""
        if not self._sticky:
            try:
                self.queue.finish()
            except KernelFailure as failed:
                self._sticky = failed.number
        if self.printed:
            self._say(
                "what the last kernels print is lost, since the program ends without waiting for "
                "them: call cudaDeviceSynchronize()"
            )
        self.printed = printed
        if self._sticky or status:
            return
        leaks = [b for b in self.memory.blocks.values() if b.kind != "variable" and not b.lasts]
        for line in sorted({b.line for b in leaks}):
            sizes = [b.size for b in leaks if b.line == line]
            pieces = f" in {len(sizes):,} pieces" if len(sizes) > 1 else ""
            message = f"{sum(sizes):,} bytes of memory{pieces} are allocated here and never freed"
            self.find("leak", line, message)
        if self.launched and not self.came_back:
            self.find(
                "no-effect", 0,
                "no result of a kernel ever comes back to the host: nothing is copied with "
                "cudaMemcpyDeviceToHost",
            )  # fmt: skip
