"""The minutes that a novice needs for a notebook, counted in one way; `python -m` prints them all.

What is counted, and how long one of it takes:

- words of prose, 130 a minute. Students read to learn at about 200 words a minute and to remember
  at 138 (R. P. Carver, "Reading Rate", 1990). Here symbols of formulas count as words, and take
  longer.
- lines of code to read, 8 seconds each. Reviewers prepare application code at about 500 lines an
  hour, 7 seconds a line (W. S. Humphrey, 1989, by S. McConnell, "Code Complete"); novices are
  slower, and our lines shorter.
- cells to run, 45 seconds each: run it, find in the output what the text speaks of. A guess.
- predictions, 90 seconds each: think, choose, compare with what came. A guess.
- exercises by kind, in minutes, with what the check says to one wrong answer (guesses, too):
  a formula 3; another function 5, and half a minute for each line to write; a kernel 4, and a
  minute for each line; a program to mend 9, and 3 for each mistake after the second.

The guesses were set so that the count agreed in the mean, within a twentieth, with what ten careful
readers needed for ten notebooks as they stood in 2026. A single reader is off by a fifth either
way, and four who read as novices needed a quarter to two fifths more, as the README says.
"""

import itertools
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nbformat import NotebookNode

from gpulearn.judge.catalogue import catalogue
from gpulearn.judge.cells import has, stub_name
from tests.notebooks.harness import NOTEBOOKS, solution_of
from tests.notebooks.markup import headings
from tests.notebooks.page import Finding, Page, read

WORDS = 130  # a minute
LINE, RUN, PREDICTION = 8 / 60, 45 / 60, 1.5  # minutes
FORMULA, MEND, MISTAKE = 3.0, 9.0, 3.0
MISTAKES = {"three mistakes": 3, "five mistakes": 5}  # in a task's words
FUNCTION, KERNEL = (5.0, 0.5), (4.0, 1.0)  # minutes, and minutes for each line to write

MOST = 75  # minutes of a sitting
MARGIN = 0.1  # between what a notebook says and the count; 5 minutes are always allowed
STOP = "**A good place to stop.**"  # begins the sentence at a stop
OPENING = "What you will do"
SHORT = re.compile(r"\*\*Short course:\*\* (sections? [\d ,toand]+), about (\d+) minutes")


@dataclass
class Part:
    """A section, or what stands before the first."""

    title: str
    words: int = 0
    lines: int = 0
    runs: int = 0
    predictions: int = 0
    exercises: list[tuple[str, float]] = field(default_factory=list)  # kind, minutes

    @property
    def minutes(self) -> float:
        return (
            self.words / WORDS
            + self.lines * LINE
            + self.runs * RUN
            + self.predictions * PREDICTION
            + sum(taken for _, taken in self.exercises)
        )


def parts(notebook: NotebookNode) -> list[Part]:
    """What a notebook holds: before its first section, and section by section.

    What follows the last section, the answer and where to go next, is counted with it.
    """
    found = [Part("")]
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            for level, text in headings(cell.source):
                if level == 2 and re.match(r"\d+ · ", text):
                    found.append(Part(text))
            found[-1].words += words(cell.source)
        elif has(cell, "exercise"):
            check = notebook.cells[index + 1] if index + 1 < len(notebook.cells) else cell
            task = notebook.cells[index - 1].source
            found[-1].exercises.append(exercise(cell, check, task))
        elif cell.source.startswith("gl.predict("):
            found[-1].predictions += 1
            found[-1].words += words(cell.source)
        elif not (has(cell, "setup") or has(cell, "check")):
            found[-1].runs += 1
            found[-1].lines += lines(cell.source)
    return found


def words(text: str) -> int:
    """Words and numbers; what a link leads to is not read."""
    return len(re.findall(r"\w[\w'’.,]*", re.sub(r"\]\([^)]*\)", "]", text)))


IMPORT = re.compile(r"^from gpulearn_lessons[\w.]* import (?:\([^)]*\)|.*)$", re.MULTILINE)


