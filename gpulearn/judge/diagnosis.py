"""The diagnosis of an answer: what is wrong with it, in one sentence."""

import functools
import re
import types
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from typing import Any, NamedTuple

from gpulearn.errors import MachineFault
from gpulearn.judge import compare
from gpulearn.judge.answers import Answer, Wrong
from gpulearn.judge.compare import relation
from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn.judge.isolation import Printout, undisturbed
from gpulearn.judge.limits import time_limit
from gpulearn.judge.stubs import in_cpp, unwrapped
from gpulearn.judge.trial import Failure, another_default, cannot_be_called, tried
from gpulearn.require import shown

WHOLE = "all cases together"
# code in a hint: with a dot, an underscore or a capital inside, in capitals, before a bracket
QUOTED = re.compile(r"\w+(?:\.\w+)+|\w*_\w+|[a-z]+[A-Z]\w*|\b[A-Z]{2,}\b|\w+(?=[(\[])")
SECONDS = 20.0  # for all cases of one check; the slowest reference takes well under one


class Diagnosis(NamedTuple):
    """What the learner is told, and the number of the case, from 1, whose inputs say more.

    There is no such case if the sentence says what to do, or no result is at fault. `share` is that
    of the cases in which the answer is right; what is asked beside them counts as one more.
    """

    sentence: str
    case: int | None = None
    share: float = 0.0


def diagnose(exercise: Exercise, answer: Answer, seconds: float | None = None) -> str | None:
    """What is wrong with an answer, in one sentence; None if nothing is."""
    diagnosis = examine(exercise, answer, seconds)
    return diagnosis and diagnosis.sentence


def examine(
    exercise: Exercise,
    answer: Answer,
    seconds: float | None = None,
    *,
    hints: Callable[[], bool] = lambda: True,
) -> Diagnosis | None:
    """What is wrong with an answer, and in which case; None if nothing is.

    An answer that behaves on every case like one of the exercise's known wrong answers gets
    that one's hint, where it is true of it; any other is told of the first case in which it
    fails. What it prints is shown for that case, or for the first one. Only if `hints` says so is
    a known answer tried, which takes longest: not where nothing has been written yet.
    """
    if fault := exercise.fault(answer) or cannot_be_called(exercise, answer):
        return Diagnosis(fault)
    outcomes: list[Any] = []
    cases = exercise.cases()
    ready = exercise.ready(answer)
    printed: defaultdict[str, Printout] = defaultdict(Printout)
    demanded = unfinished = None
    seconds = SECONDS if seconds is None else seconds
    limit = seconds
    try:
        with time_limit(limit):
            for case in cases:
                with redirect_stdout(printed[case.label]):
                    outcomes.append(tried(exercise, ready, case))
                if getattr(outcomes[-1], "endless", False):
                    break  # each further case would take as long
            failures = _failures(exercise, cases[: len(outcomes)], outcomes)
        limit = 3 * seconds  # a demand may have to start processes first
        with time_limit(limit), redirect_stdout(printed[WHOLE]), undisturbed():
            if not failures:
                demanded = another_default(exercise, answer) or exercise.demand(ready, outcomes)
    except TimeoutError as error:
        message = str(error) or f"it did not end within {limit:g} s"
        slow = "a loop never stops, or runs far too often"
        if len(outcomes) == len(cases):
            slow += ". Or this computer has much else to do: then run the check again"
        unfinished = f"{message}: {slow}"
        # what went wrong before says more, such as the line of a loop that never ends
        failures = _failures(exercise, cases[: len(outcomes)], outcomes)
    right = len(outcomes) - len(failures)
    share = right / (len(cases) + (right == len(cases)))
    if failures:
        case, sentence = failures[0]
    elif not unfinished:
        label = WHOLE if demanded else cases[0].label
        printed[label].show(label)
        return Diagnosis(demanded, None, share) if demanded else None
    elif len(outcomes) < len(cases):
        case, sentence = cases[len(outcomes)], unfinished
    else:
        printed[WHOLE].show(WHOLE)
        rest = "in what is tried after them, such as real ranks"
        return Diagnosis(f"all cases are right; {rest}, {unfinished}.", None, share)
    printed[case.label].show(case.label)
    number = cases.index(case)
    if not unfinished and hints() and (hint := _hint(exercise, answer, outcomes)):
        evidence = getattr(outcomes[number], "evidence", "")
        if not evidence:
            return Diagnosis(hint, None, share)
        sentence = f"for {case.label}, {evidence} {hint[:1].upper()}{hint[1:]}"
        return Diagnosis(sentence, None, share)
    if len(outcomes) == len(cases) and all(map(compare.is_number, outcomes)):
        common = relation(outcomes, [exercise.expected(c) for c in cases])
        sentence = f"{sentence}; {common}" if common else sentence
    end = "?" if sentence.endswith("?") else "."
    broken = unfinished or getattr(outcomes[number], "kind", "") == Violation.__name__
    by_hand = exercise.by_hand and not broken
    sentence = f"for {case.label}, {sentence.rstrip('.?!')}{end}"
    return Diagnosis(sentence, number + 1 if by_hand else None, share)


