"""A student's process: loads an answer, calls it, and sends back what came out, as data.

Nothing that is said here is believed: the judge takes a message for an outcome of the answer and
compares that. What is noted on the way, such as a call of the library's own solution, is sent at
once, before the answer can take it back; it names what was done, and can be evaded by an answer
that reaches deeper into the interpreter than Python's audit events do (PEP 578).
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.abc
import linecache
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from gpulearn.errors import KernelError
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.isolation import borrowing
from gpulearn.judge.stubs import unwrapped
from gpulearn.require import shorten, shown
from gpulearn_grading.apart.channel import ChannelClosed, MessageChannel
from gpulearn_grading.apart.values import decoded, encoded
from simt.cpp.compiler import compile_to_ptx
from simt.cpp.source import CppSource

SUBMISSION = "<ipython-submission>"  # by such a name Numba caches what is compiled
HOUSE = Path(__file__).parents[2]
FORBIDDEN = ("gpulearn.judge", "gpulearn_grading")
LOOK_OUT = "takes the grader's look-out away"
# of audit events, what is worth a note
EVENTS = {
    "starts processes": (
        "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"
    ),
    "starts another program": ("os.exec",),
    "sends signals to processes": ("os.kill", "signal.pthread_kill"),
    "reaches for the network": ("socket.connect", "socket.getaddrinfo"),
    "calls C": ("ctypes.dlopen",),
    "removes or renames files": ("os.remove", "os.rename", "shutil.rmtree"),
    LOOK_OUT: ("sys.setprofile", "sys.settrace", "sys.monitoring.register_callback"),
}  # fmt: skip
NOTED = {event: what for what, events in EVENTS.items() for event in events}


@functools.cache
def _exercises() -> frozenset[str]:
    """The modules of the course's exercises."""
    from gpulearn.judge.catalogue import places  # not above, where an answer would find it

    return frozenset(f"{topic.__name__}.{name}" for name, topic in places().items())


@functools.cache
def catalogue_files() -> list[Path]:
    """Folders and files with exercises, known answers and checks, which no answer may read."""
    modules = [HOUSE.joinpath(*module.split(".")) for module in (*FORBIDDEN, *_exercises())]
    paths = [path.with_suffix(suffix) for path in modules for suffix in ("", ".py", ".hints")]
    return [path for path in paths if path.exists()]


def _is_forbidden(module: str) -> bool:
    return module.startswith(FORBIDDEN) or module in _exercises()


class _Watch:
    """Python's audit events, as notes; each kind once."""

    def __init__(self) -> None:
        self.channel: MessageChannel | None = None
        self.quiet = True  # the grader's own doing
        self._seen: set[str] = set()

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note an event of the answer's that is worth it."""
        if self.quiet:
            return
        what = NOTED.get(event, "")
        if event == "open" and isinstance(arguments[0], str):
            what = _opened(os.path.realpath(arguments[0]), arguments[1] or "r")
        if event == "object.__setattr__" and arguments[1] == "__code__":
            what = LOOK_OUT
        elif what == LOOK_OUT and sys._getframe(1).f_code.co_filename.startswith(str(HOUSE)):
            return  # the trial's own look-out
        files = what == "removes or renames files"
        if what and not (files and _is_at_home(os.fsdecode(arguments[0]))):
            self.note(what, ", ".join(map(str, arguments[:1])))

    def note(self, what: str, about: str) -> None:
        """Tell the judge, once; an answer whose notes cannot be sent does not go on."""
        if self.channel is None or what in self._seen:
            return
        self._seen.add(what)
        try:
            self.channel.send({"note": what, "about": shorten(about, 80)})
        except ChannelClosed:
            os._exit(1)


def _is_at_home(path: str, *besides: str) -> bool:
    return os.path.realpath(path).startswith((os.environ["HOME"], *besides))


def _opened(path: str, mode: Any) -> str:
    if any(Path(path).is_relative_to(place) for place in catalogue_files()):
        return "reads the catalogue of answers"
    written = isinstance(mode, str) and set(mode) & set("wax+")
    return "writes outside of its home" if written and not _is_at_home(path, "/dev/") else ""


watch = _Watch()


class _Closed(importlib.abc.MetaPathFinder):
    """Refuses to import what holds the answers and judges them."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Nothing is found; what is asked for here is noted."""
        if _is_forbidden(name):
            watch.note("reads the catalogue of answers", name)
            raise ModuleNotFoundError(f"{name} is not here while a submission is graded", name=name)


def prepare() -> None:
    """What all copies share: the audit hook, which nothing in Python can take away."""
    catalogue_files()  # read before an answer could get in the way
    sys.addaudithook(watch.hear)
    linecache.cache.clear()


