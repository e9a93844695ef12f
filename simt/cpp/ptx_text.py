"""The PTX of a kernel, each instruction under the C++ line that it was made of."""

from collections.abc import Mapping

from simt.ptx.parse import Function


class PtxText:
    """What the compiler made of a kernel, to be read.

    Args:
        function: the kernel.
        lines: the C++ lines by number.
    """

    def __init__(self, function: Function, lines: Mapping[int, str]) -> None:
        self._function, self._lines = function, lines

    def count(self, begins: str) -> int:
        """How many instructions begin so: `count("ld.global")`, `count("fma")`."""
        return sum(i.name.startswith(begins) for i in self._function.instructions)

    def __repr__(self) -> str:
        labels = {at: name for name, at in self._function.labels.items()}
        text: list[str] = []
        line = 0
        for at, instruction in enumerate(self._function.instructions):
            if at in labels:
                text.append(f"{labels[at]}:")
                line = 0
            if instruction.line != line and instruction.line in self._lines:
                line = instruction.line
                text.append(f"{line:>3}  {self._lines[line].strip()}")
            text.append(f"          {instruction}".rstrip())
        return "\n".join(text)