def _hint(exercise: Exercise, answer: Answer, outcomes: Sequence[Any]) -> str | None:
    """The hint of the known wrong answer that behaves like this one on every case.

    Answers that behave alike may be written in other ways: a hint that names what is wrong in the
    known one is given only if that stands in this one too.
    """
    behavior = _known_wrongs(exercise)

    def known(number: int, case: int) -> Any:
        try:
            return behavior(number, case)
        except (TimeoutError, MachineFault) as failed:  # on a busy machine; not this answer's
            return Failure(type(failed).__name__, str(failed))

    def no_difference(one: Any, other: Any) -> bool:
        # either way round: it is measured by the precision of what it is held against
        return not (exercise.difference(one, other) and exercise.difference(other, one))

    for same in exercise.kinships or (no_difference,):
        for number, wrong in enumerate(exercise.answers.wrongs):
            if (
                all(_alike(same, got, known(number, case)) for case, got in enumerate(outcomes))
                and _exception_text(outcomes)
                == _exception_text([known(number, i) for i in range(len(outcomes))])
                and _true_of(answer, wrong, exercise.reference)
            ):
                return wrong.hint
    return None


def _true_of(answer: Answer, wrong: Wrong, solution: Answer) -> bool:
    """Whether code that makes a known answer wrong, if its hint names it, is in this one too."""
    quoted = {name for text in QUOTED.findall(wrong.hint) for name in re.findall(r"\w+", text)}
    return (_names(wrong.answer) - _names(solution)) & quoted <= _names(answer)


def _names(answer: Any) -> set[str]:
    """Globals, attributes and keywords in a function's code, and in what is defined within it."""
    if in_cpp(answer):
        return set(answer.tokens)
    names: set[str] = set()
    parts = [getattr(unwrapped(answer), "__code__", None)]
    for part in parts:  # which grows by what is defined within
        if isinstance(part, types.CodeType):
            names.update(part.co_names)
            parts += part.co_consts
        elif isinstance(part, tuple):  # the names of keyword arguments among others
            names.update(name for name in part if isinstance(name, str))
    return names


@functools.lru_cache(maxsize=4)  # a learner tries one exercise several times, a grader several
def _known_wrongs(exercise: Exercise) -> Callable[[int, int], Any]:
    """What an exercise's wrong answers do: each is tried once on a case, when it is asked for."""
    cases = exercise.cases()
    ready = functools.cache(lambda number: exercise.ready(exercise.answers.wrongs[number].answer))
    return functools.cache(lambda number, case: tried(exercise, ready(number), cases[case]))


def _exception_text(outcomes: Sequence[Any]) -> str:
    """The words of an exception, where an answer gives no result in any case to be known by.

    Its line is left out, and a file's path, which differs from run to run.
    """
    if all(isinstance(outcome, Failure) for outcome in outcomes):
        return re.sub(r" in line \d+ of your function|'[^']*[/\\][^']*'", "", outcomes[0].sentence)
    return ""


def _failures(
    exercise: Exercise, cases: Sequence[Case], outcomes: Sequence[Any]
) -> list[tuple[Case, str]]:
    failures = []
    returns = any(outcome is not None and not isinstance(outcome, Failure) for outcome in outcomes)
    for case, outcome in zip(cases, outcomes, strict=True):
        if isinstance(outcome, Failure):
            failures.append((case, outcome.sentence))
        elif sentence := exercise.difference(outcome, expected := exercise.expected(case)):
            if outcome is None and sentence == compare.NOTHING and returns:  # on some paths
                sentence = f"it returns None, expected {shown(expected)}"
            failures.append((case, sentence))
    return failures


def _alike(same: Callable[[Any, Any], bool], one: Any, other: Any) -> bool:
    if isinstance(one, Failure) and isinstance(other, Failure):
        rule = Violation.__name__
        return one.kind == other.kind and (one.kind != rule or one.sentence == other.sentence)
    if any(result is None or isinstance(result, Failure) for result in (one, other)):
        return one is other
    try:
        return same(one, other)
    except (TypeError, ValueError, AttributeError):
        return False
