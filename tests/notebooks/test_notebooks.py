"""Every notebook, executed in both forms; and what some of their cells must say then."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from tests.notebooks.harness import NOTEBOOKS, Form, faults, needs_two_runs
from tests.notebooks.markup import headings
from tests.notebooks.minutes import OPENING, share
from tests.notebooks.page import read

PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
FORMS: dict[bool, tuple[Form, ...]] = {False: ("both",), True: ("student", "solution")}
RUNS = [
    pytest.param(path, form, id=f"{path.stem}-{form}")
    for path in PATHS
    for form in FORMS[needs_two_runs(read(path))]
]


SHARES = {path: said[1] for path in PATHS if (said := share(read(path)))}  # of the short course
SKIPPING = [path for path, own in SHARES.items() if own != list(range(1, len(own) + 1))]


def test_there_are_notebooks() -> None:
    assert PATHS


@pytest.mark.notebook
@pytest.mark.parametrize(("path", "form"), RUNS)
def test_runs(path, form: Form) -> None:
    executed: list[NotebookNode] = []
    found = faults(read(path), path.name, form, look=executed.append)
    if (kept := os.environ.get("GPULEARN_EXECUTED")) and form != "solution":
        Path(kept).mkdir(parents=True, exist_ok=True)  # for the site
        nbformat.write(executed[0], Path(kept) / path.name)
    assert not found, "\n" + "\n".join(found)
    for begins, states in SAYS.get(path.stem, {}).items():
        assert states in said(executed[0], begins)
    LOOKS.get(path.stem, lambda executed: None)(executed[0])


@pytest.mark.notebook
@pytest.mark.parametrize("path", SKIPPING, ids=lambda path: path.stem)
def test_the_short_course_needs_nothing_that_it_skips(path) -> None:
    """Where it skips nothing up to its end, the run of the whole notebook shows that."""
    notebook = read(path)
    notebook.cells = list(in_sections(notebook, [0, *SHARES[path]]))
    for form in FORMS[needs_two_runs(notebook)]:
        found = faults(notebook, path.name, form)
        assert not found, "\n" + "\n".join(found)


def in_sections(notebook: NotebookNode, sections: list[int]) -> Iterator[NotebookNode]:
    """The cells of some sections; what stands before the first is section 0."""
    section = 0
    for cell in notebook.cells:
        for level, text in headings(cell.source if cell.cell_type == "markdown" else ""):
            if level == 2 and text != OPENING:
                section = int(text.split(" · ")[0]) if " · " in text else -1
        if section in sections:
            yield cell


def said(executed: NotebookNode, begins: str) -> str:
    """All that the one cell that begins with a text has printed and shown, with its markup."""
    (cell,) = (c for c in executed.cells if c.source.startswith(begins))
    shown = [output.get("data", {"text/plain": output.get("text", "")}) for output in cell.outputs]
    return "\n".join(text for data in shown for kind, text in data.items() if "text/" in kind)


# what cells that begin with a text say, whatever the form
SAYS = {
    "16_data_parallel": {
        "programs = ": "gradients averaged equal to the bit at every step",
        "deep = ": "Timeline of overlapping, 2 ranks",
        "overlapping = ": "relative difference of all weights: 0e+00",
        "epochs = ": "weights in the file: 0e+00 away",
    },
    "17_scaling_out": {"strong = ": "measured here", "cluster = ": "modeled"},
    "24_parameter_server": {
        "late_kill = ": " lost, 0 applied twice",
        "worst = ": "601 counted for 600 pushes",
        "twenty_kills = ": "20 kills, 300 pushes acknowledged: 0 lost, 0 applied twice",
    },
    "18_sharded_training": {
        "shard_player(": "Stage 3 shards all three. Moment 19 of 22",
        "gigabytes = ": "31.4 GB",
        "never_stopped = ": "read by 4: losses off by 0e+00",
    },
    "21_fault_tolerance": {
        "both = ": "model and optimizer saved: losses off by 0",
        "never_killed = ": "10 restarts, equal to the bit: True",
        "crashes = ": "can save again, every time: True",
        "print(hang_error)": "late: rank 1, collective 5, all_reduce",
        "compute, wait = ": "rank 2",
        'rows = {\n    "a rank dies': "0 mixed up",
    },
    "22_broken_tutorials": {
        "dealt = ": "4 samples are used by neither rank, 4 by both",
        "same_seed = ": "used by neither rank: 0",
        "try:\n    dist.init": "environment variable RANK expected, but not set",
        "try:\n    gl.simulate": "deadlock: 3 of 3 ranks wait",
        "def supplied": "{0: 301, 1: 1, 2: 1}",
        "each_once = ": "{0: 101, 1: 101, 2: 101}",
        "bytes_of = ": "right: 720 bytes",
    },
    "A_frameworks": {
        "rows_seen = ": "plain tensor: 64 and 64 rows",
        "short = ": "ratio 0.469",
        "right, wrong = ": "8.00 times as long",
    },
}


def scaling_out(executed: NotebookNode) -> None:
    """The script ends with the loss of notebook 16 on two machines, and a higher one on four."""
    cells = [said(executed, begins) for begins in ('(folder / "train', "four = ")]
    for line in re.findall(r"^machine \d: (.*)", "\n".join(cells), re.MULTILINE):
        assert line.startswith("epoch"), line  # and nothing that torchrun says to stderr
    two, four = (float(re.findall(r"epoch 1: loss (\d\.\d+)", one)[0]) for one in cells)
    assert 1.02 < two < 1.03 < 2 < four


def sharded_training(executed: NotebookNode) -> None:
    """The stages train as one process."""
    away = re.findall(r"off by (\d+e[+-]\d+)", said(executed, "kinds = "))
    assert len(away) == 3
    assert max(map(float, away)) < 1e-12


def tensor_parallel(executed: NotebookNode) -> None:
    """Split layers are equal to one process, and what is kept is what the formula says."""
    apart = re.search(r"at most (\S+) apart", said(executed, "whole = "))
    assert apart is not None
    assert float(apart[1]) <= 1e-12
    kept = re.findall(r"([\d,]+) bytes", said(executed, 'print(f"{kept_for_backward'))
    assert len(kept) == 2
    assert kept[0] == kept[1]


def fault_tolerance(executed: NotebookNode) -> None:
    """Whoever leaves a collective out is named."""
    (missed,) = (c for c in executed.cells if "skip_error.late.rank" in c.source)
    assert "late: rank 1, collective 2" in said(executed, missed.source)


def broken_tutorials(executed: NotebookNode) -> None:
    """With both mistakes mended nothing is left."""
    both = said(executed, 'gl.table(\n    [\n        {\n            "program"')
    assert re.search(r"both\s+0\.000\s+0\.000\s+0\.000", both)


def frameworks(executed: NotebookNode) -> None:
    """Three frameworks give the same losses, whether they ran here or were recorded."""
    rounding = re.findall(r"(\d\.\de[+-]\d+)", said(executed, "table = []"))
    assert len(rounding) == 2 * 6  # as text and as HTML
    assert max(map(float, rounding)) < 1e-5
    assert int(said(executed, "counted = ").split("]\n")[-1].split()[0]) in range(600, 604)


LOOKS: dict[str, Callable[[NotebookNode], None]] = {
    "17_scaling_out": scaling_out,
    "19_tensor_parallel": tensor_parallel,
    "18_sharded_training": sharded_training,
    "21_fault_tolerance": fault_tolerance,
    "22_broken_tutorials": broken_tutorials,
    "A_frameworks": frameworks,
}
