"""A kernel of CUDA C++ as a text, compiled when it is first launched."""

import functools
import inspect
import re

from simt.cpp.module import CppKernel, CppModule
from simt.cpp.signature import Parameter, find_kernels
from simt.errors import BadInput, KernelError
from simt.host.dispatcher import Launchable
from simt.host.work.prepared import LaunchRequest, Prepared

COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\w+|\.\.\.|\S')


class CppSource(Launchable):
    """A kernel that is known by its text; `xray` takes it as it takes a compiled one.

    Args:
        name: what a notebook calls the text.
        text: CUDA C++.
        kernel: the name of the `__global__` function in it.
    """

    def __init__(self, name: str, text: str, kernel: str) -> None:
        self.__name__ = name
        self.text, self.kernel = text, kernel

    @property
    def cell(self) -> str:
        """The text as it stands in a notebook's cell."""
        return f'{self.__name__} = r"""\n{self.text.strip()}\n"""'

    @functools.cached_property
    def tokens(self) -> list[str]:
        """Its words and signs, without comments and layout."""
        return TOKEN.findall(COMMENT.sub(lambda match: match[1] or " ", self.text))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters; none where there is no such kernel in the text."""
        signature = find_kernels(self.text).get(self.kernel)
        return signature.parameters if signature else ()

    @property
    def __signature__(self) -> inspect.Signature:
        names = dict.fromkeys(p.name for p in self.parameters)  # a name given twice is refused
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind) for name in names])

    @functools.cached_property
    def compiled(self) -> CppKernel:
        """The kernel itself."""
        return CppModule(self.text)[self.kernel]

    @property
    def fault(self) -> str | None:
        """Why it cannot be launched, whatever it computes; None if it can be tried."""
        joined = " ".join(self.tokens)
        if match := re.search(r"[;{}] (__sync\w+) ;", joined):
            return f"{match[1]} is named and not called: write {match[1]}() with parentheses."
        try:
            _ = self.compiled
        except (KernelError, BadInput) as error:
            return str(error)
        return None

    def prepare(self, request: LaunchRequest) -> Prepared:
        """A launch with its arguments taken."""
        return self.compiled.prepare(request)
