"""Runs the tests marked `gpu` and records how each ended: `tests-<device>.json`."""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from gpulearn import require
from simt.device import selection
from tools.gpu.recording.record import Rows

__all__ = ["Outcomes", "main"]

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "tests" / "gpu"
WORKERS = 8  # at most; one GPU serves them all, and most of their time is Numba's compiler's
# the step `kernels` checks every large launch, and times it
ELSEWHERE = "tests/gpulearn/gpu/test_launches.py::test_a_large_launch_of_every_kernel_is_right"
MESSAGE = 3000  # characters of a failure


class Outcomes:
    """A plugin for pytest that adds a row for each test when it ends."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.running: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        self.running.add(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Set-up, call and tear-down each report; the call counts, and any that went wrong."""
        if report.when == "teardown":
            self.running.discard(report.nodeid)
        if report.when == "call" or report.outcome != "passed":
            self._add(report)

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be imported is a failure too."""
        if report.outcome == "failed":
            self._add(report)

    def _add(self, report: Any) -> None:
        text = str(report.longrepr)[-MESSAGE:] if report.outcome != "passed" else None
        self.rows.add(
            test=report.nodeid,
            outcome=report.outcome,
            seconds=getattr(report, "duration", 0) or None,
            message=text,
        )

    def pytest_sessionfinish(self) -> None:
        """What is still running now was cut off."""
        for test in sorted(self.running):
            self.rows.add(test=test, outcome="cut off")
        self.running.clear()
        self.rows.write()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests; return the exit status: 0 if there were some and none failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu.runner.outcomes")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--tests", type=Path, default=FOLDER)
    given, more = parser.parse_known_args(arguments)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # the machine may have many, which may warn
    pytest = require.package("pytest", "Testing")
    rows = Rows("tests", given.folder, "cpu" if given.rehearse else "cuda")
    options = [str(given.tests), "-m", "gpu", "-q", "--tb=short", "-p", "no:cacheprovider"]
    options += ["-W", "default"]  # another version's new warning is no fault of a kernel
    options += ["-o", "faulthandler_timeout=60"]  # says where a test hangs
    options += ["--deselect", ELSEWHERE]
    workers = min(WORKERS, selection.cores() // 2)
    if workers > 1 and importlib.util.find_spec("xdist"):
        options += ["-p", "xdist", "-n", str(workers), "--dist", "worksteal"]
    plugin = Outcomes(rows)

    def stop(number: int, frame: object) -> NoReturn:
        plugin.pytest_sessionfinish()  # the next signal leaves no time for it
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    status = int(pytest.main([*options, *more], plugins=[plugin]))
    ends = Counter(row["outcome"] for row in rows.recording.rows)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(ends.items())) or "no tests")
    return status


if __name__ == "__main__":
    sys.exit(main())
