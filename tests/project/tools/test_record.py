"""`make gpu`: whatever a step does, it costs its own seconds and its own row."""

import csv
import io
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

import gpulearn
from gpulearn import cuda
from gpulearn.perf import recordings
from gpulearn.perf.recordings import OutOfTimeError, recorded_here
from gpulearn_lessons.matmul.ladder import LADDER
from gpulearn_lessons.matmul.rung_rates import LIBRARY
from simt.device import driver, selection
from tests.support.processes import gone
from tools.record import __main__ as runner
from tools.record import counters, products
from tools.record.differences import Difference
from tools.record.launches import examples

ROOT = Path(gpulearn.__file__).parents[1]


def python(code):
    return [sys.executable, "-c", textwrap.dedent(code)]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("print('done')", "right"),
        ("raise ValueError", "failed"),
        ("import os; os.abort()", "crashed"),
    ],
)
def test_how_a_step_ended_is_told(code, status):
    assert runner.run(python(code), 60, dict(os.environ)) == status


def test_a_step_that_hangs_is_killed_with_its_children(tmp_path):
    pid = tmp_path / "pid"
    code = f"trap '' TERM; sleep 600 & echo $! > {pid}; wait; sleep 600"
    assert runner.run(["sh", "-c", code], 3, dict(os.environ)) == "out of time"
    assert gone(int(pid.read_text()))


def test_rows_that_came_before_the_limit_are_kept():
    def rows():
        yield {"n": 1}
        raise OutOfTimeError

    assert recorded_here("work", rows(), "cpu").rows == [{"n": 1}]


def test_a_step_saves_what_it_has_when_its_time_is_over(tmp_path):
    code = f"""
        import sys, time
        from pathlib import Path
        from gpulearn.perf.recordings import recorded_here
        from tools.record import __main__ as runner, products
        def rows():
            yield {{"n": 1, "seconds": 1.0}}
            time.sleep(600)
        products.record_ladder = lambda: recorded_here("ladder", rows(), "cpu")
        runner.STEPS["ladder"] = runner.Step(3, "tools.record.products")
        sys.exit(runner.main(["--step", "ladder", "--folder", {str(tmp_path)!r}]))
    """
    assert runner.run(python(code), 120, runner.environment(True)) == "right"
    assert recordings.find("ladder", tmp_path).rows == [{"n": 1, "seconds": 1.0}]


def test_a_row_without_a_time_fails_the_step_and_keeps_the_rest(tmp_path, monkeypatch, capsys):
    for rows in ([{"n": 1, "seconds": 1.0}, {"n": 2, "error": "x"}], []):
        made = recorded_here("ladder", rows, "cpu")
        monkeypatch.setattr(products, "record_ladder", lambda made=made, **sizes: made)
        assert runner.record("ladder", tmp_path, rehearse=True) == 1
        assert recordings.find("ladder", tmp_path).rows == rows
    assert "without a time: {'n': 2, 'error': 'x'}" in capsys.readouterr().out


def test_the_whole_ends_in_about_8_minutes():
    assert sum(step.seconds for step in runner.STEPS.values()) <= 530  # most end before theirs


