"""How the machine does on public suites of CUDA programs, some right and some faulty.

`make suites ARGS="scor=FOLDER dracc=FOLDER cusan=FOLDER gpuverify=FOLDER indigo3=FOLDER"` takes
checkouts that are there (of Indigo3 with its CUDA codes generated) and prints a row for each
suite. `--keep FOLDER` keeps what nvcc has made, `--sample N --seed S` chooses N faulty
ones of Indigo3's thousands, and N right ones. A program has 60 seconds of processor time.
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
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import simt
from simt.core.findings import KINDS, Finding
from simt.errors import SimtError
from simt.programs.cuda.run import run_built
from simt.programs.cuda.sources import SourceFiles
from simt.programs.launches import Launches

__all__ = ["main"]

SECONDS = 60
ERRORS = [kind for kind, severity in KINDS.items() if severity == "error"]
RACES = ("race", "stream-race", "host-access")
# labels that we hold for wrong, and why: they count as what they are held for
HELD = {
    "globalarray/fail": (False, "faulty only for other contents of a constant array"),
    "misc/fail/miscfail2": (False, "nothing is wrong but that its verifier lacks an invariant"),
    "misc/fail/miscfail7": (False, "faulty only for a null pointer, and it is given an array"),
    "pointertests/test12": (True, "all threads write a shared pointer and read it at once"),
}
LOCKSTEP = (True, "right only where a warp runs in lockstep, before Volta")
HELD |= {f"warpsync/{n}": LOCKSTEP for n in ("2d", "intragroup_scan", "scan_warp", "shuffle")}
MATRIX = ("#define B 100", "#define B 4")  # of DRACC's
ASIDE = "reads d_c["  # which nobody has set in any of DRACC's products: that is not labeled
GPUVERIFY_SCALAR = 64  # what a kernel is given for a number
GPUVERIFY_BYTES = 1 << 20  # and for an array

# what its verifier is told: conditions on arguments, and assertions, which are checked
ANNOTATIONS = """#include <cooperative_groups.h>
#include <cassert>
#define __assert(x) assert(x)
#define __invariant(...) ((void)0)
namespace cooperative_groups { template <class G> __device__ void synchronize(G& g) { g.sync(); } }
"""
FAULTS = (*RACES, "barrier-divergence", "exception", "out-of-bounds", "no-progress")  # it means
UNABLE = ("unsupported", "machine-fault", "launch-limit", "not-a-kernel")


class Program(NamedTuple):
    """A program of a suite: what is compiled, how it is run, and what its label says."""

    name: str
    source: Path
    faulty: bool
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()  # of findings that count; none: any error
    smaller: tuple[str, str] = ("", "")  # a size in its text, and what it is here


def scor(folder: Path) -> Iterator[Program]:
    """ScoR's microbenchmarks: scoped races, labeled by their names."""
    for file in sorted((folder / "microbenchmarks" / "src").glob("*.cu")):
        yield Program(file.stem, file, file.stem.startswith("race"), kinds=RACES)


def dracc(folder: Path) -> Iterator[Program]:
    """DRACC's CUDA programs, whose names end with `yes`, `no` or, for a leak, `other`.

    Their matrices have 1024 rows here, not 25,600, which take 2.6 GB.
    """
    for file in sorted((folder / "CUDA" / "src").glob("*.cu")):
        label = file.stem.rpartition("_")[2]
        kinds = ("leak",) if label == "other" else (*ERRORS, "no-effect")
        yield Program(file.stem, file, label != "no", kinds=kinds, smaller=MATRIX)


def cusan(folder: Path) -> Iterator[Program]:
    """CuSan's tests without MPI, once without and once with the waits that make them right."""
    for file in sorted((folder / "test" / "runtime").glob("*.c")):
        text = file.read_text()
        lines = dict.fromkeys(re.findall(r"RUN: (%wrapper-c.*)", text))
        for line in () if "mpi" in text else lines:
            waits = "-DCUSAN_SYNC" in line
            faulty = not waits and re.search(r"CHECK(-DAG)?: .*data race", text) is not None
            options = ("-x", "cu", *["-DCUSAN_SYNC"] * waits)
            if not (waits and "alloc_implicit" in file.stem):  # whether it orders streams is open
                yield Program(file.stem + "-sync" * waits, file, faulty, options, kinds=RACES)


def gpuverify(folder: Path) -> Iterator[Program]:
    """GPUVerify's CUDA kernels, each as one launch of the shape that its test asks for."""
    for file in sorted((folder / "testsuite" / "CUDA").rglob("*.cu")):
        first, second = file.read_text(errors="replace").splitlines()[:2]
        label = first.lower()
        if "--blockdim" in second.lower() and ("pass" in label or "not_all_verified" in label):
            name = str(file.parent.relative_to(folder / "testsuite" / "CUDA"))
            yield Program(name, file, "pass" not in label, (), (second,), FAULTS)


