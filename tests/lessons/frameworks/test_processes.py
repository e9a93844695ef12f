"""Processes of their own, whatever runs in them: no framework is needed to see them work."""

import json
import os
import signal
import sys
import time
import types

import numpy as np
import pytest

from gpulearn.errors import BadInput, MissingPackage, RankError
from gpulearn_lessons.frameworks import availability, processes, recordings
from gpulearn_lessons.frameworks.clusters import (
    cluster_of,
    kill_when,
    run_with_servers,
    run_workers,
)
from gpulearn_lessons.frameworks.processes import Child, ended, run

ABSENT = "jax is not installed: a command brings it."


@pytest.fixture
def _here(monkeypatch, tmp_path):
    """As if JAX were installed: functions that do not import it run in its process."""
    monkeypatch.setattr(availability, "missing", lambda frameworks=(): "")
    monkeypatch.setattr(availability, "versions", lambda: {"jax": "9.9"})
    monkeypatch.setenv(recordings.NOTE, str(tmp_path / "noted.json"))
    yield
    ended()


@pytest.fixture
def _absent(monkeypatch, tmp_path):
    """As if neither were installed, with what `_here` has recorded."""
    monkeypatch.setattr(availability, "missing", lambda frameworks=(): ABSENT)
    monkeypatch.setattr(recordings, "FILE", tmp_path / "noted.json")


def report(numbers, word):
    print("in", os.environ["XLA_FLAGS"].split()[-1])
    return {"sum": numbers.sum(), "word": word, "twice": 2 * numbers, "pid": os.getpid()}


def fails():
    raise ValueError("there is no seven")


def dies():
    print("a last word", file=sys.stderr)
    os.kill(os.getpid(), signal.SIGKILL)


def sleeps():
    time.sleep(60)


def hands_over(value):
    return value


# --- where it runs


@pytest.mark.usefixtures("_here")
def test_calls_follow_each_other_in_one_process_and_results_are_plain(capsys):
    first, second = (run("jax", report, np.arange(3), "a") for _ in range(2))
    assert first == second == {"sum": 3, "word": "a", "twice": [0, 2, 4], "pid": first["pid"]}
    assert first["pid"] != os.getpid()
    printed = "[JAX 9.9, run here]\nin --xla_force_host_platform_device_count=8\n"
    assert capsys.readouterr().out == 2 * printed


@pytest.mark.usefixtures("_here")
def test_what_a_function_raises_comes_back_and_its_process_goes_on():
    before = run("jax", os.getpid)
    with pytest.raises(RankError, match="fails failed in JAX: ValueError: there is no seven") as e:
        run("jax", fails)
    assert "in fails" in e.value.traceback
    with pytest.raises(RankError, match="an object of type module: return numbers, lists"):
        run("jax", hands_over, types)
    assert run("jax", os.getpid) == before


@pytest.mark.usefixtures("_here")
def test_a_process_that_dies_is_told_with_its_last_lines_and_replaced():
    with pytest.raises(RankError, match=r"dies ran has died \(status -9\).*\na last word"):
        run("jax", dies)
    assert run("jax", hands_over, 3) == 3


@pytest.mark.usefixtures("_here")
def test_what_does_not_end_is_ended(monkeypatch):
    before = run("jax", os.getpid)
    monkeypatch.setattr(processes, "SECONDS", 0.2)
    with pytest.raises(RankError, match="sleeps did not end in time in JAX"):
        run("jax", sleeps)
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)


def test_a_child_ends_when_its_parent_is_gone_even_in_a_call():
    child = Child("jax", 1)
    child.begin(sleeps)
    child.link.close()
    assert child.process.wait(timeout=30) == 0
    child.end()


def test_a_worker_is_killed_when_the_condition_holds():
    child = Child("jax", 1)
    asked = iter([False, False, True])
    kill_when(child.process.pid, lambda: next(asked))
    assert child.process.wait(timeout=30) == -signal.SIGKILL
    assert next(asked, "none left") == "none left"
    child.end()


def test_a_cluster_has_an_address_of_its_own_for_each_process():
    cluster = cluster_of(worker=3, ps=2)
    assert {kind: len(set(places)) for kind, places in cluster.items()} == {"worker": 3, "ps": 2}
    assert not set(cluster["worker"]) & set(cluster["ps"])


def test_bad_input_is_told():
    with pytest.raises(BadInput, match="There is no framework 'jaxx': did you mean 'jax'"):
        run("jaxx", fails)
    with pytest.raises(BadInput, match="workers is 0"):
        run_workers(0, fails)
    with pytest.raises(BadInput, match="servers is 1.5"):
        run_with_servers(2, 1.5, fails)


# --- where it was recorded


@pytest.mark.usefixtures("_here")
def test_a_recording_is_what_was_returned_for_this_code_and_these_arguments(
    request, capsys, tmp_path
):
    numbers = np.linspace(0, 1, 50)
    returned = run("jax", report, numbers, "a")
    capsys.readouterr()
    request.getfixturevalue("_absent")
    date = json.loads((tmp_path / "noted.json").read_text())["calls"][0]["date"]
    assert run("jax", report, numbers + 1e-7, "a") == returned
    out = capsys.readouterr().out
    assert out.startswith(f"[recorded on {date} with JAX 9.9]\nin --xla")
    for args in ((numbers + 1, "a"), (numbers[1:], "a"), (numbers, "b")):
        with pytest.raises(MissingPackage, match=f"other arguments.* but {ABSENT}"):
            run("jax", report, *args)

    def other(numbers, word):
        return 1

    other.__name__ = "report"
    with pytest.raises(MissingPackage, match="report was recorded with other code"):
        run("jax", other, numbers, "a")


def helper():
    return 1


def uses_helper():
    return helper()


def test_the_functions_that_a_function_uses_belong_to_its_code(monkeypatch):
    before = recordings.fingerprint(uses_helper)
    monkeypatch.setitem(globals(), "helper", lambda: 2)
    assert recordings.fingerprint(uses_helper) != before


def test_without_both_one_sentence_says_what_brings_them(monkeypatch):
    monkeypatch.setattr(availability.importlib.util, "find_spec", lambda name: None)
    sentence = availability.missing()
    assert sentence.startswith("tensorflow and jax are not installed: pip install ")
    assert sentence.endswith("brings them.")
    assert availability.missing(["jax"]).startswith("jax is not installed")
    with pytest.raises(BadInput, match="jaxx"):
        availability.missing(["jaxx"])
    monkeypatch.setattr(availability.importlib.util, "find_spec", lambda name: object())
    assert availability.missing() == ""


def test_each_process_is_ended_by_one_call():
    processes._children["jax"] = child = Child("jax", 1)
    ended()
    assert child.process.returncode == -signal.SIGKILL
    assert processes._children == {}
