"""Small notebooks for the tests of the harness: a healthy one, and what is planted in it."""

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from gpulearn.judge.overview import solution
from tools import links

NAME = "01_planted"
ADDRESS = "https://github.com/someone/somewhere"
EXERCISE = "matmul_flops"
STUB = "def matmul_flops(m, n, p):\n    ..."
CHECK = 'gl.check("matmul_flops", matmul_flops)'
SOLVED = solution(EXERCISE).source


def code(source: str, *tags: str) -> NotebookNode:
    return new_code_cell(source, metadata={"tags": list(tags)} if tags else {})


def of(*sources: str) -> NotebookNode:
    """A notebook of code cells."""
    return new_notebook(cells=[code(source) for source in sources])


def exercise(stub: str = STUB, check: str = CHECK) -> list[NotebookNode]:
    """The two cells of an exercise."""
    return [code(stub, "exercise"), code(check, "check", "raises-exception")]


def healthy() -> NotebookNode:
    """A whole notebook in which nothing is wrong, in either form."""
    text = new_markdown_cell
    return new_notebook(
        cells=[
            text(f"# 01 · A title\n\n**What is it?**\n\n{links.badge(ADDRESS, NAME)}"),
            text(
                "## What you will do\n\nRead: about 5 minutes, exercises included.\n\nSee "
                "[below](#The-answer)."
            ),
            code(links.setup_cell(ADDRESS, NAME), "setup"),
            code("import ipywidgets\n\nimport gpulearn as gl\n\ngl.banner()"),
            text("## 1 · One section\n\n**Predict:** `[not](a-link)`\n\n```\n# no heading\n```"),
            code("@ipywidgets.interact(n=(1, 3))\ndef double(n):\n    return 2 * n"),
            text("It doubles. <img src='data:,' alt='Nothing, drawn.'>"),
            code(
                "import socket\n\nend, other = socket.socketpair()\nsocket.getaddrinfo('::1', 80)"
            ),
            text("## 2 · A `second` section\n\nBack to [the first](#1-·-One-section)."),
            text("## The answer\n\nThat, as [section 2](#2-·-A-second-section) shows."),
            text("## Exercises"),
            text(f"### {EXERCISE}\n\nCount them."),
            *exercise(),
            text("## Where to go next\n\nTo [the file beside this one](beside.md#A-heading)."),
        ]
    )
