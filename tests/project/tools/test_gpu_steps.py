"""Whatever a step of `make gpu` does, it costs its own seconds and its own row."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import gpulearn
from gpulearn.perf import recordings
from gpulearn.perf.recordings import growing, recorded_here
from simt.device import driver
from tests.support.processes import gone
from tools.gpu.recording.record import Rows, Saver
from tools.gpu.runner import environment
from tools.gpu.runner import run as runner
from tools.gpu.runner.step import GRACE, LOG, Step, run_step

ROOT = Path(gpulearn.__file__).parents[2]  # of the package: a checkout, or where it is installed


def python(name, code, seconds=30.0):
    return Step(name, seconds, (sys.executable, "-c", textwrap.dedent(code)))


def ended(code, tmp_path, limit=30.0):
    return run_step(python("work", code), limit, tmp_path / "log", os.environ)


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("print('one'); print('two')", "right", "one\ntwo"),
        ("raise ValueError('no such metric')", "failed", "ValueError: no such metric"),
        ("import sys; sys.exit(3)", "failed", ""),
        ("import os; print('begun', flush=True); os.abort()", "crashed", "begun"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe caf\\xe9')", "right", "caf"),
    ],
)
def test_how_a_step_ended_is_told(code, status, said, tmp_path):
    outcome = ended(code, tmp_path)
    assert outcome.status == status
    assert said in outcome.said
    assert outcome.right == (status == "right")


def test_a_step_that_hangs_is_killed_with_its_children(tmp_path):
    pid = tmp_path / "pid"
    code = f"trap '' TERM; sleep 600 & echo $! > {pid}; echo waiting for a GPU; wait; sleep 600"
    outcome = run_step(Step("work", 9, ("sh", "-c", code)), 1.5, tmp_path / "log", os.environ)
    assert outcome.status == "out of time"
    assert outcome.said == "waiting for a GPU"
    assert outcome.seconds < 30
    assert gone(int(pid.read_text()))


def test_children_of_a_step_that_ended_end_too(tmp_path):
    code = """
        import subprocess, sys
        print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid)
    """
    outcome = ended(code, tmp_path)
    assert outcome.right
    assert gone(int(outcome.said))


def test_output_without_end_stays_small(tmp_path):
    code = "import os\nwhile True: os.write(1, (b'x' * 99 + b'\\n') * 600)"
    outcome = ended(code, tmp_path, limit=1.5)
    assert outcome.status == "out of time"
    assert LOG < (tmp_path / "log").stat().st_size < LOG + 100_000
    assert len(outcome.said) < 3000


def test_partial_results_survive_the_death_of_their_process(tmp_path):
    code = f"""
        import os
        from pathlib import Path
        from tools.gpu.recording import record
        from gpulearn.perf.recordings import growing, recorded_here
        def work():
            yield {{"n": 0, "seconds": 1.0}}
            yield {{"n": 1, "seconds": 1.0}}
            os.kill(os.getpid(), 9)
        with growing(record.Saver(Path({str(tmp_path)!r}), every=0)):
            recorded_here("work", work(), "cpu")
    """
    assert ended(code, tmp_path).status == "crashed"
    (path,) = recordings.available(tmp_path, "work")
    assert [row["n"] for row in recordings.load(path).rows] == [0, 1]


def test_rows_are_kept_as_they_come(tmp_path):
    rows = Rows("work", tmp_path, "cpu")
    rows.add(case="a", seconds=1.0, error=None)
    (path,) = recordings.available(tmp_path, "work")
    assert recordings.load(path).rows == [{"case": "a", "seconds": 1.0}]
    rows.add(case="b", seconds=2.0)  # within the second: not yet written
    assert len(recordings.load(path).rows) == 1
    assert len(rows.write().rows) == len(recordings.load(path).rows) == 2


def test_a_growing_recording_is_seen_row_by_row(tmp_path):
    seen = []
    with growing(lambda made: seen.append(len(made.rows))):
        made = recorded_here("work", ({"n": n} for n in range(3)), "cpu")
    assert seen == [1, 2, 3]
    assert len(made.rows) == 3
    recorded_here("work", [{"n": 1}], "cpu")  # outside nobody looks
    assert len(seen) == 3


def test_a_saver_that_is_cut_off_leaves_the_old_file(tmp_path, monkeypatch):
    made = recorded_here("work", [{"n": 1}], "cpu")
    Saver(tmp_path)(made)
    monkeypatch.setattr(Path, "replace", lambda *names: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        recordings.save(recorded_here("work", [{"n": 2}], "cpu"), tmp_path)
    (path,) = recordings.available(tmp_path)
    assert recordings.load(path).rows == [{"n": 1}]


def test_the_budget_ends_what_comes_last(tmp_path):
    sleep = "import time; time.sleep(60)"
    chosen = [python("a", "print(1)"), python("b", sleep), python("c", "print(2)")]
    seen = []
    outcomes = runner.run(chosen, 7.0, tmp_path, os.environ, lambda o: seen.append(len(o)))
    assert [o.status for o in outcomes] == ["right", "out of time", "no time left"]
    assert seen == [1, 2, 3]
    assert sum(o.seconds for o in outcomes) < 7 + 5


def test_one_that_fails_does_not_stop_the_next(tmp_path, capsys):
    chosen = [python("a/b", "import os; os.abort()"), python("c", "print('done')")]
    outcomes = runner.run(chosen, 60, tmp_path, os.environ)
    assert [o.status for o in outcomes] == ["crashed", "right"]
    assert (tmp_path / "a-b.log").exists()
    assert "[2/2] c (at most 30 s)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "python", [ROOT / ".venv", ROOT.parent, "/usr"], ids=["in", "over", "beside"]
)
def test_what_is_published_names_no_folder_of_the_machine(monkeypatch, python):
    monkeypatch.setattr(sys, "prefix", str(python))
    said = f'File "{ROOT}/gpulearn/cuda.py", in {python}/lib'
    assert runner.without_places(said) == 'File "./gpulearn/cuda.py", in python/lib'


def test_the_whole_ends_within_8_minutes(tmp_path):
    assert runner.BUDGET + 15 < 8 * 60
    every = runner.steps(tmp_path, rehearse=False)
    left = runner.BUDGET
    for number, step in enumerate(every, 1):  # even if every step uses up all that it may
        limit = runner.limit_now(step, every[number:], left)
        assert step.seconds / 2 < limit <= step.seconds
        left -= limit + GRACE
    assert left > -5


def hardware(*arguments, options=(), **variables):
    return subprocess.run(
        [sys.executable, *options, "-m", "tools.gpu", *arguments],
        capture_output=True, text=True, cwd=ROOT, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
    )  # fmt: skip


def test_the_list_needs_nothing_but_python():
    done = hardware("--list", "--skip", "recordings", options=("-S",))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == ["environment", "40", "s"]
    assert "recordings/" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--only", "tetss"], "there is no step 'tetss': --list shows them"),
        (["--budget", "0"], "--budget is 0: give seconds above zero"),
        (["--rehearse", "--folder", str(recordings.FOLDER)], "a rehearsal makes no recording"),
    ],
)
def test_bad_options_get_one_sentence(arguments, sentence, capsys):
    with pytest.raises(SystemExit) as error:
        runner.main(arguments)
    assert error.value.code == 2
    assert sentence in capsys.readouterr().err


def test_without_a_gpu_there_is_one_sentence(monkeypatch, capsys):
    here = runner.selection.Selection("cpu", "no NVIDIA GPU here")
    monkeypatch.setattr(runner.selection, "decide", lambda environment: here)
    assert runner.main(["--only", "environment"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("make gpu needs an NVIDIA GPU that runs Numba's kernels: no NVIDIA GPU")
    assert len(said.splitlines()) == 1


def test_a_summary_that_cannot_be_written_does_not_end_the_visit(tmp_path, capsys):
    def full(outcomes):
        raise OSError("No space left on device")

    two = [Step(name, 5.0, (sys.executable, "-c", "")) for name in ("one", "two")]
    ends = runner.run(two, 60.0, tmp_path, dict(os.environ), full)
    assert [outcome.status for outcome in ends] == ["right", "right"]
    assert capsys.readouterr().out.count("could not be summed up or copied: No space left") == 2


def test_all_that_nvidia_smi_knows_is_asked_at_once(monkeypatch):
    asked = []

    def smi(command):
        asked.append(command[1])
        known = "vbios_version" not in command[1] or refuses is False
        return (
            ", ".join("1 MiB" for _ in command[1].split(",")) if known else "is not a valid field"
        )

    monkeypatch.setattr(environment, "_said", smi)
    refuses = False
    assert dict(environment._queried("smi")) == dict.fromkeys(environment.QUERIES, "1 MiB")
    assert len(asked) == 1
    refuses = True
    found = dict(environment._queried("smi"))
    assert found.pop("vbios_version") == "is not a valid field"
    assert set(found.values()) == {"1 MiB"}


def test_steps_on_a_gpu_never_fall_back_to_the_machine(tmp_path):
    assert runner.environment(False, tmp_path)["GPULEARN_DEVICE"] == "gpu"
    assert runner.environment(True, tmp_path)["GPULEARN_DEVICE"] == "cpu"
    gpu = driver.Gpu("NVIDIA H200", 2**37, (9, 0), "13.0")
    probed = runner.selection.decide(runner.environment(False, tmp_path), (gpu,), probe="1/0")
    assert probed.kind == "gpu"  # asked once for all steps


def test_a_visit_leaves_a_summary_and_an_archive(tmp_path, capsys):
    kept, out = tmp_path / "kept", tmp_path / "out"
    arguments = ["--rehearse", "--only", "environment", "--folder", str(kept), "--copy", str(out)]
    assert runner.main(arguments) == 0
    said = capsys.readouterr().out
    assert said.startswith("This is a rehearsal on the CPU with tiny sizes: nothing of it is a rec")
    assert "1 of 1 steps were right.\nThis is a rehearsal" in said
    (path,) = recordings.available(kept, "visit")
    (row,) = recordings.load(path).rows
    assert (row["step"], row["status"]) == ("environment", "right")
    assert {file.name for file in out.iterdir()} == {"gpu.tar.gz", "visit.txt", path.name}
    listed = subprocess.run(["tar", "tzf", out / "gpu.tar.gz"], capture_output=True, text=True)
    assert f"recorded/{path.name}" in listed.stdout
    assert "logs/environment.log" in listed.stdout


def test_whoever_ends_the_visit_ends_its_step(tmp_path):
    code = f"""
        import sys, pathlib
        from tools.gpu.runner import run
        from tools.gpu.runner import step
        sleep = "import os, time, pathlib; "\\
            "pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(os.getpid())); time.sleep(600)"
        one = step.Step("sleep", 500.0, (sys.executable, "-c", sleep))
        run.steps = lambda folder, rehearse: [one]
        run.main(["--rehearse", "--folder", {str(tmp_path / "kept")!r}])
    """
    visit = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    deadline = time.monotonic() + 30
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    visit.send_signal(signal.SIGTERM)
    assert visit.wait(30) == 128 + signal.SIGTERM
    assert gone(int((tmp_path / "pid").read_text()))
