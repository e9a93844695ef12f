"""Bad input gets one sentence that quotes the value and says what to do."""

import numpy as np
import pytest

from gpulearn import require
from gpulearn.errors import BadInput, MissingPackage
from simt import wording


def test_choice_names_the_nearest_in_a_short_sentence():
    for value, told in (("H20", "'H20': did you mean 'H200'"), ("t4", "'t4': did you mean 'T4'"),
                        (7, "7: choose from T4, H200"), ("x" * 100_000, "'xxx")):  # fmt: skip
        with pytest.raises(BadInput, match=f"There is no GPU {told}") as error:
            require.choice("GPU", value, ["T4", "H200"])
        assert len(str(error.value)) < 200


@pytest.mark.parametrize("value", [0, -3, 2.0, "4", None, True, np.float64(3)])
def test_whole_refuses(value):
    with pytest.raises(BadInput, match="n is .*: give a whole number above zero"):
        require.whole("n", value)


@pytest.mark.parametrize("value", [1, np.int32(7), np.uint8(200)])
def test_whole_accepts(value):
    assert type(require.whole("n", value)) is int


@require.shapes(a="m n", b="n p")
def product(a, b):
    return a.shape[0], b.shape[1]


def test_shapes_pass_through():
    assert product(np.ones((2, 3)), b=np.ones((3, 4))) == (2, 4)


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        ([[1]], np.ones((1, 1)), r"a is \[\[1\]\]: give an array of numbers of shape \(m, n\)"),
        (np.array([["x"]]), np.ones((1, 1)), r"a is an array of shape \(1, 1\): give an array of"),
        (np.ones(3), np.ones((3, 1)), r"a has shape \(3,\): it must be \(m, n\)"),
        (np.ones((2, 3)), np.ones((4, 5)), r"b has shape \(4, 5\), but n is 3 in a"),
    ],
)
def test_shapes_refuse(a, b, sentence):
    with pytest.raises(BadInput, match=sentence):
        product(a, b)


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(require.OPTIONAL, "no_such_package", ("a test", "lab"))
    with pytest.raises(
        MissingPackage, match=r"A plot needs no_such_package, .* \"gpulearn\[lab\] @ "
    ):
        require.package("no_such_package", "A plot")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (64, r"sizes is 64: give a list, such as \[64, 128\]"),
        (None, "sizes is None: give a list"),
        ("64", "sizes is '64': give a list"),
        ([], r"sizes is \[\]: give at least one, ascending"),
        ([2, 1], r"sizes is \[2, 1\]: give at least one, ascending"),
        ([1, 1], "give at least one, ascending"),
        ([1.5], "an entry of sizes is 1.5: give a whole number"),
        (np.ones((2, 2), int), "an entry of sizes is .*: give a whole number"),
    ],
)
def test_ascending_refuses(values, said):
    with pytest.raises(BadInput, match=said):
        require.ascending("sizes", values)


def test_ascending_takes_any_iterable():
    assert require.ascending("sizes", np.array([8, 16])) == (8, 16)
    assert require.ascending("sizes", iter([8])) == (8,)


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), "1", None, True])
def test_above_zero_refuses(value):
    with pytest.raises(BadInput, match="seconds is .*: give a number above zero"):
        require.above_zero("seconds", value)


def test_lengths_are_compared():
    from gpulearn.perf.series import crossover

    with pytest.raises(BadInput, match="sizes has 2, cpu_seconds has 1, gpu_seconds has 1 entries"):
        crossover([1, 2], [1], [1])
    with pytest.raises(BadInput, match="sizes is 3: give a list of numbers"):
        crossover(3, [1], [1])


def test_the_command_in_a_checkout_that_is_not_installed(monkeypatch):
    def unknown(name):
        raise wording.PackageNotFoundError(name)

    monkeypatch.setattr(wording, "metadata", unknown)
    assert require.install_command("lab") == 'pip install ".[lab]"'
    assert "torch-backend=auto" in require.install_command("torch")


@pytest.mark.parametrize("given", [{}, [1], None, {"a": 1, "b": 2, "c": 3}])
def test_named_values_are_a_mapping_of_a_few(given):
    with pytest.raises(BadInput, match=r"runs is .*: give \{name: run\}, one or two\."):
        require.named("runs", given, "{name: run}, one or two", most=2)
    assert require.named("runs", {"a": 1}, "one", most=2) == {"a": 1}


def test_each_value_is_of_the_kind_that_is_asked_for():
    require.each({"a": 1, "b": 2}, int, "numbers")
    require.each({"a": "text"}, "upper", "words")
    with pytest.raises(BadInput, match="b is 'two': give numbers"):
        require.each({"a": 1, "b": "two"}, int, "numbers")
    with pytest.raises(BadInput, match="runs holds 1: give words"):
        require.each({"a": 1}, "upper", "words", "runs holds")
    require.all_of(int, [1, 2], "number", "numbers")
    with pytest.raises(BadInput, match="'two' is no number: give numbers"):
        require.all_of(int, [1, "two"], "number", "numbers")
