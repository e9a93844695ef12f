"""`import gpulearn` is cheap, and every public name is there."""

import ast
import importlib.util
import pkgutil
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize("absent", ["torch", "cloudpickle"])
def test_a_name_whose_package_is_absent_says_what_to_install(absent):
    code = f"import sys; sys.modules[{absent!r}] = None; import gpulearn as gl; gl.launch"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    needed = absent if TORCH else "torch"
    assert f"MissingPackage: gl.launch needs {needed}, which is not installed: " in out.stderr
    assert "torch cloudpickle brings it." in out.stderr


HINTS = """
import sys
import gpulearn as gl

hints = []
sys.addaudithook(
    lambda event, args: event == "open" and str(args[0]).endswith(".hints") and hints.append(args)
)

def matmul_flops(m, n, p):
    return {} * m * n * p

try:
    gl.check("matmul_flops", matmul_flops)
except gl.errors.WrongAnswer:
    pass
print(len(hints))
"""


@pytest.mark.parametrize(("factor", "read"), [(2, 0), (3, 1)], ids=["right", "wrong"])
def test_hints_are_read_for_a_wrong_answer_only(factor, read):
    run = [sys.executable, "-c", HINTS.format(factor)]
    out = subprocess.run(run, capture_output=True, text=True, check=True)
    assert int(out.stdout) == read


def stub_names(package):
    """The names that a package's stub lists, in order, each as often as it stands there."""
    stub = Path(package.__file__).with_suffix(".pyi")
    imports = [n for n in ast.parse(stub.read_text()).body if isinstance(n, ast.ImportFrom)]
    return [one.asname for node in imports for one in node.names]


PATH = Path(gl.__file__).parent
# the packages among what the top level lists: each has a list of its own
NAMESPACES = [name for name in stub_names(gl) if (PATH / name / "__init__.pyi").exists()]
PACKAGES = [gl, *(getattr(gl, name) for name in NAMESPACES)]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.__name__)
def test_each_public_name_is_listed_once_and_can_be_loaded(package):
    names = stub_names(package)
    assert len(names) == len(set(names))
    assert set(names) <= set(dir(package))
    for name in names:
        try:
            assert getattr(package, name) is not None
        except ImportError:
            assert not TORCH


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.__name__)
def test_no_public_name_is_hidden_by_a_module(package):
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    namespaces = {*NAMESPACES, "cuda", "errors", "simt"} if package is gl else set()
    assert modules & set(stub_names(package)) <= namespaces


def test_a_public_name_of_the_top_level_is_in_no_namespace():
    inner = {name for package in PACKAGES[1:] for name in stub_names(package)}
    # a namespace is no name of its own: scaling draws what gl.scaling measures
    assert not inner & set(stub_names(gl)) - {*NAMESPACES}


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
        assert kind.__name__ in lines[0]
        assert "what happened" in lines[0]


def test_a_long_message_is_broken_between_words():
    from gpulearn.errors import WrongAnswer
    from simt.errors import WIDTH

    message = "sum: " + "tile[threadIdx.y, threadIdx.x] and so on, " * 9 + "\nlast line"
    lines = WrongAnswer(message)._render_traceback_()
    assert " ".join(lines).replace("\x1b[1m", "").replace("\x1b[0m", "").split() == (
        f"WrongAnswer: {message}".split()
    )
    assert all(len(line) <= WIDTH + len("\x1b[1m\x1b[0m") for line in lines)
    assert lines[-1] == "last line"
