"""How the machine does on public suites of CUDA programs, some right and some faulty.

`make suites ARGS="scor=FOLDER dracc=FOLDER cusan=FOLDER gpuverify=FOLDER indigo3=FOLDER"` takes
checkouts that are there (of Indigo3 with its CUDA codes generated) and prints a row for each
suite. `--keep FOLDER` keeps what nvcc has made, `--only WORD` runs the programs whose name has it,
`--sample N --seed S` chooses N faulty ones of Indigo3's thousands, and N right ones. A program has
60 seconds of processor time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import simt
from simt.core.findings import Finding
from simt.errors import SimtError
from simt.programs.cuda.run import run_built
from simt.programs.cuda.sources import SourceFiles
from simt.programs.launches import Launches

__all__ = ["main"]

SECONDS = 60
RACES = ("race", "stream-race", "host-access")
# nothing that the suites mean: what every program of theirs that is right does too
AMBIENT = ("leak", "float64-leak")
# labels that we hold for wrong, and why: they count as what they are held for
HELD = {
    "gpuverify": {
        "globalarray/fail": (False, "faulty only for other contents of a constant array"),
        "misc/fail/miscfail7": (False, "faulty only for a null pointer, and it is given an array"),
        "pointertests/test12": (True, "all threads write a shared pointer and read it at once"),
    }
}
MATRIX = ("#define B 100", "#define B 4")  # of DRACC's
GPUVERIFY_SCALAR = 64  # what a kernel is given for a number
GPUVERIFY_BYTES = 1 << 20  # and for an array


# what its verifier is told: conditions on arguments, and assertions, which are checked
ANNOTATIONS = """#include <cooperative_groups.h>
#include <cassert>
#define __assert(x) assert(x)
#define __invariant(...) ((void)0)
#define __requires(...)
#define __ensures(...)
#define __assume(...)
namespace cooperative_groups { template <class G> __device__ void synchronize(G& g) { g.sync(); } }
"""
UNABLE = ("unsupported", "machine-fault", "launch-limit", "not-a-kernel")  # what does not run here


class Program(NamedTuple):
    """A program of a suite: what is compiled, how it is run, and what its label says."""

    name: str
    source: Path
    faulty: bool
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()  # of findings that count; none: any error
    smaller: tuple[str, str] = ("", "")  # a size in its text, and what it is here


class Outcome(NamedTuple):
    """`state` is "compiled" where it ran to an end; a finding is (kind, severity, sentence)."""

    state: str
    findings: list[tuple[str, str, str]]
    seconds: float


def scor(folder: Path) -> Iterator[Program]:
    """ScoR's microbenchmarks: scoped races, labeled by their names."""
    for file in sorted((folder / "microbenchmarks" / "src").glob("*.cu")):
        yield Program(file.stem, file, file.stem.startswith("race"), kinds=RACES)


def dracc(folder: Path) -> Iterator[Program]:
    """DRACC's CUDA programs, whose names end with `yes`, `no` or, for a leak, `other`.

    Their matrices have 1024 rows here, not 25,600, which take 2.6 GB.
    """
    for file in sorted((folder / "CUDA" / "src").glob("*.cu")):
        leaks = file.stem.endswith("other")
        kinds = ("leak",) * leaks
        yield Program(file.stem, file, not file.stem.endswith("no"), kinds=kinds, smaller=MATRIX)


def cusan(folder: Path) -> Iterator[Program]:
    """CuSan's tests without MPI, once without and once with the waits that make them right."""
    for file in sorted((folder / "test" / "runtime").glob("*.c")):
        text = file.read_text()
        if "mpi" in text:
            continue
        for line in dict.fromkeys(re.findall(r"RUN: (%wrapper-c.*)", text)):
            # what the test itself expects: a race, or none
            waits = "-DCUSAN_SYNC" in line
            if waits and "XFAIL" in text:  # whether an allocation orders streams is not settled
                continue
            expects = re.search(r"CHECK(-DAG)?: .*data race", text) is not None
            options = ("-x", "cu", *["-DCUSAN_SYNC"] * waits)
            name = f"{file.stem}{'-sync' * waits}"
            yield Program(name, file, expects and not waits, options, kinds=RACES)


