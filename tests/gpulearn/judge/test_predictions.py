"""Predictions: what may be said, what comes of it, and that each is asked where it belongs."""

import json
import math
import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn.judge import predict as asking
from gpulearn.judge import progress
from gpulearn.judge.prediction import Choices, Number, parse, predictions
from tests.notebooks.harness import NOTEBOOKS
from tests.notebooks.page import read

ALL = list(predictions().values())
CALL = re.compile(r'^gl\.predict\(\s*"(\w+)", "([^"]+\?)"\s*\)$')


@pytest.fixture(autouse=True)
def own_progress(monkeypatch):
    monkeypatch.setattr(progress, "_here", [])


def test_each_wrong_answer_has_a_short_sentence_of_its_own():
    for one in ALL:
        sentences = list(one.misconceptions.values())
        assert len(set(sentences)) == len(sentences), one.name
        for sentence in sentences:
            assert sentence.endswith((".", "…")), sentence
            assert len(sentence) < 160, sentence


def test_each_prediction_is_asked_once_in_its_notebook_and_says_no_answer():
    asked = {}
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        for cell in read(path).cells:
            if cell.cell_type == "code" and "gl.predict(" in cell.source:
                call = CALL.match(cell.source)
                assert call, cell.source  # one line, and the question alone
                assert call[1] not in asked
                asked[call[1]] = path.stem
    assert asked == {one.name: one.notebook for one in ALL}


def test_a_busy_machine_does_not_contradict_what_is_right():
    asked = predictions()["rate_of_a_small_product"]
    names = {"gl": SimpleNamespace(perf=SimpleNamespace(rates=list)), "numpy_times": [9e9, 5e9]}
    came = "9 GFLOP/s against 5, but this machine is busy"
    assert asked.judged("lower", asked.value(names)) == (True, came, "")
    names["numpy_times"] = [9e9, 50e9]
    assert asked.value(names) == "9 GFLOP/s against 50"


# --- what is said

SECTORS = Number("sectors", "sectors", {32: "32 would be a column."}, came="n", within=0.01)
SIDES = Choices("sides", {"left": "That would need a mirror.", "right": ""}, came="'it is right'")
RACE = Choices(
    "race",
    {"10": "Ten is a loop in C.", "1,000": "That would be all cores."},
    came="ratio",
    pick="'10' if came < 100 else '1,000'",
)


@given(st.floats(min_value=-1e12, max_value=1e12).filter(lambda x: x == 0 or abs(x) > 1e-6))
def test_any_way_to_write_a_number_is_read(number):
    for text in (repr(number), f"  {number!r} sectors", f"{number:,.6f}", f"{number:e}"):
        read = SECTORS.read(text)
        assert float(read.split()[0].replace(",", "")) == pytest.approx(number, rel=6e-3, abs=1e-6)
        assert SECTORS.read(read) == read


@pytest.mark.parametrize("text", ["", "two", "x 3", "-", "sectors 4", "."])
def test_what_is_no_number_is_told(text):
    with pytest.raises(BadInput, match=re.escape(f"{text!r} is no number")):
        SECTORS.read(text)


def test_a_number_is_held_against_what_came():
    assert SECTORS.judged("32 sectors", 4) == (False, "4 sectors", "32 would be a column.")
    assert SECTORS.judged("8 sectors", 4).why == "That is 2 times too large."
    assert SECTORS.judged("1 sectors", 40).why == "That is 40 times too small."
    assert SECTORS.judged("103 sectors", 100).why == "That is a little too large."
    assert SECTORS.judged("960 sectors", 1000).why == "That is a little too small."
    assert SECTORS.judged("106 sectors", 100).why == "That is 1.1 times too large."
    assert SECTORS.judged("-1 sectors", 40).why == ""
    assert SECTORS.judged("1,004 sectors", 1000) == (True, "1,000 sectors", "")
    assert not SECTORS.judged("1,020 sectors", 1000).foresaw


@pytest.mark.parametrize(
    ("unit", "of_one"),
    {
        "loads": "load", "passes": "pass", "batches": "batch", "kinds of work": "kind of work",
        "GPUs": "GPU", "times": "times", "times η": "times η", "GB/s": "GB/s", "of them": "of them",
        "": "",
    }.items(),
)  # fmt: skip
def test_a_unit_after_one_is_singular(unit, of_one):
    number = Number("n", unit, came="n")
    assert number.read("1") == number.read("0.99999") == f"1 {of_one}".rstrip()
    assert number.read(number.read("1")) == f"1 {of_one}".rstrip()
    assert number.read("2") == f"2 {unit}".rstrip()