def serve(channel: MessageChannel) -> None:
    """Do what the judge asks for until it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    warnings.simplefilter("ignore")
    watch.channel = channel
    student = _Student()
    with suppress(ChannelClosed, OSError, EOFError):
        while True:
            do, what = channel.end.recv()
            channel.send(getattr(student, f"do_{do}")(**what))


class _Student:
    """The answer and what is asked of it."""

    answer: Any = None
    names: Mapping[str, Any] = MappingProxyType({})
    reference: Any = None
    exercise: Exercise | None = None
    cases: Sequence[Case] = ()

    def do_load(
        self,
        source: str,
        name: str,
        reference: str,
        exercise: str,
        files: dict[str, str],
        as_text: bool,
    ) -> dict[str, Any]:
        """Run what the answer needs of the submission; what the name stands for then."""
        for file, inside in files.items():
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(inside, encoding="utf-8")
        sys.path.insert(0, str(Path.cwd()))
        if reference:
            home, _, attribute = reference.partition(":")
            self.reference = getattr(importlib.import_module(home), attribute)
        if exercise:  # its cases hold more than data
            from gpulearn.judge.catalogue import find

            self.exercise = find(exercise)
            self.cases = self.exercise.cases()
        else:
            _close()
        sys.modules["submission"] = module = ModuleType("submission")
        with suppress(ModuleNotFoundError):  # ranks, which have no such module, get its functions
            importlib.import_module("cloudpickle").register_pickle_by_value(module)
        self.names = names = vars(module)
        names["__builtins__"] = builtins
        lines = source.splitlines(keepends=True)
        linecache.cache[SUBMISSION] = len(source), None, lines, SUBMISSION
        if "gpulearn" in sys.modules:
            _stand_ins(sys.modules["gpulearn"], as_text)
        try:
            with _heard():
                exec(compile(source, SUBMISSION, "exec", dont_inherit=True), names)
        except BaseException as error:
            return {"failed": f"{type(error).__name__}: {_message(error)}".rstrip(": ")}
        if name not in self.names:
            return {"missing": True}
        self.answer = self.names[name]
        if self.exercise and self.exercise.kernel:
            self.answer = CppSource(name, str(self.answer), self.exercise.kernel)
        own = self.exercise.reference if self.exercise else self.reference
        if own is not None and unwrapped(self.answer) is unwrapped(own):
            return {"borrowed": True}
        return {"callable": callable(self.answer) and not isinstance(self.answer, type),
                "shown": shown(self.answer)}  # fmt: skip

    def do_compile(self, text: str) -> dict[str, Any]:
        """The PTX of an answer in CUDA C++, or what the compiler says."""
        try:
            return {"ptx": compile_to_ptx(text)[0]}
        except KernelError as error:
            return {"refused": str(error)}

    def do_values(self, names: list[str]) -> dict[str, Any]:
        """Global values that a kernel uses."""
        values = {name: self.names.get(name) for name in names}
        return {"result": encoded(values, strict=False)}

    def do_call(self, args: str, options: str) -> dict[str, Any]:
        """Call the answer; what it returns, and what it has changed of its arguments."""
        arguments = decoded(args)
        before = [encoded(argument) for argument in arguments]
        reply: dict[str, Any] = {}
        with borrowing(self.reference) as callers:
            try:
                with _heard():
                    result = self.answer(*arguments, **decoded(options))
                reply["result"] = encoded(result, arguments, strict=False)
            except BaseException as error:
                reply = {"raised": [type(error).__name__, _message(error), self._line(error)]}
        after = [encoded(argument, strict=False) for argument in arguments]
        reply["changed"] = {
            str(n): new
            for n, (old, new) in enumerate(zip(before, after, strict=True))
            if new != old
        }
        return reply | {"borrowed": bool(callers)}

    def _line(self, error: BaseException) -> int:
        """The line of the answer in which it was raised, from 1; 0 if that is elsewhere."""
        code = getattr(self.answer, "__code__", None)
        lines = [
            frame.lineno - code.co_firstlineno + 1
            for frame in traceback.extract_tb(error.__traceback__)
            if code and frame.filename == SUBMISSION and frame.name == code.co_name and frame.lineno
        ]
        return lines[-1] if lines else 0

    def do_try(self, case: int) -> dict[str, Any]:
        """What comes out of one case, for the judge to compare; so may an exception."""
        from gpulearn.judge.trial import tried

        exercise = self.exercise
        assert exercise is not None
        if not case:
            self.answer = exercise.ready(self.answer)
        with nullcontext() if exercise.kernel else _heard():  # the library starts programs
            outcome = tried(exercise, self.answer, self.cases[case])
        return {"result": encoded(outcome, self.cases[case].args, strict=False)}

    def do_step(self, step: Callable[..., Any], args: Sequence[Any]) -> dict[str, Any]:
        """What a demand does with the answer; the judge, which is believed here, says what."""
        return {"result": encoded(step(self.answer, *args), strict=False)}


@contextmanager
def _heard() -> Any:
    watch.quiet = False
    try:
        yield
    finally:
        watch.quiet = True


def _message(error: BaseException) -> str:
    try:
        return shorten(str(error), 1000)
    except BaseException:  # it is the answer's own class
        return ""


def _close() -> None:
    """Take away what an answer to be called has no business with."""
    sys.meta_path.insert(0, _Closed())
    for name in [module for module in sys.modules if _is_forbidden(module)]:
        parent, _, attribute = name.rpartition(".")
        vars(sys.modules.get(parent, sys)).pop(attribute, None)
        del sys.modules[name]


def _stand_ins(package: ModuleType, as_text: bool) -> None:
    """What a notebook calls beside its answers, doing nothing; the solution is not handed out.

    Where the answer is a text in CUDA C++, it is compiled by who asks for it.
    """

    def nothing(*args: Any, **options: Any) -> None:
        """While a submission is graded."""

    def no_solution(name: str) -> None:
        watch.note("asks for the solution", f"gl.solution({name!r})")
        raise RuntimeError("gl.solution gives nothing while a submission is graded")

    if as_text:
        package.cpp = lambda source, options=(): source  # type: ignore[attr-defined]
    for name in ("check", "predict", "progress", "banner", "show", "case", "exercises"):
        setattr(package, name, nothing)
    package.solution = no_solution  # type: ignore[attr-defined]
