"""A whole script for torchrun that runs without an error and has five mistakes, to be fixed."""

import functools
import io
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, chdir, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.one_process import flat_weights
from gpulearn.judge.ranks import RankFailure, apart, failed_alike, on_real_ranks
from gpulearn.judge.stubs import notebook_source
from gpulearn.parallel.launch.launch import launch
from gpulearn.require import shorten, shown
from gpulearn_lessons.data_parallel import ddp_script
from gpulearn_lessons.data_parallel.ddp_script import mend_the_script

RANKS = 2
LONGEST_WAIT = 8.0  # seconds for another rank: all cases have 20
TOLERANCE = 1e-4  # relative; ranks that add in another order differ by rounding
MAIN = """\
if __name__ == "__main__":
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    mend_the_script()
    dist.destroy_process_group()
"""
NUMBER = re.compile(r"\d+\.\d+")


@dataclass(frozen=True)
class ScriptOutcome:
    """What a script did on all ranks."""

    failure: RankFailure | None = None  # how it failed, if it did
    ranks: list[dict[str, Any]] = field(default_factory=list)  # of each rank, what `act` notes


def cases() -> list[Case]:
    """Numbers of images that two ranks cannot share evenly, two batches in each epoch."""
    return [Case("2 ranks, 101 images to train on and 27 to test with", (101, 27))]


def images(train: int, test: int) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """What stands in digits.pt: noise and classes."""
    random = np.random.default_rng(train)
    return {
        name: (
            torch.from_numpy(random.normal(size=(count, 1, 8, 8)).astype(np.float32)),
            torch.from_numpy(random.integers(10, size=count)),
        )
        for name, count in (("train", train), ("test", test))
    }


def act(program: Callable[[], object], folder: str) -> dict[str, Any]:
    """Be one rank: run a program in a folder, and note what it does."""
    torch.set_num_threads(1)
    orders: list[list[int]] = []
    saved: list[list[str]] = []
    replicas: list[Any] = []
    out = io.StringIO()

    def wrap(self: Any, model: Any, *args: Any, **options: Any) -> None:
        own_init(self, model, *args, **options)
        replicas.append(model)

    def order(self: Any) -> Any:
        numbers = list(own_order(self))
        if self.shuffle:  # not of test images
            orders.append(numbers)
        return iter(numbers)

    own_init, own_order = DistributedDataParallel.__init__, DistributedSampler.__iter__
    patches = [
        (torch, "save", lambda state, *args, **options: saved.append(names_in(state))),
        (torch.cuda, "is_available", lambda: False),
        (DistributedDataParallel, "__init__", wrap),
        (DistributedSampler, "__iter__", order),
    ]
    with ExitStack() as stack:
        for owner, name, function in patches:
            stack.enter_context(mock.patch.object(owner, name, function))
        stack.enter_context(chdir(folder))
        stack.enter_context(redirect_stdout(out))
        program()
    weights = flat_weights(replicas[-1]).tolist() if replicas else []
    return {"orders": orders, "saved": saved, "printed": out.getvalue(), "weights": weights}


def names_in(state: Any) -> list[str]:
    """The names in a state dict; what else is saved is described."""
    return list(state) if isinstance(state, dict) else [shown(state)]


def run(answer: Answer, case: Case) -> ScriptOutcome:
    """On ranks that are copies of a process which has loaded torch, so that it takes no time."""
    with tempfile.TemporaryDirectory() as folder:
        torch.save(images(*case.args), Path(folder) / "digits.pt")

        def start(seconds: float) -> list[Any]:
            wait = min(seconds, LONGEST_WAIT)
            return launch(act, RANKS, answer, folder, timeout=wait, backend="gloo")

        ranks = on_real_ranks(start, answer)
    if isinstance(ranks, RankFailure):
        return ScriptOutcome(ranks)
    return ScriptOutcome(None, list(ranks))  # as data, which may pass between grader and answer


@functools.cache
def right(train: int, test: int) -> ScriptOutcome:
    return run(mend_the_script, Case("", (train, test)))


def as_file(answer: Answer) -> str:
    """A script: the solution's imports, the function, and what joins and leaves the ranks.

    That stands outside of the function, whose wrapper must be gone when the group is destroyed:
    otherwise it frees the group itself, holding the lock that gloo's threads need to end.
    """
    text = Path(ddp_script.__file__).read_text(encoding="utf-8")
    imports = text[text.index("import ") : text.index("\n\n\ndef ")]
    return f"{imports}\n\n\n{notebook_source(answer)}\n\n\n{MAIN}"


def script() -> str:
    """The script of notebooks 16 and 17, as a file."""
    return as_file(mend_the_script).replace("mend_the_script", "main")


