"""Bad input gets one sentence that quotes the value and says what to do."""

import numpy as np
import pytest

from gpulearn import _require
from gpulearn.errors import BadInput, MissingPackage


def test_choice_names_the_nearest():
    with pytest.raises(BadInput, match="There is no GPU 'H20': did you mean 'H200'"):
        _require.choice("GPU", "H20", ["T4", "H200"])
    with pytest.raises(BadInput, match="There is no GPU 7: choose from T4, H200"):
        _require.choice("GPU", 7, ["T4", "H200"])


@pytest.mark.parametrize("value", [0, -3, 2.0, "4", None, True, np.float64(3)])
def test_positive_refuses(value):
    with pytest.raises(BadInput, match="n is .*: give a whole number above zero"):
        _require.positive(n=value)


@pytest.mark.parametrize("value", [1, np.int32(7), np.uint8(200)])
def test_positive_accepts(value):
    _require.positive(n=value)


@_require.shapes(a="m n", b="n p")
def product(a, b):
    return a.shape[0], b.shape[1]


def test_shapes_pass_through():
    assert product(np.ones((2, 3)), b=np.ones((3, 4))) == (2, 4)


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        ([[1]], np.ones((1, 1)), r"a is a list: give an array of shape \(m, n\)"),
        (np.ones(3), np.ones((3, 1)), r"a has shape \(3,\): it must be \(m, n\)"),
        (np.ones((2, 3)), np.ones((4, 5)), r"b has shape \(4, 5\), but n is 3 in a"),
    ],
)
def test_shapes_refuse(a, b, sentence):
    with pytest.raises(BadInput, match=sentence):
        product(a, b)


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(_require.EXTRA, "no_such_package", "lab")
    with pytest.raises(
        MissingPackage, match=r"A plot needs no_such_package, .* \"gpulearn\[lab\] @ "
    ):
        _require.package("no_such_package", "A plot")
