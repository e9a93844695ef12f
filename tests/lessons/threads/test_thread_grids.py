"""The thread explorer: what it says is what the machine does, and its sliders never lead astray."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulearn import cuda
from gpulearn.errors import BadInput
from gpulearn_lessons.threads.thread_grids import GridLaunch, draw, thread_explorer

SMALL = st.integers(1, 9)
PAIR = st.tuples(SMALL, SMALL)


@given(SMALL, SMALL, PAIR, PAIR)
def test_counts_are_those_of_the_threads(width, height, grid, block):
    launch = GridLaunch(width, height, grid, block)
    columns, rows = launch.threads
    numbers = {(x, y) for x in range(columns) for y in range(rows)}
    elements = {(x, y) for x in range(width) for y in range(height)}
    assert {n for n in numbers if launch.has_element(*n)} == numbers & elements
    assert {e for e in elements if launch.has_thread(*e)} == numbers & elements


def test_places_are_those_of_a_launch():
    @cuda.jit
    def places(block, thread):
        x, y = cuda.grid(2)
        block[x, y, 0], block[x, y, 1] = cuda.blockIdx.x, cuda.blockIdx.y
        thread[x, y, 0], thread[x, y, 1] = cuda.threadIdx.x, cuda.threadIdx.y

    launch = GridLaunch(20, 10, grid=(3, 2), block=(4, 5))
    block, thread = np.zeros((2, *launch.threads, 2), dtype=np.int64)
    places[launch.grid, launch.block](block, thread)
    for x, y in np.ndindex(launch.threads):
        assert launch.place(x, y) == (tuple(block[x, y]), tuple(thread[x, y]))


@pytest.mark.parametrize(
    ("launch", "thread", "sentence"),
    [
        (
            GridLaunch(20, 1, (3, 1), (8, 1)),
            (21, 0),
            "Grid 3, block 8: 24 threads for 20 elements; 4 threads fall off the end. "
            "Thread 5 of block 2: i = 2 × 8 + 5 = 21, and there is no element [21].",
        ),
        (
            GridLaunch(20, 10, (2, 3), (8, 4)),
            (11, 2),
            "Grid (2, 3), block (8, 4): 16 × 12 = 192 threads for 20 × 10 = 200 elements; "
            "32 threads fall off the end and 40 elements have no thread. Thread (3, 2) of block "
            "(1, 0): x = 1 × 8 + 3 = 11, y = 0 × 4 + 2 = 2, so it handles element [2, 11].",
        ),
        (
            GridLaunch(9, 1, (1, 1), (8, 1)),
            (99, 0),
            "Grid 1, block 8: 8 threads for 9 elements; 1 element has no thread. "
            "Thread 7 of block 0: i = 0 × 8 + 7 = 7, so it handles element [7].",
        ),
        (
            GridLaunch(8, 1, (1, 1), (8, 1)),
            (0, 0),
            "Grid 1, block 8: 8 threads for 8 elements; each element has its thread. "
            "Thread 0 of block 0: i = 0 × 8 + 0 = 0, so it handles element [0].",
        ),
        (
            GridLaunch(1, 1, (1, 1), (2, 1)),
            (1, 0),
            "Grid 1, block 2: 2 threads for 1 element; 1 thread falls off the end. "
            "Thread 1 of block 0: i = 0 × 2 + 1 = 1, and there is no element [1].",
        ),
    ],
)
def test_what_is_said(launch, thread, sentence):
    drawing, text = draw(launch, *thread)
    assert text == sentence
    assert f'aria-label="{text}"' in drawing.image
    assert repr(drawing) == f"[figure: {text}]"


def test_what_is_drawn():
    launch = GridLaunch(20, 10, (2, 3), (8, 4))
    svg = draw(launch, 0, 0)[0].image
    assert svg.count("<g>") == 16 * 12 + 40
    assert svg.count(">×<") == 32
    assert svg.count(">?<") == 40
    # each cell has its sentence for the pointer, and no two are the same
    sentences = re.findall(r'class="said"[^>]*>([^<]+)<', svg)
    assert len(set(sentences)) == len(sentences) == svg.count("<g>")
    assert "No thread handles element [9, 19]." in sentences


def test_narrow_cells_have_no_labels():
    assert ">7</text>" in draw(GridLaunch(20, 1, (3, 1), (8, 1)), 0, 0)[0].image
    assert ">7</text>" not in draw(GridLaunch(40, 1, (5, 1), (16, 1)), 0, 0)[0].image


def test_the_sliders_reach_every_thread_and_no_other():
    explorer = thread_explorer(20, 10)
    controls = explorer.controls
    assert list(controls) == ["block_x", "block_y", "grid_x", "grid_y", "x", "y"]
    assert (controls["x"].max, controls["y"].max) == (23, 11)
    controls["x"].value = 23
    controls["grid_x"].value = 1
    assert (controls["x"].max, controls["x"].value) == (7, 7)
    assert "Thread (7, 2) of block (0, 0)" in explorer.picture.value
    controls["block_y"].value = 8
    assert controls["y"].max == 23
    assert not explorer.faults.outputs


def test_it_refuses_what_cannot_be_drawn():
    with pytest.raises(BadInput, match="width × height is 500 × 1: at most 40 × 24"):
        thread_explorer(500)
    with pytest.raises(BadInput, match="height is 0: give a whole number above zero"):
        thread_explorer(5, 0)