def under_torchrun(answer: Answer) -> ScriptOutcome:
    """As a file, in processes that torchrun starts."""
    with tempfile.TemporaryDirectory() as folder:
        torch.save(images(*cases()[0].args), Path(folder) / "digits.pt")
        Path(folder, "train.py").write_text(as_file(answer), encoding="utf-8")
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        here = ["--nproc-per-node", str(RANKS), "-m", __spec__.name, folder]
        ran = subprocess.run([*torchrun, *here], capture_output=True, text=True, check=False)
        files = [Path(folder, f"{number}.json") for number in range(RANKS)]
        if ran.returncode or not all(file.exists() for file in files):
            errors = re.findall(
                r"^(?:\[rank\d\]: ?)?(\w+(?:Error|Exception)\b.*)", ran.stderr, re.M
            )
            said = shorten(errors[0] if errors else ran.stderr.strip(), 160)
            return ScriptOutcome(RankFailure("torchrun", f"it ends with {said.rstrip('.')}"))
        return ScriptOutcome(None, [json.loads(file.read_text()) for file in files])


def difference(got: ScriptOutcome, want: ScriptOutcome) -> str | None:
    if got.failure:
        return got.failure.sentence
    for number, (rank, right) in enumerate(zip(got.ranks, want.ranks, strict=True)):
        if not rank["weights"]:
            return f"rank {number} wraps no model in DistributedDataParallel"
        orders = rank["orders"]
        if len(orders) > 1 and orders[0] == orders[1]:
            return f"rank {number} sees its images in the same order in both epochs: see set_epoch"
        if len(orders) != len(right["orders"]):
            times = f"{len(orders)} times, expected {len(right['orders'])}"
            return f"the sampler of rank {number} shuffles {times}"
    for epoch in range(len(got.ranks[0]["orders"])):
        seen = [image for rank in got.ranks for image in rank["orders"][epoch]]
        if (twice := len(seen) - len({*seen})) >= RANKS:  # one may come again, to share evenly
            return f"the ranks see {twice} images twice in epoch {epoch}: each is for one rank"
    weights = [np.array(rank["weights"]) for rank in got.ranks]
    for number, own in enumerate(weights):
        if own.shape != weights[0].shape:
            return f"rank {number} has another model than rank 0"
        if sentence := apart(number, own, weights[0]):
            return f"{sentence}: the gradients are not exchanged"
    if not close(got.ranks[0]["weights"], want.ranks[0]["weights"]):
        return "the replicas are equal, and their weights are not those of the script as it was"
    for number, rank in enumerate(got.ranks):
        said, wanted = rank["printed"], want.ranks[number]["printed"]
        if number and said:
            return f"rank {number} prints as well: only rank 0 should"
        if not close(*(NUMBER.findall(text) for text in (said, wanted))):
            first = next(iter(said.splitlines()), "nothing")
            return (
                f"rank 0 prints '{first}', expected '{wanted.splitlines()[0]}': each test image "
                f"counts once"
            )
    savers = [number for number, rank in enumerate(got.ranks) if rank["saved"]]
    if not savers:
        return "no rank saves"
    if savers != [0]:
        who = "ranks 0 and 1 write" if len(savers) > 1 else "rank 1 writes"
        return f"{who} weights.pt: only rank 0 should"
    if got.ranks[0]["saved"] != want.ranks[0]["saved"]:
        name = got.ranks[0]["saved"][0][0]
        return f"the first name in weights.pt is '{name}', expected '1.weight'"
    return None


def close(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether numbers, or texts of numbers, are the same to rounding."""
    if len(one) != len(other):
        return False
    a, b = (np.array(list(map(float, numbers))) for numbers in (one, other))
    return bool(np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE))


@failed_alike
def same(one: ScriptOutcome, other: ScriptOutcome) -> bool:
    return all(
        (a["orders"], a["saved"]) == (b["orders"], b["saved"])
        and close(a["weights"], b["weights"])
        and close(*(NUMBER.findall(rank["printed"]) for rank in (a, b)))
        for a, b in zip(one.ranks, other.ranks, strict=True)
    )


def demand(answer: Answer, outcomes: Sequence[Any]) -> str | None:
    """What else is asked: to do the same as a file under torchrun."""
    sentence = difference(under_torchrun(answer), right(*cases()[0].args))
    return sentence and f"right on the ranks of gl.launch, but as a file under torchrun {sentence}."


EXERCISE = Exercise(
    task="Fix the script: it has five mistakes, and none of them raises an error.",
    reference=mend_the_script,
    cases=cases,
    run=run,
    by_hand=False,
    expect=lambda case: right(*case.args),
    difference=difference,
    kinships=(same,),
    missing=lambda: None if hasattr(os, "fork") else "its ranks need Linux or macOS",
    demand=demand,
)


if __name__ == "__main__":  # a rank of `under_torchrun`
    here = sys.argv[1]
    notes = act(lambda: runpy.run_path("train.py", run_name="__main__"), here)
    Path(here, f"{os.environ['RANK']}.json").write_text(json.dumps(notes))
