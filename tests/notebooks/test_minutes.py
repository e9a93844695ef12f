"""The count of minutes: its parts by hand, its stops, and what the rule says to a planted page."""

import re
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook

from tests.notebooks import minutes as counted
from tests.notebooks.minutes import (
    MOST,
    STOP,
    WORDS,
    best,
    minutes,
    parts,
    readme_minutes,
    sat,
    sentence,
    stated,
)
from tests.notebooks.page import Page
from tests.notebooks.plants import STUB, code, exercise

OPENING = "## What you will do\n\n"


def text(source: str) -> NotebookNode:
    return new_markdown_cell(source)


def section(number: int, taken: float) -> NotebookNode:
    """A section of so many minutes of prose."""
    heading = f"## {number} · Section\n\n"
    return text(heading + "word " * (round(taken * WORDS) - 2))


def planted(says: str, *taken: float, stops: tuple[int, ...] = ()) -> NotebookNode:
    """A page of sections of so many minutes, with the sentence of a stop after some."""
    cells = [text(OPENING + says)]
    for number, one in enumerate(taken, 1):
        cells.append(section(number, one))
        if number in stops:
            cells.append(text(f"{STOP} That is done."))
    return new_notebook(cells=cells)


def found(notebook: NotebookNode) -> list[str]:
    return [line for _, line in minutes(Page(notebook, "01_planted", Path()))]


def test_each_part_by_hand() -> None:
    prose = text("## 1 · Title\n\n" + "word " * 128)  # 130 with the heading
    program = code("# a comment\nx = 1\n\n\ny = 2\n")
    question = code('gl.predict("name", "What comes?")')  # 5 words
    page = new_notebook(cells=[text("### Before"), prose, program, question])
    before, one = parts(page)
    assert before.minutes == pytest.approx(1 / 130)
    assert (one.words, one.lines, one.runs, one.predictions) == (130 + 4, 2, 1, 1)
    assert one.minutes == pytest.approx(134 / 130 + 2 * 8 / 60 + 45 / 60 + 1.5)


def test_the_set_up_cell_and_checks_take_nothing() -> None:
    page = new_notebook(cells=[code("import x\n" * 50, "setup"), code("gl.check()", "check")])
    assert parts(page)[0].minutes == 0


@pytest.mark.parametrize(
    ("name", "stub", "expected"),
    [
        ("matmul_flops", STUB, ("formula", 3.0)),
        ("crossover", "def crossover(sizes, cpu, gpu):\n    # your code\n    ...", "function"),
        ("block_sum", "@cuda.jit\ndef block_sum(values, sums):\n    ...", "kernel"),
    ],
)
def test_the_kind_of_an_exercise_is_what_is_left_to_write(name, stub, expected) -> None:
    (kind,) = parts(new_notebook(cells=exercise(stub, f'gl.check("{name}", {name})')))[0].exercises
    assert kind[: 1 if isinstance(expected, str) else 2] in (expected, (expected,))
    if kind[0] != "formula":  # its lines count
        shorter = stub.replace("    ...", "    a = 1\n    b = 2\n    ...")
        (less,) = parts(new_notebook(cells=exercise(shorter, "")))[0].exercises
        each = {"function": 0.5, "kernel": 1.0}[kind[0]]
        assert (less[0], kind[1] - less[1]) == (kind[0], pytest.approx(2 * each))


def test_a_stub_that_has_most_lines_is_a_program_to_mend() -> None:
    stub = "def crossover(sizes, cpu, gpu):\n" + "    line\n" * 6
    (kind,) = parts(new_notebook(cells=exercise(stub, "")))[0].exercises
    assert kind == ("mend", 9.0)


@pytest.mark.parametrize(
    ("taken", "sittings"),
    [
        ((30, 20, 20), [70]),
        ((60, 20, 40), [60, 60]),  # and not 80 + 40
        ((50, 50, 50, 50), [50, 50, 50, 50]),
        ((70, 20, 60, 10), [70, 20, 70]),
        ((120, 20), [120, 20]),  # no stop within a section
    ],
)
def test_the_fewest_sittings_and_the_most_even(taken, sittings) -> None:
    page = parts(planted("", *taken))
    counts, stops = best(page)
    assert counts == pytest.approx(sittings, abs=0.1)
    assert sat(page, stops) == counts


@pytest.mark.parametrize(("said", "stops"), [([60], []), ([85, 75], [7]), ([80, 60, 55], [6, 11])])
def test_what_a_notebook_says_is_read_back(said, stops) -> None:
    assert stated(f"- **Time:** {sentence(said, stops)}.") == (said, stops)


@pytest.mark.parametrize(
    "says",
    [
        "about an hour",
        "about 60 minutes",
        "about 150 minutes, exercises included, in two sittings: about 85 to the stop after "
        "section 7, 75 after it",  # is 160
        "about 160 minutes, exercises included, in three sittings: about 85 to the stop after "
        "section 7, 75 after it",
    ],
)
def test_another_form_is_not_read(says) -> None:
    assert stated(says) is None
    assert found(planted(says, 80, 80, stops=(1,)))


ONE, TWO = "about 60 minutes, exercises included", "about 140 minutes, exercises included, in two "
TWO += "sittings: about 70 to the stop after section 2, 70 after it"


@pytest.mark.parametrize("taken", [55, 60, 64.9])
def test_minutes_near_the_count_are_left_alone(taken) -> None:
    assert found(planted(ONE, taken)) == []
    assert found(planted(TWO, 40, taken - 30, 70, stops=(2,))) == []


@pytest.mark.parametrize(
    ("says", "taken"),
    [("", (60,)), (ONE, (40,)), (ONE, (70,)), (ONE, (60, 60)), (TWO, (60,)), (TWO, (70, 80)),
     (TWO, (20, 20, 90)), (TWO, (70, 30, 80)), (TWO, (70, 70, 100, 30, 20))],
)  # fmt: skip
def test_the_message_says_what_to_write_and_that_is_right(says, taken) -> None:
    (line,) = found(planted(says, *taken))
    written = re.search("write '([^']*)'", line)[1]
    said, stops = stated(written)
    if max(taken) <= MOST:
        assert max(said) <= MOST
    mended = planted(written, *taken, stops=tuple(stops))
    assert found(mended) == []
    assert line.endswith(f"in the README '{' + '.join(map(str, said))}'")


def test_a_stop_of_the_author_is_kept() -> None:
    says = sentence([70, 35, 30], [1, 3])  # where two sittings would do
    assert found(planted(says, 70, 15, 20, 30, stops=(1, 3))) == []


def test_a_stop_has_its_sentence_and_a_sentence_its_stop() -> None:
    (line,) = found(planted(TWO, 40, 30, 70))
    assert line == f"section 2 must end with '{STOP}', what is done and what comes"
    (line,) = found(planted(TWO, 40, 30, 70, stops=(1, 2)))
    assert line == "stops after section 1, and the beginning says nothing of it"


def test_the_readme_says_what_the_notebooks_say() -> None:
    notebooks = {"01_planted": planted(TWO, 70)}
    row = "| [01](notebooks/01_planted.ipynb) | Why | {} | badge |"
    assert list(readme_minutes(row.format("70 + 70"), notebooks)) == []
    assert list(readme_minutes(row.format("150"), notebooks)) == [
        "README.md says 150 minutes of 01_planted, and the notebook 70 + 70"
    ]


def test_all_are_printed(capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["minutes", "01"])
    counted.main()
    first, second, *sections = capsys.readouterr().out.splitlines()
    assert first.split()[:2] == ["words", "lines"]
    assert second.startswith("01 ")
    assert len(sections) == 9  # and what stands before them
