"""Known answers that are written as edits of the solution."""

import inspect
import linecache

import pytest

from gpulearn.judge.answers import Answers, edited
from gpulearn.kernels.blocks import block_sum
from gpulearn.kernels.indexing import blocks_for

BARRIER = "        cuda.syncthreads()\n"


def test_an_edit_is_a_plain_function_whose_source_is_found():
    answer = edited(block_sum, {BARRIER: ""})
    assert answer.__name__ == "block_sum"
    assert "syncthreads" not in inspect.getsource(answer)
    assert "half //= 2" in inspect.getsource(answer)


def test_an_edit_runs_with_the_globals_of_the_solution():
    answer = edited(blocks_for, {"//": "%"})
    assert answer(10, 3) != blocks_for(10, 3)


def test_names_that_the_new_text_needs_are_given():
    answer = edited(block_sum, {"half = BLOCK // 2": "half = START"}, {"START": 32})
    assert answer.__globals__["START"] == 32


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ({"no such text": ""}, "occurs 0 times"),
        ({"partial": "p"}, "occurs 7 times"),
        ({"half > 0": "half  >  0"}, "changes nothing"),
        ({"half > 0": "half > 1", "while half > 0:": "while 1:"}, "overlaps"),
    ],
)
def test_an_edit_that_does_not_fit_the_solution_is_refused(edits, said):
    with pytest.raises(ValueError, match=said):
        edited(block_sum, edits)


def test_the_source_is_found_even_where_somebody_clears_the_cache_of_lines(monkeypatch):
    monkeypatch.setattr(linecache, "cache", dict(linecache.cache))  # other tests keep theirs
    answers = Answers(block_sum)
    answers.edit({BARRIER: ""}, "a hint")
    assert "syncthreads" not in inspect.getsource(answers.wrongs[0].answer)
    linecache.clearcache()
    assert "half //= 2" in inspect.getsource(answers.wrongs[0].answer)


def test_answers_are_made_once_and_when_they_are_needed():
    answers = Answers(block_sum)
    answers.edit({"no such text": ""}, "a hint")  # a test makes all of them
    answers.edit({BARRIER: ""}, "another hint")
    answers.variant({"half > 0": "half >= 1"})
    assert answers.wrongs[1].answer is answers.wrongs[1].answer
    assert len(answers.rights) == 1
