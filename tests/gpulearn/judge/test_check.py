"""What `check` says to a learner, whatever the answer does; and every catalogue, entry by entry."""

import _thread
import cProfile
import dataclasses
import functools
import importlib
import math
import pkgutil
import random
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import numpy as np
import pytest

import gpulearn
import gpulearn_lessons as topics_of
from gpulearn import check, exercises, solution
from gpulearn.errors import BadInput, MissingPackage, NotSolvedYet, WrongAnswer
from gpulearn.judge import catalogue as catalogue_module
from gpulearn.judge import diagnosis, limits, trial
from gpulearn.judge.answers import Answers, Wrong
from gpulearn.judge.catalogue import catalogue, find
from gpulearn.judge.diagnosis import diagnose
from gpulearn.judge.exercise import Case, Exercise, TooLong
from gpulearn.judge.kernel_exercise import Launch
from simt.host import dispatcher
from tests.lessons import (
    answers_backprop,
    answers_coalescing,
    answers_cuda_cpp,
    answers_gradient_descent,
    answers_matmul,
    answers_noise_and_schedules,
    answers_reductions,
    answers_shared_memory,
    answers_threads,
    answers_training,
    answers_training_costs,
)
from tests.support.rights import rights_of

EXERCISES = list(catalogue().values())
# wrong answers by another hand than the catalogues'
ANSWERS = (
    answers_threads,
    answers_coalescing,
    answers_shared_memory,
    answers_matmul,
    answers_reductions,
    answers_cuda_cpp,
    answers_gradient_descent,
    answers_noise_and_schedules,
    answers_backprop,
    answers_training,
    answers_training_costs,
)


def wrongs_of(exercise):
    """Known wrong answers, not compiled yet, then others: they are held against the known ones."""
    for i, wrong in enumerate(exercise.answers.wrongs):
        yield pytest.param(exercise, wrong, False, id=f"{exercise.name}-{i}")
    for module in ANSWERS:
        for name, answer, told in module.WRONG:
            if name == exercise.name:
                wrong = Wrong(lambda answer=answer: answer, told)
                yield pytest.param(exercise, wrong, True, id=f"{name}-{answer.__name__}")


# the solutions themselves pass in the notebooks, where each is run
RIGHT = [
    pytest.param(e, answer, id=f"{e.name}-{i}")
    for e in EXERCISES
    for i, answer in enumerate((e.reference, *rights_of(e)))
]


def is_kernel(exercise):
    return isinstance(exercise.cases()[0], Launch)


@pytest.fixture(autouse=True)
def _compiler(request):
    """What is asked of an exercise in CUDA C++ needs its compiler, an answer in Triton Triton."""
    given = getattr(request.node, "callspec", None)
    exercise = given and given.params.get("exercise")
    if getattr(exercise, "kernel", ""):
        request.getfixturevalue("_nvrtc")
    elif getattr(exercise, "notebook", "") == "B_tiles" and {"wrong", "answer"} & {*given.params}:
        if absent := exercise.missing():
            pytest.skip(absent)


@functools.lru_cache(maxsize=2)  # the tests of one exercise follow each other
def remembering(exercise):
    """The exercise, which makes an answer ready and works out what is expected once."""

    @functools.cache
    def expected(label):
        (case,) = (case for case in exercise.cases() if case.label == label)
        return exercise.expected(case)

    ready = functools.cache(exercise.ready)
    return dataclasses.replace(exercise, ready=ready, expect=lambda case: expected(case.label))


@functools.lru_cache(maxsize=1024)
def tried_once(exercise, answer, label):
    """What comes of a case: each wrong answer is also one of those that all are held against."""
    (case,) = (case for case in exercise.cases() if case.label == label)
    return trial.tried(exercise, answer, case)


