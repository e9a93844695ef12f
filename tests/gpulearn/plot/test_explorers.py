"""Every explorer and player draws at both ends of each control, and says what it shows."""

from html import escape

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.nn.autograd import Variable
from gpulearn.perf.roofline import Roof
from gpulearn.perf.series import Provenance
from gpulearn_lessons.backprop import convolution_explorer, graph_player
from gpulearn_lessons.collectives import all_reduce_explorer, ring_player
from gpulearn_lessons.gradient_descent import rate_explorer
from gpulearn_lessons.parameter_server import staleness_explorer
from gpulearn_lessons.pipeline_parallel import pipeline_player
from gpulearn_lessons.reductions import reduction_player
from gpulearn_lessons.sharded_training import shard_player
from gpulearn_lessons.shared_memory import bank_explorer
from gpulearn_lessons.tensor_parallel import tensor_parallel_explorer
from gpulearn_lessons.threads import thread_explorer

HERE = Provenance("measured", "here")


@cuda.jit
def store(a, stride):
    i = cuda.grid(1)
    if i % stride == 0:
        a[i] = 1


# name → the figure, and words of its sentence where nobody has touched it
FIGURES = {
    "access": (lambda: gl.plot.access_explorer(), "float32, stride 2, offset 0: 8 sectors"),
    "all-reduce": (lambda: all_reduce_explorer(), "1,024 ranks, 100 Gbit"),
    "banks": (lambda: bank_explorer(), "in 1 pass: no bank conflict"),
    "convolution": (
        lambda: convolution_explorer(np.eye(4), np.ones((2, 2))),
        "Output (1, 1): rows 1 to 2",
    ),
    "descent": (lambda: gl.plot.descent_explorer(), "ravine, gradient descent, rate 0.0631: 200"),
    "graph": (lambda: graph_player(Variable(3.0, "x") ** 2), "Given: x is 3"),
    "kernel": (
        lambda: gl.plot.kernel_player(gl.xray(store)[1, 64](np.zeros(64), 2)),
        "Step 3 of 3",
    ),
    "pipeline": (pipeline_player, "1F1B: 4 ranks and 8 micro-b"),
    "rates": (
        lambda: rate_explorer(lambda t: 5 * (t - 1) ** 2, lambda t: 10 * (t - 1)),
        "Rate 0.005: 12 steps lead",
    ),
    "reduction": (lambda: reduction_player(), "interleaved, round 1 of 6"),
    "ring": (lambda: ring_player(), "Step 1 of 6"),
    "roofline": (
        lambda: gl.plot.roofline_explorer(Roof("a laptop", 300e9, 50e9, HERE)),
        "At 1 FLOP per byte, this machine reaches at best 50 GFLOP/s",
    ),
    "shards": (lambda: shard_player(), "Stage 3 shards all three. Moment 19 of 22"),
    "staleness": (lambda: staleness_explorer(), "Gradients 3 updates old, ηλ = 0.4"),
    "tensor parallel": (lambda: tensor_parallel_explorer(), "Rank 1 of 4"),
    "threads": (lambda: thread_explorer(20, 10), "Grid (3, 3), block (8, 4)"),
}


def ends(control):
    options = getattr(control, "options", None)
    if options is not None:
        values = [*options.values()] if isinstance(options, dict) else [*options]
        values = [value[1] if isinstance(value, tuple) else value for value in values]
        return values[0], values[-1]
    return (control.max, control.min) if hasattr(control, "max") else (True, False)


@pytest.mark.parametrize("name", FIGURES)
def test_it_reads_without_being_touched_and_draws_at_both_ends(name):
    make, words = FIGURES[name]
    explorer = make()
    assert repr(explorer).startswith(f"[interactive figure: {words}") or words in repr(explorer)
    bundle = explorer._repr_mimebundle_()
    assert set(bundle) == {
        "application/vnd.jupyter.widget-view+json", "text/html", "text/plain",
    }  # fmt: skip
    assert any(tag in bundle["text/html"] for tag in ("<img alt=", "aria-label=", "<table"))
    pictures = set()
    for control in explorer.controls.values():
        assert control.description  # what a screen reader says
        for value in ends(control):
            control.value = value
            sentence = repr(explorer).removeprefix("[interactive figure: ").removesuffix("]")
            assert escape(sentence) in explorer.picture.value
            pictures.add(explorer.picture.value)
    assert len(pictures) > len(explorer.controls)
    assert not explorer.faults.outputs


@pytest.mark.parametrize(
    ("stride", "words"), [(2, "with 16 of 32 lanes: a[i] = 1."), (1, "Step 1 of 3")]
)
def test_without_a_front_end_a_launch_stands_where_lanes_have_parted(stride, words):
    player = gl.plot.kernel_player(gl.xray(store)[1, 32](np.zeros(32), stride))
    assert words in player._repr_mimebundle_()["text/html"]
    assert "Step 1 of 3" in player.picture.value  # who can move it begins at the first step
