"""Sharded saves that die at every place: what is left is a checkpoint of one step, always."""

import json
import os
import signal
from collections import Counter

import pytest
import torch

from gpulearn.errors import BadInput, CheckpointError, RankError
from gpulearn.parallel.communicator import rank
from gpulearn.parallel.launch.launch import launch
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn_lessons.fault_tolerance.background import AsyncCheckpointer
from gpulearn_lessons.fault_tolerance.crashes_in_saves import crash_while_saving
from gpulearn_lessons.fault_tolerance.manifests import (
    MEET,
    last_complete,
    load_parts,
    parts_writer,
    save_parts,
    saving_parts,
    writing,
)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_death_anywhere_leaves_the_old_checkpoint_or_the_new_one(ranks):
    crashes = crash_while_saving(ranks=ranks)
    assert {crash.left for crash in crashes} == {"the old checkpoint", "the new checkpoint"}
    assert all(crash.goes_on for crash in crashes)
    assert crashes[0].points == (0,) * ranks
    # the last part is named before the manifest is written, and never after
    for crash in crashes:
        assert (crash.left == "the new checkpoint") == any(
            word in crash.said for word in ("has named the manifest", "deleted", "is done")
        ) or crash.said.count(MEET) == ranks


def overwrite(folder, step, rank, ranks, state):
    yield from writing(folder / f"part {rank}", state)


def rename(folder, step, rank, ranks, state):
    yield from writing(folder / f"part {rank}.new", state)
    (folder / f"part {rank}.new").replace(folder / f"part {rank}")
    yield "named"


def without_meeting(folder, step, rank, ranks, state):
    return (point for point in saving_parts(folder, step, rank, ranks, state) if point != MEET)


def test_files_that_are_written_over_are_torn_and_mixed():
    left = Counter(crash.left for crash in crash_while_saving(overwrite))
    assert left["a part cut short"] > 0
    assert left["parts of both"] > 0
    # each rank passes 4 points, from none to its end, and nobody waits
    assert left.total() == 16


def test_renamed_files_are_whole_and_mixed():
    left = Counter(crash.left for crash in crash_while_saving(rename))
    assert "a part cut short" not in left
    assert left["parts of both"] > 0


def test_a_manifest_that_does_not_wait_for_the_parts_is_no_promise():
    assert {c.left for c in crash_while_saving(without_meeting)} > {"the old checkpoint"}


def test_old_checkpoints_go_and_two_stay(tmp_path):
    for step in range(1, 6):
        for _ in saving_parts(tmp_path, step, 0, 1, {"step": step}):
            pass
    assert [one.name for one in sorted(tmp_path.iterdir())] == ["step 00000004", "step 00000005"]
    assert load_parts(last_complete(tmp_path)) == [{"step": 5}]


def test_a_missing_part_takes_its_checkpoint_with_it(tmp_path):
    for step in (1, 2):
        for _ in saving_parts(tmp_path, step, 0, 1, {"step": step}):
            pass
    (tmp_path / "step 00000002" / "part 0 of 1").unlink()
    assert last_complete(tmp_path).name == "step 00000001"
    with pytest.raises(CheckpointError, match="no whole checkpoint"):
        load_parts(tmp_path / "step 00000002")
    assert last_complete(tmp_path / "nowhere") is None


def save_own(folder):
    save_parts(folder, 7, {"shard": torch.full((2,), float(rank()))})
    return len(load_parts(last_complete(folder)))


def train_beside(folder, steps):
    """Sums in the training's group while the threads of all ranks meet in theirs."""
    shard, sums = torch.full((2,), float(rank())), []
    with AsyncCheckpointer(folder, parts_writer()) as saver:
        for step in range(1, steps + 1):
            saver.save({"step": step, "shard": shard})
            for _ in range(20):
                sums.append(sum_over_ranks(torch.ones(1)).item())
            shard += 10
    return sums


def test_real_ranks_save_beside_their_training(tmp_path):
    for sums in launch(train_beside, 3, str(tmp_path), 3):
        assert sums == [3.0] * 60
    assert last_complete(tmp_path).name == "step 00000003"
    parts = load_parts(last_complete(tmp_path))
    assert [one["shard"].tolist() for one in parts] == [[20.0] * 2, [21.0] * 2, [22.0] * 2]
    assert {one["step"] for one in parts} == {3}


def dies_beside(folder):
    with AsyncCheckpointer(folder, parts_writer()) as saver:
        saver.save({"step": 1, "shard": torch.ones(100_000)})
        saver.wait()
        saver.save({"step": 2, "shard": torch.full((100_000,), 2.0)})
        if rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_rank_that_is_killed_beside_its_save_leaves_one_of_the_two(tmp_path):
    with pytest.raises(RankError, match="was killed by SIGKILL"):
        launch(dies_beside, 2, str(tmp_path))
    parts = load_parts(last_complete(tmp_path))
    steps = {one["step"] for one in parts} | {int(one["shard"][0]) for one in parts}
    assert len(parts) == 2
    assert steps in ({1}, {2})


def nameless(folder):
    with AsyncCheckpointer(folder, parts_writer()) as saver:
        saver.save({"shard": torch.ones(1)})


def test_a_save_beside_training_needs_a_step_and_real_ranks(tmp_path):
    with pytest.raises(BadInput, match="call parts_writer in real ranks"):
        parts_writer()
    with pytest.raises(RankError, match="its 'step' names the checkpoint"):
        launch(nameless, 2, str(tmp_path))


def test_real_ranks_save_together(tmp_path):
    assert launch(save_own, 3, str(tmp_path)) == [3, 3, 3]
    parts = load_parts(last_complete(tmp_path))
    assert [one["shard"].tolist() for one in parts] == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    manifest = json.loads((tmp_path / "step 00000007" / "manifest.json").read_text())
    assert (manifest["step"], len(manifest["parts"])) == (7, 3)
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception, match="cannot be written"):
        launch(save_own, 1, str(tmp_path / "file"))
