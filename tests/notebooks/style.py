"""What every notebook has in common, rule by rule; a finding is one line.

`FRAME` is the order of the headings of level 2. The first cell stands above it: title, one
question, Colab badge. The set-up cell and the banner follow the first heading.
"""

import ast
import contextlib
import re
import statistics
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from nbformat import NotebookNode

from gpulearn.judge.catalogue import catalogue
from gpulearn.judge.cells import checked, has, stub_name
from tests.notebooks.harness import NOTEBOOKS
from tests.notebooks.markup import pictures_without_words, prose
from tests.notebooks.minutes import minutes, short_course
from tests.notebooks.page import Finding, Page, calls
from tests.notebooks.references import links_lead_somewhere
from tools import links

SECTIONS = "1 · …, 2 · …"
FRAME = ("What you will do", SECTIONS, "The answer", "Exercises", "Where to go next")
EXERCISE = "Exercise: "  # begins the title of one that stands beside its section
MEDIAN_LINES, MOST_LINES = 5, 20
PROGRAM_LINES = 40  # of a cell that is tagged program, a whole one
DRAWS = ("gl.plot.", "gl.show")
MOST_WORDS = 6  # of a text in a call that draws, such as the name of an axis

# in code outside the set-up cell -> why not
FORBIDDEN = {
    r"^\s*[!%]\s*(pip|conda|uv|mamba)\b": "installs packages outside the set-up cell",
    r"^\s*%%(writefile|file)\b": "writes a file: what another process runs lives in the package",
    r"\b(wget|curl|urlretrieve|urlopen)\b": "fetches from the network",
    r"\bsys\.path\b": "changes sys.path",
    r"\bpyplot\b|\bplt\.": "draws with pyplot, whose pictures have no alt text: use gl.show",
    r"(?<!\.)\bImage\(": "shows an Image, whose alt JupyterLab drops: use gl.show",
}


Rule = Callable[[Page], Iterator[Finding]]


def findings(
    notebook: NotebookNode,
    name: str,
    folder: Path = NOTEBOOKS,
    exercises: Collection[str] | None = None,
    address: str | None = None,
) -> list[str]:
    """All findings on one notebook; `name` is its file's name without `.ipynb`.

    Unless they are given, exercises and address are those of the course.
    """
    if exercises is None:
        exercises = [e.name for e in catalogue().values() if e.notebook == name]
    page = Page(notebook, name, folder, exercises, address or links.repository())
    found = [finding for rule in RULES for finding in rule(page)]
    found.sort(key=lambda finding: -1 if finding[0] is None else finding[0])
    return [
        f"{name}.ipynb{'' if index is None else f' cell {index + 1}'}: {text}"
        for index, text in found
    ]


def stored_without_outputs(page: Page) -> Iterator[Finding]:
    for index, cell in page.cells("code"):
        if cell.outputs or cell.execution_count is not None:
            yield index, "is stored with outputs or an execution count: run nb-clean"


def ids(page: Page) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, cell in enumerate(page.notebook.cells):
        if not cell.get("id"):
            yield index, "has no id"
        elif cell.id in seen:
            yield index, f"has the id {cell.id!r} of another cell"
        else:
            seen.add(cell.id)


def opening(page: Page) -> Iterator[Finding]:
    first = page.notebook.cells[0]
    badge = links.badge(page.address, page.name)
    number = page.name.partition("_")[0]
    if not re.match(rf"# {number} · \S", first.source):
        yield 0, f"must start with '# {number} · ' and the title"
    if (count := len(re.findall(r"\?(?=\W|$)", prose(first.source).replace(badge, "")))) != 1:
        yield 0, f"asks {count} questions: a notebook asks one"
    if badge not in first.source:
        yield 0, f"lacks this notebook's Colab badge: {badge}"


def frame(page: Page) -> Iterator[Finding]:
    titles = [index for index, level, _ in page.headings() if level == 1]
    yield from ((index, "has a second title: sections start with '##'") for index in titles[1:])
    place, met, sections = 0, [], 0
    for index, level, text in page.headings():
        if level != 2:
            continue
        key = SECTIONS if re.match(r"\d+ · \S", text) else text
        if key not in FRAME:
            yield index, f"'## {text}' is not in the frame: {'; '.join(FRAME)}"
            continue
        if FRAME.index(key) < place or (key in met and key != SECTIONS):
            yield index, f"'## {text}' is out of order: {'; '.join(FRAME)}"
        place = max(place, FRAME.index(key))
        met.append(key)
        if key == SECTIONS:
            sections += 1
            if not text.startswith(f"{sections} · "):
                yield index, f"'## {text}' is section {sections}"
    beside = any(t.startswith(EXERCISE) for _, level, t in page.headings() if level == 3)
    wanted = [key for key in FRAME if key != "Exercises" or not beside]
    yield from ((None, f"lacks the heading '## {key}'") for key in wanted if key not in met)