def lines(source: str) -> int:
    """Lines of code, without comments and the `...` of a stub, nor imports of lessons."""
    kept = (line.strip() for line in IMPORT.sub("", source).splitlines())
    return sum(not (line == "..." or line.startswith(("#", "//"))) for line in kept if line)


def exercise(stub: NotebookNode, check: NotebookNode, task: str) -> tuple[str, float]:
    """Kind and minutes of an exercise: by what its solution has and its stub has not."""
    given, name = lines(stub.source), stub_name(stub, catalogue())
    if name is None:  # another rule says so
        return "formula", FORMULA
    solution = solution_of(name)
    written = max(lines(solution) - given, 0)
    if given > 5 and 2 * written <= given:
        mistakes = max([2, *(n for words, n in MISTAKES.items() if words in task)])
        return "mend", MEND + MISTAKE * (mistakes - 2)
    if any(mark in solution for mark in ("cuda.jit", "triton.jit", "__global__")):
        return "kernel", KERNEL[0] + KERNEL[1] * written
    if written <= 2:
        return "formula", FORMULA
    return "function", FUNCTION[0] + FUNCTION[1] * written


Sittings = tuple[list[float], list[int]]  # minutes of each, and after which sections the stops are


def sat(found: Sequence[Part], stops: Sequence[int]) -> list[float]:
    """Minutes of each sitting; a stop is the number of the section after which it stands."""
    ends = [0, *(stop + 1 for stop in stops), len(found)]
    return [
        sum(part.minutes for part in found[start:end]) for start, end in itertools.pairwise(ends)
    ]


def best(found: Sequence[Part]) -> Sittings:
    """The fewest sittings of at most `MOST` minutes, or of the longest section; the most even."""
    sections = range(1, len(found) - 1)
    allowed = max(MOST, rounded(max(sat(found, sections))))  # no stop within a section
    for count in range(len(found)):
        ways = (list(stops) for stops in itertools.combinations(sections, count))
        stops = min(ways, key=lambda stops: max(sat(found, stops)))
        if rounded(max(sat(found, stops))) <= allowed:
            break
    return sat(found, stops), stops


def rounded(taken: float) -> int:
    return max(5, 5 * round(taken / 5))


def sentence(said: Sequence[int], stops: Sequence[int]) -> str:
    """What a notebook says of its minutes."""
    text = f"about {sum(said)} minutes, exercises included"
    if stops:
        number = ("two", "three", "four", "five")[len(stops) - 1]
        legs = [
            f"{n} to the stop after section {stop}" for n, stop in zip(said, stops, strict=False)
        ]
        text += f", in {number} sittings: about {', '.join(legs)}, {said[-1]} after it"
    return text


SAID = re.compile(
    r"about (\d+) minutes, exercises included(?:, in \w+ sittings: about (.+), (\d+) after it)?"
)


def stated(text: str) -> tuple[list[int], list[int]] | None:
    """The minutes of each sitting and the stops that a text tells of, if it has that form."""
    if (found := SAID.search(text)) is None:
        return None
    total, legs, last = found.groups()
    if legs is None:
        return [int(total)], []
    pairs = re.findall(r"(\d+) to the stop after section (\d+)", legs)
    said, stops = [*(int(n) for n, _ in pairs), int(last)], [int(stop) for _, stop in pairs]
    return (said, stops) if sentence(said, stops) == found[0] else None


def minutes(page: Page) -> Iterator[Finding]:
    """It must say how long it takes, near the count, and where to stop if that is long."""
    opening = [i for i, level, text in page.headings() if (level, text) == (2, OPENING)]
    if not opening:  # another rule says so
        return
    found = parts(page.notebook)
    said, stops = stated(page.notebook.cells[opening[0]].source) or ([], [])
    if any(stop >= len(found) - 1 for stop in stops):
        said, stops = [], []
    counted = sat(found, stops)
    if rounded(max(counted)) > MOST or not stops:
        counted, stops_wanted = best(found)
    else:
        stops_wanted = stops
    near = [abs(a - b) <= max(5, MARGIN * b) for a, b in zip(said, counted, strict=False)]
    if stops != stops_wanted or len(said) != len(counted) or not all(near):
        wanted = sentence([rounded(one) for one in counted], stops_wanted)
        yield (
            opening[0],
            f"{told(said)}; the count is {sum(counted):.0f}: write '{wanted}', and in the README "
            f"'{shown([rounded(one) for one in counted])}'",
        )
        return
    yield from places_to_stop(page, stops)


