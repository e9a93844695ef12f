"""The errors of the CUDA runtime: number, name and text, from the table of the runtime library."""

import re
from pathlib import Path

from simt.core.findings import Finding

NATIVE = Path(__file__).with_name("native")
_LINE = re.compile(r'^SIMT_ERROR\((\d+), (\w+), "([^"]*)"\)', re.MULTILINE)
ERRORS = {
    int(number): (name, text)
    for number, name, text in _LINE.findall((NATIVE / "simt_errors.h").read_text("utf-8"))
}
_NUMBERS = {name: number for number, (name, _) in ERRORS.items()}
# what a finding that ends a kernel is on a GPU; any other is an unspecified failure
_OF_KERNELS = {
    "out-of-bounds": "cudaErrorIllegalAddress", "misaligned": "cudaErrorMisalignedAddress",
    "exception": "cudaErrorAssert", "no-progress": "cudaErrorLaunchTimeout",
}  # fmt: skip


def number_of(name: str) -> int:
    """The number of an error."""
    return _NUMBERS[name]


class ApiError(Exception):
    """A call that gives an error back to the program, and why it does."""

    def __init__(self, why: str, name: str = "cudaErrorInvalidValue") -> None:
        self.number = number_of(name)
        super().__init__(f"{why}: {name} ({ERRORS[self.number][1]})")


class KernelFailure(Exception):  # noqa: N818 - an answer to the program, never shown
    """A kernel that could not go on: every call from now on gives its error."""

    def __init__(self, finding: Finding) -> None:
        self.number = number_of(_OF_KERNELS.get(finding.kind, "cudaErrorLaunchFailure"))
        super().__init__(finding.message)


class NotSupported(Exception):  # noqa: N818 - ends the program with its sentence
    """Something that this package cannot do: no error that a GPU would give."""
