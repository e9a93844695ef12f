"""Known answers of the course's exercises as learners hand them in: a file with its imports."""

import builtins
import inspect
import linecache
import sys
import textwrap
import types

from gpulearn.errors import GpulearnError
from gpulearn.judge.check import examined
from gpulearn.judge.stubs import unwrapped
from simt.cpp.source import CppSource

from ..support.rights import rights_of


class NotWritable(Exception):
    """An answer cannot be written as a file, such as one that closes over a value."""


def as_text(exercise, answer):
    """The text of a submission that defines an answer under the exercise's name."""
    if isinstance(answer, CppSource):
        return f"{exercise.name} = {answer.text!r}\n"
    function = unwrapped(getattr(answer, "py_func", answer))
    if not isinstance(function, types.FunctionType) or function.__closure__:
        raise NotWritable
    source = textwrap.dedent(inspect.getsource(function))
    lines = source.splitlines(keepends=True)
    begin = next(n for n, line in enumerate(lines) if line.startswith("def "))
    body = "".join(lines[begin:]).replace(f"def {function.__name__}(", f"def {exercise.name}(", 1)
    decorator = "@cuda.jit\n" if hasattr(exercise.reference, "py_func") else ""
    head = ["from __future__ import annotations\n"]
    for name in sorted(names_in(function.__code__) | ({"cuda"} if decorator else set())):
        if name in function.__globals__ and name != exercise.name:
            head.append(importing(name, function.__globals__[name]))
    return "".join(head) + "\n" + decorator + body


def names_in(code):
    inner = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return set(code.co_names).union(*map(names_in, inner))


def importing(name, value):
    """A line that gives a name its value."""
    if name == "cuda":
        return "from gpulearn import cuda\n"
    if isinstance(value, types.ModuleType):
        return f"import {value.__name__} as {name}\n"
    if isinstance(value, int | float | str | tuple) and not isinstance(value, type):
        return f"{name} = {value!r}\n"
    module, attribute = getattr(value, "__module__", None), getattr(value, "__name__", None)
    there = not module.startswith("gpulearn.judge") and sys.modules.get(module) if module else None
    if attribute and there and getattr(there, attribute, None) is value and there is not builtins:
        return f"from {module} import {attribute} as {name}\n"
    if getattr(builtins, name, None) is value:
        return ""
    raise NotWritable(name)


def told_by_check(exercise, text):
    """What `gl.check` says to a text that is typed into a cell; "" where it passes."""
    filename = f"<ipython-input-{abs(hash(text))}>"
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    namespace = {"__name__": "__main__"}
    exec(compile(text, filename, "exec"), namespace)
    try:
        examined(exercise, namespace[exercise.name])
    except GpulearnError as error:
        return str(error)
    return ""


def submissions(exercise, wrong=3, right=1):
    """Some of the known answers as texts."""
    answers = [*rights_of(exercise)[:right], *(w.answer for w in exercise.answers.wrongs)]
    found = []
    for one in answers:
        try:
            found.append(as_text(exercise, one))
        except (NotWritable, OSError):
            continue
    return found[: wrong + right]