def test_the_list_needs_nothing_but_python():
    done = subprocess.run(
        [sys.executable, "-S", "-m", "tools.record", "--list"],
        capture_output=True, text=True, cwd=ROOT, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == ["tests", "120", "s"]


def test_a_step_that_fails_does_not_stop_the_next(monkeypatch, capfd):
    codes = {"strides": "import os; os.abort()", "ladder": "print('done')"}
    monkeypatch.setattr(runner, "command", lambda name, *options: python(codes[name]))
    assert runner.main(["--rehearse", "--only", "strides", "--only", "ladder"]) == 1
    said = capfd.readouterr().out
    assert "[2/2] ladder (at most 300 s)\ndone\nladder       right" in said
    assert "1 of 2 steps were right.\nThis is a rehearsal on the CPU" in said


def test_make_gpu_is_rehearsed(tmp_path):
    """As on the day, with the Python that is there."""
    arguments = f"--rehearse --only transposes --folder {tmp_path}"
    done = subprocess.run(
        ["make", "gpu", f"GPU_PYTHON={sys.executable}", f"ARGS={arguments}"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 steps were right.\nThis is a rehearsal on the CPU" in done.stdout
    assert recordings.find("transposes", tmp_path).rows[0]["seconds"] > 0


def test_without_a_gpu_there_is_one_sentence(monkeypatch, capsys):
    here = selection.Selection("cpu", "no NVIDIA GPU here")
    monkeypatch.setattr(selection, "decide", lambda environment: here)
    assert runner.main(["--only", "ladder"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("make gpu needs an NVIDIA GPU that runs Numba's kernels: no NVIDIA GPU")
    assert len(said.splitlines()) == 1


def test_steps_on_a_gpu_never_fall_back_to_the_machine():
    assert runner.environment(False)["GPULEARN_DEVICE"] == "gpu"
    assert runner.environment(True)["GPULEARN_DEVICE"] == "cpu"
    gpu = driver.Gpu("NVIDIA H200", 2**37, (9, 0), "13.0")
    assert selection.decide(runner.environment(False), (gpu,), probe="1/0").kind == "gpu"


def test_whoever_ends_the_visit_ends_its_step(tmp_path):
    pid = tmp_path / "pid"
    code = f"""
        import sys
        from tools.record import __main__ as runner
        sleep = "import os, pathlib, time; "\\
            "pathlib.Path({str(pid)!r}).write_text(str(os.getpid())); time.sleep(600)"
        runner.command = lambda *step: [sys.executable, "-c", sleep]
        runner.main(["--rehearse", "--only", "ladder"])
    """
    visit = subprocess.Popen(python(code), env={**os.environ, "PYTHONPATH": str(ROOT)})
    deadline = time.monotonic() + 60
    while not pid.exists() or not pid.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    visit.send_signal(signal.SIGTERM)
    assert visit.wait(30) == 128 + signal.SIGTERM
    assert gone(int(pid.read_text()))


# --- the ladder


def test_every_rung_and_the_library_are_timed_by_size_if_they_are_right(monkeypatch):
    @cuda.jit
    def nothing(a, b, c):
        """Leaves C as it was."""

    naive = LADDER["naive"]
    wrong = replace(naive, name="wrong", specification=replace(naive.specification, kernel=nothing))
    monkeypatch.setattr(products, "LADDER", {"naive": naive, "wrong": wrong})
    monkeypatch.setattr(products, "LONGEST", 1e-9)
    made = products.record_ladder((8, 16))
    assert [(row["n"], row["rung"], row["dtype"]) for row in made.rows] == [
        (n, name, "float32") for n in (8, 16) for name in (LIBRARY, "naive", "wrong")
    ]
    assert made.rows[0]["seconds"] > 0
    assert made.rows[1]["seconds"] > 0
    assert "WrongResultError: wrong, n = 8 is wrong in 64 of 64" in made.rows[2]["error"]
    assert made.rows[4]["left_out"].startswith("one product would take about")


# --- counters

CHOSEN = [example for name, example in examples().items() if name.startswith("transpose_whole")]
CHOSEN.append(examples()["histogram_shared, 1,000 values, 16 bins, 3 blocks of 32"])
CHOSEN += [examples()[f"shared_read, {how}, float32"] for how in ("1 apart", "32 apart")]


def metrics(example, **more):
    """What Nsight Compute says if it counts as the machine does, or more of some counters."""
    counts = counters.machine_counts(example)
    values = {m: 0.0 for parts in counters.METRICS.values() for m in parts}
    for counter, parts in counters.METRICS.items():
        values[next(iter(parts))] += counts[counter] + more.get(counter, 0)
    return values


def table():
    """What the profiler prints: a row for each launch below the units, between lines of its own."""
    columns = metrics(CHOSEN[0])
    rows = [["ID", "Kernel Name", *columns], ["", "", *("inst" for _ in columns)]]
    for number, example in enumerate(CHOSEN):
        name = example.kernel.__name__
        mangled = f"_ZN5tools6record{len(name)}{name}B2v1B8cw51cXTLE5ArrayIfLi1E1C7mutableE"
        rows.append([str(number), mangled, *(f"{n:,.0f}" for n in metrics(example).values())])
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    return f"==PROF== Connected\n{text.getvalue()}"


def fake_ncu(folder, code):
    """A program in the place of the profiler; it lists no metrics."""
    program = folder / "ncu"
    lists = "if '--query-metrics' in sys.argv: sys.exit()"
    program.write_text(f"#!{sys.executable}\nimport subprocess, sys\n{lists}\n{code}")
    program.chmod(0o755)
    return program


def test_each_launch_gets_what_the_profiler_has_counted_for_it(tmp_path):
    watch = "at = sys.argv.index('--log-file')\nsubprocess.run(sys.argv[at + 2:], check=True)\n"
    ncu = fake_ncu(tmp_path, f"{watch}open(sys.argv[at + 1], 'w').write({table()!r})")
    measured = counters.profile(ncu, CHOSEN, 300)
    assert list(measured) == [example.name for example in CHOSEN]
    for example in CHOSEN:
        counts = counters.machine_counts(example)
        rows = list(counters.compare(example, counts, measured[example.name]))
        assert [row["ncu"] for row in rows] == [counts[c] for c in counters.METRICS]
        assert {row["reason"] for row in rows} == {""}


def test_where_a_launch_is_missing_in_the_table_none_counts():
    probe = '"9","_ZN5other5probeB2v1E","1","2"\n'
    assert len(counters.matched(table() + probe, CHOSEN)) == len(CHOSEN)
    rows = table().splitlines(keepends=True)
    assert counters.matched("".join(rows[:-1]), CHOSEN) == {}
    assert counters.matched("".join(rows[:3] + rows[4:] + rows[3:4]), CHOSEN) == {}


def test_why_nothing_may_be_profiled_is_told(tmp_path):
    ncu = fake_ncu(tmp_path, "print('==ERROR== ERR_NVGPUCTRPERM - The user may not.'); sys.exit(1)")
    with pytest.raises(gpulearn.errors.GpulearnError, match="ERR_NVGPUCTRPERM - The user may not"):
        counters.profile(ncu, CHOSEN, 60)


def test_a_counter_that_differs_needs_a_reason(monkeypatch):
    example, histogram, *_ = CHOSEN
    counts = counters.machine_counts(example)
    off = metrics(example, shared_load_wavefronts=2)

    def differing():
        rows = list(counters.compare(example, counts, off))
        return [row for row in rows if row["machine"] != row["ncu"]], rows

    found, rows = differing()
    assert [(row["counter"], row["reason"]) for row in found] == [("shared_load_wavefronts", "")]
    said = counters.summary(recorded_here("counters", rows))
    assert said.startswith("transpose_whole, whole: shared_load_wavefronts is 6,144 on the machine")
    assert said.endswith("6 of 7 counters are equal, 0 others explained, 1 are not.")
    for more, reason in ((True, "because"), (False, "")):
        key = "transpose_whole", "shared_load_wavefronts"
        monkeypatch.setitem(counters.REASONS, key, Difference(*key, more, "because"))
        assert differing()[0][0]["reason"] == reason
    passes = metrics(histogram, shared_conflicts=5)
    *_, conflicts = counters.compare(histogram, counters.machine_counts(histogram), passes)
    assert "atomics" in conflicts["reason"]


def test_without_a_profiler_the_launches_are_made_all_the_same(monkeypatch):
    monkeypatch.setattr(counters, "find_ncu", lambda: None)
    monkeypatch.setattr(counters, "examples", lambda: {e.name: e for e in CHOSEN})
    made = counters.record_counters()
    assert made.rows == [{"note": "Nsight Compute (ncu) is not installed here."}]


def test_the_machine_counts_what_was_recorded():
    for recording in map(recordings.load, recordings.available(name="counters")):
        for row in (row for row in recording.rows if "counter" in row):
            counts = counters.machine_counts(examples()[row["launch"]])
            assert counts[row["counter"]] == row["machine"], row


def test_the_step_of_tests_runs_a_folder_that_exists(tmp_path):
    assert Path(runner.command("tests", tmp_path, True)[3]).is_dir()
