"""A notebook for exercises of an instructor's own: task, stub and check of each."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from gpulearn.judge.exercise import Exercise
from gpulearn.judge.stubs import cell_source

HOLE = "    # your code\n    ..."


def own_notebook(name: str, exercises: Sequence[Exercise]) -> dict[str, Any]:
    """A notebook in the form of the course's own, as JSON with each source in one text."""
    cells = [
        new_cell("title", "markdown", f"# {name.replace('_', ' ').capitalize()}"),
        new_cell("imports", "code", "import numpy as np\n\nimport gpulearn as gl\n"
                 "from gpulearn import cuda"),
    ]  # fmt: skip
    for exercise in exercises:
        task = f"### Exercise: {exercise.name}\n\n{exercise.task}"
        check = f'gl.check("{exercise.place}", {exercise.name})'
        cells += [
            new_cell(f"{exercise.name}-task", "markdown", task),
            new_cell(f"{exercise.name}-stub", "code", stub(exercise), "exercise"),
            new_cell(f"{exercise.name}-check", "code", check, "check", "raises-exception"),
        ]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def stub(exercise: Exercise) -> str:
    """What students start from: what the exercise gives to be mended, or the solution's head."""
    source, given = cell_source(exercise.reference), exercise.answers.given
    if given is not None:
        jit = [line for line in source.splitlines()[:1] if line.startswith("@cuda.jit")]
        return "\n".join([*jit, cell_source(given)])
    if exercise.kernel:
        head = re.match(r".*?\b__global__\b[^{]*\{", source, re.DOTALL)
        assert head is not None, source
        return f'{head[0]}\n    // your code\n    ...\n}}\n"""'
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    lines = source.splitlines()
    return "\n".join([*lines[: function.body[0].lineno - 1], HOLE])


def new_cell(identity: str, kind: str, source: str, *tags: str) -> dict[str, Any]:
    """A cell as JSON; its identity must be the only one of that name in the notebook."""
    cell: dict[str, Any] = {
        "cell_type": kind,
        "id": identity[:64],
        "metadata": {"tags": list(tags)} if tags else {},
        "source": source,
    }
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
