"""A `.cu` file from its text to its exit status."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from types import TracebackType

from simt.errors import KernelError
from simt.programs.cuda.declarations import Declarations
from simt.programs.cuda.device_part import DevicePart
from simt.programs.cuda.errors import NotSupported
from simt.programs.cuda.host_compiler import build, line_of
from simt.programs.cuda.host_part import HostPart
from simt.programs.cuda.kernels import DeviceCode
from simt.programs.cuda.memory import DeviceMemory
from simt.programs.cuda.process import serve
from simt.programs.cuda.runtime import Runtime
from simt.programs.cuda.tokens import read
from simt.programs.launches import Launches

__all__ = ["CudaProgram"]


class CudaProgram:
    """A program, compiled, as long as the `with` statement lasts; it runs as often as one likes.

    `text` is what it holds if it is no file.

    Raises:
        KernelError: a compiler refuses it.
        MissingPackage: there is no compiler for one of its parts.
        BadInput: it holds what is not covered.
    """

    def __init__(self, file: Path, text: str | None = None) -> None:
        self.file, self.source = file, read(file, text)
        self._declared = Declarations(self.source)
        self._device, self._host = DevicePart(self._declared), HostPart(self._declared)
        self._first: DeviceCode | None = self._code(DeviceMemory(Path()))  # before the host's part
        self._folder = tempfile.TemporaryDirectory(prefix="simt-")
        try:
            folder = Path(self._folder.name)
            if text is not None:  # where the compiler looks for the lines that it quotes
                (folder / file.name).write_text(text, encoding="utf-8")
            origin = Path() if text is None else folder
            self._executable = build(self._host.text, self.source, folder, origin)
        except BaseException:
            self._folder.cleanup()
            raise

    def __enter__(self) -> CudaProgram:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._folder.cleanup()

    def _code(self, memory: DeviceMemory) -> DeviceCode:
        try:
            return DeviceCode(self._device, self._host, memory, str(self.file))
        except KernelError as error:
            message = f"{self.file.name}, {self.source.in_words(str(error))}"
            raise KernelError(message + self._hint(message)) from None

    def _hint(self, message: str) -> str:
        """What to do where a kernel calls a function of the host's, which NVRTC does not know."""
        missing = re.search(r'identifier "(\w+)" is undefined', message)
        for d in self._declared.declarations:
            if missing and d.kind == "function" and d.name == missing[1] and not d.for_device:
                return f"\n{d.name} is a function of the host: write __host__ __device__ before it"
        return ""

    def run(self, arguments: list[str], launches: Launches, *, captured: bool = False) -> int:
        """Runs it to its end and gives its exit status; see `serve` for `captured`.

        Raises:
            KernelError: a kernel needs what the machine does not have.
        """
        with tempfile.TemporaryDirectory(prefix="simt-") as name:
            code, self._first = self._first, None
            if code is None:
                code = self._code(DeviceMemory(Path(name)))
            code.memory.folder = Path(name)

            def locate(addresses: list[int]) -> int:
                return line_of(self._executable, self.file.name, addresses)

            runtime = Runtime(code, self.source, launches, locate)
            try:
                status = serve(self._executable, arguments, runtime, captured=captured)
            except NotSupported as unable:
                raise KernelError(str(unable)) from None
        launches.notes += runtime.notes
        return status