@pytest.mark.parametrize(
    ("exercise", "wrong", "by_another_hand"), [one for e in EXERCISES for one in wrongs_of(e)]
)
def test_each_wrong_answer_gets_its_hint(exercise, wrong, by_another_hand, monkeypatch):
    monkeypatch.setattr(diagnosis, "tried", lambda e, a, case: tried_once(e, a, case.label))
    said = diagnose(remembering(exercise), wrong.answer) or "nothing"
    if by_another_hand:
        # what ends a sentence ends the diagnosis: no hint for another mistake follows
        assert said.endswith(wrong.hint) if wrong.hint.endswith(".") else wrong.hint in said
        return
    hint = f" {wrong.hint.lower()}"
    # a kernel's diagnosis begins with the evidence: a finding, or a budget that is exceeded; so
    # does that of a program whose time has a budget
    evidence = is_kernel(exercise) or "the budget is" in said
    assert said == wrong.hint or (evidence and said.lower().endswith(hint))
    # several answers may exceed one budget; each is told by how much, and in which line
    if evidence and sum(other.hint == wrong.hint for other in exercise.answers.wrongs) > 1:
        assert "the budget is" in said


@pytest.mark.parametrize(("exercise", "answer"), RIGHT)
def test_each_right_answer_passes(exercise, answer):
    assert check(exercise.name, answer).name == exercise.name


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_catalogue_is_rich_enough(exercise):
    assert len(exercise.answers.wrongs) >= 8
    assert len(rights_of(exercise)) >= 2
    assert exercise.task.endswith(".")


def test_each_exercise_is_a_module_of_its_name_in_its_topic():
    topics = [m.name for m in pkgutil.iter_modules(topics_of.__path__) if m.ispkg]
    folders = [importlib.import_module(f"{topics_of.__name__}.{topic}") for topic in topics]
    assert sorted(name for one in folders for name in one.EXERCISES) == sorted(catalogue())


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_cases_are_the_same_each_time(exercise):
    one, two = exercise.cases(), exercise.cases()
    assert [c.label for c in one] == [c.label for c in two]
    assert len({c.label for c in one}) == len(one)


def test_a_stub_is_not_solved_yet_and_not_held_against_known_answers(monkeypatch):
    monkeypatch.setattr(diagnosis, "_known_wrongs", None)

    def matmul_flops(m, n, p): ...

    still = "matmul_flops still has a ... where your code belongs. Count the"
    with pytest.raises(NotSolvedYet, match=still):
        check("matmul_flops", matmul_flops)


def test_an_answer_that_is_right_passes_with_dots_in_it():
    def matmul_flops(m, n, p):
        ...
        return 2 * m * n * p

    passed = check("matmul_flops", matmul_flops)
    assert repr(passed).startswith("✓ matmul_flops is right in all 5 cases. 1 of 4 solved")
    assert "<strong>✓ matmul_flops</strong>" in passed._repr_html_()
    one = dataclasses.replace(passed, name="mend_the_script", cases=1, note="")
    assert repr(one) == "✓ mend_the_script is right."
    assert "</strong> is right. </div>" in one._repr_html_()


def test_a_check_imports_no_other_exercise():
    program = (
        "import sys, gpulearn as gl\n"
        "from gpulearn.kernels.vectors import vector_add\n"
        "assert gl.check('vector_add', vector_add)\n"
        "gl.progress()\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_kernel_is_translated_once_for_all_cases(monkeypatch):
    made = []
    real = dispatcher.Overload
    monkeypatch.setattr(dispatcher, "Overload", lambda *a: made.append(a[0]) or real(*a))
    solution = find("vector_add").reference.py_func
    answer = types.FunctionType(solution.__code__, solution.__globals__)
    assert diagnose(find("vector_add"), answer) is None
    assert made.count(answer) == 1  # all cases are of the same types


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        (("matmul_flops", lambda m, n, p: m * n * p), WrongAnswer, "^matmul_flops: that counts "),
        (("matmul_flops", 48), BadInput, r"not a function: write gl.check\(.matmul_flops., matmul"),
        ((max, "matmul_flops"), BadInput, r'name comes first: write gl.check\("matmul_flops", '),
        (("matmul_flop", max), BadInput, "no exercise 'matmul_flop': did you mean 'matmul_f"),
        ((max, max), BadInput, 'named by a string: write "max", in quotation marks'),
    ],
)
def test_what_check_cannot_take_is_told(arguments, error, told):
    with pytest.raises(error, match=told):
        check(*arguments)


