"""The recipes: a real Slurm carries out its own, schemas judge manifests, stand-ins the rest."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import torch.distributed.run
import yaml

import gpulearn as gl
from gpulearn.train.checkpointing import load_checkpoint
from gpulearn_lessons import fault_tolerance
from gpulearn_lessons.fault_tolerance.options import options_from
from gpulearn_lessons.fault_tolerance.recipes.recipe import RECIPES, recipe
from tests.support.ready import ready_python

from .slurm import cluster, missing, until

SLURM = [name for name in RECIPES if name.startswith("slurm")]
KUBERNETES = [name for name in RECIPES if name.startswith("kubernetes")]
FOLDER = Path(fault_tolerance.recipe.__globals__["__file__"]).parent

MLP = ["--model", "MLP", "--batch", "256"]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    if absent := missing():
        required = os.environ.get("GPULEARN_REQUIRE_SLURM")
        (pytest.fail if required else pytest.skip)(f"no Slurm here: {', '.join(absent)}")
    programs, python = tmp_path_factory.mktemp("programs"), ready_python()
    torchrun = programs / "torchrun"
    torchrun.write_text(f'#!/bin/sh\nexec {python} -m torch.distributed.run "$@"\n')
    torchrun.chmod(0o755)
    with cluster(tmp_path_factory.mktemp("slurm")) as running:
        running.environment |= {
            "PATH": f"{programs}:{running.environment['PATH']}",
            "OMP_NUM_THREADS": "1",
            "PYTHON_EXEC": python,  # what torchrun starts the ranks with
        }
        yield running


# --- Slurm


@pytest.mark.parametrize("name", SLURM)
def test_slurm_accepts_each_script_and_refuses_what_it_cannot_give(slurm, name):
    script = str(FOLDER / RECIPES[name])
    assert "to start at" in slurm.ask("sbatch", "--test-only", script)
    with pytest.raises(RuntimeError, match="not available"):
        slurm.ask("sbatch", "--test-only", "--cpus-per-task=99", script)


def test_four_ranks_on_two_nodes_stop_after_the_same_epoch_and_the_job_is_queued_again(slurm):
    """The signal is sent by hand, to the script alone: Slurm's own comes after a minute or two."""
    run, epochs = slurm.folder / "run", 5000
    number = submitted(slurm, run, *MLP, "--epochs", str(epochs))
    until((run / "run.pt").exists, "a checkpoint")
    slurm.ask("scancel", "--batch", "--signal=USR1", number)
    until(lambda: queued(slurm, number, 1), "a job in the queue again")
    said = log(slurm, number)
    slurm.ask("scancel", number)
    assert said.count("4 ranks, messages by gloo") == 1
    (last,) = re.findall(rf"^stopped after epoch (\d+) of {epochs}", said, re.MULTILINE)
    done = [int(epoch) for epoch in re.findall(r"^epoch (\d+):", said, re.MULTILINE)]
    assert done == list(range(1, int(last) + 1))
    assert len(load_checkpoint(run / "run.pt")["accuracies"]) == int(last)
    assert not (run / "losses.json").exists()


def test_a_job_that_was_stopped_goes_on_until_it_is_finished(slurm):
    """Two signals: one more is no harm."""
    run = slurm.folder / "stopped"
    torchrun = f"""
        [ "$SLURM_NODEID" = 0 ] || exit 0
        if [ ! -e {run}/run.pt ]; then
            touch {run}/run.pt
            while [ ! -e {run}/stop ]; do sleep 0.1; done
            sleep 1
        elif [ ! -e {run}/stop ]; then
            touch {run}/losses.json
        fi"""
    number = submitted(slurm, run, PATH=replaced(slurm, run, torchrun))
    until((run / "run.pt").exists, "a start")
    for _ in range(2):
        slurm.ask("scancel", "--batch", "--signal=USR1", number)
    again(slurm, number, 1)
    until(lambda: slurm.job(number)["JobState"] == "COMPLETED", "the end")
    assert slurm.job(number)["Restarts"] == "1"


