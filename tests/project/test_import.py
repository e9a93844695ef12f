"""`import gpulearn` is cheap, and every public name is there."""

import importlib.util
import pkgutil
import subprocess
import sys

import pytest

import gpulearn as gl

TORCH = importlib.util.find_spec("torch")


def test_import_loads_no_heavy_package():
    code = (
        "import sys, gpulearn; "
        "print([m for m in ('torch', 'numba', 'matplotlib', 'numpy') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_public_names_are_listed_once():
    assert sorted(gl.__all__) == sorted(gl._HOME)  # the linter holds their order
    assert set(gl.__all__) <= set(dir(gl))


def test_every_home_declares_its_public_names():
    for name, home in gl._HOME.items():
        try:
            assert name in importlib.import_module(home).__all__
        except gl.MissingPackage:
            assert not TORCH


def test_no_public_name_is_hidden_by_a_module():
    modules = {module.name for module in pkgutil.iter_modules(gl.__path__)}
    # `cuda` is a module and meant to be one
    assert modules & set(gl.__all__) <= {"cuda"}


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        _ = gl.chekc


def test_errors_form_one_tree_and_show_one_line():
    from gpulearn import errors

    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.GpulearnError)
        lines = kind("what happened")._render_traceback_()
        assert len(lines) == 1
        assert name in lines[0]
        assert "what happened" in lines[0]


def test_a_long_message_is_broken_between_words():
    from gpulearn.errors import WIDTH, WrongAnswer

    message = "sum: " + "tile[threadIdx.y, threadIdx.x] and so on, " * 9 + "\nlast line"
    lines = WrongAnswer(message)._render_traceback_()
    assert " ".join(lines).replace("\x1b[1m", "").replace("\x1b[0m", "").split() == (
        f"WrongAnswer: {message}".split()
    )
    assert all(len(line) <= WIDTH + len("\x1b[1m\x1b[0m") for line in lines)
    assert lines[-1] == "last line"
