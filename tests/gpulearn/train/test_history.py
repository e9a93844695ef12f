"""The CSV and TensorBoard's event file hold what the run reported."""

import csv
import sys

import pytest
import torch

import gpulearn as gl
from gpulearn.train.checkpointing import load_checkpoint
from gpulearn.train.history import Step
from tests.support.digits import few_digits

DATA = few_digits(40)


def run(**options):
    options = {"epochs": 2, "lr": 0.01, "batch": 16, "progress": False, **options}
    return gl.fit(gl.train.MLP((64, 10)), DATA, **options)


def read_log(folder):
    kinds = int, int, int, float, float, float
    with (folder / "steps.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [Step(*(kind(cell) for kind, cell in zip(kinds, row, strict=True))) for row in rows]


def scalars(folder):
    """What TensorBoard itself reads from a folder: (step, value) by tag."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder)).Reload()
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def test_both_logs_hold_the_history(tmp_path):
    history = run(log=tmp_path, schedule="cosine", clip=0.1)
    assert read_log(tmp_path) == history.steps  # to the last bit
    logged = scalars(tmp_path)
    for tag in ("step/loss", "step/rate", "step/gradient_norm"):
        values = [(s.step, pytest.approx(getattr(s, tag[5:]))) for s in history.steps]
        assert logged[tag] == values
    for tag in ("epoch/train_loss", "epoch/test_loss", "epoch/test_accuracy"):
        values = [(e.step, pytest.approx(getattr(e, tag[6:]))) for e in history.epochs]
        assert logged[tag] == values


def test_a_row_is_on_disk_before_the_next_step(tmp_path):
    rows = []
    run(log=tmp_path, on_step=lambda step: rows.append(read_log(tmp_path)[-1] == step))
    assert rows == [True] * 6


def test_a_resumed_run_appends_and_what_comes_again_is_not_doubled(tmp_path):
    log, path = tmp_path / "log", tmp_path / "run.pt"

    def die(step):
        if step.step == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(log=log, checkpoint=path, on_step=die)
    assert len(read_log(log)) == 5
    assert len(load_checkpoint(path)["steps"]) == 3
    history = run(log=log, resume=path)
    assert read_log(log) == history.steps
    assert [step for step, _ in scalars(log)["step/loss"]] == [1, 2, 3, 4, 5, 6]


def test_another_run_in_the_same_folder_starts_anew(tmp_path):
    run(log=tmp_path, epochs=3)
    history = run(log=tmp_path, epochs=1, seed=5)
    assert read_log(tmp_path) == history.steps


def test_without_tensorboard_one_sentence_and_nothing_is_touched(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    model = gl.train.MLP((64, 10))
    before = model.stage1.linear1.weight.clone()
    with pytest.raises(gl.errors.MissingPackage, match="gl.fit"):
        gl.fit(model, DATA, epochs=1, lr=0.1, log=tmp_path / "log", progress=False)
    assert torch.equal(before, model.stage1.linear1.weight)
    assert not (tmp_path / "log").exists()


def test_an_optimizer_that_is_none_erases_no_log(tmp_path):
    history = run(log=tmp_path)
    with pytest.raises(gl.errors.BadInput, match="no optimizer None"):
        run(log=tmp_path, optimizer=None)
    assert read_log(tmp_path) == history.steps


def test_paths_that_are_the_wrong_thing_are_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(gl.errors.BadInput, match="log cannot be written to"):
        run(log=tmp_path / "file")
    with pytest.raises(gl.errors.BadInput, match="a folder: give a file"):
        run(checkpoint=tmp_path)