def gpuverify(folder: Path) -> Iterator[Program]:
    """GPUVerify's CUDA kernels, each as one launch of the shape that its test asks for."""
    for file in sorted((folder / "testsuite" / "CUDA").rglob("*.cu")):
        first, second = file.read_text(errors="replace").splitlines()[:2]
        label = first.lower()
        if "--blockdim" in second.lower() and ("pass" in label or "not_all_verified" in label):
            name = str(file.parent.relative_to(folder / "testsuite" / "CUDA"))
            faults = (*RACES, "barrier-divergence", "exception", "out-of-bounds")
            yield Program(name, file, "pass" not in label, (), (second,), faults)


def indigo3(folder: Path) -> Iterator[Program]:
    """Indigo3's generated CUDA codes, whose names say which bugs they have."""
    graph = folder / "inputs" / "undirect_4max_degree_750n_2356e.egr"
    for file in sorted((folder / "generatedCodes" / "CUDA").rglob("*.cu")):
        faulty = any(not word.startswith("No") for word in re.findall(r"[A-Za-z]+Bug", file.stem))
        gone = ("-DclockRate=warpSize", "-DmemoryClockRate=warpSize")  # which CUDA 13 lacks
        options = ("-O3", f"-I{folder / 'lib'}", "-std=c++17", *gone)
        source = "0" if re.search("BFS|SSSP", file.stem) else ""
        arguments = tuple(filter(None, (str(graph), "1", source)))
        yield Program(file.stem, file, faulty, options, arguments)


SUITES = {f.__name__: f for f in (scor, dracc, cusan, gpuverify, indigo3)}


def carry_out(program: Program, folder: Path) -> Outcome:
    """Compiles a program, and runs it in a process of its own."""
    binary = folder / f"{program.name.replace('/', '.')}.out"
    launched = "testsuite" in program.source.parts
    if not launched and not binary.is_file():
        text, (old, new) = program.source.read_text(errors="replace"), program.smaller
        copy = folder / program.source.name
        copy.write_text(text.replace(old, new) if "#define C B*T" in text else text)
        options = [*program.options, f"-I{program.source.parent}", "-o", str(binary)]
        command = [sys.executable, "-m", "simt", "nvcc", "-w", *options]
        built = subprocess.run([*command, str(copy)], capture_output=True, check=False)
        if built.returncode:
            return Outcome("refused", [], 0)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.close(ours)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        try:
            text = program.arguments[0] if launched else ""
            found = _launched(program.source, text) if launched else _run(binary, program)
        except BaseException as error:
            found = "broken", [("", "", f"{type(error).__name__}: {error}")]
        with os.fdopen(theirs, "w") as pipe:
            json.dump(found, pipe)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if not answer or spent >= SECONDS:
        return Outcome("too slow", [], spent)
    state, findings = json.loads(answer)
    return Outcome(state, [tuple(f) for f in findings], spent)


def _run(binary: Path, program: Program) -> tuple[str, list[Any]]:
    launches = Launches(in_detail=False)
    source = SourceFiles(program.source)
    run_built(binary, source, [*program.arguments], launches, captured=True)
    return "compiled", [_plain(finding) for finding in launches.findings]


def _plain(finding: Finding) -> tuple[str, str, str]:
    return finding.kind, finding.severity, f"{finding.line}: {finding.message}"


