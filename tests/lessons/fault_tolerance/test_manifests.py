"""Sharded saves that die at every moment: a checkpoint of one step is always left."""

import json
from collections import Counter

import pytest
import torch

from gpulearn.errors import CheckpointError
from gpulearn.parallel.communicator import rank
from gpulearn.parallel.launch.launch import launch
from gpulearn_lessons.fault_tolerance.crashes_in_saves import crash_while_saving
from gpulearn_lessons.fault_tolerance.manifests import (
    MEET,
    last_complete,
    load_parts,
    save_parts,
    saving_parts,
    writing,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def test_a_death_anywhere_leaves_the_old_checkpoint_or_the_new_one():
    crashes = crash_while_saving()
    assert {crash.outcome for crash in crashes} == {"the old checkpoint", "the new checkpoint"}
    assert all(crash.restarts for crash in crashes)


def overwrite(folder, step, rank, ranks, state):
    yield from writing(folder / f"part {rank}", state)


def rename(folder, step, rank, ranks, state):
    yield from writing(folder / f"part {rank}.new", state)
    (folder / f"part {rank}.new").replace(folder / f"part {rank}")
    yield "named"


def without_meeting(folder, step, rank, ranks, state):
    return (point for point in saving_parts(folder, step, rank, ranks, state) if point != MEET)


def test_files_that_are_written_over_are_torn_and_mixed():
    left = Counter(crash.outcome for crash in crash_while_saving(overwrite))
    assert left["an incomplete file"] > 0
    assert left["files of both saves"] > 0
    # each rank passes 4 points, from none to its end, and nobody waits
    assert left.total() == 16


def test_renamed_files_are_whole_and_mixed():
    left = Counter(crash.outcome for crash in crash_while_saving(rename))
    assert "an incomplete file" not in left
    assert left["files of both saves"] > 0


def test_a_manifest_that_does_not_wait_for_the_parts_is_no_promise():
    assert {c.outcome for c in crash_while_saving(without_meeting)} > {"the old checkpoint"}


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


def test_real_ranks_save_together(tmp_path):
    assert launch(save_own, 3, str(tmp_path)) == [3, 3, 3]
    parts = load_parts(last_complete(tmp_path))
    assert [one["shard"].tolist() for one in parts] == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    manifest = json.loads((tmp_path / "step 00000007" / "manifest.json").read_text())
    assert (manifest["step"], len(manifest["parts"])) == (7, 3)
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception, match="cannot be written"):
        launch(save_own, 1, str(tmp_path / "file"))
