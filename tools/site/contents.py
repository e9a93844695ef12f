"""The pages around the notebooks: front page, exercises, recipes, teaching, glossary, sources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from nbformat import NotebookNode

from gpulearn.judge.catalogue import catalogue
from gpulearn.judge.cells import checked, has, heading
from gpulearn_grading.course.guide import literal
from gpulearn_lessons.fault_tolerance.recipes.recipe import RECIPES, recipe
from tools.site.pages import folded, unsolved

__all__ = [
    "Lesson",
    "anchor",
    "exercises",
    "front",
    "glossary",
    "lessons",
    "recipes",
    "sources",
    "terms",
]

HERE = Path(__file__).parent
ROW = re.compile(r"^\| \[(\w+)\]\(notebooks/(\w+)\.ipynb\) \| (.+?) \| (.+?) \|", re.MULTILINE)
PARTS = {  # the first notebook of each part of the course
    "01": "The machine",
    "03": "CUDA",
    "10": "Gradient descent",
    "15": "Many GPUs",
    "A": "Beside the course",
}
SENTENCE = re.compile(r"(?:(?<=[.!?])|(?<=[.!?]\)))(?<!et al\.)\s+(?=[A-Z*(`])")
POINTS_BACK = re.compile(r"\W*(?:It|Its|Such|That|These|They|This|Their|The middle)\b")
INSIDE = re.compile(r"\]\((?!https?:|#|_static/)(?:\.\./)?([^)\s]+)\)")
LEXER = {"slurm": "bash", "ssh": "bash", "kubernetes": "yaml"}
LINK = re.compile(r'(?<!!)\[([^\]]+)\]\((https?://[^)\s]+)(?: "([^"]+)")?\)')
BARE = re.compile(r"[a-z]+$|in |\d|arXiv")  # so begins a citation without an author or a title
ARXIV = re.compile(r"arXiv[: ](\d{4}\.\d{4,5})")


class Lesson(NamedTuple):
    """A notebook of the course, as the README's table has it."""

    number: str
    name: str
    question: str
    minutes: str


def lessons(readme: str) -> list[Lesson]:
    """The course in its order."""
    return sorted(Lesson(*row) for row in ROW.findall(readme))


def anchor(title: str) -> str:
    """The name of a heading's place, as JupyterLab makes it."""
    return title.strip().replace(" ", "-")


def by_parts(course: list[Lesson]) -> Iterator[tuple[str, list[Lesson]]]:
    """The parts of the course with their lessons."""
    part, group = "", list[Lesson]()
    for lesson in course:
        if lesson.number in PARTS:
            if group:
                yield part, group
            part, group = PARTS[lesson.number], []
        group.append(lesson)
    yield part, group


def front(course: list[Lesson], notebooks: Mapping[str, NotebookNode], pages: list[str]) -> str:
    """The front page: the whole thing in one screen, then the map of the course."""
    count = {lesson.name: 0 for lesson in course}
    for exercise in catalogue().values():
        count[exercise.notebook] = count.get(exercise.notebook, 0) + 1
    text = (HERE / "front.md").read_text(encoding="utf-8")
    rows = []
    for part, group in by_parts(course):
        rows += [f"## {part}", "", "| notebook | question | minutes | exercises |"]
        rows += ["|---|---|---|---|"]
        rows += [
            f"| [{heading(notebooks[lesson.name])}](notebooks/{lesson.name}.ipynb) "
            f"| {lesson.question} | {lesson.minutes} | {count[lesson.name]} |"
            for lesson in group
        ] + [""]
        rows += tree(f"{part}", [f"notebooks/{lesson.name}" for lesson in group])
    return "\n".join([text, *rows, *tree("More", pages)])


