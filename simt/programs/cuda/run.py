"""A `.cu` file from its text to its exit status."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from simt.errors import KernelError
from simt.programs.cuda import nvcc
from simt.programs.cuda.binary import DeviceCode
from simt.programs.cuda.errors import NotSupported
from simt.programs.cuda.memory import DeviceMemory
from simt.programs.cuda.process import serve
from simt.programs.cuda.runtime import Runtime
from simt.programs.cuda.sources import SourceFiles
from simt.programs.launches import Launches


class CudaProgram:
    """A program that nvcc compiles, as long as the `with` statement lasts.

    `options` and further files go to nvcc.
    """

    def __init__(self, file: Path, text: str | None = None, options: Sequence[str] = ()) -> None:
        self._main = file
        self._folder = tempfile.TemporaryDirectory(prefix="simt-")
        folder = Path(self._folder.name)
        try:
            if text is not None:
                (folder / file.name).write_text(text, encoding="utf-8")
            self._origin = None if text is None else folder
            self._executable = nvcc.build([str(file)], options, folder, self._origin or Path())
        except BaseException:
            self._folder.cleanup()
            raise

    def __enter__(self) -> CudaProgram:
        return self

    def __exit__(self, *error: object) -> None:
        self._folder.cleanup()

    def run(self, arguments: list[str], launches: Launches, *, captured: bool = False) -> int:
        """Runs it to its end and gives its exit status; see `serve` for `captured`."""
        source = SourceFiles(self._main, self._origin)
        return run_built(self._executable, source, arguments, launches, captured=captured)


def run_built(
    executable: Path, source: SourceFiles, arguments: list[str], launches: Launches, *,
    captured: bool = False,
) -> int:  # fmt: skip
    """Runs a program that is linked with a shared CUDA runtime; see `serve` for `captured`."""
    with tempfile.TemporaryDirectory(prefix="simt-") as name:
        code = DeviceCode(DeviceMemory(Path(name)), source)
        runtime = Runtime(code, source, launches)
        if any(f"{end}\0".encode() in executable.read_bytes() for end in nvcc.PER_THREAD):
            runtime.take_threads_stream()
        try:
            libraries = nvcc.runtime_library()
            status = serve(executable.resolve(), arguments, runtime, libraries, captured=captured)
        except NotSupported as unable:
            raise KernelError(str(unable)) from None
    launches.notes += runtime.notes
    return status
