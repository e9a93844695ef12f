"""numba-cuda's own tests: which there are, which are left out and why, and how they are run."""

import functools
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
FOLDERS = ("core", "cudadrv", "cudapy", "doc_examples", "nocuda", "nrt")
SECONDS = 300  # of CPU that a module may take, which is more where others use the same cores


def modules():
    """Such as `cudapy.test_array`."""
    spec = find_spec("numba_cuda")
    if spec is None:
        return []
    tests = Path(spec.origin).parent / "numba" / "cuda" / "tests"
    found = [path for folder in FOLDERS for path in (tests / folder).glob("test_*.py")]
    return sorted(f"{path.parent.name}.{path.stem}" for path in found)


@functools.cache
def left_out():
    """Module -> test, class or `*` -> why it is left out."""
    found = {}
    for line in (HERE / "left_out.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            place, _, reason = line.partition(": ")
            module, _, test = place.partition(" ")
            found.setdefault(module, {})[test or "*"] = reason
    return found


def floors():
    """Module -> how many of its tests pass at least."""
    return json.loads((HERE / "floor.json").read_text(encoding="utf-8"))


class Driver:
    """The process that runs modules, on the machine or on Numba's simulator."""

    def __init__(self, simulator=False):
        environment = {**os.environ, "GPULEARN_DEVICE": "cpu"}
        if simulator:
            environment["NUMBA_ENABLE_CUDASIM"] = "1"
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", HERE / "driver.py"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def run(self, module, seconds=SECONDS):
        """`[test, outcome, line of the error or reason, seconds]` of each test of a module."""
        out = left_out().get(module, {})
        asked = {"module": f"numba.cuda.tests.{module}", "left_out": out, "seconds": seconds}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.process.__exit__(*reason)