def test_a_lesson_without_its_package_is_left_out(monkeypatch):
    real = catalogue_module.importlib.import_module

    def without_torch(name):
        if name.endswith(".train_step"):
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        return real(name)

    monkeypatch.setattr(catalogue_module.importlib, "import_module", without_torch)
    catalogue_module._of_course.cache_clear()
    try:
        assert "train_step" not in catalogue()
        assert "matmul_flops" in catalogue()
        with pytest.raises(MissingPackage, match="exercise train_step is not here: .* needs torch"):
            check("train_step", max)
        with pytest.raises(BadInput, match="did you mean 'matmul_f"):
            check("matmul_flop", max)
    finally:
        catalogue_module._of_course.cache_clear()


def test_endless_loop_ends():
    def answer(m, n, p):
        while True:
            pass

    assert diagnose(find("matmul_flops"), answer, seconds=0.2).startswith(
        "for m, n, p = 1, 1, 1, it did not end within 0.2 s: a loop never stops"
    )


def test_what_is_tried_after_all_cases_is_not_told_of_a_case():
    waits = dataclasses.replace(
        find("matmul_flops"), demand=lambda answer, outcomes: time.sleep(30)
    )
    said = diagnose(waits, waits.reference, seconds=0.3)
    assert said.startswith("all cases are right; in what is tried after them")
    assert said.endswith("then run the check again.")


def test_an_answer_that_swallows_interrupts_ends(monkeypatch):
    monkeypatch.setattr(limits, "AGAIN_SECONDS", 0.1)

    def answer(m, n, p):
        end = time.perf_counter() + 30
        while time.perf_counter() < end:
            try:
                while True:
                    pass
            except KeyboardInterrupt:
                swallowed.append(1)
                if len(swallowed) >= 2:
                    break
        return 2 * m * n * p

    swallowed = []
    assert "did not end" in diagnose(find("matmul_flops"), answer, seconds=0.2)
    assert len(swallowed) >= 2


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system holds no memory")
def test_memory_without_end_ends(monkeypatch):
    import resource

    before, peak = resource.getrlimit(resource.RLIMIT_DATA), limits.peak_bytes()
    monkeypatch.setattr(limits, "MAX_BYTES", 1 << 28)

    def answer(m, n, p):
        order = [0.5]
        while True:
            order += order

    said = diagnose(find("matmul_flops"), answer)
    assert said == (
        "for m, n, p = 1, 1, 1, it raises MemoryError in line 4 of your function: it takes more "
        "than 0.25 GiB; does a loop never end?"
    )
    assert limits.peak_bytes() - peak < 2 << 28
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_memory_is_watched_where_the_system_does_not_hold_it(monkeypatch):
    growing = iter(range(0, 1 << 40, 1 << 26))
    monkeypatch.setattr(limits, "data_bytes", lambda: 0)
    monkeypatch.setattr(limits, "peak_bytes", lambda: next(growing))
    monkeypatch.setattr(limits, "MAX_BYTES", 1 << 27)
    said = diagnose(find("matmul_flops"), lambda m, n, p: time.sleep(60))
    assert said.startswith("for m, n, p = 1, 1, 1, it takes more than 0.125 GiB of memory: a loop")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system holds no memory")
def test_a_rank_is_not_held_to_what_an_answer_is():
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    with limits.time_limit(300):
        held = resource.getrlimit(resource.RLIMIT_DATA)
        ranks = gpulearn.launch(lambda: resource.getrlimit(resource.RLIMIT_DATA), 2)
    assert held != before
    assert ranks == [before[1:] * 2] * 2


