"""One training function, run by python, by torchrun and by gl.launch: the same losses."""

import contextlib
import dataclasses
import json
import os
import random
import socket
import subprocess

import pytest
import torch
import torch.distributed as dist

import gpulearn as gl
from gpulearn_lessons.fault_tolerance.train import Options, main, train
from tests.support.ready import ready_python

STEPS = 1438 // 256
LENET = Options(epochs=1, batch=256)
MLP = dataclasses.replace(LENET, model="MLP")
ASKED = ["--model", "MLP", "--epochs", "1", "--batch", "256"]  # MLP, on a command line


def free_port():
    """A port that nobody has, and that no outgoing connection is given before we use it."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


def refused(options):
    """What a rank says in place of training."""
    with pytest.raises(gl.errors.GpulearnError) as raised:
        train(options)
    return str(raised.value)


def everything(folder):
    """All that two ranks are asked, in one launch."""
    file = folder / "run.pt"
    found = {"MLP": train(MLP), "LeNet": train(LENET)}
    train(dataclasses.replace(MLP, checkpoint=file))
    found["resumed"] = train(dataclasses.replace(MLP, epochs=2, resume=file))
    found["whole"] = train(dataclasses.replace(MLP, epochs=2))
    stop = folder / f"stop-{dist.get_rank()}"  # rank 0 finds its own; the other has none to find
    if dist.get_rank() == 0:
        stop.touch()
    found["stopped"] = train(dataclasses.replace(MLP, epochs=2, checkpoint=file, stop=stop))
    found["refused"] = [
        refused(Options(resume=file)),
        refused(Options(resume=folder / "none.pt")),
        refused(Options(batch=63)),
    ]
    return found


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    return gl.launch(everything, 2, tmp_path_factory.mktemp("run"), timeout=20)


def test_all_ranks_stop_when_rank_0_finds_the_file(ranks):
    assert [len(found["stopped"].losses) for found in ranks] == [STEPS, STEPS]


def away(one, other):
    assert len(one.losses) == len(other.losses) == STEPS
    return max(abs(a - b) for a, b in zip(one.losses, other.losses, strict=True))


def equal(one, other):
    """Whether two runs have the same bits."""
    same = all(torch.equal(one.weights[name], other.weights[name]) for name in one.weights)
    return same and one.losses == other.losses and one.accuracies == other.accuracies


@pytest.mark.parametrize("name", ["MLP", "LeNet", "resumed"])
def test_all_ranks_hold_the_same_weights_and_know_all_losses(ranks, name):
    assert equal(ranks[0][name], ranks[1][name])


def test_losses_do_not_depend_on_the_number_of_ranks_but_for_rounding(ranks, capsys):
    one, two = train(MLP), ranks[0]["MLP"]
    assert away(one, two) <= 1e-6
    assert away(one, gl.launch(train, 2, MLP, backend="simulated")[0]) <= 1e-6
    assert away(train(LENET), ranks[0]["LeNet"]) <= 1e-6


def test_a_run_that_goes_on_has_the_bits_of_one_that_never_stopped(ranks):
    assert equal(ranks[0]["resumed"], ranks[0]["whole"])
    assert len(ranks[0]["whole"].losses) == 2 * STEPS


def test_a_run_that_is_stopped_and_started_again_has_the_bits_of_one_that_never_was(
    tmp_path, capsys
):
    """One command line serves each start; only the last one writes the losses."""
    run, stop, output = (tmp_path / name for name in ("run.pt", "stop", "losses.json"))
    again = dataclasses.replace(MLP, epochs=3, checkpoint=run, resume=run, stop=stop, output=output)
    stop.touch()
    for epochs in (1, 2):  # a file that is still there lets each start do one epoch
        assert len(train(again).losses) == epochs * STEPS
        assert f"stopped after epoch {epochs} of 3" in capsys.readouterr().out
        assert not output.exists()
    assert equal(train(again), train(dataclasses.replace(MLP, epochs=3)))
    assert "stopped" not in capsys.readouterr().out
    assert len(json.loads(output.read_text())["losses"]) == 3 * STEPS


@pytest.mark.parametrize("rank", [0, 1])
def test_what_ranks_cannot_do_is_told_on_each_and_none_waits(ranks, rank):
    for said, wanted in zip(
        ranks[rank]["refused"],
        ("model='MLP', this run has 'LeNet'", "does not exist", "63, which 2 ranks cannot share"),
        strict=True,
    ):
        assert wanted in said


def test_each_epoch_is_shuffled_anew(capsys):
    losses = train(dataclasses.replace(MLP, epochs=2, lr=1e-12)).losses
    assert losses[:STEPS] != losses[STEPS:]


def test_the_command_line_trains_prints_and_writes(tmp_path, capsys):
    assert main([*ASKED, "--output", str(tmp_path / "losses.json")]) == 0
    first, last = capsys.readouterr().out.splitlines()
    losses = json.loads((tmp_path / "losses.json").read_text())["losses"]
    assert first.startswith("1 rank, messages by ")
    assert last.startswith(f"epoch 1: mean loss {sum(losses) / STEPS:.9f}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--batch", "0"], "batch is 0"),
        (["--model", "lenet"], "did you mean 'LeNet'"),
        (["--momentum", "1"], "momentum is 1.0"),
        (["--seed", "-1"], "seed is -1"),
        (["--output", "losses.txt"], "give a name that ends in .json"),
        (["--checkpoint", "/nowhere/run.pt"], "no folder '/nowhere'"),
        (["--checkpoint", "."], "checkpoint is '.', a folder"),
        (["--stop", "stop"], "nothing would be saved"),
        (["--epochs", "many"], "invalid int value: 'many'"),
    ],
)
def test_a_bad_option_is_told_in_a_sentence(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_ranks_that_refuse_alike_say_it_once(capsys, monkeypatch):
    for rank, said in (("0", "batch is 2000"), ("1", "")):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setitem(main.__globals__, "train", refuses)
        assert main([]) == 2
        assert said in capsys.readouterr().err if said else not capsys.readouterr().err


def refuses(options):
    raise gl.errors.BadInput("batch is 2000")


def test_what_cannot_be_trained_is_told(capsys):
    assert main(["--model", "MLP", "--lr", "1e9"]) == 2
    assert "no longer a finite number in epoch 1" in capsys.readouterr().err
    assert main(["--model", "MLP", "--batch", "2000"]) == 2
    assert "batch is 2000, but there are 1438 images" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--help"])
    assert (
        "torchrun --nproc-per-node 2 -m gpulearn_lessons.fault_tolerance.train"
        in capsys.readouterr().out
    )


def test_two_agents_of_torchrun_have_the_bits_of_a_launch(tmp_path, ranks):
    """One run in thirty hung while both agents took themselves for the host; now one is named.

    They get a second try all the same.
    """
    file = tmp_path / "losses.json"
    try:
        said = two_agents(file)
    except subprocess.TimeoutExpired:
        said = two_agents(file)
    assert [code for code, *_ in said] == [0, 0], said
    out = "".join(one for _, one, _ in said)
    assert out.count("2 ranks, messages by ") == 1  # from rank 0 alone
    assert json.loads(file.read_text())["losses"] == ranks[0]["MLP"].losses


def two_agents(file):
    """Exit code, output and errors of two agents on this machine, with one rank each."""
    program = [ready_python(), "-m", "torch.distributed.run", "--nnodes", "2"]
    program += ["--nproc-per-node", "1", "--rdzv-backend", "c10d", "--rdzv-id", "test"]
    program += ["--rdzv-endpoint", f"127.0.0.1:{free_port()}", "--local-addr", "127.0.0.1"]
    program += ["-m", "gpulearn_lessons.fault_tolerance.train", *ASKED]
    program += ["--output", str(file), "--timeout", "60"]
    environment = {**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    environment["PYTHON_EXEC"] = program[0]  # starts the ranks
    agents = [
        subprocess.Popen([*program[:3], "--rdzv-conf", f"is_host={host}", *program[3:]],
                         env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, cwd=file.parent)
        for host in ("true", "false")
    ]  # fmt: skip
    try:
        # on a busy machine four processes may take a minute each to load torch
        outputs = [agent.communicate(timeout=300) for agent in agents]
    finally:
        for agent in agents:
            agent.terminate()  # it ends its rank, too
        for agent in agents:
            try:
                agent.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                agent.kill()
                agent.communicate()
    return [(agent.returncode, *both) for agent, both in zip(agents, outputs, strict=True)]