def test_a_wrong_number_that_is_rounded_in_another_way_is_known():
    wrong = {8.6: "8.6 is float64.", 2.1: "2.1 is half."}
    rough = Number("scores", "GB", wrong, came="n", within=0.08)
    assert rough.judged("8.59 GB", 4.29).why == "8.6 is float64."
    assert rough.judged("2.15 GB", 4.29).why == "2.1 is half."
    assert rough.judged("9 GB", 4.29).why == "That is 2.1 times too large."
    exact = Number("lanes", "lanes", {32: "32 is a warp."}, came="n")
    assert exact.judged("32 lanes", 4).why == "32 is a warp."
    assert exact.judged("33 lanes", 4).why == "That is 8.2 times too large."
    assert Number("free", "", came="n").judged("33", 4).why == "That is 8.2 times too large."


def test_a_choice_is_held_against_what_came():
    assert SIDES.judged("left", "it is right") == (
        False, "it is right", "That would need a mirror."
    )  # fmt: skip
    assert SIDES.judged("right", None) == (True, "right", "")
    assert RACE.judged("10", 90.0) == (True, "90", "")
    assert RACE.judged("10", 900.0) == (False, "900", "Ten is a loop in C.")
    with pytest.raises(BadInput, match=r"choice.*middle"):
        SIDES.read("middle")


@pytest.mark.parametrize(
    ("came", "right"),
    [("9.99 times", "few"), ("10 times", "some"), ("n = 1,200", "many"), ("none of ours", "many")],
)
def test_a_choice_is_picked_by_the_number_that_came(came, right):
    choices = dict.fromkeys(("few", "some", "many"), "Why.")
    bounds = {"few": 10, "some": 1000, "many": math.inf}
    assert Choices("n", choices, came="text", below=bounds).right(came) == right
    two = "'few' if numbers[0] < numbers[1] else 'many'"
    assert Choices("n", choices, came="text", pick=two).right("n = -3, n = inf") == "few"


# --- the files

FILE = """
# What is asked.
[race]
came = "ratio"
[race.choices]
"10" = '''
Ten is a loop
   in C.'''
"1,000" = "All cores."
[race.below]
"10" = 100
"1,000" = inf

[sectors]
came = "n"
unit = "sectors"
within = 0.01
[sectors.wrong]
"1,024" = "A kilobyte."
"""


def test_a_file_has_a_table_for_each_prediction():
    race, sectors = parse(FILE, "01").values()
    assert race.choices == {"10": "Ten is a loop in C.", "1,000": "All cores."}
    assert race.judged("10", "about 3") == (True, "about 3", "")
    wrong = {1024: "A kilobyte."}
    assert sectors == Number("sectors", "sectors", wrong, came="n", within=0.01, notebook="01")


def test_a_question_with_choices_has_one_right_answer_and_a_sentence_for_each_other():
    for one in ALL:
        if isinstance(one, Choices):
            assert list(one.choices.values()).count("") == (not one.measured), one.name
            bounds = list(one.below.values()) or [math.inf]
            assert one.below.keys() <= one.choices.keys(), one.name
            assert bounds == sorted(bounds), one.name
            assert bounds[-1] == math.inf, one.name


# --- from the question to what came


def test_what_was_predicted_and_what_came_stand_side_by_side():
    asked = asking.Question(SECTORS, "How many?")
    asked.say("32")
    assert progress.load().predicted["sectors"].said == "32 sectors"
    with pytest.raises(NameError):
        asked.settle({})
    came = asked.settle({"n": 4})
    assert repr(came) == (
        "You predicted: 32 sectors · What came: 4 sectors · 32 would be a column."
    )
    assert "<strong>What came</strong><br>4 sectors" in came._repr_html_()
    assert progress.load().predicted["sectors"].foresaw is False


def test_the_mind_may_be_changed_until_the_cell_has_run_and_the_first_time_counts():
    asked = asking.Question(SECTORS, "How many?")
    asked.say("32")
    asked.say("4")
    assert repr(asked.settle({"n": 4})) == "✓ You foresaw it: 4 sectors"
    asked.say("9")  # it could be seen
    assert progress.load().predicted["sectors"] == progress.Foresight("4 sectors", True)
    again = asking.Question(SECTORS, "How many?")
    again.say("32")
    assert "You predicted: 32 sectors" in repr(again.settle({"n": 4}))
    assert progress.load().predicted["sectors"] == progress.Foresight("4 sectors", True)


