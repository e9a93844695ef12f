"""Checkpoints: the same bits after a resume, and no file that can hurt a run."""

import errno
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import gpulearn as gl
from gpulearn.train.checkpointing import load_checkpoint, save_and_resume, save_checkpoint
from tests.support.digits import few_digits

DATA = few_digits(50)
STEPS = 12  # 3 epochs of 4 batches, the last of them with 2 images


pytestmark = pytest.mark.usefixtures("one_thread")


class Stopped(Exception):
    pass


def draw():
    return torch.rand(7)


def run(path, stop=None, seed=0, data=DATA, **options):
    """Train; after step `stop` the run dies."""
    model = gl.train.LeNet(width=2, dropout=0.5, seed=seed)

    def on_step(step):
        if step.step == stop:
            raise Stopped

    options = {"epochs": 3, "lr": 0.02, "batch": 16, **options}
    history = gl.fit(model, data, progress=False, checkpoint=path, on_step=on_step, **options)
    return model.state_dict(), history


def same(first, second):
    return all(torch.equal(first[name], second[name]) for name in first | second)


NUMPY = {"lr": np.float64(0.02), "batch": np.int64(16), "clip": np.float32(1)}
KINDS = {
    "momentum, numbers from NumPy": {"optimizer": "momentum", **NUMPY},
    "micro-batches": {"optimizer": "adam", "schedule": "cosine", "clip": 0.5, "accumulate": 3},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_has_the_bits_of_the_uninterrupted_one_after_every_step(kind, tmp_path):
    options = {**KINDS[kind], "epochs": 2}
    whole, history = run(tmp_path / "whole.pt", **options)
    for stop in range(5, len(history.steps) + 1):  # the first checkpoint is that of epoch 1
        path = tmp_path / f"{stop}.pt"
        with pytest.raises(Stopped):
            run(path, stop, **options)
        again, resumed = run(path, seed=9, resume=path, **options)  # another model to start with
        assert same(whole, again)
        assert resumed == history


def test_the_last_checkpoint_holds_the_trained_model(tmp_path):
    path = tmp_path / "run.pt"
    trained, history = run(path)
    assert same(load_checkpoint(path)["model"], trained)
    again, resumed = run(path, seed=9, resume=path)  # nothing is left to do
    assert same(again, trained)
    assert resumed == history
    _, more = run(path, epochs=4, resume=path)
    assert more.steps[:STEPS] == history.steps
    assert len(more.epochs) == 4
    with pytest.raises(gl.errors.CheckpointError, match="has 4 epochs behind it"):
        run(path, resume=path)


def test_every_epoch_ends_with_a_checkpoint(tmp_path):
    path = tmp_path / "folder" / "run.pt"
    whole, _ = run(path)
    with pytest.raises(Stopped):
        run(path, stop=11)
    assert len(load_checkpoint(path)["steps"]) == 8
    with pytest.raises(gl.errors.CheckpointError, match="has 2 epochs behind it"):
        run(path, resume=path, epochs=1)
    assert same(run(path, resume=path)[0], whole)


def written_twice(path):
    for step in (1, 2):
        save_checkpoint(path, {"step": step, "weights": torch.arange(300.0)})
    return path.read_bytes()


def test_a_file_cut_at_any_length_is_refused(tmp_path):
    path = tmp_path / "run.pt"
    content = written_twice(path)
    cuts = {0, 1, 2, 30, *range(len(content) - 60, len(content)), *range(99, len(content), 97)}
    for length in cuts:
        path.write_bytes(content[:length])
        with pytest.raises(gl.errors.CheckpointError) as caught:
            load_checkpoint(path)
        assert "truncated" in str(caught.value)


def test_a_flipped_bit_is_found_or_harmless(tmp_path):
    path = tmp_path / "run.pt"
    content = bytearray(written_twice(path))
    rng = np.random.default_rng(0)
    caught = 0
    for position in rng.integers(0, len(content), 60):
        damaged = bytearray(content)
        damaged[position] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            state = load_checkpoint(path)
        except gl.errors.CheckpointError:
            caught += 1
        else:  # the bit lay in the padding
            assert state["step"] == 2
            assert torch.equal(state["weights"], torch.arange(300.0))
    assert caught > 10


class Trap:
    """Unpickled, it leaves a file behind: what a hostile checkpoint would do."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return Path.touch, (Path(self.mark),)


def test_foreign_files_are_refused_and_run_no_code(tmp_path):
    mark, path = tmp_path / "mark", tmp_path / "foreign.pt"
    model = gl.train.LeNet(width=2)
    before = {name: value.clone() for name, value in model.state_dict().items()}

    def refused(match):
        with pytest.raises(gl.errors.CheckpointError, match=match) as caught:
            gl.fit(model, DATA, epochs=1, lr=0.1, progress=False, resume=path)
        assert "\n" not in str(caught.value)
        assert same(before, model.state_dict())

    refused("does not exist")
    path.write_bytes(pickle.dumps(Trap(mark)))
    refused("another kind of file")
    torch.save({"format": "gpulearn checkpoint 2", "model": Trap(mark)}, path)
    refused("another kind of file")
    torch.save(Trap(mark), path)
    refused("another kind of file")
    assert not mark.exists()
    path.write_text("epoch,loss\n1,0.5\n")
    refused("another kind of file")
    with path.open("wb") as file:
        np.savez(file, weights=np.zeros(3))
    refused("another kind of file")
    torch.save(model.state_dict(), path)
    refused("is no checkpoint of gl.fit")
    torch.save([1, 2], path)
    refused("is no checkpoint of gl.fit")
    save_checkpoint(path, {"step": 3})
    refused("is no checkpoint of gl.fit")
    path.unlink()
    path.mkdir()
    refused("another kind of file")


OTHERS = {
    "batch": ({"batch": 8}, "batch=16, this run has 8"),
    "optimizer": ({"optimizer": "adam"}, "optimizer='adamw', this run has 'adam'"),
    "seed": ({"run_seed": 4}, "seed=0, this run has 4"),
    "data": ({"data": (DATA[0][::-1].copy(), DATA[1][::-1].copy(), *DATA[2:])}, "other training"),
    "width": ({"width": 3}, r"stage1.conv1.weight has shape \[2, 1, 3, 3\] in it and"),
    "model": (
        {"model": gl.train.MLP()},
        "is of another model: stage1.linear1.weight has shape None in it and",
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_checkpoint_of_another_run_is_refused_before_anything_changes(case, tmp_path):
    options, expected = OTHERS[case]
    path = tmp_path / "run.pt"
    run(path, epochs=1)
    options = {"epochs": 3, "lr": 0.02, "batch": 16, "data": DATA, **options}
    model = options.pop("model", None) or gl.train.LeNet(width=options.pop("width", 2), seed=9)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    content = path.read_bytes()
    with pytest.raises(gl.errors.CheckpointError, match=expected):
        gl.fit(
            model,
            options.pop("data"),
            seed=options.pop("run_seed", 0),
            progress=False,
            checkpoint=path,
            resume=path,
            log=tmp_path / "log",
            **options,
        )
    assert same(before, model.state_dict())
    assert path.read_bytes() == content
    assert not (tmp_path / "log").exists()


def test_what_a_callback_draws_is_not_missing_after_a_resume(tmp_path):
    path = tmp_path / "run.pt"
    model = gl.train.LeNet(width=2, dropout=0.5)
    gl.fit(model, DATA, epochs=3, lr=0.02, batch=16, progress=False, on_step=lambda step: draw())

    def draw_and_die(step):
        draw()
        if step.step == 5:
            raise Stopped

    options = {"epochs": 3, "lr": 0.02, "batch": 16, "progress": False, "checkpoint": path}
    again = gl.train.LeNet(width=2, dropout=0.5)
    with pytest.raises(Stopped):
        gl.fit(again, DATA, on_step=draw_and_die, **options)
    gl.fit(again, DATA, on_step=lambda step: draw(), resume=path, **options)
    assert same(model.state_dict(), again.state_dict())


def test_an_explosion_can_go_on_from_the_checkpoint_that_it_names(tmp_path):
    path = tmp_path / "run.pt"
    with pytest.raises(gl.errors.TrainingError) as caught:
        run(path, optimizer="sgd", schedule=lambda step: 0.01 if step < 5 else 1e38)
    good = Path(re.search(r"last good checkpoint is (\S+):", str(caught.value))[1])
    assert good == path
    _, history = run(path, optimizer="sgd", lr=0.01, resume=good)
    assert len(history.steps) == STEPS


def test_where_no_checkpoint_is_good_none_is_named(tmp_path):
    path = tmp_path / "run.pt"
    save_checkpoint(path, {"step": 7})  # of another run
    with pytest.raises(gl.errors.TrainingError, match="There is no checkpoint yet"):
        run(path, optimizer="sgd", schedule=lambda step: 1e38)
    broken = DATA[0].copy()
    broken[3] = np.nan
    with pytest.raises(gl.errors.TrainingError, match="There is no checkpoint yet"):
        run(None, data=(broken, *DATA[1:]))
    with pytest.raises(gl.errors.TrainingError, match=rf"weights in {path} are those that failed"):
        run(path, optimizer="sgd", schedule=lambda step: 0.01 if step < 3 else 1e38)


@pytest.mark.parametrize("moment", ["torch.save", "pathlib.Path.replace", "os.fsync"])
def test_a_writer_that_dies_leaves_the_last_good_checkpoint(moment, tmp_path, monkeypatch):
    path = tmp_path / "run.pt"
    content = written_twice(path)
    real = torch.save

    def half(state, file):
        real(state, file)
        file.truncate(100)
        raise KeyboardInterrupt

    def dead(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(moment, half if moment == "torch.save" else dead)
        with pytest.raises(KeyboardInterrupt):
            save_checkpoint(path, {"step": 3})
    assert path.read_bytes() == content
    assert not list(tmp_path.glob("*.unfinished"))
    save_checkpoint(path, {"step": 4})  # what was left lying about is no hindrance
    assert load_checkpoint(path)["step"] == 4
    assert [file.name for file in tmp_path.iterdir()] == ["run.pt"]


def test_two_runs_that_write_to_one_path_do_not_mix(tmp_path, monkeypatch):
    path, real = tmp_path / "run.pt", torch.save

    def while_another_writes(state, file):
        with monkeypatch.context() as patch:
            patch.setattr(torch, "save", real)
            patch.setattr(os, "getpid", lambda: 1)
            save_checkpoint(path, {"step": 2, "weights": torch.ones(5000)})
        real(state, file)

    monkeypatch.setattr(torch, "save", while_another_writes)
    save_checkpoint(path, {"step": 1})
    assert load_checkpoint(path)["step"] == 1


def test_a_full_disk_or_no_folder_is_told_and_nothing_is_left_lying_about(tmp_path, monkeypatch):
    path = tmp_path / "run.pt"
    content = written_twice(path)

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(gl.errors.CheckpointError, match="cannot be written"):
        save_checkpoint(path / "run.pt", {"step": 1})  # under a file
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(gl.errors.CheckpointError, match="cannot be written: No space left"):
        save_checkpoint(path, {"step": 3})
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["run.pt"]


def test_save_and_resume_keeps_the_generators_of_gpus_too(tmp_path, monkeypatch):
    path, put = tmp_path / "run.pt", []
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: [torch.arange(3).byte()])
    monkeypatch.setattr(torch.cuda, "set_rng_state_all", put.extend)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizer)
    for steps in (1, 2):
        save_and_resume(path, model, optimizer, schedule, optimizer.step, steps)
    assert [state.tolist() for state in put] == [[0, 1, 2]]