def set_up_and_banner(page: Page) -> Iterator[Finding]:
    tagged = [index for index, cell in page.cells("code") if has(cell, "setup")]
    code = [index for index, _ in page.cells("code")]
    if tagged != code[:1]:
        yield None, "the first code cell, and no other, must be tagged setup"
    for index in tagged:
        if page.notebook.cells[index].source != links.setup_cell(page.address, page.name):
            yield index, "is not the set-up cell of tools.links: run make links"
    source = page.notebook.cells[code[1]].source if len(code) > 1 else ""
    if "import gpulearn as gl" not in source or source.splitlines()[-1] != "gl.banner()":
        yield None, "the second code cell must import gpulearn as gl and end with gl.banner()"


def lengths(page: Page) -> Iterator[Finding]:
    asked, code = [], []  # a question is prose
    for index, cell in page.cells("code"):
        (asked if cell.source.startswith("gl.predict(") else code).append((index, cell))
    imports = re.compile(r"^(?:from|import) .*?(?:\([^)]*\))?$", re.MULTILINE)
    lines = {
        index: sum(map(bool, imports.sub("", cell.source).splitlines())) for index, cell in code
    }
    for index, count in lines.items():
        most = PROGRAM_LINES if has(page.notebook.cells[index], "program") else MOST_LINES
        if count > most:
            yield index, f"has {count} lines: none over {most}"
    if lines and (median := statistics.median(lines.values())) > MEDIAN_LINES:
        yield None, f"its code cells have a median of {median:g} lines: at most {MEDIAN_LINES}"
    texts = len(page.cells("markdown")) + len(asked)
    if texts < len(code):
        yield None, f"has {len(code)} code cells and only {texts} cells of prose"
    for index, cell in enumerate(page.notebook.cells):
        if not cell.source.strip():
            yield index, "is empty"


def forbidden(page: Page) -> Iterator[Finding]:
    for index, cell in page.cells("code"):
        for pattern, why in FORBIDDEN.items():
            if not has(cell, "setup") and re.search(pattern, cell.source, re.MULTILINE):
                yield index, why


def words_for_pictures(page: Page) -> Iterator[Finding]:
    for index, cell in page.cells("markdown"):
        for picture in pictures_without_words(cell.source):
            yield index, f"the picture {picture} has no alternative text"
    for index, cell in page.cells("code"):
        for call in calls(cell.source, "gl.show"):
            if len(call.args) < 2 and not any(word.arg == "alt" for word in call.keywords):
                yield index, "gl.show lacks alt=…, the sentence that states what is seen"
        if any(map(has_a_sentence, drawing(cell.source))):
            yield (
                index,
                "tells in code what will be seen: a figure makes its sentence from its data",
            )


def drawing(source: str) -> Iterator[ast.Call]:
    """The calls of a cell that draw."""
    with contextlib.suppress(SyntaxError):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(DRAWS):
                yield node


def has_a_sentence(call: ast.Call) -> bool:
    """Whether an argument is a text of so many words that it says what is seen."""
    given = [*call.args, *(word.value for word in call.keywords)]
    texts = [arg.value for arg in given if isinstance(arg, ast.Constant)]
    return any(isinstance(text, str) and len(text.split()) > MOST_WORDS for text in texts)


def exercises(page: Page) -> Iterator[Finding]:
    cells, set_here = page.notebook.cells, []
    for index, cell in enumerate(cells):
        if has(cell, "exercise"):
            name = stub_name(cell, page.exercises)
            set_here.append(name)
            following = cells[index + 1] if index + 1 < len(cells) else None
            if name is None:
                yield index, "is tagged exercise, but holds no stub of this notebook's exercises"
            elif following is None or following.source != f'gl.check("{name}", {name})':
                yield index, f'must be followed by a cell with gl.check("{name}", {name})'
            elif not (has(following, "check") and has(following, "raises-exception")):
                yield index + 1, "must be tagged check and raises-exception"
        elif cell.cell_type == "code" and (has(cell, "check") or checked(cell)):
            before = cells[index - 1] if index else None
            if before is None or not has(before, "exercise"):
                yield index, "checks an exercise, and no exercise stands before it"
    titles = [text for _, level, text in page.headings() if level == 3]
    for name in page.exercises:
        if set_here.count(name) != 1:
            yield None, f"sets the exercise {name} {set_here.count(name)} times: once is right"
        if not {name, EXERCISE + name} & set(titles):
            yield None, f"lacks the heading '### {EXERCISE}{name}'"


RULES: tuple[Rule, ...] = (
    stored_without_outputs,
    ids,
    opening,
    frame,
    minutes,
    short_course,
    set_up_and_banner,
    lengths,
    forbidden,
    words_for_pictures,
    links_lead_somewhere,
    exercises,
)
