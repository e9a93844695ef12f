"""A Slurm of two nodes on this machine, for one test module: Debian's packages, nothing installed.

Both nodes are daemons of their own with two CPUs each, whatever the machine has. Nobody is asked
who he is (`auth/none`), so that no other service is needed; ports are free ones, on loopback.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

__all__ = ["PROGRAMS", "Cluster", "cluster", "missing", "until"]

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "scontrol", "scancel", "squeue", "sinfo")
SECONDS = 240.0  # on a busy machine six processes take long to load torch

CONF = """
ClusterName=lesson
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool-%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdParameters=config_overrides
SwitchType=switch/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=5
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """The programs that are not installed here."""
    return [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]


PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class Cluster:
    """A running Slurm, spoken to by its own commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf")}

    def ask(self, *command: str, **more: str) -> str:
        """What a command of Slurm's prints; an error is an error."""
        done = subprocess.run(
            command, env={**self.environment, **more}, cwd=self.folder, text=True, timeout=60,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{command[0]}: {done.stdout}")
        return done.stdout

    def job(self, number: str) -> dict[str, str]:
        """What Slurm knows of a job."""
        words = self.ask("scontrol", "--oneliner", "show", "job", number).split()
        return dict(word.split("=", 1) for word in words if "=" in word)


def until(true: object, what: str) -> None:
    """Wait until a function says so; a test fails that waits too long."""
    end = time.monotonic() + SECONDS
    while not true():  # type: ignore[operator]
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come within {SECONDS:.0f} s")
        time.sleep(0.1)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A controller and two nodes; whatever ran on them has ended when the block ends."""
    (folder / "state").mkdir()
    slurm = Cluster(folder)
    text = CONF.format(
        host=socket.gethostname(), ports=free_ports(3), user=getpass.getuser(), folder=folder
    )
    (folder / "slurm.conf").write_text(text)
    daemons = []
    try:
        for command in (
            ["slurmctld", "-D"],
            ["slurmd", "-D", "-N", "n1"],
            ["slurmd", "-D", "-N", "n2"],
        ):
            with (folder / f"{command[-1]}.out").open("w") as out:
                program = [str(shutil.which(command[0], path=PATH)), *command[1:]]
                daemons.append(
                    subprocess.Popen(program, env=slurm.environment, stdout=out, stderr=out)
                )
        until(lambda: idle(slurm) == 2, "two idle nodes")
        yield slurm
    finally:
        with contextlib.suppress(RuntimeError, subprocess.TimeoutExpired):
            slurm.ask("scancel", "--quiet", "--user", getpass.getuser())
            until(lambda: not slurm.ask("squeue", "--noheader"), "an empty queue")
        for daemon in reversed(daemons):
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        until(lambda: not left_over(folder), "the end of all that was started")


def idle(slurm: Cluster) -> int:
    """How many nodes are ready; none while the controller does not answer yet."""
    with contextlib.suppress(RuntimeError):
        return slurm.ask("sinfo", "--noheader", "--Node", "--format=%T").split().count("idle")
    return 0


def left_over(folder: Path) -> list[str]:
    """Processes that were started from this folder."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("SLURM_CONF") == str(folder / "slurm.conf"):
                found.append(process.name())
    return found