def test_who_goes_on_without_is_told_nothing():
    asked = asking.Question(SIDES, "Which?")
    assert asked.settle({}) is None
    assert progress.load().predicted == {}


def test_a_prediction_outlives_its_kernel():
    asking.Question(SIDES, "Which?").say("left")
    again = asking.Question(SIDES, "Which?")  # as where its cell has been run twice
    assert again.widget.children[1].value == "left"
    assert "Noted: left." in again.widget.children[2].value
    assert "You predicted: left" in repr(again.settle({}))
    assert asking.Question(SIDES, "Which?").widget.children[1].value is None
    asking.Question(SECTORS, "How many?").say("1,024")
    assert asking.Question(SECTORS, "How many?").widget.children[1].children[0].value == "1,024"


def test_without_widgets_the_question_and_its_choices_are_printed(monkeypatch):
    monkeypatch.setattr(asking, "installed", lambda name: None)
    asked = asking.Question(SIDES, "Which <side>?")
    assert repr(asked) == "Predict: Which <side>?\n  ○ left\n  ○ right"
    bundle = asked._repr_mimebundle_()
    assert "Which &lt;side&gt;?<ul><li>left</li><li>right</li></ul>" in bundle["text/html"]
    assert set(bundle) == {"text/html", "text/plain"}


def test_progress_shows_what_was_foreseen_in_this_notebook_and_in_all():
    one, two = (p for p in ALL if p.name in ("random_order", "three_blocks"))
    gl.predict(one.name, "What?").say("nothing")
    rows = dict(row[:2] for row in gl.progress().rows)
    assert rows["vector_add"] == rows["prediction random_order"] == "–"
    assert "matmul_flops" not in rows
    assert "foresaw" not in gl.progress().caption  # nothing was seen yet
    progress.record_prediction(one.name, progress.Foresight("nothing", True))
    progress.record_prediction(two.name, progress.Foresight("384 pixels", False))
    rows = dict(row[:2] for row in gl.progress().rows)
    assert rows["prediction random_order"] == "✓ foreseen"
    assert rows["prediction three_blocks"] == "came otherwise"
    for shown in (gl.progress(), gl.progress("all")):
        assert "You foresaw 1 of 2 outcomes that you predicted." in shown.caption
    foreseen = gl.progress("all").headings.index("foreseen")
    assert gl.progress("all").rows[2][foreseen].startswith("1 of ")
    gl.check("matmul_flops", gl.matmul_flops)
    assert "foresaw" not in gl.progress().caption  # that was in another notebook
    assert gl.progress().rows[1][0] == "matmul_flops"


@pytest.mark.parametrize("question", ["", "  ", None, 3])
def test_bad_questions_and_unknown_names_are_told(question):
    with pytest.raises(BadInput, match=r'write gl.predict\("random_order", "…\?"\)'):
        gl.predict("random_order", question)
    with pytest.raises(BadInput, match="random_ordr"):
        gl.predict("random_ordr", "What?")


# --- in a notebook


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """A shell of IPython's that shows what is displayed in `shell.shown`."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell()
    shell.shown = []
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    monkeypatch.setattr("IPython.display.display", lambda thing: shell.shown.append(repr(thing)))
    monkeypatch.setattr(asking, "_send_page", lambda: None)
    monkeypatch.setattr(asking, "find", lambda name: {"sectors": SECTORS, "sides": SIDES}[name])
    shell.run_cell("import gpulearn as gl")
    yield shell
    shell.history_manager.end_session()


def test_the_cell_with_the_answer_shows_both(shell):
    shell.run_cell('gl.predict("sectors", "How many?").say("4"); None')
    shell.run_cell("1 / 0")
    shell.run_cell("other = 1")  # what came is not there yet
    assert shell.shown == []
    shell.run_cell("n = 4")
    shell.run_cell("n = 5")
    assert shell.shown == ["✓ You foresaw it: 4 sectors"]


def test_a_question_that_is_asked_again_is_answered_once(shell):
    for _ in range(2):
        shell.run_cell('gl.predict("sides", "Which?").say("left"); None')
    shell.run_cell('gl.predict("sectors", "How many?").say("4"); None')
    shell.run_cell("n = 2")
    assert len(shell.shown) == 2
    kept = json.loads(progress.file().read_text())
    assert kept["predicted"]["sides"] == {"said": "left", "foresaw": False}
