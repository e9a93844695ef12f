"""Answers that are made from a solution by an edit."""

import inspect

import pytest

from gpulearn.judge.answers import edited
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
