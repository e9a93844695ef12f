"""Counts of a graph's work against formulas; the table holds what was counted."""

import numpy as np
import pytest

from gpulearn.errors import BadInput
from gpulearn.nn.autograd import Variable
from gpulearn.perf.operation_costs import graph_times, graph_work
from gpulearn.plot.training_costs import compare_operations
from gpulearn_lessons.backprop.networks import dense_layers, dense_values

BATCH, N, UNITS, CLASSES = 8, 5, 7, 3


@pytest.fixture
def loss():
    images = np.ones((BATCH, N), np.float32)
    layers = dense_layers([N, UNITS, CLASSES])
    return dense_values(images, layers)[-1].softmax_cross_entropy(np.zeros(BATCH, int))


def test_products_cost_twice_as_much_backward_but_for_the_images(loss):
    works = {work.operation: work for work in graph_work(loss)}
    first, second = 2 * BATCH * N * UNITS, 2 * BATCH * UNITS * CLASSES
    assert works["@"].forward_flops == first + second
    assert works["@"].backward_flops == first + 2 * second
    read = BATCH * N + N * UNITS + BATCH * UNITS + UNITS * CLASSES
    assert works["@"].forward_bytes == 4 * (read + BATCH * UNITS + BATCH * CLASSES)
    # gradient, the other operand, the operand's own gradient; once, and twice for the second
    backward = BATCH * UNITS + BATCH * N + N * UNITS
    backward += 2 * (BATCH * CLASSES + BATCH * UNITS + UNITS * CLASSES)
    assert works["@"].backward_bytes == 4 * backward
    assert works["@"].flops == works["@"].forward_flops + works["@"].backward_flops


def test_what_works_element_by_element_counts_each_once(loss):
    works = {work.operation: work for work in graph_work(loss)}
    assert works["relu"].forward_flops == works["relu"].backward_flops == BATCH * UNITS
    assert works["relu"].bytes_moved == 4 * 5 * BATCH * UNITS  # in, out; gradient, in, gradient
    assert works["softmax cross-entropy"].forward_flops == 5 * BATCH * CLASSES
    assert works["softmax cross-entropy"].backward_flops == BATCH * CLASSES
    # the biases' gradients are sums over the batch; the other operand's passes as it is
    assert works["+"].backward_flops == BATCH * (UNITS + CLASSES)


def test_every_operation_is_timed_and_gradients_are_left_alone(loss):
    times = graph_times(loss)
    assert set(times) == {"@", "+", "relu", "softmax cross-entropy"}
    assert all(seconds > 0 for seconds in times.values())
    assert all(node.grad is None for node in loss.order())
    rows = compare_operations(loss).rows
    assert [row[0] for row in rows] == [work.operation for work in graph_work(loss)]
    assert rows[0][1:3] == ("896", "1,232")


def test_what_cannot_be_counted_or_timed_gets_a_sentence():
    with pytest.raises(
        BadInput, match=r"result is Variable\(3\.\): give a Variable that was computed"
    ):
        graph_work(Variable(3.0))
    with pytest.raises(BadInput, match="exp cannot be timed by itself: these can, @,"):
        graph_times(Variable(3.0).exp())
