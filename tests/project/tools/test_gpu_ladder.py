"""The ladder's recordings, rehearsed on the SIMT machine."""

import re
from dataclasses import replace

import pytest

from gpulearn import cuda
from gpulearn.perf import recordings
from gpulearn.perf.gpus import HOPPER
from gpulearn_lessons.matmul.ladder import LADDER
from gpulearn_lessons.matmul.rung_rates import LIBRARY
from tools.gpu.ladder import recording as ladder
from tools.gpu.ladder import resources
from tools.gpu.ladder.ideas import ideas

LOW = ("naive", "shared tile")  # quick rungs


@pytest.fixture
def few(monkeypatch):
    """A ladder of two rungs."""
    monkeypatch.setattr(ladder, "LADDER", {name: LADDER[name] for name in LOW})


@pytest.mark.usefixtures("few")
def test_every_rung_and_the_library_are_recorded_by_size(tmp_path):
    made = ladder.record_ladder((8, 16), seconds=0.001)
    assert recordings.load(recordings.save(made, tmp_path)) == made
    library = [(LIBRARY, dtype) for dtype in ("bfloat16", "tf32", "float32")]
    expected = [*library, *((name, "float32") for name in LOW)]
    for n in (8, 16):
        rows = made.where(n=n)
        assert [(row["rung"], row["dtype"]) for row in rows] == expected
        assert all(row["seconds"] > 0 and row["repeats"] >= 3 for row in rows)
        assert all(row["relative_error"] < 1e-6 for row in rows if row["dtype"] == "float32")
        assert made.where(n=n, dtype="bfloat16")[0]["relative_error"] > 1e-4


def test_a_wrong_product_and_a_launch_that_fails_are_not_timed(monkeypatch):
    @cuda.jit
    def nothing(a, b, c):
        """Leaves C as it was."""

    @cuda.jit
    def outside(a, b, c):
        c[a.shape[0], 0] = 1

    naive = LADDER["naive"]
    bad = {
        k.__name__: replace(
            naive, name=k.__name__, specification=replace(naive.specification, kernel=k)
        )
        for k in (nothing, outside)
    }
    monkeypatch.setattr(ladder, "LADDER", bad | {"naive": naive})
    rows = ladder.record_ladder((8,), seconds=0.001).rows[3:]
    assert rows[0]["error"] == "wrong: its relative error is nan"
    assert re.match(r"KernelError: .*out", rows[1]["error"])
    assert not any("seconds" in row for row in rows[:2])
    assert rows[2]["seconds"] > 0


@pytest.mark.usefixtures("few")
def test_a_rung_that_would_take_too_long_is_left_out():
    made = ladder.record_ladder((8, 32), seconds=0.001, longest=1e-9)
    assert all("seconds" in row for row in made.where(n=8))
    left = [row["rung"] for row in made.where(n=32) if "left_out" in row]
    assert left == list(LOW)


def test_a_time_grows_with_the_cube_of_the_size():
    assert ladder._guess(512, 0.001, 1024) == 0.008


def test_ideas_are_recorded_with_what_they_change(monkeypatch, tmp_path):
    some = {name: ideas()[name] for name in ("register tile", "128 sums")}
    monkeypatch.setattr(ladder, "ideas", lambda: some)
    made = ladder.record_ideas(16, seconds=0.001)
    assert recordings.load(recordings.save(made, tmp_path)) == made
    assert [row["idea"] for row in made.rows] == [LIBRARY, *some]
    last = made.rows[-1]
    assert (last["after"], last["threads"]) == ("loads ahead", 128)
    assert last["seconds"] > 0
    assert last["relative_error"] < 1e-6
    assert "registers" not in last  # the SIMT machine has none


def test_resources_are_those_that_numba_tells(monkeypatch):
    class Compiled:
        def get_regs_per_thread(self):
            return {"a signature": 229}

        def get_shared_mem_per_block(self):
            return {"a signature": 16896}

        def get_local_mem_per_thread(self):
            return 0

    known = {"registers": 229, "shared_bytes": 16896, "local_bytes": 0}
    monkeypatch.setattr(resources, "_multiprocessor", lambda: None)
    assert resources.resources(Compiled(), 128) == known
    monkeypatch.setattr(resources, "_multiprocessor", lambda: HOPPER)
    assert resources.resources(Compiled(), 128) == known | {"blocks": 2, "warps": 8}


SASS = """
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDS.128 R4, [R2+0x10] ;  /* 0x0000 */
        /*0020*/                   LDS R8, [R2] ;
.L_x_1:
        /*0030*/                   FFMA R9, R4, R8.reuse, R9 ;
        /*0040*/              @UP1 FFMA R9, R5, R8, R9 ;
        /*0050*/               @P2 STL [R1], R9 ;
"""


def test_instructions_are_counted_in_the_disassembly():
    class Compiled:
        def inspect_sass(self):
            return {"a signature": SASS}

    assert resources.machine_code(Compiled()) == {
        "instructions": 6,
        "ffma": 2,
        "loads_of_16_bytes": 1,
        "spills": 1,
    }
