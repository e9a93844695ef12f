"""Kernels that launch kernels: the device's side of the runtime, by the names that nvcc gives it.

What a thread puts on a stream is carried out when its own grid has ended, in the order of the
calls. So nothing here waits for an event; streams have numbers by which races are found.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from simt.ptx.calls import FunctionCalls
from simt.ptx.parse import function_address
from simt.ptx.program import ChildGrid

Lanes = Any
RUNTIME = "__cudaCDP2"
TAIL = 3  # cudaStreamTailLaunch: after everything else of the grid
FORGET = 4  # cudaStreamFireAndForget: in no order with anything
NO_WORK = (
    "StreamDestroy", "StreamWaitEvent", "EventDestroy", "EventRecord", "EventRecordWithFlags",
    "GetLastError", "PeekAtLastError",
)  # fmt: skip
ANSWERS = {"EventCreateWithFlags": 16, "GetDevice": 0, "GetDeviceCount": 1}


class DeviceRuntime(FunctionCalls):
    """`cuda…` functions that kernels call; `program.launched` takes what they launch."""

    def __init__(self, *where: Any, **options: Any) -> None:
        super().__init__(*where, **options)
        self.buffers: dict[int, tuple[str, list[int]]] = {}  # of arguments: kernel and shape
        self.streams = 16  # the number of the next

    def system(self, name: str, results: list[str], arguments: list[str]) -> None:
        """A function of the runtime's, or another that is not in the program."""
        call = name.removeprefix(RUNTIME).removeprefix("cudaGraph").removesuffix("_ptsz")
        known = call in NO_WORK or call in ANSWERS or hasattr(self, f"_do_{call.lower()}")
        if call == name or not known or self.program.launched is None:
            super().system(name.replace(RUNTIME, "cuda"), results, arguments)
            return
        answer = np.zeros((1, 1), np.uint64)
        if call in ANSWERS:
            kind = np.dtype(np.uint64 if call.endswith("Flags") else np.uint32)
            self.store("generic", self._word(arguments[0]), 0, kind, kind.type([[ANSWERS[call]]]))
        elif call not in NO_WORK:
            given = getattr(self, f"_do_{call.lower()}")(*arguments)
            answer = answer if given is None else given
        for result in results:
            self.params[-1][result] = {0: answer}

    def _word(self, name: str, at: int = 0, bits: int = 64) -> Lanes:
        return self.rely(self.param(name, at, np.dtype(f"u{bits // 8}")))

    def _active(self, *values: Lanes) -> Iterator[list[int]]:
        """For each active thread its number and its values."""
        spread = [self.spread(v).ravel() for v in values]
        for lane in self.lanes(self.mask).tolist():
            yield [lane, *(int(v[lane]) for v in spread)]

    def _do_streamcreatewithflags(self, stream: str, _flags: str) -> None:
        """A stream of each thread's own."""
        numbers = self.streams + self.all_lanes.astype(np.uint64).reshape(self.blocks, -1)
        self.streams += numbers.size
        self.store("generic", self._word(stream), 0, numbers.dtype, numbers)

    def _do_getparameterbufferv2(self, kernel: str, grid: str, block: str, shared: str) -> Lanes:
        """Memory for the arguments of a launch, which the thread writes there."""
        axes = [self._word(dims, at, 32) for dims in (grid, block) for at in (0, 4, 8)]
        kernels = {function_address(f.name): f for f in self.program.module.kernels}
        rows = list(self._active(self._word(kernel), *axes, self._word(shared, 0, 32)))
        sizes = np.zeros((self.blocks, self.threads), np.uint64)
        for lane, address, *_ in rows:
            if address not in kernels:
                who = self.thread_name(lane)
                message = f"{self.text(who)} launches a kernel at {address:#x}, where there is none"
                raise self.stop("out-of-bounds", message, who)
            sizes.ravel()[lane] = sum(p.size + p.align for p in kernels[address].params)
        buffers = self._take(sizes)
        for lane, address, *shape in rows:
            self.buffers[int(buffers.ravel()[lane])] = kernels[address].name, shape
        return buffers

    def _do_launchdevicev2(self, buffer: str, stream: str) -> None:
        """A launch with the arguments in a buffer."""
        buffers, tables = self._word(buffer), self.tables["global"]
        for lane, address, handle in self._active(buffers, self._word(stream)):
            name, shape = self.buffers.pop(address)
            arguments, at = [], 0
            for p in self.program.module.functions[name].params:
                at = -(-at // p.align) * p.align
                arguments.append(tables[address >> 40].data[at : at + p.size].tobytes())
                at += p.size
            self._put(name, shape, arguments, handle, lane)
        self._give_back(buffers)

    def _put(
        self, kernel: str, shape: list[int], arguments: list[bytes], stream: int, lane: int = 0
    ) -> None:
        launched = self.program.launched
        # each block has a default stream of its own
        own = -1 - (len(launched) << 32) if stream == FORGET else -1 - lane // self.threads
        key = stream if stream > FORGET else own
        launched.append(ChildGrid(kernel, shape, arguments, self.here(), stream == TAIL, key))

    def _do_memcpyasync(self, to: str, start: str, count: str, _kind: str, stream: str) -> None:
        """A copy on the device."""
        values = (self._word(name) for name in (to, start, count, stream))
        for _, *three, handle in self._active(*values):
            self._put("", [], [word.to_bytes(8, "little") for word in three], handle)

    def _do_setconditional(self, handle: str, value: str) -> None:
        """The value that a graph chooses by."""
        for _, *two in self._active(self._word(handle), self._word(value, 0, 32)):
            self._put("", [], [word.to_bytes(8, "little") for word in two], 0)

    def _do_malloc(self, pointer: str, size: str) -> None:
        """`cudaMalloc`: memory of the kernels' heap."""
        taken = self._take(self._word(size))
        self.store("generic", self._word(pointer), 0, taken.dtype, taken)

    def _do_free(self, pointer: str) -> None:
        self._give_back(self._word(pointer))
