"""The queue keeps a GPU's contract: launches return at once, in order, errors at the wait."""

import threading
import time

import numpy as np
import pytest
import torch

from gpulearn.errors import BadInput
from gpulearn.perf.accelerators import CudaAccelerator, QueueAccelerator, accelerator
from simt.device import selection


@pytest.fixture
def queue():
    made = QueueAccelerator()
    yield made
    made.close()


def test_the_product_is_right(queue):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(5, 7)), rng.normal(size=(7, 3))
    np.testing.assert_allclose(queue.get(queue.matmul(queue.put(a), queue.put(b))), a @ b)


def test_launches_return_before_the_work_is_done(queue, monkeypatch):
    gate = threading.Event()
    multiply = torch.matmul
    monkeypatch.setattr(torch, "matmul", lambda *a, **k: gate.wait(10) and multiply(*a, **k))
    x = queue.put(np.eye(3))
    result = queue.matmul(x, x)  # would wait forever if it waited
    result.fill_(7.0)
    gate.set()
    np.testing.assert_array_equal(queue.get(result), np.eye(3))


def test_launches_keep_their_order(queue):
    x = queue.put(np.full((2, 2), 0.5))
    for _ in range(10):
        x = queue.matmul(x, queue.put(np.eye(2) * 2))
    np.testing.assert_array_equal(queue.get(x), np.full((2, 2), 512.0))


def test_put_copies(queue):
    a = np.eye(2)
    x = queue.put(a)
    a[:] = 0
    np.testing.assert_array_equal(queue.get(x), np.eye(2))


def test_an_error_shows_at_the_wait_and_only_once(queue, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("the device fell off the bus")

    monkeypatch.setattr(torch, "matmul", broken)
    queue.matmul(queue.put(np.eye(2)), queue.put(np.eye(2)))
    with pytest.raises(RuntimeError, match="fell off the bus"):
        queue.synchronize()
    queue.synchronize()


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (np.ones((2, 3)), np.ones((2, 3)), r"a is \(2, 3\) of torch.float64 and b \(2, 3\)"),
        (np.ones((2, 2)), np.ones((2, 2), np.float32), "the dtypes must agree"),
        (np.ones(2), np.ones((2, 2)), r"a is an array of shape \(2,\): give a matrix that put has"),
    ],
)
def test_what_cannot_be_multiplied_is_refused_at_the_launch(queue, a, b, said):
    with pytest.raises(BadInput, match=said):
        queue.matmul(queue.put(a), queue.put(b))


@pytest.mark.parametrize("value", [3, None, [1, 2], "a", np.array(["a"])])
def test_what_is_no_array_is_neither_put_nor_got(queue, value):
    with pytest.raises(BadInput, match="give a NumPy array of numbers"):
        queue.put(value)
    with pytest.raises(BadInput, match="give a matrix that put has placed"):
        queue.get(value)


def test_close_ends_the_thread(queue):
    queue.close()
    assert not any(t.name == "gpulearn-queue" and t is queue._worker for t in threading.enumerate())


def test_which_device_is_given(monkeypatch):
    monkeypatch.setattr(selection, "torch_gpu", lambda: False)
    made = accelerator()
    assert isinstance(made, QueueAccelerator)
    made.close()
    monkeypatch.setattr(selection, "torch_gpu", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Tesla T4")
    made = accelerator()
    assert isinstance(made, CudaAccelerator)
    assert made.name == "Tesla T4"


def test_cuda_waits_when_it_should(monkeypatch):
    """The GPU's branch, with torch's CUDA calls replaced by the CPU's."""
    waits = []
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Tesla T4")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waits.append(time.perf_counter()))
    monkeypatch.setattr(torch.Tensor, "cuda", lambda self: self.clone())
    gpu = CudaAccelerator()
    x = gpu.put(np.eye(2))
    assert len(waits) == 1
    np.testing.assert_array_equal(gpu.get(gpu.matmul(x, x)), np.eye(2))
    gpu.synchronize()
    assert len(waits) == 2
    with pytest.raises(BadInput, match="the inner sizes and the dtypes must agree"):
        gpu.matmul(x, gpu.put(np.ones((3, 2))))