def indigo3(folder: Path) -> Iterator[Program]:
    """Indigo3's generated CUDA codes, whose names say which bugs they have."""
    graph = folder / "inputs" / "undirect2dim_rand_torus_100n_400e.egr"
    for file in sorted((folder / "generatedCodes" / "CUDA").rglob("*.cu")):
        faulty = any(not word.startswith("No") for word in re.findall(r"[A-Za-z]+Bug", file.stem))
        # CUDA 13 knows no clock rates
        options = ("-O3", f"-I{folder / 'lib'}", "-DclockRate=major", "-DmemoryClockRate=major")
        yield Program(file.stem, file, faulty, options, (str(graph), "1", "0"))


SUITES = {f.__name__: f for f in (scor, dracc, cusan, gpuverify, indigo3)}


def carry_out(program: Program, folder: Path) -> tuple[str, list[Any], float]:
    """How a program ended, its findings as (kind, severity, sentence), the seconds it took."""
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
            return "refused", [], 0
    answer = folder / "answer.json"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        findings: list[Finding] | None = None
        launches, files = Launches(in_detail=False), SourceFiles(program.source)
        with suppress(SimtError):
            if not launched:
                run_built(binary, files, [*program.arguments], launches, captured=True)
            findings = _launched(program) if launched else launches.findings
        told = [(f.kind, f.severity, f"{f.line}: {f.message}") for f in findings or ()]
        answer.write_text(json.dumps(None if findings is None else told))
        os._exit(0)
    used = os.wait4(child, 0)[2]
    seconds = used.ru_utime + used.ru_stime
    if not answer.is_file():
        return "too slow" if seconds > SECONDS - 10 else "broken", [], seconds
    plain = json.loads(answer.read_text())
    return "refused" if plain is None else "compiled", plain or [], seconds


def _launched(program: Program) -> list[Finding] | None:
    """A kernel launched with arrays of zeros and one number for all others; None if it cannot."""
    text, line = program.source.read_text(errors="replace"), program.arguments[0]

    def shape(word: str) -> tuple[int, ...]:
        text = re.search(rf"--{word}=(\[[\d,]+\]|\d+)", line)
        return tuple(map(int, re.findall(r"\d+", text[1]))) if text else (1,)

    # as it stands: optimized, stores that nobody reads are gone
    nothing = [f"-D__{word}(...)=" for word in ("requires", "ensures", "assume")]
    options = ["-G", *nothing, "-default-device", *(w for w in line.split() if w.startswith("-D"))]
    grid, block = shape("gridDim"), shape("blockDim")
    # what its conditions say, or its counterexample
    told = re.findall(r"__requires\((\w+) == (\d+|blockDim.x)\b|^//(\w+) = (\d+)$", text, re.M)
    exact = {a or c: block[0] if "x" in b else int(b or d) for a, b, c, d in told}
    size = max(GPUVERIFY_BYTES, 8 * math.prod(grid) * math.prod(block))
    module = simt.cpp(ANNOTATIONS + text, options)
    found: list[Finding] = []
    for kernel in map(module.__getitem__, module.signatures):
        values: list[Any] = []
        for parameter in kernel.parameters:
            if parameter is None or not (parameter.element or parameter.pointer):
                return None
            element = parameter.element or np.dtype(np.uint8)
            array = np.zeros(size // element.itemsize, element)
            number = element.type(exact.get(parameter.name, GPUVERIFY_SCALAR))
            values.append(array if parameter.pointer else number)
        together = kernel.cooperative if "grid_group" in text else kernel
        found += simt.xray(together)[grid, block](*values).findings
    return None if any(f.kind in UNABLE for f in found) else found


def run_suite(suite: str, programs: list[Program], folder: Path) -> str:
    """Runs them all, prints what is not as the label says, and gives the row of the table."""
    counts = dict.fromkeys(("refused", "too slow", "broken", "compiled"), 0)
    right, wrong, found, alarms, seconds = 0, 0, 0, 0, 0.0
    for program in programs:
        state, findings, spent = carry_out(program, folder)
        counts[state] += 1
        seconds += spent
        faulty, _ = HELD.get(program.name, (program.faulty, ""))
        counting = [f for f in findings if f[0] in (program.kinds or f[0]) and ASIDE not in f[2]]
        said = [f[2] for f in counting if f[1] == "error" or program.kinds]
        if state != "compiled":
            print(f"  {state}: {program.name} {findings}", flush=True)
            continue
        wrong, right = wrong + faulty, right + (not faulty)
        found, alarms = found + (faulty and bool(said)), alarms + (not faulty and bool(said))
        if bool(said) != faulty:
            print(f"  {'false alarm' if said else 'missed'}: {program.name} {said or findings}")
    ran = ", ".join(f"{n} {state}" for state, n in counts.items() if n)
    cells = (suite, len(programs), ran, f"{found} of {wrong}", f"{alarms} of {right}")
    return f"| {' | '.join(map(str, cells))} | {seconds:.0f} s |"


def main(arguments: list[str] | None = None) -> int:
    """Runs the suites that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE=FOLDER")
    parser.add_argument("--keep", type=Path, help="where programs that are built stay")
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
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
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.keep or Path(temporary)).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            rows.append(run_suite(suite, programs, folder))
    head = "| suite | programs | compiled | found of faulty | alarms on right | time |"
    print(head, "|---|---|---|---|---|---|", *rows, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
