"""The file of an exercise's hints: what it may hold, and what is said of a broken one."""

import functools
import inspect
import linecache
import math
import re

import pytest

from gpulearn.errors import BadInput
from gpulearn.judge import hints
from gpulearn.judge.diagnosis import diagnose
from gpulearn.judge.exercise import Case, Exercise
from simt.cpp.source import CppSource

LIMIT = 10


def total(values, start=0):
    result = start
    for value in values:
        if value > LIMIT:
            result += LIMIT
        else:
            result += value
    return result


def empty(values, start=0):
    return 0


@pytest.fixture
def known(tmp_path):
    """What reads a text as the hints of `total`."""

    def read(text, solution=total, **texts):
        path = tmp_path / "total.hints"
        path.write_text(text, encoding="utf-8")
        return hints.read(path, solution, texts)

    return read


def edited(known, text):
    """The source of the one answer in a text, without its first line."""
    (wrong,) = known(text).wrongs
    return inspect.getsource(wrong.answer).split("\n", 1)[1].rstrip()


def body(old, new):
    source = inspect.getsource(total).split("\n", 1)[1].rstrip()
    assert source.count(old) == 1
    return source.replace(old, new)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("value > LIMIT → value >= LIMIT", "> LIMIT", ">= LIMIT"),
        ("return result → return", "return result", "return"),
        ("result = start →\nreturn result → return 0", "", ""),
        ("- result += value\n+ result -= value", "+= value", "-= value"),
        ("-     result += value\n+     result -= value", "+= value", "-= value"),
        (
            "- if value > LIMIT:\n-     result += LIMIT\n- else:\n-     result += value\n"
            "+ result += value",
            "        if value > LIMIT:\n            result += LIMIT\n        else:\n    ",
            "",
        ),
        ("  result = start\n+ start = 1", "start\n", "start\n    start = 1\n"),
        ("+ start = 1\n  result = start", "    result = s", "    start = 1\n    result = s"),
        (
            "      result += LIMIT\n+     break\n  else:",
            "+= LIMIT\n",
            "+= LIMIT\n            break\n",
        ),
    ],
)
def test_an_edit_is_text_in_a_line_or_lines_as_in_a_patch(known, text, old, new):
    wanted = (
        body(old, new) if old else body("result = start", "").replace("return result", "return 0")
    )
    assert edited(known, f"{text}\n> A hint.\n") == wanted


def test_lines_that_are_apart_are_separated_by_dots(known):
    text = "- result = start\n+ result = 1\n...\n- return result\n+ return -result\n> A hint.\n"
    (wrong,) = known(text).wrongs
    assert wrong.answer([2, 20]) == -13


def test_answers_have_hints_in_their_order_and_are_made_when_they_are_asked_for(known):
    answers = known(
        "ONCE = say it\n    once, {TWICE}.\nTWICE = {ONCE}\n\n".replace("{TWICE}", "or twice")
        + "# a comment\n"
        "result = start → result = 1\nor\nreturn result → return 2\n> {ONCE} {ADVICE}\n\n"
        "nothing like it → 1\n> a hint\n> of two lines.\n",
        ADVICE="And this.",
        OTHER=3,
    )
    assert answers.hints == {"say it once, or twice. And this.": 2, "a hint of two lines.": 1}
    assert [wrong.answer([]) for wrong in answers.wrongs[:2]] == [1, 2]
    assert answers.wrongs[0].answer is answers.wrongs[0].answer
    assert (answers.rights, answers.given) == ([], None)


def test_functions_are_written_out_or_named_and_edits_may_start_from_them(known):
    answers = known(
        "import math\n\nSCALE = 2\n\ndef twice(x):\n    return SCALE * x\n---\n"
        "def by_fsum(values, start=0):\n    # exact\n\n"
        "    def low(x):\n        return min(x, LIMIT)\n\n"
        "    return start + math.fsum(map(low, values))\n✓\n\n"
        "edits of by_fsum\n\nmap(low, values) → values\n> it has no limit.\n\n"
        "edits of total\n\nresult += LIMIT → result += twice(LIMIT)\ngiven\n> twice the limit.\n\n"
        "empty\n> it is zero.\n"
    )
    assert [right([3, 30]) for right in answers.rights] == [13]
    assert [wrong.answer([3, 30]) for wrong in answers.wrongs] == [33, 23, 0]
    assert answers.wrongs[2].answer is empty
    assert answers.given is answers.wrongs[1].answer
    assert answers.rights[0].__globals__["math"] is math


def test_what_is_given_need_not_be_told_anything(known):
    answers = known("result = start → result = 0\ngiven\n")
    assert answers.given([1], 5) == 1
    assert answers.wrongs == []


