"""A process that runs numba-cuda's own tests, module by module, each in a process forked from it.

It reads a line of JSON, `{"module": ..., "left_out": {test: reason}, "seconds": ...}`, and answers
with one: a list of `[test, outcome, first line of the error or reason, seconds]`. An outcome is
passed, failed, skipped (by numba-cuda itself) or left out. Numba is imported once.
"""

import gc
import importlib
import json
import linecache
import os
import subprocess
import sys
import tempfile
import time
import traceback
import unittest
import warnings
from importlib.util import find_spec
from types import ModuleType

run_command = subprocess.run


class Outcomes(unittest.TestResult):
    """Writes a line for each test as soon as it has ended."""

    def __init__(self, out):
        super().__init__()
        self.out = out

    def startTest(self, test):
        super().startTest(test)
        self.outcome, self.said, self.begun = "passed", "", time.process_time()

    def stopTest(self, test):
        seconds = round(time.process_time() - self.begun, 2)
        tell(self.out, [name_of(test), self.outcome, self.said, seconds])

    def addError(self, test, error):
        if not hasattr(test, "_testMethodName"):  # setUpClass or setUpModule
            tell(self.out, [str(test), "failed", line_of(error), 0])
        self.outcome, self.said = "failed", line_of(error)

    addFailure = addError  # noqa: N815 - unittest's name

    def addSubTest(self, test, part, error):
        if error is not None:
            self.addError(test, error)

    def addSkip(self, test, reason):
        self.outcome, self.said = "skipped", reason or "it does not say why"

    def addExpectedFailure(self, test, error):
        self.outcome, self.said = "skipped", "is expected to fail"

    def addUnexpectedSuccess(self, test):
        self.outcome, self.said = "skipped", "was expected to fail"


def name_of(test):
    return f"{type(test).__name__}.{test._testMethodName}"


def line_of(error):
    kind, value, _ = error
    lines = [line for line in str(value).splitlines() if line.strip()]
    return f"{kind.__name__}: {lines[0].strip() if lines else ''}"[:300]


def tell(out, answer):
    out.write(json.dumps(answer) + "\n")
    out.flush()


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def why_left_out(name, left_out):
    """The reason for the test, for its class or for its module; None if it is to run."""
    places = (name, name.partition(".")[0], "*")
    return next((left_out[place] for place in places if place in left_out), None)


def run(name, left_out, out):
    """The tests of one module, in this process."""
    try:
        module = importlib.import_module(name)
    except BaseException:
        reason = left_out.get("*")
        said = ["failed", line_of(sys.exc_info())] if reason is None else ["left out", reason]
        tell(out, ["import", *said, 0])
        return
    chosen = unittest.TestSuite()
    for test in tests_of(unittest.TestLoader().loadTestsFromModule(module)):
        reason = why_left_out(name_of(test), left_out)
        if reason is None:
            chosen.addTest(test)
        else:
            tell(out, [name_of(test), "left out", reason, 0])
    chosen.run(Outcomes(out))


def forked(name, left_out, seconds):
    """The same in a process of its own that may take so many seconds of CPU."""
    source, target = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        import resource  # not on Windows, where this is not run

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        try:
            with os.fdopen(target, "w") as out:
                run(name, left_out, out)
        finally:
            os._exit(0)
    os.close(target)
    told = b"".join(iter(lambda: os.read(source, 1 << 16), b""))
    os.close(source)
    _, status = os.waitpid(child, 0)
    answers = [json.loads(line) for line in told.splitlines()]
    if os.WIFSIGNALED(status):
        said = f"ended by signal {os.WTERMSIG(status)}; {seconds} s of CPU are allowed"
        answers.append(["process", "failed", said, seconds])
    return answers


def run_python(command, **options):
    """`subprocess.run`; where that is to run Python code, a process that has imported Numba."""
    if command[0] != sys.executable or "-c" not in command:
        return run_command(command, **options)
    source, file = command[-1], "<code of a test>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os._exit(executed(source, file))
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        said = [s.read().decode() if options.get("text") else s.read() for s in (out, err)]
    done = subprocess.CompletedProcess(command, os.waitstatus_to_exitcode(status), *said)
    if options.get("check"):
        done.check_returncode()
    return done


def executed(source, file):
    """The exit status of a program."""
    with os.fdopen(1, "w", closefd=False) as sys.stdout, os.fdopen(2, "w", closefd=False) as err:
        sys.stderr = err
        try:
            exec(compile(source, file, "exec"), {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            return 1
    return 0


def without_filecheck():
    """What numba.cuda.testing imports for the tests of compiler text, all of them left out."""
    if find_spec("filecheck") is None:
        for module, names in {
            "filecheck": (),
            "filecheck.matcher": ("Matcher",),
            "filecheck.options": ("Options",),
            "filecheck.parser": ("Parser", "pattern_for_opts"),
            "filecheck.finput": ("FInput",),
        }.items():
            sys.modules[module] = ModuleType(module)
            vars(sys.modules[module]).update(dict.fromkeys(names, object))


def launch_once():
    """The first launch has Numba fill its tables of types, and each copy would do it again."""
    cuda = importlib.import_module("numba.cuda")
    cuda.jit(lambda number: None)[1, 1](1)


def main():
    without_filecheck()
    if "NUMBA_ENABLE_CUDASIM" not in os.environ:
        import simt
        from simt.core.findings import SimtWarning

        simt.replace_numba_cuda()
        warnings.filterwarnings("ignore", category=SimtWarning)
        launch_once()
    testing = importlib.import_module("numba.cuda.testing")
    testing.skip_if_cudadevrt_missing = lambda test: test  # the machine needs no library
    testing.skip_if_curand_kernel_missing = unittest.skip("links a library of the toolkit")
    leaks = importlib.import_module("numba.cuda.tests.support").MemoryLeakMixin
    leaks.setUp = leaks.tearDown = lambda test: None  # no kernel allocates here
    subprocess.run = run_python
    gc.freeze()  # a copy need not look for garbage in all this
    for line in sys.stdin:
        asked = json.loads(line)
        answer = forked(asked["module"], asked["left_out"], asked["seconds"])
        tell(sys.stdout, answer)


if __name__ == "__main__":
    main()