def test_an_interrupt_that_comes_as_the_block_ends_is_the_last(monkeypatch, default_interrupts):
    monkeypatch.setattr(limits, "AGAIN_SECONDS", 0.02)

    class Late:
        """Lets the next interrupt come before the clock is stopped."""

        def __init__(self, lock):
            self.lock, self.waits = lock, [1.0]

        def __enter__(self):
            if threading.current_thread() is threading.main_thread() and self.waits:
                time.sleep(self.waits.pop())
            return self.lock.__enter__()

        def __exit__(self, *error):
            return self.lock.__exit__(*error)

    class Limit(limits._Limit):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self._lock = Late(self._lock)

    monkeypatch.setattr(limits, "_Limit", Limit)
    with pytest.raises(TimeoutError), limits.time_limit(0.1):
        time.sleep(60)
    time.sleep(0.3)  # a clock that goes on would interrupt here


def test_limit_holds_where_interrupts_are_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(TimeoutError), limits.time_limit(0.2):
            time.sleep(30)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_answer_leaves_what_all_share_as_it_was():
    before = np.geterr(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002

    def answer(m, n, p):
        np.seterr(all="raise")
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        return 7

    assert "it returns 7" in diagnose(find("matmul_flops"), answer)
    after = np.geterr(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    assert after == before


def calls_the_library(a, b, gradient):
    return gpulearn.nn.layers.backward_matmul(a, b, gradient)


def calls_it_under_another_name(a, b, gradient):
    from gpulearn.nn.layers import backward_matmul as mine

    grad_a, grad_b = mine(a, b, gradient)
    return grad_a.copy(), grad_b.copy()


@pytest.mark.parametrize("answer", [calls_the_library, calls_it_under_another_name])
def test_the_librarys_own_solution_is_no_answer(answer):
    said = diagnose(find("backward_matmul"), answer)
    assert said.endswith(", it calls the library's backward_matmul: write it yourself.")


def adamw_by_adam(
    theta, gradient, state=None, *, lr, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.01
):
    decayed = theta - lr * weight_decay * theta
    others = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    return gpulearn.optim.adam_step(decayed, gradient, state, lr=lr, **others)


def test_another_function_behind_the_same_wrapper_is_not_the_solution():
    assert diagnose(find("adamw_step"), adamw_by_adam) is None


def test_a_check_that_is_profiled_stays_profiled_and_an_answer_may_profile_itself():
    profile = cProfile.Profile()
    profile.enable()
    assert diagnose(find("matmul_flops"), matmul_flops) is None
    profile.disable()
    assert any("matmul_flops" in str(entry.code) for entry in profile.getstats())

    def profiles_itself(m, n, p):
        with cProfile.Profile():
            return 2 * m * n * p

    assert diagnose(find("matmul_flops"), profiles_itself) is None


def generator(m, n, p):
    yield 2 * m * n * p


async def coroutine(m, n, p):
    return 2 * m * n * p


@pytest.mark.parametrize(("answer", "word"), [(generator, "yield"), (coroutine, "async")])
def test_a_function_that_runs_nothing_is_told(answer, word):
    assert diagnose(find("matmul_flops"), answer) == (
        f"with {word} in it, a call runs nothing yet and gives no result: end it with return, "
        f"without {word}."
    )


def test_a_known_answer_that_takes_too_long_gives_no_hint_and_no_error():
    def slow(m, n, p):
        raise TooLong("it ran for 2 seconds")

    known = Answers([Wrong(lambda: slow, "that one is slow.")])
    one = dataclasses.replace(find("matmul_flops"), known=lambda: known)
    assert "it returns 0, expected" in diagnose(one, lambda m, n, p: 0)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda x, g: (g * (x > 0),), "in it: take away the comma after the result."),
        (lambda x, g: (x > 0, g * (x > 0)), "it returns 2 things, expected one array."),
        (lambda x, g: (v for v in g), "it yields its results one by one: write return"),
        (lambda x, g: g + 1, "first [0, 0]: -4.732305992529941, expected 0.0."),
    ],
)
def test_results_that_are_not_one_array(answer, said):
    assert said in diagnose(find("backward_relu"), answer)