def tree(caption: str, pages: list[str]) -> list[str]:
    """Sphinx's list of what stands below a page, which makes its menu."""
    return ["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""]


def exercises(course: list[Lesson], notebooks: Mapping[str, NotebookNode]) -> str:
    """All exercises: the task of each, where it is set, what is given, and its hints, folded."""
    text = [
        "# Exercises",
        "",
        "Each is judged by `gl.check` as soon as you run its cell. A wrong answer is told what it "
        "does instead, in one of the hints here or in a sentence made from its own result. "
        "[Teaching](teaching.md#set-an-exercise) says how to set one in a course of your own.",
        "",
    ]
    for lesson in course:
        own = [exercise for exercise in catalogue().values() if exercise.notebook == lesson.name]
        if own:
            text += [f"## {lesson.number} · {lesson.question}", ""]
        for entry in own:
            text += [
                f"({entry.name})=",
                f"### {entry.name}",
                "",
                literal(entry.task),
                "",
                f"Set in [{lesson.name}](notebooks/{lesson.name}.ipynb#Exercise:-{entry.name}).",
                "",
                folded_rows("What a student is given", given(entry.name, notebooks[lesson.name])),
                folded_rows("Hints", [f"1. {literal(hint)}" for hint in entry.answers.hints]),
            ]
    return "\n".join(text)


def folded_rows(title: str, rows: list[str]) -> str:
    """Markdown that a reader opens; empty lines tell it from the HTML around it."""
    return folded(title, "\n".join(["", "", *rows, "", ""])) + "\n"


def given(name: str, notebook: NotebookNode) -> list[str]:
    """The cell with an exercise's stub, and the one that checks what is made of it.

    Raises:
        SystemExit: the notebook has none.
    """
    cells = [cell for cell in unsolved(notebook.cells) if cell.cell_type == "code"]
    for stub, check in pairwise(cells):
        if has(stub, "exercise") and has(check, "check") and checked(check) == name:
            rows = [stub.source.strip(), "", "", check.source.strip()]
            return ["```python", *"\n".join(rows).splitlines(), "```"]
    raise SystemExit(f"No cell of its notebook checks the exercise {name!r}.")


def terms() -> dict[str, str]:
    """The words that the glossary explains, as the course writes them where it introduces them.

    Each leads to the sentence of glossary.txt that stands for the course's, or to "".
    """
    lines = (HERE / "glossary.txt").read_text(encoding="utf-8").splitlines()
    return {term: text for term, _, text in (line.partition(": ") for line in lines)}


def glossary(notebooks: Mapping[str, NotebookNode]) -> str:
    """Each term with the sentences that introduce it, and where they stand.

    Raises:
        SystemExit: a term is introduced nowhere.
    """
    text = [
        "# Glossary",
        "",
        "Each term in a sentence or two, mostly the course's own; the number behind them leads to "
        "where the course introduces it.",
        "",
    ]
    text += ["```{glossary}"]  # the search knows what stands in one
    for term, ours in sorted(terms().items(), key=lambda item: item[0].lower()):
        introduction = introduced(term, notebooks)
        if introduction is None:
            raise SystemExit(f"No notebook introduces **{term}**: take it from glossary.txt.")
        name, heading, sentence = introduction
        place = f"notebooks/{name}.ipynb#{anchor(heading)}"
        text += [term, f"  {ours or sentence} ([{name.partition('_')[0]}]({place}))", ""]
    return "\n".join([*text, "```", ""])


def introduced(term: str, notebooks: Mapping[str, NotebookNode]) -> tuple[str, str, str] | None:
    """Notebook, heading and sentence in which a term stands in bold for the first time.

    There it may begin a sentence, with a capital, or stand for a point of a list, with a colon.
    """
    bold = re.compile(rf"\*\*[{term[0]}{term[0].upper()}]{re.escape(term[1:])}:?\*\*")
    for name, notebook in notebooks.items():
        heading = ""
        for cell in notebook.cells:
            if cell.cell_type != "markdown":
                continue
            for line in cell.source.splitlines():
                if line.startswith("#"):
                    heading = line.lstrip("# ")
                elif match := bold.search(line):
                    return name, heading, around(match.group(), SENTENCE.split(line))
    return None


def around(words: str, sentences: list[str]) -> str:
    """The sentence with these words; before it the one that it points back to, if it does."""
    here = next(number for number, sentence in enumerate(sentences) if words in sentence)
    first = here - 1 if here and POINTS_BACK.match(sentences[here]) else here
    text = " ".join(sentences[first : here + 1]).lstrip("-| ")
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    if text.count("(") != text.count(")"):  # it stood with others in brackets
        text = text.removeprefix("(").removesuffix(")")
    return re.sub(r"[:;]$", ".", text)


def document(text: str, address: str) -> str:
    """A page of `docs/`, with its pictures, and with links into the repository."""
    text = text.replace("](../notebooks/images/", "](_static/")
    return INSIDE.sub(lambda match: f"]({address}/blob/main/{match[1]})", text)


def recipes() -> str:
    """The scripts that start a run on a cluster, each as it stands in the package."""
    text = [
        "# Recipes",
        "",
        "Scripts that start the course's training on several machines; "
        "[21](notebooks/21_fault_tolerance.ipynb) explains them, and "
        "`fault_tolerance.recipe` returns each by its name.",
        "",
    ]
    for name in RECIPES:
        text += [f"## {name}", "", f"```{{code-block}} {LEXER[name.partition('_')[0]]}"]
        text += [recipe(name).rstrip(), "```", ""]
    return "\n".join(text)


def sources(course: list[Lesson], notebooks: Mapping[str, NotebookNode]) -> str:
    """What the notebooks cite, by notebook."""
    text = ["# Sources", "", (HERE / "numbers.md").read_text(encoding="utf-8")]
    for lesson in course:
        prose = [c.source for c in notebooks[lesson.name].cells if c.cell_type == "markdown"]
        cited = [row for source in prose for row in citations(source)]
        if cited:
            text += [f"## {lesson.number} · {lesson.question}", ""]
            text += [f"- {row}" for row in dict.fromkeys(cited)] + [""]
    return "\n".join(text)


def citations(source: str) -> Iterator[str]:
    """The papers and pages that a piece of prose names, as Markdown links."""
    for title, address, whole in LINK.findall(source):
        if whole:  # what a reader of the notebook sees when the pointer rests on the link
            yield f"[{whole}]({address})"
        elif "colab.research.google.com" not in address:
            link = f"[{title}]({address})"
            yield cited_in(source, link) if BARE.match(title) else link
    for inside in re.findall(r"\(([^()]*arXiv[: ]\d{4}\.\d{4,5}[^()]*)\)", source):
        number = ARXIV.search(inside)
        if number and "](" not in inside:
            citation = cited_in(source, inside) if BARE.match(inside) else inside
            yield f"{citation} ([arXiv](https://arxiv.org/abs/{number[1]}))"


def cited_in(source: str, words: str) -> str:
    """The sentence that cites; the words alone where they are no part of one sentence."""
    sentences = (sentence for line in source.splitlines() for sentence in SENTENCE.split(line))
    return next((sentence.strip("-| ") for sentence in sentences if words in sentence), words)
