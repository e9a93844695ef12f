"""Triton kernels in Triton's interpreter: what is counted, found and judged."""

import os

import numpy as np
import pytest
import torch

from gpulearn import check
from gpulearn.errors import MissingPackage
from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn_lessons.frameworks import availability
from gpulearn_lessons.tiles import EXERCISES
from gpulearn_lessons.tiles.launches import STAND_INS, launch, triton_interpreter
from tests.support.rights import rights_of

tl = STAND_INS[1]


def copy(x, out, n, STEP, BLOCK: tl.constexpr):
    i = (tl.program_id(0) * 2 + tl.program_id(1)) * STEP + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


@pytest.fixture
def _triton():
    """It; a run that requires it fails without, a person's run skips."""
    if absent := availability.missing(["triton"]):
        assert not os.environ.get("GPULEARN_REQUIRE_FRAMEWORKS"), absent
        pytest.skip(absent)


@pytest.mark.usefixtures("_triton")
def test_a_copy_moves_each_sector_once_and_its_programs_share_nothing():
    x, out = torch.arange(60.0), torch.zeros(60)
    watch = launch(copy, (2, 2), x, out, 60, 16, BLOCK=16)
    assert torch.equal(x, out)
    assert watch.moved == {"load": 256, "store": 256}  # 240 bytes in sectors of 32
    assert [*watch.outside.values(), *watch.races()] == []


@pytest.mark.usefixtures("_triton")
def test_memory_outside_of_the_tensors_is_left_alone_and_each_access_to_it_is_found():
    memory = torch.full((24,), 7.0)
    watch = launch(copy, (1, 2), torch.ones(12), memory[:12], 16, 8, BLOCK=8)
    assert memory.tolist() == [1.0] * 12 + [7.0] * 12
    texts = [f"program 1 {act}s 4 elements outside of all tensors" for act in ("load", "store")]
    assert list(watch.outside.values()) == texts


@pytest.mark.usefixtures("_triton")
def test_elements_that_two_programs_use_and_one_stores_are_found():
    watch = launch(copy, (1, 3), torch.ones(40), torch.zeros(40), 40, 8, BLOCK=16)
    (race,) = watch.races()
    assert race.startswith("out[8] is stored by one program and used by another")
    assert race.endswith("(16 in all)")


@pytest.mark.usefixtures("_triton")
@pytest.mark.parametrize("name", EXERCISES)
def test_known_answers_are_judged_as_known(name):
    exercise = find(name)
    for wrong in exercise.answers.wrongs:
        assert diagnose(exercise, wrong.answer) == wrong.hint
    for right in rights_of(exercise):
        assert diagnose(exercise, right) is None


@pytest.mark.usefixtures("_triton")
def test_an_error_is_that_of_the_kernel_and_a_decorated_kernel_is_judged_alike():
    def odd(scores, out, columns, BLOCK):
        tl.store(out, tl.load(scores + tl.arange(0, 3)))

    triton, odd.__globals__["tl"] = triton_interpreter()
    said = diagnose(find("softmax_tile"), triton.jit(odd))
    assert "it raises ValueError" in said
    assert "power of 2" in said


def test_without_it_kernels_can_be_defined_and_one_sentence_says_what_brings_it(monkeypatch):
    monkeypatch.setattr(availability.importlib.util, "find_spec", lambda name: None)
    assert triton_interpreter() == STAND_INS
    with pytest.raises(MissingPackage, match=r"judged here: triton is not installed: pip install"):
        check("matmul_tile", np.sum)