def _launched(path: Path, line: str) -> tuple[str, list[Any]]:
    """A kernel launched with arrays of zeros and one number for all others."""

    def shape(word: str) -> tuple[int, ...]:
        text = re.search(rf"--{word}=(\[[\d,]+\]|\d+)", line)
        return tuple(map(int, re.findall(r"\d+", text[1]))) if text else (1,)

    # as it stands: optimized, stores that nobody reads are gone
    options = ["-G", "-default-device", *(w for w in line.split() if w.startswith("-D"))]
    text = path.read_text(errors="replace")
    grid, block = shape("gridDim"), shape("blockDim")
    # what its conditions say, or its counterexample
    told = re.findall(r"__requires\((\w+) == (\d+|blockDim.x)\b|^//(\w+) = (\d+)$", text, re.M)
    exact = {a or c: block[0] if "x" in b else int(b or d) for a, b, c, d in told}
    size = max(GPUVERIFY_BYTES, 8 * math.prod(grid) * math.prod(block))
    try:
        module = simt.cpp(ANNOTATIONS + text, options)
        kernels = [module[name] for name in module.signatures]
    except SimtError:
        return "refused", []
    found: list[Finding] = []
    for kernel in kernels:
        values: list[Any] = []
        for parameter in kernel.parameters:
            if parameter is None or (parameter.element is None and not parameter.pointer):
                return "refused", []
            element = parameter.element or np.dtype(np.uint8)
            if parameter.pointer:
                values.append(np.zeros(size // element.itemsize, element))
            else:
                values.append(element.type(exact.get(parameter.name, GPUVERIFY_SCALAR)))
        together = kernel.cooperative if "grid_group" in text else kernel
        found += simt.xray(together)[grid, block](*values).findings
    if any(f.kind in UNABLE for f in found):
        return "refused", []
    return "compiled", [_plain(finding) for finding in found]


def told(suite: str, program: Program, outcome: Outcome) -> list[str]:
    """What was found that counts."""
    return [
        sentence
        for kind, severity, sentence in outcome.findings
        if (kind in program.kinds if program.kinds else severity == "error" and kind not in AMBIENT)
    ]


def run_suite(suite: str, programs: list[Program], folder: Path) -> str:
    """Runs them all, prints what is not as the label says, and gives the row of the table."""
    counts = dict.fromkeys(("refused", "too slow", "broken", "compiled"), 0)
    right, wrong, found, alarms, seconds = 0, 0, 0, 0, 0.0
    for program in programs:
        outcome = carry_out(program, folder)
        counts[outcome.state] += 1
        seconds += outcome.seconds
        faulty, why = HELD.get(suite, {}).get(program.name, (program.faulty, ""))
        said = told(suite, program, outcome)
        if outcome.state != "compiled":
            print(f"  {outcome.state}: {program.name} {outcome.findings}", flush=True)
            continue
        wrong, right = wrong + faulty, right + (not faulty)
        found, alarms = found + (faulty and bool(said)), alarms + (not faulty and bool(said))
        if bool(said) != faulty:
            kind = "false alarm" if said else "missed"
            print(f"  {kind}: {program.name} {said or outcome.findings}", flush=True)
        elif why:
            print(f"  label held for wrong: {program.name}, {why}", flush=True)
    left = ", ".join(f"{n} {state}" for state, n in counts.items() if n and state != "compiled")
    return (
        f"| {suite} | {len(programs)} | {counts['compiled']}{f' ({left})' if left else ''} | "
        f"{found} of {wrong} | {alarms} of {right} | {seconds:.0f} s |"
    )


def main(arguments: list[str] | None = None) -> int:
    """Runs the suites that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE=FOLDER")
    parser.add_argument("--keep", type=Path, help="where programs that are built stay")
    parser.add_argument("--only", default="", help="a word of the names to run")
    parser.add_argument("--sample", type=int, default=20, help="how many of Indigo3's codes")
    parser.add_argument("--seed", type=int, default=1, help="of that choice")
    options = parser.parse_args(arguments)
    rows = []
    for word in options.suites:
        suite, _, place = word.partition("=")
        if suite not in SUITES or not Path(place).is_dir():
            parser.error(f"{word!r}: give NAME=FOLDER, a checkout of {', '.join(SUITES)}")
        programs = list(SUITES[suite](Path(place).resolve()))
        if suite == "indigo3":  # as many right ones as faulty ones
            draw = random.Random(options.seed)
            kinds = [[p for p in programs if p.faulty == faulty] for faulty in (True, False)]
            programs = [p for kind in kinds for p in draw.sample(kind, options.sample)]
        programs = [p for p in programs if options.only in p.name]
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.keep or Path(temporary)).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            rows.append(run_suite(suite, programs, folder))
    print("| suite | programs | compiled | found of faulty | alarms on right | time |")
    print("|---|---|---|---|---|---|")
    print("\n".join(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