def test_each_answer_has_values_of_its_own(known):
    text = "seen = []\n---\nreturn result → seen.append(1); return len(seen)\n"
    answers = known(text + "or\nresult = start → result = len(seen)\n> It keeps what it saw.\n")
    first, second = (wrong.answer for wrong in answers.wrongs)
    assert (first([]), first([]), second([])) == (1, 2, 0)


def test_a_kernel_in_cuda_cpp_is_edited_as_a_text(known):
    kernel = CppSource(
        "twice", "__global__ void twice(float* x) {\n  x[0] *= 2;  // so\n}\n", "twice"
    )
    (wrong, lines) = known("*= 2 → *= 3\nor\n-   x[0] *= 2;  // so\n> Twice.\n", kernel).wrongs
    assert "x[0] *= 3;" in wrong.answer.text
    assert "x[0]" not in lines.answer.text
    with pytest.raises(BadInput, match="line 1: the edit changes nothing in twice"):
        known("// so → // as\n> Twice.\n", kernel).wrongs[0].answer  # noqa: B018


def test_the_source_of_an_answer_is_found_where_the_cache_of_lines_is_cleared(known, monkeypatch):
    monkeypatch.setattr(linecache, "cache", dict(linecache.cache))  # other tests keep theirs
    (wrong,) = known("result = start → result = 0\n> A hint.\n").wrongs
    for _ in range(2):
        assert "result = 0" in inspect.getsource(wrong.answer)
        linecache.clearcache()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a → b\n", "line 2: the answer above has no hint: write one after >, or ✓"),
        ("def f(): pass\n\ndef g(): pass\n> A hint.\n", "line 3: the answer above has no"),
        ("> A hint.\n", "line 1: an answer is missing here: write an edit `old → new`"),
        ("a → b\nor\n> A hint.\n", "line 3: an answer is missing here"),
        ("\na = b\n> A hint.\n", "line 2: `a = b` is no answer: write an edit `old → new`"),
        ("nobody\n> A hint.\n", "line 1: there is no function nobody: write it out, or import it"),
        ("edits of nobody\n", "line 1: there is no function nobody"),
        ("a → b\n> So {WHAT} it.\n", "line 2: there is no text {WHAT}: define it above, as WH"),
        ("import\n---\n", "line 1: Python cannot read what stands above ---"),
        ("1 / 0\n---\nempty\n> A hint.\n", "line 1: what stands above --- cannot be run"),
    ],
)
def test_a_broken_file_is_told_in_one_sentence(known, text, said):
    with pytest.raises(BadInput, match=re.escape(f"total.hints, {said}")):
        known(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("start → 1", "line 1: `start` occurs 2 times in what is edited: write more of"),
        ("start = 2 → 1", "line 1: `start = 2` occurs nowhere in what is edited: copy it from"),
        ("return result → return 1\nresult → 1", "line 2: `result` occurs 4 times"),
        ("- break", "line 1: the line `break` occurs nowhere in what is edited: copy them from"),
        ("- return result\n- break", "line 1: these lines occur nowhere"),
        ("+ break", "line 1: no line says where the new ones come: write the line above them, too"),
        ("return result → return  result", "line 1: the edit changes nothing in total"),
        ("return result → return (", "line 1: Python cannot read this answer: "),
        ("return result → return\n- return result", "line 1: 'return result' overlaps the place"),
        ("def f():\n    return (", "line 1: Python cannot read this answer: "),
    ],
)
def test_an_answer_that_cannot_be_made_is_told_in_one_sentence(known, text, said):
    (wrong,) = known(f"{text}\n> A hint.\n").wrongs
    with pytest.raises(BadInput, match=re.escape(f"total.hints, {said}")):
        wrong.answer  # noqa: B018


def test_lines_that_stand_twice_need_a_neighbor(known):
    def twice(x):
        if x:
            x += 1
        if not x:
            x += 1
        return x

    with pytest.raises(BadInput, match="occurs 2 times in what is edited: write the line above"):
        known("- x += 1\n+ x += 2\n> A hint.\n", twice).wrongs[0].answer  # noqa: B018
    (wrong,) = known("  if not x:\n-     x += 1\n+     x += 2\n> A hint.\n", twice).wrongs
    assert (wrong.answer(0), wrong.answer(1)) == (2, 2)


def test_the_file_is_read_when_an_answer_is_wrong_and_not_before(tmp_path):
    path = tmp_path / "total.hints"
    exercise = Exercise(
        "Add.",
        total,
        lambda: [Case("two", ([1, 20],))],
        known=functools.cache(lambda: hints.read(path, total)),
    )
    path.write_text("broken\n")
    assert diagnose(exercise, total) is None
    with pytest.raises(BadInput, match="total.hints, line 1"):
        diagnose(exercise, empty)
    path.write_text("return result → return 0\n> nothing is returned but zero.\n", encoding="utf-8")
    assert diagnose(exercise, empty) == "nothing is returned but zero."
