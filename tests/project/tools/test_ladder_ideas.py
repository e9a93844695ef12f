"""The ideas for the top rung of the ladder: right, and as cheap as they claim."""

import re

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.errors import BadInput
from gpulearn_lessons.matmul.ladder import LADDER
from simt.numba_ptx.codegen import compile_to_ptx
from tools.gpu.ladder.ideas import ideas
from tools.gpu.ladder.warp_tiling import warp_tiled

FLOAT = "void(float32[:, ::1], float32[:, ::1], float32[:, ::1])"


def test_the_ideas_hang_together():
    seen = [""]
    for name, idea in ideas().items():
        assert idea.name == name
        assert idea.after in seen
        assert idea.what
        assert idea.why
        seen.append(name)
    assert ideas()["paired lanes"].rung.covers == LADDER["warp tiles"].covers


# within one tile; whole tiles and all edges, with a depth that divides nothing
IDEA_SIZES = [(5, 3, 7), (131, 21, 260)]


@pytest.mark.parametrize("name", ideas())
def test_every_idea_is_right_and_as_cheap_as_it_claims(name):
    rung = ideas()[name].rung
    for m, n, p in IDEA_SIZES:
        if rung.pairs:
            n, p = n + n % 2, p + p % 2
        rng = np.random.default_rng(m)
        a, b = rng.integers(-9, 10, (m, n)), rng.integers(-9, 10, (n, p))
        there = [cuda.to_device(x.astype(np.float32)) for x in (a, b)]
        c = cuda.to_device(np.full((m, p), np.nan, np.float32))
        with gl.block_order(m):
            report = rung.report(*there, c)
        assert report.findings == []
        np.testing.assert_array_equal(c.copy_to_host(), a @ b)
        if name not in ("register tile", "larger tile"):
            assert report.totals.shared_load_conflicts == 0
            sums = 64 if rung.block[0] == 256 and rung.covers == (128, 128) else 128
            words = {64: 16, 128: 24}[sums]
            loads = report.totals.shared_load_wavefronts * 64 / report.totals.flops32
            assert loads == words / sums


@pytest.mark.usefixtures("_compiler")
@pytest.mark.parametrize("name", ["patches", "16 deep", "8-byte words", "wider block"])
def test_the_sums_of_the_ideas_stay_in_registers(name):
    rung = ideas()[name].rung
    text = compile_to_ptx(rung.kernel, FLOAT.replace("float32", "int64") if rung.pairs else FLOAT)
    assert not re.search(r"\b(ld|st)\.local\b", text)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"high": 6}, "cannot be shared out evenly"),
        ({"columns": 48}, "cannot be shared out evenly"),
        ({"depth": 12}, "cannot be shared out evenly"),
        ({"words": True}, "cannot be shared out evenly"),
        ({"lanes_down": 3}, "cannot be shared out evenly"),
        ({"columns": 256, "depth": 16}, "1,024 threads or its 48 KB"),
        ({"lanes_down": 0}, "lanes_down"),
    ],
    ids=str,
)
def test_warp_tiles_that_cannot_be_are_refused(change, said):
    with pytest.raises(BadInput, match=said):
        warp_tiled(**change)
