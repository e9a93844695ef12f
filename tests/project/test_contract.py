"""What coursework and other programs may count on: it holds whatever moves inside the package."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.__main__ import COMMANDS
from gpulearn.perf import recordings

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, check=False
    )


def test_the_switch_is_a_module_under_two_names():
    from gpulearn import cuda

    assert cuda is gl.cuda is sys.modules["gpulearn.cuda"]
    for name in ("jit", "grid", "to_device", "device_array", "shared", "atomic", "synchronize"):
        assert hasattr(cuda, name)


def stub(m, n, p):
    return ...


def test_exercises_are_listed_checked_and_solved():
    listed = gl.exercises()
    assert listed.headings == ("exercise", "notebook", "task")
    assert "vector_add" in str(listed)
    passed = gl.check("matmul_flops", lambda m, n, p: 2 * m * n * p)
    assert (passed.name, passed.cases > 0) == ("matmul_flops", True)
    with pytest.raises(gl.errors.WrongAnswer, match="matmul_flops: "):
        gl.check("matmul_flops", lambda m, n, p: m * n * p)
    with pytest.raises(gl.errors.NotSolvedYet):
        gl.check("matmul_flops", stub)
    assert gl.solution("matmul_flops").source.startswith("def matmul_flops(")
    assert "\n1 of " in str(gl.progress())


@cuda.jit
def twice(a, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = a[i] + a[i]


def test_a_kernel_is_launched_and_put_under_the_lens(monkeypatch):
    a = np.arange(40, dtype=np.float32)
    there, out = cuda.to_device(a), cuda.to_device(np.zeros_like(a))
    with gl.unchecked(), gl.block_order(1):
        twice[2, 32](there, out)
    assert out.copy_to_host().tolist() == (2 * a).tolist()
    report = gl.xray(twice)[2, 32](there, out)
    assert report.ok
    assert report.findings == []
    fields = (
        "instructions active_lanes divergent_branches barriers "
        "global_load_requests global_load_sectors global_store_requests global_store_sectors "
        "shared_load_wavefronts shared_load_conflicts shared_store_wavefronts "
        "shared_store_conflicts atomics atomic_contention bytes_requested bytes_moved flops32 "
        "flops64"
    )
    for counts in (report.totals, *report.lines.values(), *report.arrays.values()):
        assert all(hasattr(counts, field) for field in fields.split())


def double(rank_of):
    return 2 * rank_of()


def test_ranks_are_launched_and_simulated():
    pytest.importorskip("torch")
    assert gl.launch(double, 2, gl.parallel.rank) == [0, 2]
    assert gl.simulate(double, 3, gl.parallel.rank).results == [0, 2, 4]


def test_the_command_line_tells_what_the_machine_has():
    done = run("gpulearn", "--json")
    found = json.loads(done.stdout)
    assert set(found) >= {
        "gpulearn", "python", "cpu", "cores", "memory_bytes", "device", "reason", "gpus",
        "versions", "torch", "parts", "missing",
    }  # fmt: skip


def test_the_command_names_its_commands_its_version_and_what_was_meant():
    told = run("gpulearn", "--help").stdout
    for name in COMMANDS:
        assert f"\n  {name} " in told
        assert (
            f"usage: {'simt' if name == 'run' else 'gpulearn'} {name}"
            in run("gpulearn", name, "--help").stdout
        )
    assert run("gpulearn", "--version").stdout == f"gpulearn {gl.__version__}\n"
    slip = run("gpulearn", "grad", "folder")
    assert slip.returncode == 2
    assert slip.stderr == (
        "gpulearn: 'grad' is not one of run, ranks, exercise, course, grade; did you mean grade?\n"
    )


def test_the_example_of_torchrun_has_its_place():
    pytest.importorskip("torch")
    done = run("gpulearn_lessons.fault_tolerance.train", "--help")
    assert done.returncode == 0
    for option in ("--epochs", "--batch", "--checkpoint"):
        assert option in done.stdout


def test_a_recording_is_json_with_these_fields(tmp_path):
    names = [field.name for field in dataclasses.fields(recordings.Recording)]
    assert names == ["name", "device", "driver", "date", "versions", "command", "rows"]
    given = recordings.Recording(
        "matmul", "H200", "580", "2026-11-01", {"torch": "2"}, "make gpu", [{"seconds": 1.0}]
    )
    written = json.loads(recordings.save(given, tmp_path).read_text())
    assert written == {"schema": 2, **dataclasses.asdict(given)}
