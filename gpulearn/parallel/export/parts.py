"""Everything of a notebook that a function uses, gathered for a script."""

from __future__ import annotations
import __future__

import builtins
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gpulearn.errors import BadInput
from gpulearn.parallel.export.imports import Imports, has_name, home_of, of_notebook
from gpulearn.parallel.export.source import global_names, source_of, unwrapped
from gpulearn.parallel.export.values import NotPlain, line_that_made, same, written
from gpulearn.require import shown

MAX_LENGTH = 4000  # characters of one constant: what is longer is data, and belongs into a file


class Parts:
    """The imports, constants and definitions of a script; what they use is added with them.

    `settings` are lines that need nothing but imports and constants, `definitions` functions,
    classes and other lines, each after those that it uses. `future` says whether annotations are to
    stay text, as in the notebook.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        inner = unwrapped(fn)
        self._notebook: dict[str, Any] = getattr(inner, "__globals__", {})
        self._cell = str(getattr(getattr(inner, "__code__", None), "co_filename", ""))
        self._meaning: dict[str, Any] = {}  # what each name of the script stands for
        self._constants: dict[str, str] = {}  # name -> its lines
        self._late: set[str] = set()  # names that stand among the definitions
        self.imports = Imports()
        self.settings: list[str] = []
        self.definitions: list[str] = []
        self.future = False

    def constants(self) -> list[str]:
        """A line or more for each, in the notebook's order."""
        place = {name: number for number, name in enumerate(self._notebook)}
        return [self._constants[name] for name in sorted(self._constants, key=place.__getitem__)]

    def use(self, name: str, value: Any, user: str) -> str:
        """Let a name of the script stand for a value that `user` uses; returns the name."""
        if name in self._meaning:
            known = self._meaning[name]
            if not same(known, value):
                raise BadInput(
                    f"{user} uses {name} for {shown(value)}, and the script has {shown(known)} "
                    f"under that name: rename one of them."
                )
            return name
        self._meaning[name] = value
        if isinstance(value, ModuleType):
            if value.__name__ == "__main__":
                raise BadInput(f"{user} uses {name}, the notebook itself: use its names directly.")
            self.imports.add_module(name, value.__name__)
        elif of_notebook(value):
            self._definition(name, value, user)
        elif (home := home_of(name, value)) is not None:
            self.imports.add_name(name, *home)
        else:
            self._constant(name, value, user)
        return name

    def text_of(self, what: str, value: Any, user: str) -> tuple[str, list[str]]:
        """The text that makes a plain value, and the names in it."""
        named: dict[str, Any] = {}

        def name_of(part: Any) -> str | None:
            if not has_name(part):
                return None
            name = str(part.__name__).rpartition(".")[2]
            if named.setdefault(name, part) is not part:
                raise NotPlain(part)  # two of one name
            return name

        try:
            text = written(value, name_of)
        except NotPlain as refused:
            (part,) = refused.args
            inside = "" if part is value else f", with {shown(part)} in it"
            raise BadInput(
                f"{what} is {shown(value)}{inside}, which cannot be written into a script as it is "
                f"now: make it inside {user}, or pass what it is made from."
            ) from None
        if len(text) > MAX_LENGTH:
            raise BadInput(
                f"{what} is {shown(value)}, too long for a script: read it from a file in {user}."
            )
        return text, [self.use(name, part, user) for name, part in named.items()]

    def argument(self, number: int, value: Any, user: str) -> str:
        """The text of an argument: of its own, or its name in the notebook."""
        try:
            return self.text_of(f"argument {number}", value, user)[0]
        except BadInput:
            for name, known in self._notebook.items():
                if known is value and not name.startswith("_"):
                    return self.use(name, value, user)
            raise

    def _constant(self, name: str, value: Any, user: str) -> None:
        """A value by its text, or else by the line that made it."""
        try:
            text, names = self.text_of(f"{name}, which {user} uses,", value, user)
        except BadInput:
            line = line_that_made(name, self._notebook, self._cell)
            if line is None:
                raise
            self._line(*line)
            return
        if self._late.isdisjoint(names):
            self._constants[name] = f"{name} = {text}"
        else:
            self._late.add(name)
            self.definitions.append(f"{name} = {text}")

    def _line(self, source: str, targets: list[str]) -> None:
        for target in targets:
            self._meaning[target] = self._notebook[target]
        self._uses(targets[0], source, self._notebook)
        if self._late.isdisjoint(global_names(source)):
            self.settings.append(source)
        else:
            self._late.update(targets)
            self.definitions.append(source)

    def _definition(self, name: str, value: Any, user: str) -> None:
        if value.__name__ == "<lambda>":
            label = "fn" if name == "<lambda>" else name
            raise BadInput(f"{label} is a lambda, which has no name: write it with def.")
        if (own := value.__name__) != name:  # another name for it
            self.use(own, value, user)
            self._late.add(name)
            self.definitions.append(f"{name} = {own}")
            return
        inner = value if isinstance(value, type) else unwrapped(value)
        if getattr(inner, "__closure__", None):
            outer = ", ".join(inner.__code__.co_freevars)  # type: ignore[union-attr]
            raise BadInput(
                f"{name} uses {outer} of the function around it: define it at the left margin of "
                f"a cell, and pass {outer} as an argument."
            )
        source = source_of(value)
        if source is None:
            raise BadInput(f"The lines that define {name} are gone: run its cell again.")
        flags = getattr(getattr(inner, "__code__", None), "co_flags", 0)
        self.future |= bool(flags & __future__.annotations.compiler_flag)
        self._uses(own, source, getattr(inner, "__globals__", self._notebook))
        self._late.add(own)
        self.definitions.append(source)

    def _uses(self, user: str, source: str, known: dict[str, Any]) -> None:
        """Add what a definition takes from the notebook."""
        needed = global_names(source, annotations=not self.future)
        for name in global_names(source):
            if name == "get_ipython":
                raise BadInput(
                    f"{user} uses a magic of the notebook (a line with % or !), which a script "
                    f"does not have: write it in Python."
                )
            if name not in known:
                value = getattr(builtins, name, None)
                if not hasattr(builtins, name) and name in needed:
                    raise BadInput(
                        f"{user} uses {name}, which the notebook does not have: run the cell that "
                        f"defines it."
                    )
                if getattr(value, "__module__", None) in (None, "builtins"):
                    continue
            else:
                value = known[name]
            self.use(name, value, user)
            if isinstance(value, ModuleType):
                self.imports.add_submodules(value, name, source)