def told(said: Sequence[int]) -> str:
    return f"says {shown(said)} minutes" if said else "does not say how long it takes"


def shown(said: Sequence[int]) -> str:
    """As in the README's table."""
    return " + ".join(map(str, said))


def places_to_stop(page: Page, stops: Sequence[int]) -> Iterator[Finding]:
    """Each stop has its sentence at the end of its section, and no other cell has one."""
    section, marked = 0, {}
    for index, cell in page.cells("markdown"):
        ahead = [t for level, t in headings(cell.source) if level == 2]
        section += any(re.match(r"\d+ · ", text) for text in ahead)
        if STOP in cell.source:
            marked[section] = index
    for stop in stops:
        if stop not in marked:
            yield None, f"section {stop} must end with '{STOP}', what is done and what comes"
    for stop, index in marked.items():
        if stop not in stops:
            yield index, f"stops after section {stop}, and the beginning says nothing of it"


def share(notebook: NotebookNode) -> tuple[str, list[int], int] | None:
    """A notebook's share of the short course, if it has one: in words, its sections, minutes."""
    if (said := SHORT.search("\n".join(cell.source for cell in notebook.cells))) is None:
        return None
    spans = re.findall(r"(\d+)(?: to (\d+))?", said[1])
    sections = [n for a, b in spans for n in range(int(a), int(b or a) + 1)]
    return said[1], sections, int(said[2])


def short_course(page: Page) -> Iterator[Finding]:
    """The minutes of a notebook's share of the short course must be near the count."""
    if said := share(page.notebook):
        found, (words, sections, minutes) = parts(page.notebook), said
        counted = sum(found[n].minutes for n in (0, *sections) if n < len(found))
        if sections[-1] >= len(found) or abs(minutes - counted) > max(5, MARGIN * counted):
            yield None, f"the short course's {words} take {counted:.0f} minutes, not {minutes}"


def readme_minutes(text: str, notebooks: Mapping[str, NotebookNode]) -> Iterator[str]:
    """The rows of the README's tables whose minutes are not those that their notebook says."""
    for name, notebook in notebooks.items():
        row = re.search(rf"\]\(notebooks/{name}\.ipynb\) \|[^|]*\| ([^|]*) \|", text)
        source = "\n".join(cell.source for cell in notebook.cells if OPENING in cell.source)
        said, _ = stated(source) or ([], [])
        short = re.search(rf"\]\(notebooks/{name}\.ipynb\), (.*?) \|.*\| (\d+) \|", text)
        if (short and (short[1], int(short[2]))) != ((s := share(notebook)) and (s[0], s[2])):
            yield f"README.md and {name} say different things of its share of the short course"
        if row and said and row[1] != shown(said):
            yield f"README.md says {row[1]} minutes of {name}, and the notebook {shown(said)}"


def main() -> None:
    """Print the count of every notebook, or of those whose numbers are given."""
    asked = tuple(sys.argv[1:])
    print("       words  lines  cells  asks  exercises                      minutes  sittings")
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if asked and not path.stem.startswith(asked):
            continue
        found = parts(read(path))
        kinds = Counter(kind for part in found for kind, _ in part.exercises)
        taken, stops = best(found)
        sums = [
            sum(getattr(part, what) for part in found)
            for what in ("words", "lines", "runs", "predictions")
        ]
        print(
            path.stem[:2],
            "   ",
            *(f"{one:6}" for one in sums),
            f" {', '.join(f'{n} {kind}' for kind, n in kinds.items()):40}",
            f"{sum(taken):5.0f}  {shown([rounded(one) for one in taken])}, stops after {stops}",
        )
        for number, part in enumerate(found if asked else []):
            print(f"      {number:2} {part.minutes:5.1f}  {part.title}")


if __name__ == "__main__":
    main()
