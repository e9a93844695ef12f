"""What `check` says to a learner, whatever the answer does; and every catalogue, entry by entry."""

import threading
import time

import numpy as np
import pytest

from gpulearn import check, exercises, solution
from gpulearn.errors import BadInput, NotSolvedYet, WrongAnswer
from gpulearn.lessons import judge, progress
from gpulearn.lessons.exercise import catalogue, find
from gpulearn.lessons.judge import diagnose

EXERCISES = list(catalogue().values())
WRONG = [
    pytest.param(e, w, id=f"{e.name}-{i}-{w.answer.__name__}")
    for e in EXERCISES
    for i, w in enumerate(e.wrong)
]
RIGHT = [
    pytest.param(e, answer, id=f"{e.name}-{i}")
    for e in EXERCISES
    for i, answer in enumerate((e.reference, *e.right))
]


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, str(tmp_path / "progress.json"))


@pytest.mark.parametrize(("exercise", "wrong"), WRONG)
def test_each_wrong_answer_gets_its_hint(exercise, wrong):
    assert diagnose(exercise, wrong.answer) == wrong.hint


@pytest.mark.parametrize(("exercise", "answer"), RIGHT)
def test_each_right_answer_passes(exercise, answer):
    assert check(exercise.name, answer).name == exercise.name


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_catalogue_is_rich_enough(exercise):
    assert len(exercise.wrong) >= 5
    assert len(exercise.right) >= 2
    assert len({w.hint for w in exercise.wrong}) == len(exercise.wrong)
    assert exercise.task.endswith(".")
    assert exercise.name == exercise.reference.__name__


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_cases_are_the_same_each_time(exercise):
    one, two = exercise.cases(), exercise.cases()
    assert [c.label for c in one] == [c.label for c in two]
    assert len({c.label for c in one}) == len(one)


def test_unsolved():
    def matmul_flops(m, n, p): ...

    with pytest.raises(NotSolvedYet, match="matmul_flops still holds its stub. Count the"):
        check("matmul_flops", matmul_flops)


def test_wrong_answer_is_told_what_it_does():
    with pytest.raises(WrongAnswer, match="^matmul_flops: that counts the products"):
        check("matmul_flops", lambda m, n, p: m * n * p)


def test_unknown_mistake_gets_the_first_case_that_fails():
    with pytest.raises(WrongAnswer, match="for m, n, p = 1, 1, 1, it returns 7, expected 2"):
        check("matmul_flops", lambda m, n, p: 7)


def test_exception_is_quoted_with_its_line():
    def answer(m, n, p):
        k = 0
        return m / k

    with pytest.raises(WrongAnswer, match="it raises ZeroDivisionError: .* in line 3 of your"):
        check("matmul_flops", answer)


def test_exit_is_an_exception_like_others():
    def answer(m, n, p):
        raise SystemExit

    with pytest.raises(WrongAnswer, match="it raises SystemExit"):
        check("matmul_flops", answer)


def test_wrong_number_of_parameters():
    with pytest.raises(WrongAnswer, match=r"it takes \(n\), and must take \(m, n, p\)"):
        check("matmul_flops", lambda n: 2 * n**3)


def test_an_object_that_equals_everything_does_not_pass():
    class Yes:
        def __eq__(self, other):
            return True

        __hash__ = None

    assert "expected 2" in diagnose(find("matmul_flops"), lambda m, n, p: Yes())


def test_nan_does_not_pass():
    assert "nan, expected 2" in diagnose(find("matmul_flops"), lambda m, n, p: float("nan"))


def test_result_instead_of_function():
    with pytest.raises(BadInput, match=r"not a function: write gl.check\(.matmul_flops., matmul"):
        check("matmul_flops", 48)


def test_unknown_exercise_names_the_nearest():
    with pytest.raises(
        BadInput, match="There is no exercise 'matmul_flop': did you mean 'matmul_f"
    ):
        check("matmul_flop", max)


def test_endless_loop_ends():
    def answer(m, n, p):
        while True:
            pass

    assert diagnose(find("matmul_flops"), answer, seconds=0.2).startswith(
        "it did not end within 0.2 s"
    )


def test_interrupt_by_hand_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt), judge.time_limit(60):
        raise KeyboardInterrupt


def test_time_limit_leaves_nothing_behind():
    with judge.time_limit(0.1):
        pass
    time.sleep(0.2)  # a timer left running would interrupt here


def test_check_works_outside_the_main_thread():
    seen = []
    thread = threading.Thread(
        target=lambda: seen.append(check("matmul_flops", find("matmul_flops").reference))
    )
    thread.start()
    thread.join()
    assert len(seen) == 1


def test_passed_reads_as_text_and_html():
    passed = check("matmul_flops", find("matmul_flops").reference)
    assert repr(passed).startswith("✓ matmul_flops is right in all 5 cases. 1 of 4 solved")
    assert "<strong>✓ matmul_flops</strong>" in passed._repr_html_()


def test_exercises_lists_every_name():
    text = repr(exercises())
    assert all(name in text for name in catalogue())


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_solution_stands_alone_in_a_notebook(exercise):
    source = solution(exercise.name).source
    assert "->" not in source
    assert '"""' not in source
    assert source.startswith(f"def {exercise.name}(")
    space = {"np": np, "perf_counter": time.perf_counter}
    exec(source, space)
    assert diagnose(exercise, space[exercise.name]) is None


def test_solution_keeps_comments_and_shows_itself():
    shown = solution("matmul_flops")
    assert repr(shown) == shown.source == "def matmul_flops(m, n, p):\n    return 2 * m * n * p"
    assert shown._repr_markdown_().startswith("```python\n")