@pytest.fixture
def default_interrupts():
    """Ctrl-C works as usual, also where these tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_and_wait(interrupt):
    interrupt()
    time.sleep(5)


def test_the_interrupter_of_each_platform(default_interrupts):
    assert limits.interrupter("win32") is _thread.interrupt_main
    interrupt = limits.interrupter("linux")
    with pytest.raises(KeyboardInterrupt):
        interrupt_and_wait(interrupt)


@pytest.mark.parametrize("right", [True, False])
def test_what_an_answer_prints_is_shown_for_the_case_that_is_spoken_of(right, capsys):
    def prints(f, x):
        print("here with", x.ndim)
        if not right and x.ndim == 2:
            print("x" * 9999)
            raise ValueError("no")
        return answers_noise_and_schedules.slopes_by_unit_vectors(f, x)

    assert (diagnose(find("numerical_gradient"), prints) is None) == right
    out = capsys.readouterr().out
    label = "a vector of three" if right else "a matrix of shape (2, 3)"
    assert out.startswith(f"For {label}, your function prints:\nhere with {1 if right else 2}\n")
    assert out.count("here") == 1
    assert len(out) < 5000


def test_interrupt_by_hand_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt), limits.time_limit(60):
        raise KeyboardInterrupt


def test_waiting_for_a_core_does_not_count(monkeypatch):
    begun = time.monotonic()
    monkeypatch.setattr(limits, "waited_seconds", lambda thread: time.monotonic() - begun)
    with limits.time_limit(0.1):
        time.sleep(0.4)
    monkeypatch.setattr(limits, "waited_seconds", lambda thread: 0.0)
    with pytest.raises(TimeoutError), limits.time_limit(0.1):
        time.sleep(60)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="not told by this system")
def test_what_a_thread_has_waited_for_a_core_only_grows():
    seen = [limits.waited_seconds(threading.get_native_id()) for _ in range(1000)]
    assert seen == sorted(seen)
    assert 0 <= seen[0]
    assert limits.waited_seconds(2**22 + 1) == 0


def test_check_works_outside_the_main_thread():
    seen = []
    thread = threading.Thread(
        target=lambda: seen.append(check("matmul_flops", find("matmul_flops").reference))
    )
    thread.start()
    thread.join()
    assert len(seen) == 1


def test_exercises_lists_every_name():
    text = repr(exercises())
    assert all(name in text for name in catalogue())


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_a_solution_is_shown_as_a_notebook_takes_it(exercise):
    """Each is run by the notebook's solution form."""
    source = solution(exercise.name).source
    if exercise.kernel:
        assert source.startswith(f'{exercise.name} = r"""\n')
        return
    assert "->" not in source
    assert '"""' not in source
    tile = exercise.notebook == "B_tiles"
    decorator = "@cuda.jit\n" if is_kernel(exercise) else "@triton.jit\n" if tile else ""
    assert source.startswith(f"{decorator}def {exercise.name}(")


class Shell:
    """What `check` asks of IPython, with a history of cells."""

    def __init__(self, *cells):
        self.user_ns = {"In": list(cells)}

    def transform_cell(self, cell):
        return cell.replace("%time ", "")


@pytest.fixture
def history(monkeypatch):
    def install(*cells):
        shell = Shell(*cells)
        fake = types.SimpleNamespace(get_ipython=lambda: shell)
        monkeypatch.setitem(sys.modules, "IPython", fake)

    return install


def matmul_flops(m, n, p):
    return 2 * m * n * p


GOOD_CELL = "def matmul_flops(m, n, p):\n    return 2 * m * n * p"


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("def matmul_flops(m, n, p):\n    return 2 * m *", "line 2: invalid syntax"),
        ("def matmul_flops(m, n, p)\n    return 2", "line 1: expected ':'"),
        ("def matmul_flops(m, n, p):\nreturn 2", "line 2: expected an indented block"),
        ("def matmul_flops(m, n, p):\n    x = 1\nreturn x", "'return' outside function"),
    ],
)
def test_a_cell_that_python_cannot_read_is_named(history, bad, said):
    history(GOOD_CELL, bad)
    with pytest.raises(WrongAnswer, match=f"Python cannot read your cell, .*{said}"):
        check("matmul_flops", matmul_flops)


