"""Functions of PTX: calls by name or by address, and the parameters that they take and give."""

from typing import Any

import numpy as np

from simt.core.masks import EMPTY, Mask, split, union
from simt.core.memory import Allocation
from simt.ptx.lanes import WarpOperations
from simt.ptx.parse import function_address
from simt.ptx.program import PtxProgram
from simt.ptx.translate import Code

Lanes = Any
DEPTH = 64  # functions inside functions


class FunctionCalls(WarpOperations):
    """Calls of device functions."""

    _values: dict[str, bytes]  # the kernel's own parameters

    def __init__(self, program: PtxProgram, *where: Any, dynamic: int, **options: Any) -> None:
        super().__init__(program, *where, dynamic=dynamic, **options)
        self.merge: Mask = None  # the threads that keep what others of them do not write
        self.depth = 0
        self.params: list[dict[str, dict[int, Any]]] = []  # of each call
        self.codes: dict[str, Code] = {}
        self.places: dict[str, Allocation] = {}  # of parameters whose address is taken

    def run(self, code: Code) -> None:
        """Carries a function out for the active threads, until all have come to its end."""
        raise NotImplementedError

    def call(self, function: Any, results: list[str], arguments: list[str]) -> None:
        """A function for the active threads, by its name or by addresses.

        Arguments and results are passed in parameters.
        """
        if isinstance(function, str):
            self._call(function, results, arguments)
        else:
            self._call_each(function, results, arguments)

    def _call_each(self, addresses: Lanes, results: list[str], arguments: list[str]) -> None:
        """The functions at the addresses that threads have, one after the other."""
        before, returned = self.mask, EMPTY
        if before is EMPTY:
            return
        params = self.params[-1]
        merged_results: dict[str, dict[int, Any]] = {name: {} for name in results}
        for address in np.unique(self.active_values(addresses, self.lanes(before))).tolist():
            here, _ = split(before, np.asarray(addresses == address))
            self.mask = here
            self._call(self._function_at(address, arguments), results, arguments)
            returned = union(returned, self.mask)
            for name, old in merged_results.items():
                for at, value in params.get(name, {}).items():
                    previous = old.get(at)
                    merged = previous is not None and here is not None
                    old[at] = np.where(here, value, previous) if merged else value
        params.update(merged_results)
        self.mask = returned

    def _function_at(self, address: int, arguments: list[str]) -> str:
        """The name of the function at an address."""
        for name, code in self.codes.items():
            if address == function_address(name) and len(code.function.params) == len(arguments):
                return name
        who = self.who(self.mask)
        what = (
            f"the address {address:#x}, where no such function is" if address else "a null pointer"
        )
        raise self.stop("out-of-bounds", f"{self.text(who[0])} calls {what}", *who)

    def _call(self, name: str, results: list[str], arguments: list[str]) -> None:
        code = self.codes.get(name)
        if code is None:
            self.system(name, results, arguments)
            return
        if self.depth >= DEPTH:
            message = f"calls nest deeper than {DEPTH}: {name} never stops calling itself"
            raise self.stop("no-progress", message)
        place, merge = self.line, self.merge
        caller = self.params[-1] if self.params else {}
        pairs = zip(code.function.params, arguments, strict=True) if arguments else ()
        callee = {p.name: caller[g] for p, g in pairs}
        self.params.append(callee)
        self.depth += 1
        self.run(code)
        self.depth -= 1
        self.params.pop()
        for result, target in zip(code.function.results, results, strict=False):
            caller[target] = callee.get(result, {})
        self.line, self.merge = place, merge

    # --- parameters

    def param(self, name: str, offset: int, dtype: np.dtype[Any]) -> Lanes:
        """A parameter of the kernel, or of the function that is called."""
        content = self._values.get(name) if self.depth == 1 else None
        if content is not None:
            return np.frombuffer(content, dtype, 1, offset).reshape(1, 1)
        parts = self.params[-1].get(name, {})
        value = parts.get(offset)
        if value is None:
            return self._part(parts, offset, dtype)
        if value.dtype == dtype:
            return value
        if value.dtype.itemsize == dtype.itemsize:
            return value.view(dtype)
        bits = value.view(f"u{value.dtype.itemsize}")
        return bits.astype(f"u{dtype.itemsize}").view(dtype)

    def place_of(self, name: str) -> Lanes:
        """The address of a parameter of the kernel, which lies in constant memory."""
        if name not in self.places:
            data = np.frombuffer(self._values[name], np.uint8)
            allocation = self.places[name] = Allocation("const", data)
            allocation.readonly = True
            self.tables["const"][allocation.address >> 40] = allocation
            self.names[allocation.number] = self.source.parameters[[*self._values].index(name)]
        return np.array([[self.places[name].address]], np.uint64)

    def _part(self, parts: dict[int, Any], offset: int, dtype: np.dtype[Any]) -> Lanes:
        """A part of a wider value that was handed over, or something wider than its parts."""
        for start, value in parts.items():
            if start < offset < start + value.dtype.itemsize:
                bits = value.view(f"u{value.dtype.itemsize}")
                shifted = bits >> bits.dtype.type(8 * (offset - start))
                return shifted.astype(f"u{dtype.itemsize}").view(dtype)
        return np.zeros((1, 1), dtype)

    def set_param(self, name: str, offset: int, value: Lanes) -> None:
        """Hands over a value to a function that is called next, or back from it."""
        parts = self.params[-1].setdefault(name, {})
        old = parts.get(offset)
        some = self.mask is not None and self.mask is not EMPTY
        if some and old is not None and old.dtype == value.dtype:
            value = np.where(self.mask, value, old)
        parts[offset] = value
