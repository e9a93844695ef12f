"""The learner's view: which exercises there are, which are solved, and how one is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpulearn.judge import progress as _progress
from gpulearn.judge.catalogue import catalogue, find, places
from gpulearn.judge.portfolio import write_portfolio
from gpulearn.judge.prediction import predictions
from gpulearn.judge.stubs import cell_source
from gpulearn.tables import Table, table


def exercises() -> Table:
    """All exercises of the course: name, notebook, task."""
    return table(
        [{"exercise": e.name, "notebook": e.notebook, "task": e.task} for e in catalogue().values()]
    )


def progress(export: str | Path | None = None) -> Table:
    """What you have solved and foreseen so far, and what is still open; this notebook first.

    Tries are those until an exercise was solved, hints the different ones that they met.

    Args:
        export: where to write a page with all of it, such as "portfolio.html". The page loads
            nothing, and nothing is sent anywhere.

    Raises:
        BadInput: `export` is no place for a page.
    """
    state = _progress.load()
    notebooks: dict[str, list[str]] = {}
    for name, topic in places().items():
        notebooks.setdefault(topic.NOTEBOOK, []).append(name)
    order = sorted(notebooks, key=lambda notebook: notebook != _progress.here())
    rows = [_row(notebook, notebooks[notebook], state) for notebook in order]
    done = sum(name in state.solved for name in places())
    caption = f"{done} of {len(places())} exercises solved."
    foreseen = [f.foresaw for f in state.predicted.values() if f.foresaw is not None]
    if foreseen:
        caption += f" You foresaw {sum(foreseen)} of {len(foreseen)} outcomes that you predicted."
    if state.fault:
        caption = f"Progress is not known: {state.fault}. Checks work all the same."
    if export is not None:
        where = {name: prediction.notebook for name, prediction in predictions().items()}
        write_portfolio(Path(export).expanduser(), state, notebooks, where, caption)
        caption += f" Written to {export}."
    return table(rows, caption)


def _row(notebook: str, names: list[str], state: _progress.Progress) -> dict[str, str]:
    dates = [state.solved[name] for name in names if name in state.solved]
    tried = [state.tried[name] for name in names if name in state.tried]
    hints = sum(len(tries.hints) for tries in tried)
    asked = [name for name, p in predictions().items() if p.notebook == notebook]
    foreseen = sum(bool(state.predicted[name].foresaw) for name in asked if name in state.predicted)
    return {
        "notebook": notebook,
        "solved": f"{len(dates)} of {len(names)}",
        "tries": str(sum(tries.count for tries in tried)) if tried else "–",
        "hints": str(hints) if tried else "–",
        "foreseen": f"{foreseen} of {len(asked)}" if asked else "–",
        "last": f"✓ {max(dates)}" if dates else "–",
        "still open": ", ".join(name for name in names if name not in state.solved) or "none",
    }


@dataclass(frozen=True)
class Solution:
    """The source of a solution, as it could stand in the exercise's cell."""

    name: str
    source: str

    def __repr__(self) -> str:
        return self.source

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.source}\n```"


def solution(name: str) -> Solution:
    """Show how an exercise is solved: the tested function of the package itself.

    Its type hints, docstring and input checks are left out, which a notebook cell does
    not need.

    Raises:
        BadInput: there is no such exercise; the nearest is named.
    """
    return Solution(name, cell_source(find(name).reference))
