"""Each silent mistake of a training on several ranks is named, and what is right is left alone."""

import json
import socket
import subprocess
import sys
import textwrap

import pytest

import gpulearn as gl
from gpulearn.parallel.watch import forwards

from . import programs

MISTAKES = {
    "past_the_wrapper_in_a_loop": ("replicas-differ", "past the wrapper"),
    "past_the_wrapper_in_a_trainer": ("replicas-differ", "past the wrapper"),
    "seeds_differ_in_a_loop": ("replicas-differ", "different weights"),
    "seeds_differ_in_a_trainer": ("replicas-differ", "different weights"),
    "seeds_differ_without_a_network": ("replicas-differ", "different weights"),
    "seeds_differ_and_nothing_is_averaged": ("replicas-differ", "exchange no gradient"),
    "one_layer_left_out": ("replicas-differ", "3.weight"),
    "head_outside_the_wrapper": ("replicas-differ", "outside the wrapper"),
    "one_rank_changes_weights": ("replicas-differ", "between two steps"),
    "never_averaged_in_a_loop": ("never-synchronized", "its own gradient"),
    "never_averaged_in_a_trainer": ("never-synchronized", "its own gradient"),
    "never_averaged_under_no_sync": ("never-synchronized", "under no_sync"),
    "never_averaged_but_the_loss": ("never-synchronized", "its own gradient"),
    "same_batches_in_a_loop": ("same-data", "same batch"),
    "same_batches_without_a_sampler": ("same-data", "same batch"),
    "same_batches_by_a_fixed_rank": ("same-data", "same batch"),
    "each_rank_draws_all": ("overlapping-shards", "24 are repeats"),
    "cut_after_shuffles_of_its_own": ("overlapping-shards", "are repeats"),
    "seeds_of_samplers_differ": ("overlapping-shards", "are repeats"),
    "split_by_seeds_of_their_own": ("overlapping-shards", "are repeats"),
    "seeds_of_samplers_differ_behind_a_batch_taken_out": ("overlapping-shards", "are repeats"),
    "world_size_too_large": ("missing-samples", "12 of 24"),
    "world_size_too_large_in_a_loop": ("missing-samples", "8 of 24"),
    "held_out_cut_for_more_ranks": ("missing-samples", "12 of 24"),
    "epochs_in_one_order": ("same-order-every-epoch", "2 epochs"),
    "epochs_set_to_a_constant": ("same-order-every-epoch", "3 epochs"),
    "epochs_only_read": ("same-order-every-epoch", "3 epochs"),
    "summed_in_a_loop": ("step-scaled", "2 times the mean"),
    "summed_in_a_trainer": ("step-scaled", "2 times the mean"),
    "divided_twice_under_the_wrapper": ("step-scaled", "1/2 of the mean"),
    "micro_batches_undivided": ("step-scaled", "2 micro-batches"),
    "micro_batches_all_exchanged": ("step-scaled", "exchanged 3 times"),
    "clipped_before_in_a_loop": ("clipped-before-the-mean", "clipped"),
    "clipped_before_in_a_trainer": ("clipped-before-the-mean", "clipped"),
    "clipped_before_one_flat_exchange": ("clipped-before-the-mean", "clipped"),
    "late_layer": ("replicas-differ", "outside the wrapper"),
    "optimizer_of_another_model": ("late-parameters", "4 parameters"),
    "optimizer_before_the_model_in_a_trainer": ("late-parameters", "4 parameters"),
    "parameter_beside_the_wrapper": ("late-parameters", "1 parameter"),
    "statistics_apart": ("statistics-differ", "running_mean"),
    "statistics_apart_by_hand": ("statistics-differ", "running_mean"),
    "statistics_apart_in_a_trainer": ("statistics-differ", "running_mean"),
    "dropout_alike": ("same-random-numbers", "dropout"),
    "dropout_alike_in_a_trainer": ("same-random-numbers", "dropout"),
    "dropout_alike_by_hand": ("same-random-numbers", "dropout"),
    "saved_by_all": ("file-written-by-all", "weights.pt"),
    "saved_by_hand_by_all": ("file-written-by-all", "weights.pt"),
    "checkpoints_of_all": ("file-written-by-all", "weights.pt"),
    "saved_with_the_wrapper": ("wrapped-names-saved", "module."),
    "wrapper_saved_in_a_trainer": ("wrapped-names-saved", "module."),
    "layer_used_by_one_rank": ("unused-parameters", "parameter 2"),
}
FAILING = {
    "uneven_steps": "uneven-steps",
    "uneven_loader": "uneven-steps",
    "barrier_of_one_rank": "collective-of-some-ranks",
    "uneven_trainer": "uneven-steps",
    "unused_layer": "unused-parameters",
    "unused_head_in_a_trainer": "unused-parameters",
}
RIGHT = [
    "joined_loaders",
    "right_in_a_loop",
    "right_in_a_trainer",
    "right_by_hand",
    "right_with_evaluation",
    "right_accumulation",
    "local_steps",
    "parameter_server",
    "two_optimizers",
    "right_statistics",
    "right_with_a_frozen_layer",
    "one_batch_taken_out_first",
    "evaluation_in_one_order",
    "steps_of_closures",
    "closures_of_one_step",
    "optimizer_that_shards_its_state",
    "optimizer_that_shards_by_hand",
    "layers_cut_between_ranks",
    "part_of_a_model_elsewhere",
    "two_losses_of_one_step",
]