@pytest.mark.parametrize(
    "cells", [(), (GOOD_CELL,), ("def matmul_flops(", GOOD_CELL), ("%time " + GOOD_CELL,)]
)
def test_cells_that_python_can_read_are_no_hindrance(history, cells):
    history(*cells)
    check("matmul_flops", matmul_flops)


def test_an_unreadable_cell_says_nothing_of_another_function(history):
    history("def matmul_flops(")
    check("matmul_flops", lambda m, n, p: 2 * m * n * p)


class Odd:
    """A result, or an exception, that cannot even be shown."""

    def __repr__(self):
        raise RuntimeError("no")


class Yes:
    """A result that equals everything."""

    def __eq__(self, other):
        return True

    __hash__ = None


class OddError(Exception):
    def __str__(self):
        raise RuntimeError("no")


class OwnExit(BaseException):
    """Neither Exception nor SystemExit."""


def raises(error):
    def answer(m, n, p):
        raise error

    return answer


def wraps_itself():
    def answer(m, n, p):
        return 3

    answer.__wrapped__ = answer
    return answer


class BadSignature:
    @property
    def __signature__(self):
        raise RuntimeError("no")

    def __call__(self, m, n, p):
        return 3


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda m, n, p: 7, "for m, n, p = 1, 1, 1, it returns 7, expected 2"),
        (lambda m, n, p: float("nan"), "nan, expected 2"),
        (lambda m, n, p: Yes(), "expected 2"),
        (lambda n: 2 * n**3, "it takes (n), and is called with (m, n, p), by position"),
        (lambda m, n, p: Odd(), "it returns an object of type Odd"),
        (lambda m, n, p: object(), "it returns an object of type object"),
        (raises(OddError()), "it raises OddError in line 2 of your function"),
        (raises(SystemExit()), "it raises SystemExit in line 2 of your function."),
        (raises(ValueError("\x1b[1mbold\x1b[0m words")), ": bold words."),
        (raises(OwnExit("bye")), "it raises OwnExit in line 2 of your function: bye"),
        (raises(ValueError("x" * 5000)), "xxx…"),
        (raises(AssertionError()), "it raises AssertionError in line 2 of your function."),
        (wraps_itself(), "it returns 3, expected 2"),
        (BadSignature(), "it returns 3, expected 2"),
        (lambda m, n, p: [1] * 5000, "…"),
    ],
)
def test_odd_answers_get_one_short_sentence(answer, said):
    sentence = diagnose(find("matmul_flops"), answer)
    assert said in sentence
    assert "\n" not in sentence
    assert len(sentence) < 300
    assert not sentence.endswith("..")


def test_a_helper_in_the_same_file_is_not_counted_as_the_answers_line():
    def helper():
        raise ValueError("inside")

    def answer(m, n, p):
        return helper()

    assert "in line 2 of your function: inside" in diagnose(find("matmul_flops"), answer)


@pytest.mark.parametrize("body", ["raise NotImplementedError", "raise NotImplementedError('you')"])
def test_not_implemented_is_a_stub(body, tmp_path):
    path = tmp_path / "stub.py"
    path.write_text(f"def matmul_flops(m, n, p):\n    {body}\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    with pytest.raises(NotSolvedYet):
        check("matmul_flops", space["matmul_flops"])


def test_a_hint_that_names_code_is_for_answers_with_that_code():
    def solution(x):
        return x

    def rounded(x):
        return x + math.floor(x)

    def truncated(x):
        return x + int(x)

    known = Answers([Wrong(lambda: rounded, "math.floor(x) is added, which nobody asked for.")])
    exercise = Exercise("Give x.", solution, lambda: [Case("x = 2.5", (2.5,))], known=lambda: known)
    assert "nobody asked" in diagnose(exercise, rounded)
    assert diagnose(exercise, truncated) == "for x = 2.5, it returns 4.5, expected 2.5."
