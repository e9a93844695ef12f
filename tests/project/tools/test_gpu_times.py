"""Kernels' times, what `gl.estimate` says of them, and the summary: with made recordings."""

import argparse
import inspect
import os
import subprocess
import sys
import textwrap
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from gpulearn import cuda
from gpulearn.errors import BadInput
from gpulearn.perf import recordings
from gpulearn.perf.estimates import estimate
from gpulearn.perf.recordings import Recording, growing
from simt.host import xray
from simt.observers.counters import Counts
from simt.report.report import Lines, Report
from tools.gpu.case import Case, Shot
from tools.gpu.cases import CASES
from tools.gpu.estimates import sampling
from tools.gpu.estimates.accuracy import Compared, Comparison, rank_correlation
from tools.gpu.estimates.comparison import compare_estimates, reason
from tools.gpu.estimates.sampling import sampled_report
from tools.gpu.recording import record, times
from tools.gpu.recording.record import Rows
from tools.gpu.runner import outcomes, run, summary
from tools.gpu.runner.step import Outcome


@cuda.jit
def doubled(a, b):
    i = cuda.grid(1)
    if i < a.size:
        b[i] = np.float32(2) * a[i]


def shot(size):
    n = {"small": 1000, "large": 2**17 + 5}[size]
    numbers = np.random.default_rng(n).standard_normal(n, dtype=np.float32)
    return Shot(-(-n // 128), 128, (numbers, np.full(n, np.nan, np.float32)))


GOOD = Case("doubled", "03", doubled, shot, lambda a, b: {1: 2 * a})
WRONG = replace(GOOD, name="tripled", expect=lambda a, b: {1: 3 * a})


def broken(size):
    raise MemoryError("no numbers today")


def lost_device():
    raise times.LostDeviceError("an illegal memory access was encountered")


def made(*rows, name="kernels", device="NVIDIA H200"):
    return Recording(name, device, "580.65.06", "2026-11-01", {}, "make gpu", list(rows))


# --- times


def test_cases_are_checked_and_timed():
    cases = [GOOD, WRONG, replace(GOOD, name="unmade", make=broken)]
    one, two, three = sorted(times.record_kernels(cases, "small").rows, key=lambda r: r["case"])
    assert one["seconds"] > 0
    assert one["spread"] >= 0
    assert (one["case"], one["kernel"], one["size"]) == ("doubled", "doubled", "small")
    assert (one["blocks"], one["threads"], one["bytes"]) == (8, 128, 8000)
    assert 5 <= one["repeats"] <= 30
    assert "tripled: argument 1 is wrong in 1,000 of 1,000 elements" in two["error"]
    assert "seconds" not in two
    assert three["error"] == "MemoryError: no numbers today"


def test_every_kernel_comes_before_the_second_case_of_any():
    cases = [c for c in CASES.values() if "large" in c.sizes]
    ordered = times.one_of_each_first(cases)
    assert Counter(c.name for c in ordered) == Counter(c.name for c in cases)
    kernels = len({c.kernel.__name__ for c in cases})
    assert len({c.kernel.__name__ for c in ordered[:kernels]}) == kernels


def test_what_there_is_no_time_for_is_left_out_by_name():
    rows = times.record_kernels([GOOD, WRONG], "small", seconds=1e-9).rows
    assert [row["left_out"] for row in rows] == ["the time was up"] * 2


def test_a_lost_device_keeps_what_was_found(monkeypatch, tmp_path):
    """The process ends; the next keeps its rows and goes on behind the last."""
    broken_case = replace(GOOD, name="unmade", make=broken)
    cases = [GOOD, broken_case, replace(GOOD, name="again")]
    seen = []
    with monkeypatch.context() as lost:
        lost.setattr(times, "_ask_device", lost_device)
        with pytest.raises(times.LostDeviceError), growing(seen.append):
            times.record_kernels([GOOD, broken_case, replace(GOOD, name="again")], "small")
    assert [row["case"] for row in seen[-1].rows] == ["doubled", "unmade"]
    rows = times.record_kernels(cases, "small", done=seen[-1].rows).rows
    assert [row["case"] for row in rows] == ["doubled", "unmade", "again"]
    assert ["seconds" in row for row in rows] == [True, False, True]


def test_a_device_that_does_not_answer_is_lost(monkeypatch):
    times._ask_device()
    monkeypatch.setattr(times.cuda, "synchronize", lambda: 1 / 0)
    with pytest.raises(times.LostDeviceError, match="division by zero"):
        times._ask_device()


@pytest.mark.parametrize("ended", ["lost", "its process ended with status -11"])
def test_the_next_process_goes_on(ended, tmp_path):
    first = recordings.recorded_here("kernels", [{"case": "doubled", "error": "x"}], "cpu")
    recordings.save(first, tmp_path)
    (tmp_path / times.BEGUN).write_text("next")
    given = argparse.Namespace(folder=tmp_path, rehearse=True, ended=ended)
    rows = times._rows_before(given)
    assert rows[:1] == first.rows
    blamed = [] if ended == "lost" else ["next"]
    assert [(row["case"], row["error"]) for row in rows[1:]] == [(c, ended) for c in blamed]


def test_who_is_launched_is_known_before():
    begun = []
    times.record_kernels([GOOD, WRONG], "small", begin=begun.append)
    assert sorted(begun) == ["doubled", "tripled"]


def test_processes_that_die_are_followed_by_others(monkeypatch, tmp_path):
    statuses = iter([times.LOST, -11, 0])
    asked = []

    def run(command, check):
        asked.append(command)
        return argparse.Namespace(returncode=next(statuses))

    monkeypatch.setattr(times.subprocess, "run", run)
    assert times.main(["--folder", str(tmp_path)]) == 0
    assert [c[c.index("--attempt") + 1] for c in asked] == ["1", "2", "3"]
    assert [c[c.index("--ended") + 1] for c in asked] == [
        "", "lost", "its process ended with status -11",
    ]  # fmt: skip


# --- estimates


def test_a_sample_of_blocks_counts_what_all_blocks_count(monkeypatch):
    monkeypatch.setattr(sampling, "FEWEST", 1)
    for name in (
        "transpose_whole, whole",
        "matmul_tiled, whole",
        "copy_by_rows, whole, blocks of 32 × 8",
    ):
        case = CASES[name]
        launch = case.shot("small")
        whole = xray.xray(case.kernel)[launch.grid, launch.block](*launch.args).totals
        sampled = sampled_report(case, "small", threads=1)
        assert 0 < sampled.counted < sampled.blocks
        assert sampled.spread == 0
        # a sample does not tell what blocks have in common
        assert sampled.report.totals == replace(whole, distinct_sectors=0)


def test_samples_are_scaled_to_the_launch():
    sampled = sampled_report(GOOD, threads=8 * 128)
    assert (sampled.blocks, sampled.counted, sampled.spread) == (1025, 16, 0)
    assert sampled.report.totals.bytes_moved == 1025 * 128 * 8
    assert sampled.report.totals.flops32 == 1025 * 128


def test_blocks_that_differ_are_seen():
    @cuda.jit
    def uneven(a):
        for i in range(cuda.blockIdx.x % 7):
            a[cuda.grid(1)] += np.float32(1)

    case = Case(
        "uneven", "03", uneven, lambda s: Shot(700, 32, (np.ones(22400, np.float32),)), dict
    )
    assert sampled_report(case, threads=1).spread > 0


def test_a_recording_is_held_against_the_model():
    row = {"case": "doubled", "size": "large", "blocks": 1025, "threads": 128, "bytes": 2**20}
    moved = 8 * (2**17 + 128)  # what the last block's idle lanes would move is in the sample
    modelled = moved / 4.8e12 + 5e-6
    found = compare_estimates(made({**row, "seconds": modelled}), cases={"doubled": GOOD})
    (only,) = found.rows
    assert found.gpu == "H200"
    assert only.modelled == pytest.approx(modelled, rel=1e-3)
    assert only.ratio == pytest.approx(1, rel=1e-3)
    assert only.reason == ""


def test_what_cannot_be_compared_is_left_out_by_name():
    row = {"case": "doubled", "size": "small", "seconds": 1.0}
    recording = made(row, {"case": "gone", "seconds": 1.0}, {"case": "lost", "error": "x"})
    found = compare_estimates(recording, cases={"doubled": GOOD, "lost": GOOD})
    assert found.left_out == {
        "gone": "the catalogue has no such case any more",
        "lost": "it was not timed",
    }
    assert "left out: 1: the catalogue" in str(found)
    late = made(row, row)
    with pytest.raises(BadInput, match="2: the time was up|1: the time was up"):
        compare_estimates(late, cases={"doubled": GOOD}, seconds=1e-9)


def test_a_recording_that_fits_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(recordings, "FOLDER", tmp_path)
    monkeypatch.setattr(recordings, "find", lambda name: None)
    with pytest.raises(BadInput, match="No times of kernels are recorded yet: `make gpu`"):
        compare_estimates()
    with pytest.raises(BadInput, match="no data sheet for 'Radeon': name a GPU to model"):
        compare_estimates(made(device="Radeon"))
    with pytest.raises(BadInput, match="There is no GPU 'H20'"):
        compare_estimates(made(), "H20")


def compared(*pairs):
    rows = [Compared(f"k{i}", a, b, "memory", "") for i, (a, b) in enumerate(pairs)]
    return Comparison("H200", made(), tuple(rows), {})


def test_the_distribution_and_the_order():
    found = compared((1.0, 1.0), (2.0, 4.0), (6.0, 3.0), (6.6, 3.0), (30.0, 10.0))
    assert found.ratios == pytest.approx(
        {"least": 0.5, "lower quartile": 1, "median": 2, "upper quartile": 2.2, "largest": 3}
    )
    assert found.within(2.0) == pytest.approx(3 / 5)
    # k2 and k3 are modelled as faster than k1; k2 and k3 themselves are not 20 % apart
    assert [(a.case, b.case) for a, b in found.wrongly_ranked] == [("k3", "k1"), ("k2", "k1")]
    assert found.pairs == 9
    assert "2 of 9 pairs ranked wrongly" in found.headline
    assert "k3: 6.6 s, modelled as faster than k1: 2 s" in str(found)
    head, *rest = found.as_rows()
    assert head["median"] == 2
    assert Counter(row["what"] for row in rest) == {"case": 5, "wrong pair": 2}


def test_pairs_that_are_close_are_not_ranked():
    assert compared((2.0, 4.0), (2.1, 3.9)).wrongly_ranked == []


def test_ranks_share_their_places():
    assert rank_correlation([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1)
    # ranks 1, 2.5, 2.5, 4 against 1 … 4: Pearson's formula by hand
    assert rank_correlation([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / np.sqrt(4.5 * 5))


# H200: 4.8 TB/s; 67 TFLOP/s are 2 · 128 lanes in 2.617e11 cycles a second
REASONS = [
    # 4.8 GB are 1 ms; the arrays hold a tenth of it
    (0.5e-3, {"bytes_moved": 48 * 10**8}, 48 * 10**7, "a cache hits: its sectors are 10.0 times"),
    (0.5e-3, {"bytes_moved": 48 * 10**8}, 48 * 10**8, "a cache hits: some of its arrays"),
    (0.5e-3, {"flops32": 67 * 10**9}, 1, "the compiler leaves operations out"),
    (2e-6, {"bytes_moved": 32}, 32, "the launch costs less than assumed"),
    (1.1e-3, {"bytes_moved": 48 * 10**8}, 1, ""),
    # 2.617e9 passes are 10 ms
    (
        9e-3,
        {"shared_load_wavefronts": 2617 * 10**6, "shared_load_conflicts": 2617 * 10**5},
        1,
        "shared memory: 2,617,000,000 passes, 10% of them conflicts",
    ),
    (9e-3, {"atomics": 77, "atomic_contention": 32}, 1, "atomics: 77, up to 32 lanes"),
    # 4 schedulers: 1.05e10 warps' statements are 10 ms
    (9e-3, {"instructions": 105 * 10**8, "active_lanes": 32 * 105 * 10**8}, 1, "instructions that"),
    (
        9e-3,
        {"instructions": 105 * 10**8, "active_lanes": 8 * 105 * 10**8},
        1,
        "divergence: 8 of 32",
    ),
    (9e-3, {"instructions": 99, "active_lanes": 99 * 32, "barriers": 5}, 1, "barriers: warps wait"),
    (9e-3, {"instructions": 99, "active_lanes": 99 * 32}, 1, "memory does not reach its full"),
]


@pytest.mark.parametrize(("seconds", "counts", "size", "said"), REASONS)
def test_the_counters_name_the_broken_assumption(seconds, counts, size, said):
    report = Report("k", (2**17, 1, 1), (128, 1, 1), [], Counts(**counts), Lines(), {}, {})
    row = {"blocks": 2**17, "threads": 128, "bytes": size}
    found = reason(seconds, estimate(report, "H200"), report, row)
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_too_few_threads_are_named():
    report = Report("k", (1, 1, 1), (32, 1, 1), [], Counts(instructions=1), Lines(), {}, {})
    said = reason(1.0, estimate(report, "H200"), report, {"blocks": 7, "threads": 128})
    assert said == "too few threads to fill the GPU: 896"


# --- recordings and summary


def test_every_recorder_has_a_step_and_its_rehearsal_fits_it():
    assert set(record.families()) == {
        name.removeprefix("recordings/") for name in run.LIMITS if "/" in name
    }
    for name in (*record.families(), *record.LADDER):
        maker = record.maker(name)
        inspect.signature(maker.function).bind(**maker.rehearsal)
        inspect.signature(maker.function).bind()  # as it is on the day


def test_a_row_without_a_time_fails_the_step_and_keeps_the_rest(tmp_path, monkeypatch, capsys):
    def faulty():
        return recordings.recorded_here("work", [{"n": 1, "seconds": 1.0}, {"n": 2, "error": "x"}])

    monkeypatch.setattr(record, "maker", lambda name: record.Maker(faulty))
    assert record.main(["work", "--folder", str(tmp_path)]) == 1
    assert "without a time: {'n': 2, 'error': 'x'}\n1 of 2 rows" in capsys.readouterr().out
    assert len(recordings.find("work", tmp_path).rows) == 2


def test_a_recording_without_rows_is_no_success(tmp_path, monkeypatch):
    empty = record.Maker(lambda: recordings.recorded_here("work", []))
    monkeypatch.setattr(record, "maker", lambda name: empty)
    assert record.main(["work", "--folder", str(tmp_path)]) == 1


def test_the_summary_names_the_numbers_that_matter(tmp_path):
    ladder = [
        {"n": n, "rung": rung, "dtype": dtype, "seconds": seconds}
        for n in (4096, 8192)
        for rung, dtype, seconds in (
            ("torch.matmul", "float32", 0.09),
            ("torch.matmul", "bfloat16", 0.01),
            ("naive", "float32", 1.0),
            ("warp tiles", "float32", 0.1),
        )
    ]
    message = "tests/gpu/b.py:7: in test_b\nE   AssertionError: 3 != 4\nE    + 3"
    tests = [
        {"test": "a", "outcome": "passed"},
        {"test": "b", "outcome": "failed", "message": message},
        {"test": "c", "outcome": "cut off"},
    ]
    kernels = [{"case": "a", "seconds": 1.0}, {"case": "b", "error": "x"}]
    for name, rows in (("ladder", ladder), ("tests", tests), ("kernels", kernels)):
        recordings.save(made(*rows, name=name), tmp_path)
    recordings.save(made({"case": 1}, name="estimates"), tmp_path)
    outcomes = [Outcome("ladder", "right", 9.0, ""), Outcome("tests", "failed", 8.0, "1 failed")]
    text = summary.text(outcomes, tmp_path, 0.0)
    assert "of torch.matmul in float32 at 4096: naive 9.0%, warp tiles 90.0%" in text
    assert "tests: 1 cut off, 1 failed, 1 passed\n  | b: AssertionError: 3 != 4\n  | c:" in text
    assert "kernels: 1 timed, 1 wrong\n  | b: x\n" in text
    assert "estimates: cannot be summed up: IndexError" in text
    assert "environment: nothing was recorded" in text
    assert text.endswith("1 of 2 steps were right.\n")


def test_make_gpu_is_rehearsed(tmp_path):
    """As on the day, with the Python that is there, in a checkout without .venv."""
    arguments = f"--rehearse --folder {tmp_path} --only environment --only recordings/strides"
    done = subprocess.run(
        ["make", "gpu", f"GPU_PYTHON={sys.executable}", f"ARGS={arguments}"],
        capture_output=True, text=True, check=False, cwd=outcomes.ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 steps were right.\nThis is a rehearsal on the CPU" in done.stdout
    assert recordings.find("strides", tmp_path).rows[0]["seconds"] > 0
    assert recordings.find("environment", tmp_path).where(what="platform")


def outcomes_of(folder, code):
    """A run of tests in a process of its own: the process, and its rows by the tests' names."""
    (folder / "test_some.py").write_text(textwrap.dedent(code))
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = gpu\n")
    done = subprocess.run(
        [sys.executable, "-m", "tools.gpu.runner.outcomes", "--rehearse", "--folder", folder,
         "--tests", folder],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(outcomes.ROOT)},
    )  # fmt: skip
    rows = recordings.find("tests", folder).rows
    return done, {row["test"].rpartition("::")[2]: row for row in rows}


GPU_TESTS = """
    import pytest
    pytestmark = pytest.mark.gpu
    def test_right(): pass
    def test_wrong(): assert 1 == 2, "a kernel is wrong"
    def test_left_out(): pytest.skip("no second GPU")
"""


def test_the_outcome_of_every_test_is_kept(tmp_path):
    done, by_name = outcomes_of(tmp_path, GPU_TESTS)
    assert done.returncode == 1, done.stdout
    assert done.stdout.splitlines()[-1] == "1 failed, 1 passed, 1 skipped"
    assert by_name["test_right"]["outcome"] == "passed"
    assert "message" not in by_name["test_right"]
    assert "a kernel is wrong" in by_name["test_wrong"]["message"]
    assert "no second GPU" in by_name["test_left_out"]["message"]


HANGS = """
    import os, pytest, signal, time
    pytestmark = pytest.mark.gpu
    def test_right(): pass
    def test_hangs():
        os.kill(os.getpid(), signal.SIGTERM)  # as the step's time limit does
        time.sleep(600)
"""


def test_a_test_that_the_limit_cuts_off_is_named(tmp_path):
    done, by_name = outcomes_of(tmp_path, HANGS)
    assert done.returncode != 0
    assert by_name["test_right"]["outcome"] == "passed"
    assert by_name["test_hangs"] == {"test": "test_some.py::test_hangs", "outcome": "cut off"}


def test_a_file_of_tests_that_cannot_be_imported_is_a_failure(tmp_path):
    rows = Rows("tests", tmp_path, "cpu")
    plugin = outcomes.Outcomes(rows)
    report = argparse.Namespace(nodeid="test_some.py", outcome="failed", longrepr="no torch")
    plugin.pytest_collectreport(report)
    plugin.pytest_runtest_logstart("test_hangs")
    plugin.pytest_sessionfinish()
    assert recordings.find("tests", tmp_path).rows == [
        {"test": "test_some.py", "outcome": "failed", "message": "no torch"},
        {"test": "test_hangs", "outcome": "cut off"},
    ]