@pytest.fixture(autouse=True)
def _file(tmp_path, monkeypatch):
    monkeypatch.setenv("WATCH_TEST_FILE", str(tmp_path / "weights.pt"))


def findings_of(name):
    return gl.launch(getattr(programs, name), 2, watch=True).findings


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name):
    kind, words = MISTAKES[name]
    findings = findings_of(name)
    told = [f for f in findings if f.kind == kind and words in f.message]
    assert told, findings
    others = [f for f in findings if f.kind != kind and f.level == "error"]
    assert not others


@pytest.mark.parametrize("name", FAILING)
def test_what_stops_a_training_is_explained(name, capfd):
    with pytest.raises(gl.errors.RankError):
        gl.launch(getattr(programs, name), 2, watch=True, timeout=3)
    told = capfd.readouterr().out
    assert f"ERROR {FAILING[name]}" in told
    assert "replicas-differ" not in told


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_left_alone(name):
    assert not findings_of(name)


SCRIPT = """
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def train(rate):
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), rate)
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        optimizer.zero_grad()
        (model.module if "--past" in sys.argv else model)(torch.randn(3, 4)).sum().backward()
        optimizer.step()
    print("trained", __name__)
"""
UNDER_TORCHRUN = """
dist.init_process_group("gloo")
train(float(sys.argv[1]))
dist.destroy_process_group()
"""
DROPPING = """
dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Dropout(0.5)))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.full((3, 4), 1.0 + step + dist.get_rank())).sum().backward()
    optimizer.step()
dist.destroy_process_group()
"""
SPAWNING = """
import torch.multiprocessing as mp

def work(rank, file):
    dist.init_process_group("gloo", init_method="file://" + file, rank=rank, world_size=2)
    train(0.1)
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(work, (sys.argv[1],), nprocs=2)
"""


def ranks(tmp_path, text, *arguments):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(SCRIPT + text))
    command = [sys.executable, "-m", "gpulearn", "ranks", "--sanitize"]
    command += ["--json", str(tmp_path / "found.json"), "--report", str(tmp_path / "found.html")]
    options = ["--nproc-per-node", "2"] if text != SPAWNING else []
    done = subprocess.run(
        [*command, *options, str(script), *arguments], capture_output=True, text=True, check=False
    )
    found = json.loads((tmp_path / "found.json").read_text())
    return done, found, (tmp_path / "found.html").read_text()


def test_a_script_runs_as_under_torchrun_and_its_mistake_is_told(tmp_path):
    done, found, page = ranks(tmp_path, UNDER_TORCHRUN, "0.1", "--past")
    assert done.returncode == 1, done.stderr
    assert {"[rank 0] trained __main__", "[rank 1] trained __main__"} <= {*done.stdout.split("\n")}
    assert [(finding["kind"], finding["where"]) for finding in found] == [
        ("replicas-differ", "train.py, line 14")
    ]
    assert "ERROR replicas-differ, train.py, line 14" in done.stderr
    assert "model.module" in page


def test_a_right_script_ends_with_0(tmp_path):
    done, found, _ = ranks(tmp_path, UNDER_TORCHRUN, "0.1")
    assert (done.returncode, found) == (0, []), done.stderr


def test_random_numbers_are_compared_between_fresh_processes(tmp_path):
    _, found, _ = ranks(tmp_path, DROPPING)
    assert [finding["kind"] for finding in found] == ["same-random-numbers"]


def test_what_a_script_spawns_is_watched(tmp_path):
    done, found, _ = ranks(tmp_path, SPAWNING, str(tmp_path / "meeting"), "--past")
    assert [finding["kind"] for finding in found] == ["replicas-differ"], done.stderr


def test_ranks_of_two_machines_are_compared_where_rank_0_runs(tmp_path):
    (tmp_path / "train.py").write_text(textwrap.dedent(SCRIPT + UNDER_TORCHRUN))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        meeting = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "gpulearn", "ranks", "--nnodes", "2", "--rdzv-id", "two"]
    command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", meeting, "train.py", "0.1", "--past"]
    machines = [
        subprocess.Popen(command, cwd=tmp_path, text=True, stderr=subprocess.PIPE) for _ in range(2)
    ]
    told = [machine.communicate()[1] for machine in machines]
    told.sort(key=lambda said: "past the wrapper" in said)
    assert "== 1 of 2 ranks watched: nothing to say." in told[0]
    assert "== 2 ranks watched: 1 finding, 1 error" in told[1]
    assert "past the wrapper" in told[1]


def test_a_script_that_is_not_there_is_said(tmp_path):
    command = [sys.executable, "-m", "gpulearn", "ranks", str(tmp_path / "trian.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "there is no file" in done.stderr


@pytest.mark.parametrize(
    ("devices", "gpus", "told"),
    [
        (["cuda:0", "cuda:0"], 2, True),
        (["cuda:0", "cuda:1"], 2, False),
        (["cuda:0", "cuda:0"], 1, False),
        (["cpu", "cpu"], 2, False),
    ],
)
def test_ranks_that_share_a_gpu_beside_idle_ones(devices, gpus, told):
    records = [
        {"rank": rank, "host": "a", "devices": [device], "device_count": gpus}
        for rank, device in enumerate(devices)
    ]
    kinds = [finding.kind for finding in forwards.shared_device(records)]
    assert kinds == ["one-gpu-for-all"] * told
