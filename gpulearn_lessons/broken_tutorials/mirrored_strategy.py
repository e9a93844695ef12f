"""TensorFlow's MirroredStrategy on two logical CPUs: what each mistake of a popular program does.

`gpulearn_lessons.frameworks.processes.run` runs `observe` in TensorFlow, or finds its recording.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any


def observe() -> dict[str, Any]:
    """Make each mistake with two replicas, and note what comes of it.

    The model has one weight w, and the loss of a sample x is w·x, so that its gradient is x. The
    batch is x = 0, 1, 2, 3 with the mean gradient 1.5, and descent at rate 1 starts from 0.

    Returns:
        "given": what each replica gets of a plain batch, and of a distributed one;
        "applied": by how much w falls in one step, for each way to give and to divide;
        "momentum": w after three steps at rate 0.1 and momentum 0.9 with the gradient 1, with an
        optimizer made once, and with one made in the replica's function, in each call or in a
        `tf.function`;
        "numpy": what `loss.numpy()` says for one replica and for two;
        "flatten", "batch", "one-hot": how three mistakes of the single-device kind fail.
    """
    tf: Any = importlib.import_module("tensorflow")
    pair = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    lone = tf.distribute.MirroredStrategy(["CPU:0"])
    return {
        "given": _given(tf, pair),
        "applied": _applied(tf, lone, pair),
        "momentum": _momentum(tf, pair),
        "numpy": [_numpy(tf, strategy) for strategy in (lone, pair)],
        **_shapes(tf),
    }


def _batches(tf: Any, strategy: Any, distributed: bool) -> Any:
    data = tf.data.Dataset.from_tensor_slices([0.0, 1.0, 2.0, 3.0]).batch(4)
    return strategy.experimental_distribute_dataset(data) if distributed else data


def _given(tf: Any, pair: Any) -> dict[str, Any]:
    given = {}
    for name, distributed in (("plain", False), ("distributed", True)):
        (batch,) = _batches(tf, pair, distributed)
        parts = pair.experimental_local_results(pair.run(tf.identity, args=(batch,)))
        given[name] = [part.numpy().tolist() for part in parts]
    return given


def _applied(tf: Any, lone: Any, pair: Any) -> dict[str, float]:
    def step(strategy: Any, distributed: bool, whole: bool) -> float:
        with strategy.scope():
            weight = tf.Variable(0.0)
            optimizer = tf.keras.optimizers.SGD(1.0)
            optimizer.build([weight])

        def replica(x: Any) -> None:
            with tf.GradientTape() as tape:
                losses = weight * x
                loss = tf.reduce_sum(losses) / 4 if whole else tf.reduce_mean(losses)
            optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])

        (batch,) = _batches(tf, strategy, distributed)
        strategy.run(replica, args=(batch,))
        return -float(weight.numpy())

    return {
        "one replica": step(lone, False, False),
        "plain batch, own mean": step(pair, False, False),
        "plain batch, mean of the whole": step(pair, False, True),
        "distributed batch, own mean": step(pair, True, False),
        "distributed batch, mean of the whole": step(pair, True, True),
    }


def _momentum(tf: Any, pair: Any) -> dict[str, Any]:
    def train(inside: bool, compiled: bool) -> Any:
        def make() -> Any:
            return tf.keras.optimizers.SGD(0.1, momentum=0.9)

        with pair.scope():
            weight = tf.Variable(0.0)
            outer = make()
            outer.build([weight])

        def replica() -> None:
            optimizer = make() if inside else outer
            optimizer.apply_gradients([(tf.constant(0.5), weight)])

        def step() -> None:
            pair.run(replica)

        step = tf.function(step) if compiled else step
        for _ in range(3):
            step()
        return round(float(weight.numpy()), 4)

    return {
        "made once": train(False, True),
        "made in each call": train(True, False),
        "made in a tf.function": _outcome(lambda: train(True, True), "tf.function only"),
    }


def _numpy(tf: Any, strategy: Any) -> Any:
    (batch,) = _batches(tf, strategy, True)
    loss = strategy.run(tf.reduce_mean, args=(batch,))
    return _outcome(lambda: float(loss.numpy()))


def _shapes(tf: Any) -> dict[str, Any]:
    images, labels = tf.zeros((4, 28, 28)), tf.constant([1, 2, 3, 4])
    integers = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    one_hot = tf.keras.losses.CategoricalCrossentropy(from_logits=True)
    shape = tf.keras.layers.Input((28, 28))
    rows = tf.keras.Sequential([shape, tf.keras.layers.Dense(10)])
    flat = tf.keras.Sequential([shape, tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
    return {
        "flatten": _outcome(lambda: float(integers(labels, rows(images)))),
        "batch": _outcome(lambda: flat(images[0]).shape.as_list(), "Expected shape"),
        "one-hot": _outcome(lambda: float(one_hot(labels, flat(images)))),
    }


def _outcome(act: Callable[[], Any], start: str = "") -> Any:
    """What an act returns, or the line of its exception's message that begins with `start`."""
    try:
        return act()
    except (ValueError, AttributeError, TypeError) as error:
        text = str(error)
        line = text[text.find(start) :].strip().partition("\n")[0]
        return f"{type(error).__name__}: {re.sub(chr(27) + r'.*?m', '', line)}"
