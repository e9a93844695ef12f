"""How the machine does on public suites of CUDA programs, some right and some faulty.

`make suites ARGS="scor=FOLDER dracc=FOLDER cusan=FOLDER gpuverify=FOLDER indigo3=FOLDER"` takes
checkouts that are there (of Indigo3 with its CUDA codes generated) and prints a row for each
suite, of Indigo3 for each kind of bug. `--keep FOLDER` keeps what nvcc has made, `--sample N
--seed S` chooses of Indigo3's thousands N right ones and N with one bug, of each kind as many. A
program is stopped after `--seconds` of processor time, and counts if something was found by then.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import resource
import signal
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
# of Indigo3, whatever bugs these are labeled with
HELD |= {
    "(CC|SSSP(?!.*Warp)).*Data_Pull.*_Persist.*(Warp|Block).*": (True, "no barrier between turns"),
    "PR_CUDA_Pull.*BlockAdd": (True, "a block's sum is read with no barrier after its atomics"),
    "PR_CUDA_Pull.*_NonDeterm.*": (True, "plain reads of scores that other threads set meanwhile"),
    "PR_CUDA_Push.*(Warp|Block)_.*": (True, "all threads of a warp or block read and set a score"),
    "PR_CUDA.*(Thread|Warp)_.*Reduction": (True, "a barrier to which not all of a block come"),
    "PR_CUDA_Pull.*_SyncBug.*": (False, "what lacks a barrier are reads whose values nobody uses"),
    "TC_CUDA.*Reduction.*": (True, "32 sums are read of which 16 warps have set 16"),
    "SSSP_CUDA_E_Data.*": (True, "each edge has a time, and as many are set as there are nodes"),
}
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
SOUGHT = {"Race": RACES, "Sync": RACES, "Uninitialized": ("uninitialized-read",)}
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


def bugs(name: str) -> tuple[str, ...]:
    """The bugs that the name of a code of Indigo3's says it has."""
    words = re.findall(r"([A-Za-z]+)Bug", name.replace("Nbor", "Nbr"))
    return tuple(word for word in words if not word.startswith("No"))


def held(name: str, label: bool | None = None) -> bool | None:
    """Whether a program is faulty, by its label or by what we hold for right."""
    return next((f for pattern, (f, _) in HELD.items() if re.fullmatch(pattern, name)), label)


def indigo3(folder: Path) -> Iterator[Program]:
    """Indigo3's generated CUDA codes, whose names say which bugs they have."""
    graph = folder / "inputs" / "undirect2dim_rand_torus_100n_400e.egr"
    for file in sorted((folder / "generatedCodes" / "CUDA").rglob("*.cu")):
        # CUDA 13 knows no clock rates
        options = ("-O3", f"-I{folder / 'lib'}", "-DclockRate=major", "-DmemoryClockRate=major")
        found = bugs(file.stem)
        kinds = SOUGHT.get("".join(found), ())
        yield Program(file.stem, file, bool(found), options, (str(graph), "1", "0"), kinds)


def sampled(programs: list[Program], count: int, seed: int) -> dict[str, list[Program]]:
    """So many right codes of Indigo3's, and as many that have one bug, of each kind as many."""
    groups: dict[str, list[Program]] = {}
    for program in programs:
        if len(kinds := bugs(program.name)) < 2:
            groups.setdefault("".join(kinds), []).append(program)
    draw, each = random.Random(seed), count // max(len(groups) - 1, 1)
    drawn = {kind: draw.sample(group, len(group)) for kind, group in sorted(groups.items())}
    right = {"right": drawn.pop("", [])[:count]}
    alone = {k: [p for p in group if held(p.name) is None] for k, group in drawn.items()}
    return right | {kind: group[:each] for kind, group in alone.items()}


SUITES = {f.__name__: f for f in (scor, dracc, cusan, gpuverify, indigo3)}


def carry_out(program: Program, folder: Path, limit: int) -> tuple[str, list[Any], float]:
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
        resource.setrlimit(resource.RLIMIT_CPU, (limit + 5, limit + 5))
        signal.signal(signal.SIGPROF, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_PROF, limit)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        state, findings = "compiled", None
        launches, files = Launches(in_detail=False), SourceFiles(program.source)
        with suppress(SimtError):
            try:
                if not launched:
                    run_built(binary, files, [*program.arguments], launches, captured=True)
            except KeyboardInterrupt:
                state = "stopped"
            findings = _launched(program) if launched else launches.findings
        state = "refused" if findings is None else state
        told = [(f.kind, f.severity, f"{f.line}: {f.message}") for f in findings or ()]
        answer.write_text(json.dumps((state, told)))
        os._exit(0)
    used = os.wait4(child, 0)[2]
    seconds = used.ru_utime + used.ru_stime
    if not answer.is_file():
        return "broken", [], seconds
    return (*json.loads(answer.read_text()), seconds)


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


def run_suite(suite: str, programs: list[Program], folder: Path, limit: int) -> str:
    """Runs them all, prints what is not as the label says, and gives the row of the table."""
    counts = dict.fromkeys(("refused", "stopped", "broken", "compiled"), 0)
    right, wrong, found, alarms, seconds = 0, 0, 0, 0, 0.0
    for program in programs:
        state, findings, spent = carry_out(program, folder, limit)
        counts[state] += 1
        seconds += spent
        faulty = bool(held(program.name, program.faulty))
        counting = [f for f in findings if f[0] in (program.kinds or f[0]) and ASIDE not in f[2]]
        said = [f[2] for f in counting if f[1] == "error" or program.kinds]
        if state != "compiled":
            print(f"  {state}: {program.name} {findings}", flush=True)
            if state != "stopped" or not said:
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
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args(arguments)
    rows = []
    for word in options.suites:
        suite, _, place = word.partition("=")
        if suite not in SUITES or not Path(place).is_dir():
            parser.error(f"{word!r}: give NAME=FOLDER, a checkout of {', '.join(SUITES)}")
        programs = list(SUITES[suite](Path(place).resolve()))
        groups = {suite: programs}
        if suite == "indigo3":
            groups = sampled(programs, options.sample, options.seed)
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.keep or Path(temporary)).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            rows += [run_suite(*group, folder, options.seconds) for group in groups.items()]
    head = "| suite | programs | compiled | found of faulty | alarms on right | time |"
    print(head, "|---|---|---|---|---|---|", *rows, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