def test_a_training_that_fails_is_tried_three_times_more_and_no_more(slurm):
    run = slurm.folder / "fails"
    number = submitted(slurm, run, PATH=replaced(slurm, run, "exit 7"))
    for times in range(1, 4):
        again(slurm, number, times)
    until(lambda: slurm.job(number)["JobState"] == "FAILED", "the end")
    assert slurm.job(number)["Restarts"] == "3"
    # srun reports the largest of its tasks' codes: 143 where it has ended the other task by then
    assert slurm.job(number)["ExitCode"] in ("7:0", "143:0")


def submitted(slurm, run, *options, **more):
    """The number of a job that has been handed in."""
    script = str(FOLDER / RECIPES["slurm_requeue"])
    return slurm.ask("sbatch", script, *options, RUN_FOLDER=str(run), **more).split()[-1]


def replaced(slurm, run, then):
    """A PATH on which another torchrun comes first."""
    run.mkdir()
    torchrun = run / "torchrun"
    torchrun.write_text(f"#!/bin/bash\n{then}\n")
    torchrun.chmod(0o755)
    return f"{run}:{slurm.environment['PATH']}"


def again(slurm, number, times):
    """Wait until a job is back in the queue, and have it started at once, not after two minutes."""
    until(lambda: queued(slurm, number, times), "a job in the queue again")
    slurm.ask("scontrol", "update", f"JobId={number}", "StartTime=now")


def queued(slurm, number, times):
    """Whether a job waits that was started so many times."""
    job = slurm.job(number)
    return (job["JobState"], job["Restarts"]) == ("PENDING", str(times))


def log(slurm, number):
    return (slurm.folder / f"digits-{number}.log").read_text()


def test_the_scripts_for_several_nodes_start_torchrun_alike():
    def start(name):
        text = recipe(name)
        return text[text.index("--nnodes") : text.index("'", text.index("--nnodes"))]

    assert start("slurm_nodes") == start("slurm_requeue")


@pytest.mark.parametrize("name", SLURM)
def test_each_start_under_slurm_meets_in_a_store_of_its_own(name, tmp_path):
    for program in ("srun", "scontrol"):
        recorder(tmp_path / program)
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "SLURM_JOB_ID": "7",
        "SLURM_CPUS_PER_TASK": "2",
    }
    script = str(FOLDER / RECIPES[name])
    subprocess.run([shutil.which("bash"), script], cwd=tmp_path, env=environment, check=True)
    assert set(stores(tmp_path)) == {"1"}


# --- Kubernetes


@pytest.mark.parametrize("name", KUBERNETES)
def test_a_manifest_is_one_that_kubernetes_knows(name):
    validate = pytest.importorskip("kubernetes_validate").validate
    for resource in yaml.safe_load_all(recipe(name)):
        validate(resource, "1.33", strict=True)


@pytest.mark.parametrize(("name", "nodes", "ranks"), [
    ("kubernetes_job", "2", [4]), ("kubernetes_elastic", "2:4", [4, 6, 8]),
])  # fmt: skip
def test_what_a_pod_starts(name, nodes, ranks, tmp_path):
    service, job = yaml.safe_load_all(recipe(name))
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    assert spec["completions"] == spec["parallelism"] == max(ranks) // 2
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"]["job-name"] == job["metadata"]["name"]
    assert pod["subdomain"] == service["metadata"]["name"]
    (container,) = pod["containers"]
    torchrun = recorder(tmp_path / "torchrun")
    for index, host in ((0, "1"), (1, "0")):
        subprocess.run(
            [*container["command"], *container["args"]], check=True,
            env={"PATH": f"{torchrun.parent}:/usr/bin:/bin", "JOB_COMPLETION_INDEX": str(index)}
            | {one["name"]: one["value"] for one in container["env"]},
        )  # fmt: skip
        agent, training = parsed(recorded(tmp_path)[-1])
        assert (agent.nnodes, agent.nproc_per_node) == (nodes, "2")
        assert agent.rdzv_conf == f"is_host={host}"
        where, port = agent.rdzv_endpoint.split(":")
        assert where == f"{job['metadata']['name']}-0.{pod['subdomain']}"
        assert int(port) == service["spec"]["ports"][0]["port"]
        assert [count for count in ranks if training.batch % count] == []
        files = re.findall(r"--(?:checkpoint|output) (\S+)/", container["args"][0])
        assert set(files) <= {mount["mountPath"] for mount in container["volumeMounts"]}
    assert stores(tmp_path) == ["1", "1"]


