"""A checkpoint written in the background: its content, what waits for it, its errors."""

import threading

import pytest
import torch

from gpulearn.errors import BadInput, CheckpointError
from gpulearn.train.checkpointing import load_checkpoint, save_checkpoint
from gpulearn_lessons.fault_tolerance.background import AsyncCheckpointer, snapshot

pytestmark = pytest.mark.usefixtures("one_thread")


class SlowDisk:
    """Writes when it is let; notes how many write at once."""

    def __init__(self, error=None):
        self.may, self.begun = threading.Event(), threading.Event()
        self.error, self.now, self.most = error, 0, 0

    def __call__(self, path, state):
        self.now += 1
        self.most = max(self.most, self.now)
        self.begun.set()
        assert self.may.wait(30)
        self.now -= 1
        if self.error is not None:
            raise self.error
        save_checkpoint(path, state)


def test_training_goes_on_while_the_disk_is_busy_and_changes_nothing_of_the_copy(tmp_path):
    disk, weights = SlowDisk(), torch.zeros(4)
    optimizer = torch.optim.SGD([weights.requires_grad_()], lr=1.0, momentum=0.5)
    with AsyncCheckpointer(tmp_path / "run.pt", disk) as saver:
        weights.grad = torch.ones(4)
        optimizer.step()
        wanted = snapshot({"weights": weights, "optimizer": optimizer.state_dict()})
        saver.save({"weights": weights, "optimizer": optimizer.state_dict(), "step": 1})
        assert disk.begun.wait(30)
        for _ in range(3):  # in place, weights and momentum
            optimizer.step()
        assert not (tmp_path / "run.pt").exists()
        disk.may.set()
    found = load_checkpoint(tmp_path / "run.pt")
    assert found["step"] == 1
    assert torch.equal(found["weights"], wanted["weights"])
    momentum = [one["optimizer"]["state"][0]["momentum_buffer"] for one in (found, wanted)]
    assert torch.equal(*momentum)
    assert not torch.equal(found["weights"], weights.detach())


def test_the_next_save_waits_for_the_one_before(tmp_path):
    disk = SlowDisk()
    saver = AsyncCheckpointer(tmp_path / "run.pt", disk)
    saver.save({"step": 1})
    saved = threading.Event()
    second = threading.Thread(target=lambda: (saver.save({"step": 2}), saved.set()))
    second.start()
    assert disk.begun.wait(30)
    assert not saved.wait(0.05)
    disk.may.set()
    second.join(30)
    saver.close()
    assert (saved.is_set(), disk.most) == (True, 1)
    assert load_checkpoint(tmp_path / "run.pt")["step"] == 2


@pytest.mark.parametrize("then", ["save", "close", "wait"])
def test_an_error_of_the_thread_is_raised_by_the_next_call_and_the_last_good_one_stays(
    tmp_path, then
):
    save_checkpoint(tmp_path / "run.pt", {"step": 1})
    disk = SlowDisk(CheckpointError("the disk is full."))
    disk.may.set()
    saver = AsyncCheckpointer(tmp_path / "run.pt", disk)
    saver.save({"step": 2})
    with pytest.raises(CheckpointError, match="the disk is full"):
        getattr(saver, then)(*([{"step": 3}] if then == "save" else []))
    saver.close()  # said once
    assert load_checkpoint(tmp_path / "run.pt")["step"] == 1


def test_a_file_that_cannot_be_written_is_told_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(CheckpointError, match="cannot be written"),
        AsyncCheckpointer(tmp_path / "file" / "run.pt") as saver,
    ):
        saver.save({"step": 1})


def test_closed_is_closed(tmp_path):
    saver = AsyncCheckpointer(tmp_path / "run.pt")
    saver.close()
    with pytest.raises(BadInput, match="closed"):
        saver.save({"step": 1})


def test_a_snapshot_shares_no_memory():
    weights = torch.arange(6.0, requires_grad=True).view(2, 3).T
    state = {"a": [weights, (1, "x")], "b": {"c": weights[0]}}
    copied = snapshot(state)
    assert torch.equal(copied["a"][0], weights)
    assert copied["a"][1] == (1, "x")
    mine = {t.untyped_storage().data_ptr() for t in (copied["a"][0], copied["b"]["c"])}
    assert weights.untyped_storage().data_ptr() not in mine
    assert not copied["a"][0].requires_grad
