"""The machine without Numba and without threads: right answers, and the same findings."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simt.frontend.typecheck import UNCHECKED

# the machine can run them, and only Numba says that a GPU would not take them
NUMBAS = {"kernel_that_returns", "computed_shape", "shape_from_an_argument"}


@pytest.fixture(scope="module")
def found() -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "tests.simt.without_numba"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def test_a_right_kernel_gives_the_right_answer_and_no_finding(found: Any) -> None:
    assert len(found["right"]) >= 40
    assert {name for name, said in found["right"].items() if said} == set()


def test_a_mistake_is_found_unless_only_numba_knows_it(found: Any) -> None:
    assert len(found["wrong"]) >= 40
    unseen = {name for name, kind, kinds in found["wrong"] if kind not in kinds}
    assert unseen == NUMBAS


def test_the_missing_verdict_is_said_once_and_in_each_report(found: Any) -> None:
    assert found["warned"] == [f"without_numba.py: {UNCHECKED}"]
    assert found["doubled"] == [4.0 * i for i in range(40)]
    assert found["report"].count(UNCHECKED) == 1


def test_what_needs_numba_says_so(found: Any) -> None:
    assert found["vectorize"].startswith("MissingPackage: this part needs Numba, which is not")
    assert found["unknown"].startswith("AttributeError: cuda.no_such_name is not part of the SIMT")
