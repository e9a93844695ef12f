"""Answers in CUDA C++: what is told of a text before it is tried, and what it is tried on."""

import re

import pytest

import gpulearn as gl
from gpulearn.errors import BadInput, MissingPackage, NotSolvedYet, WrongAnswer
from gpulearn.judge.catalogue import find
from gpulearn.judge.stubs import is_stub
from gpulearn_lessons.cuda_cpp.cpp_sources import SAXPY_CPP, TRANSPOSE_CPP
from simt.cpp import compiler
from simt.cpp.source import CppSource
from tests.support.edits import edited
from tests.support.stub_drift import drift

TEXT = SAXPY_CPP.text


@pytest.mark.usefixtures("_nvrtc")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT.replace("x[i]", "x[k]"), 'line 7: identifier "k" is undefined\n'),
        (TEXT.replace("float alpha", "int alpha"), "alpha is declared as int, and what is handed"),
        (TEXT.replace("float* out", "double* out"), "handed over is float*: write float* out."),
        (
            TEXT.replace("float alpha, ", "").replace("int n)", "int n, float alpha)"),
            "another order: write (float alpha, const float* x, const float* y, float* out, int n)",
        ),
        (TEXT.replace("saxpy", "axpy"), "there is no kernel 'saxpy' in this source, it has axpy"),
        (TEXT.replace(", int n", "").replace("n;", "9;"), "it takes (alpha, x, y, out), and is"),
        ("", "there is no kernel 'saxpy' in this source, it has none"),
    ],
    ids=["undefined", "int", "double", "order", "name", "parameters", "empty"],
)
def test_what_cannot_be_launched_is_told_before_it_is_tried(text, said):
    with pytest.raises(WrongAnswer, match=re.escape(said)) as caught:
        gl.check("saxpy_cpp", text)
    if "undefined" in said:  # the line as it is written, and a mark under the place
        _, line, caret = str(caught.value).splitlines()
        assert line[caret.index("^")] == "k"


@pytest.mark.usefixtures("_nvrtc")
def test_a_barrier_that_is_not_called_is_told():
    text = TRANSPOSE_CPP.text.replace("__syncthreads()", "__syncthreads")
    with pytest.raises(WrongAnswer, match="__syncthreads is named and not called"):
        gl.check("transpose_cpp", text)


@pytest.mark.usefixtures("_nvrtc")
def test_a_text_is_right_and_so_is_what_it_was_compiled_to():
    for answer in (TEXT, gl.cpp(TEXT), TEXT.replace("int n)", "long long n)")):
        assert gl.check("saxpy_cpp", answer).cases == 5


@pytest.mark.usefixtures("_nvrtc")
def test_lines_are_those_of_the_cell():
    wrong = TEXT.replace("i < n", "i <= n")
    with pytest.raises(WrongAnswer, match=re.escape("line 7 (`out[i] = alpha * x[i] + y[i];`)")):
        gl.check("saxpy_cpp", wrong)
    assert (
        gl.solution("saxpy_cpp").source.splitlines()[6].strip() == "out[i] = alpha * x[i] + y[i];"
    )


@pytest.mark.usefixtures("_nvrtc")
@pytest.mark.parametrize("answer", [3, lambda: 2, None])
def test_what_is_no_text_is_told(answer):
    with pytest.raises(BadInput, match="saxpy_cpp is the text of the kernel"):
        gl.check("saxpy_cpp", answer)


@pytest.mark.usefixtures("_nvrtc")
def test_a_stub_is_not_solved_yet():
    with pytest.raises(NotSolvedYet, match=r"saxpy_cpp still has a \.\.\. where your code"):
        gl.check("saxpy_cpp", "__global__ void saxpy(int n)\n{\n    ...\n}")


def test_without_a_compiler_nothing_is_judged(monkeypatch):
    monkeypatch.setattr(compiler, "_library", lambda: None)
    for answer in (TEXT, "nonsense", "..."):
        with pytest.raises(MissingPackage, match=r"^saxpy_cpp cannot be judged here: CUDA C\+\+"):
            gl.check("saxpy_cpp", answer)
    assert gl.check("read_ptx", find("read_ptx").reference)  # needs none


# --- texts


def test_an_edit_in_a_comment_is_no_edit():
    commented = CppSource("f", "__global__ void f() { /* one */ } // two", "f")
    for old, new in (("one", "1"), ("// two", ""), ("{ /*", "{  /*")):
        with pytest.raises(ValueError, match="changes nothing"):
            edited(commented, {old: new})
    assert edited(commented, {"f() {": "f() { return;"}).kernel == "f"


@pytest.mark.parametrize(
    ("text", "stub"), [("{ ... }", True), ("{ } // ...", False), ('{ printf("..."); }', False)]
)
def test_a_hole_is_no_comment(text, stub):
    assert is_stub(CppSource("f", text, "f")) is stub


def test_a_stub_may_have_no_line_of_its_own():
    stub = 'saxpy_cpp = r"""\n' + TEXT.replace("out[i] =", "...\n// out[i] =") + '"""'
    assert drift(stub, SAXPY_CPP) is None
    assert "'int j = 0;'" in drift(stub.replace("...", "int j = 0;"), SAXPY_CPP)
    assert "as a text" in drift("saxpy_cpp = 3 + 4", SAXPY_CPP)
