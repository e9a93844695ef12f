"""What a program that nvcc has built tells of itself, and asks of its kernels."""

import struct

from simt.core.findings import Finding
from simt.programs.cuda.errors import ApiError, number_of
from simt.programs.cuda.state import Answer, State


class BinaryCalls(State):
    """What `cudart.cpp` tells of the program that it is linked with."""

    def do_site(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The line of a call, by the addresses to which it and those around it return."""
        addresses = struct.unpack(f"<{len(payload) // 8}Q", payload)
        return Answer(self.line_at([a - 1 for a in addresses if a]))

    def do_binary(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The device code of a translation unit, which may be linked with that of others."""
        return Answer(self.code.add(payload, values[0]))

    def do_function(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """A kernel's name, and the address of the host's function that stands for it."""
        module, address, *_ = values
        self.code.functions[address] = self.code.modules[module - 1], payload.decode()

    def do_device_variable(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """A device's variable, and the address of the host's that stands for it."""
        module, shadow, *_ = values
        self.code.shadows[shadow] = self.code.modules[module - 1], payload.decode()

    def do_module(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cuModuleLoadData`: a module, which may be linked with others."""
        number = self.code.add(payload, values[0])
        self.code.modules[number - 1].texts  # noqa: B018 - refused here if there is none
        return Answer(number)

    def do_module_kernel(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cuModuleGetFunction`: the number that stands for a kernel."""
        unit, name = self.code.modules[values[0] - 1], payload.decode()
        if name not in unit.module.functions:
            raise ApiError(f"the module has no kernel {name}", "cudaErrorSymbolNotFound")
        number = next(self._handles)
        self.code.functions[number] = unit, name
        return Answer(number)

    def do_module_variable(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cuModuleGetGlobal`: address and bytes of a variable."""
        found = self.code.modules[values[0] - 1].memory.allocations.get(payload.decode())
        if found is None:
            raise ApiError(
                f"the module has no variable {payload.decode()}", "cudaErrorSymbolNotFound"
            )
        return Answer(found.address, struct.pack("<Q", len(found.data)))

    def do_managed(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """A `__managed__` variable, for which there is memory by now."""
        piece = self.memory.at(values[1])
        if piece is not None:
            self.code.modules[values[0] - 1].manage(payload.decode(), piece)

    def do_symbol(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The address of a variable on the device, or its bytes."""
        piece = self.code.variable(values[0])
        return Answer(piece.size if values[1] else piece.address)

    def do_parameters(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The bytes of each parameter of a kernel, or where each lies if they are in one piece."""
        kernel = self.code.kernel(values[0], together=False)
        sizes, places, end = [], [], 0
        for parameter in kernel.program.function.params:
            sizes.append(parameter.size)
            places.append(-(-end // parameter.align) * parameter.align)
            end = places[-1] + parameter.size
        return Answer(0, struct.pack(f"<{len(sizes)}I", *(places if values[1] else sizes)))

    def do_static_shared(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The bytes of shared memory that a kernel declares."""
        kernel = self.code.kernel(values[0], together=False)
        return Answer(kernel.static_shared, struct.pack("<Q", kernel.most_shared))

    def do_refused(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """A function of the runtime that the library lacks."""
        message = f"{payload.decode()} is not covered: it gives cudaErrorNotSupported"
        self.note(Finding("api-error", line or None, message))
        self._last = number_of("cudaErrorNotSupported")
        return Answer(error=self._last)
