"""What a visit brought: a row for each step, and the numbers that matter most."""

from __future__ import annotations

import shutil
import tarfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from gpulearn.perf import recordings
from gpulearn.perf.recordings import Recording
from tools.gpu.runner.step import Outcome

__all__ = ["NUMBERS", "REHEARSAL", "After", "copy", "ending", "numbers", "text", "write"]

After = Callable[[list[Outcome]], None]
REHEARSAL = "This is a rehearsal on the CPU with tiny sizes: nothing of it is a recording."
SHOWN = 12  # lines of a step that went wrong, when it did
AT_THE_END = 4  # of them in the summary: a remote shell may show its end only
NAMED = 6  # tests or cases that went wrong


def ending(outcome: Outcome) -> str:
    """How a step ended, with its last lines if it was not right."""
    line = f"      {outcome.status} after {outcome.seconds:.1f} s"
    if outcome.right:
        last = outcome.said.splitlines()[-1:]
        return line + "".join(f": {said[:120]}" for said in last)
    said = outcome.said.splitlines()[-SHOWN:]
    return "\n".join([line, *(f"      | {part[:200]}" for part in said)])


def write(outcomes: list[Outcome], folder: Path, began: float, rehearse: bool) -> Path:
    """Write `visit-<device>.json` with a row for each step, and `visit.txt`."""
    rows = [
        {"step": o.step, "status": o.status, "took": round(o.seconds, 2), "said": o.said}
        for o in outcomes
    ]
    made = recordings.recorded_here("visit", rows, "cpu" if rehearse else "cuda")
    (folder / "visit.txt").write_text(text(outcomes, folder, began, rehearse), encoding="utf-8")
    return recordings.save(made, folder)


def copy(folder: Path, logs: Path, to: Path) -> None:
    """Put the summary, and one archive of results and logs, into another folder."""
    to.mkdir(parents=True, exist_ok=True)
    part = to / "gpu.tar.gz.part"
    with tarfile.open(part, "w:gz") as archive:
        archive.add(folder, "recorded")
        archive.add(logs, "logs")
    part.replace(to / "gpu.tar.gz")
    for file in (folder / "visit.txt", *folder.glob("visit-*.json")):
        shutil.copy(file, to)


def text(outcomes: list[Outcome], folder: Path, began: float, rehearse: bool = False) -> str:
    """The summary as a table, most important numbers last."""
    wrong = [o for o in outcomes if not o.right]
    lines = ["", "== Steps that were not right"] if wrong else []
    for outcome in wrong:
        lines += ["", f"{outcome.step}: {outcome.status}"]
        lines += [f"  | {part[:160]}" for part in outcome.said.splitlines()[-AT_THE_END:]]
    lines += ["", "== Steps", f"{'step':28} {'status':14} {'seconds':>8}"]
    lines += [f"{o.step:28} {o.status:14} {o.seconds:8.1f}" for o in outcomes]
    lines += [f"{'all':28} {'':14} {time.time() - began:8.1f}", "", "== Results"]
    lines += [f"{what}: {said}" for what, said in numbers(folder, began)]
    right = f"{len(outcomes) - len(wrong)} of {len(outcomes)} steps were right."
    return "\n".join([*lines, "", right, *([REHEARSAL] if rehearse else []), ""])


def numbers(folder: Path, began: float = 0.0) -> Iterator[tuple[str, str]]:
    """The most important numbers of the recordings that were written since `began`."""
    for name, say in NUMBERS.items():
        paths = recordings.available(folder, name)
        try:
            fresh = [recordings.load(p) for p in paths if p.stat().st_mtime >= began - 1]
            found = next((r for r in fresh if r.name == name), None)
            yield name, "nothing was recorded" if found is None else say(found)
        except Exception as error:  # the summary stands, whatever a recording holds
            yield name, f"cannot be summed up: {type(error).__name__}: {error}"


def _environment(recording: Recording) -> str:
    known = {row["what"]: row["value"] for row in recording.rows}
    tools = [w.removeprefix("tool ") for w, v in known.items() if v == "not there"]
    there = f"{recording.device}, driver {recording.driver}, {known.get('cpu')}"
    versions = ", ".join(f"{name} {version}" for name, version in recording.versions.items())
    return f"{there}; {versions}" + (f"; without {', '.join(tools)}" if tools else "")


def _tests(recording: Recording) -> str:
    ends = Counter(row["outcome"] for row in recording.rows)
    said = ", ".join(f"{count} {outcome}" for outcome, count in sorted(ends.items())) or "none"
    wrong = [row for row in recording.rows if row["outcome"] in ("failed", "cut off")]
    return said + _named((row["test"], row.get("message", "")) for row in wrong)


def _named(wrong: Iterable[tuple[str, str]]) -> str:
    """The first of those that went wrong, a line each: a name, and the error in its message."""
    found = []
    for name, message in islice(wrong, NAMED):
        errors = [line[1:] for line in message.splitlines() if line.startswith("E ")]
        why = " ".join((errors or message.splitlines() or [""])[0].split())
        found.append(f"\n  | {name}: {why[:120]}")
    return "".join(found)


def _ladder(recording: Recording, name: str = "rung") -> str:
    rows = [row for row in recording.rows if row.get("dtype", "float32") == "float32"]
    size = max(n for n in {row["n"] for row in rows} if n <= 4096)
    at_size = {row[name]: row.get("seconds") for row in rows if row["n"] == size}
    library = at_size.pop("torch.matmul")
    shares = {n: f"{library / took:.1%}" if took else "none" for n, took in at_size.items()}
    said = ", ".join(f"{rung} {share}" for rung, share in shares.items())
    return f"of torch.matmul in float32 at {size}: {said}"


def _ideas(recording: Recording) -> str:
    return _ladder(recording, "idea")


def _kernels(recording: Recording) -> str:
    ends = Counter(
        "timed" if "seconds" in r else "wrong" if "error" in r else "left out"
        for r in recording.rows
    )
    said = ", ".join(f"{count} {end}" for end, count in sorted(ends.items())) or "none"
    return said + _named((r["case"], r["error"]) for r in recording.rows if "error" in r)


def _estimates(recording: Recording) -> str:
    rows: list[dict[str, Any]] = recording.where(what="summary")
    return str(rows[0]["said"])


def _counters(recording: Recording) -> str:
    from tools.gpu.counters.comparison import as_text  # needs NumPy, and numba behind it

    return as_text(recording).splitlines()[0]


# recording -> what to say of it
NUMBERS: dict[str, Callable[[Recording], str]] = {
    "environment": _environment,
    "tests": _tests,
    "kernels": _kernels,
    "ladder": _ladder,
    "ladder-ideas": _ideas,
    "counters": _counters,
    "estimates": _estimates,
}