# --- ssh


def test_ssh_starts_one_agent_on_each_machine(tmp_path):
    python = recorder(tmp_path / "python")
    stand_in(tmp_path / "ssh", 'cd /; exec bash -c "$*"')
    done = by_ssh(
        tmp_path, python.parent, "one", "two", "--", "--lr", "0.5", "--output", "a b.json"
    )
    assert done.returncode == 0, done.stderr
    agents = sorted((parsed(argv[2:]) for argv in recorded(tmp_path)), key=lambda a: a[0].rdzv_conf)
    assert [agent.rdzv_conf for agent, _ in agents] == ["is_host=0", "is_host=1"]
    for agent, training in agents:
        assert (agent.nnodes, agent.rdzv_endpoint) == ("2", "one:29400")
        assert training.lr == 0.5
        assert training.output == Path("a b.json")  # quoted for the shell on the other side
        assert training.checkpoint == training.resume == tmp_path / "run" / "run.pt"
    assert stores(tmp_path) == ["1", "1"]


def test_the_first_agent_that_fails_ends_the_others(tmp_path):
    stand_in(
        tmp_path / "ssh", f'[ "$host" = two ] && exit 9\necho $$ > {tmp_path}/pid; exec sleep 300'
    )
    recorder(tmp_path / "python")
    done = by_ssh(tmp_path, tmp_path, "one", "two")
    assert done.returncode == 9
    pid = tmp_path / "pid"
    number = pid.read_text().strip() if pid.exists() else ""  # it may end before it says its own
    until(lambda: not number or not alive(int(number)), "the end of the other agent")
    assert "name the machines" in by_ssh(tmp_path, tmp_path).stderr


def by_ssh(folder, programs, *arguments):
    shell = shutil.which("bash")
    return subprocess.run(
        [shell, str(FOLDER / RECIPES["ssh_nodes"]), *arguments], cwd=folder, text=True,
        env={"PATH": f"{programs}:/usr/bin:/bin"}, capture_output=True, timeout=120,
    )  # fmt: skip


def alive(pid):
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


def stand_in(path, then):
    """An ssh that carries its command out here."""
    path.write_text(
        f'#!/bin/bash\nwhile [ "${{1:0:1}}" = - ]; do shift; done\nhost=$1; shift\n{then}\n'
    )
    path.chmod(0o755)


def recorder(path):
    """A program that writes down how it was called."""
    path.write_text(
        f'#!/bin/bash\nprintf "%q " "$@" | tee {path.parent}/call-$$ > /dev/null\n'
        f'echo "$TORCH_DISABLE_SHARE_RDZV_TCP_STORE" > {path.parent}/store-$$\n'
    )
    path.chmod(0o755)
    return path


def stores(folder):
    """Of each call, whether its ranks share a store with those of the starts before ("1": no)."""
    return [store.read_text().strip() for store in folder.glob("store-*")]


def recorded(folder):
    calls = sorted(folder.glob("call-*"), key=lambda path: path.stat().st_mtime_ns)
    return [shlex.split(call.read_text()) for call in calls]


def parsed(arguments):
    """What torchrun and the training understand of a command line."""
    agent = torch.distributed.run.get_args_parser().parse_args(arguments)
    assert agent.training_script == "gpulearn_lessons.fault_tolerance.train"
    assert agent.module
    options = [one.replace("/run/digits", "/tmp") for one in agent.training_script_args]
    training = options_from(options, "train", "")
    assert training.checkpoint == training.resume
    return agent, training


def test_there_is_no_other_file_and_no_other_name():
    files = {path.name for path in FOLDER.iterdir() if path.suffix not in (".py", "")}
    assert files == set(RECIPES.values())
    with pytest.raises(gl.errors.BadInput, match="did you mean 'slurm_nodes'"):
        recipe("slurm_node")
