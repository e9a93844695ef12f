"""The peak of memory of a chain of stages, some of which are recomputed, told before it runs."""

from __future__ import annotations

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.train.recompute import recompute_peak

answers = Answers(recompute_peak)


def cases() -> list[Case]:
    """None, all, the first, the last and some; alike and unlike; a peak at each possible moment."""
    alike = ((10, 10, 10, 10), (50, 50, 50, 50))
    unlike = ((8, 40, 5, 20), (100, 30, 300, 7))
    work: tuple[tuple[str, tuple[tuple[int, ...], tuple[int, ...]], tuple[int, ...]], ...] = (
        ("four stages alike, none recomputed", alike, ()),
        ("four stages alike, all recomputed", alike, (0, 1, 2, 3)),
        ("four stages alike, the last recomputed", alike, (3,)),
        ("four stages alike, the first recomputed", alike, (0,)),
        ("unlike stages, all recomputed", unlike, (0, 1, 2, 3)),
        ("unlike stages, the largest recomputed", unlike, (2,)),
        ("unlike stages, the first and the last recomputed", unlike, (3, 0)),
        ("a large first stage that is recomputed", ((5, 1, 1), (900, 10, 10)), (0,)),
        ("one stage, not recomputed", ((7,), (11,)), ()),
        ("one stage, recomputed", ((7,), (11,)), (0,)),
        ("a large stage in the middle", ((3, 3, 3, 3, 3), (20, 20, 90, 20, 20)), (1, 2, 3)),
        ("six stages, the first the largest", ((2,) * 6, (200, 9, 9, 9, 9, 9)), (0, 2, 3, 4, 5)),
    )
    return [
        Case(label, (list(inputs), list(inside), set(recomputed)))
        for label, (inputs, inside), recomputed in work
    ]


MOST = "        most = max(most, kept + within)\n"
END = "return most"
SAVED = "        if stage not in recomputed:\n            kept += within\n"
ALWAYS = (
    "that is what is kept when the forward pass ends. When the backward pass comes to a stage that "
    "is recomputed, what is inside it is there again."
)

answers.edit({END: "return kept"}, ALWAYS)
answers.edit(
    {
        END: "return kept + max((inside[s] for s in recomputed), default=0)",
    },
    "the largest recomputed stage is added to all that is kept for every stage. When the backward "
    "pass comes to it, what is kept for the stages behind it is free again.",
)
answers.edit(
    {"        kept += given\n": "", "kept + within": "kept + given + within"},
    "the inputs of the stages are missing: a stage that is to be recomputed starts from its input, "
    "so each is kept.",
)
answers.edit(
    {SAVED: "        kept += within\n"},
    "nothing is saved: what is inside a recomputed stage is not kept after the forward pass.",
)  # fmt: skip
answers.edit(
    {"stage not in recomputed": "stage in recomputed"},
    "the two kinds are swapped: what is inside is kept for the stages that are not recomputed.",
)
answers.edit(
    {SAVED: ""},
    "every stage is taken for one that is recomputed: the others keep what is inside.",
)
answers.edit(
    {MOST: "        most = max(most, within)\n"},
    "while a stage is recomputed, all that is kept for the stages before it is still there, and "
    "its input: add them.",
)
answers.edit(
    {
        "        if stage not in recomputed:\n            kept += within\n": (
            "        if stage + 1 not in recomputed:\n            kept += within\n"
        ),
    },
    "the numbers of the stages are off by one: they count from 0.",
)
answers.edit(
    {END: "return most + kept"},
    "the two moments are added up: they come one after the other, so the larger counts.",
)
answers.edit(
    {"enumerate(zip(inputs, inside, strict=True))": (
        "reversed(list(enumerate(zip(inputs, inside, strict=True))))"
    )},
    "the stages are gone through from the last: when one is recomputed, those before it are still "
    "kept, not those behind it.",
)  # fmt: skip
answers.edit(
    {END: "return sum(inputs) + max(inside)"},
    "that is right where all stages are recomputed and the largest is the last. What a stage that "
    "is not recomputed keeps is there too.",
)


def at_the_end(inputs: list[int], inside: list[int], recomputed: set[int]) -> int:
    """What is kept when the forward pass ends."""
    return sum(inputs) + sum(b for s, b in enumerate(inside) if s not in recomputed)


def at_stage(inputs: list[int], inside: list[int], recomputed: set[int], s: int) -> int:
    """What is kept when stage s is recomputed."""
    earlier = sum(inside[t] for t in range(s) if t not in recomputed)
    return sum(inputs[: s + 1]) + earlier + inside[s]


@answers.wrong(
    "of the stages that are recomputed only the last is looked at, and an earlier one may have "
    "more inside: look at each, and take the most."
)
def only_the_last(inputs: list[int], inside: list[int], recomputed: set[int]) -> int:
    known = inputs, inside, recomputed
    return max([at_the_end(*known), *(at_stage(*known, s) for s in sorted(recomputed)[-1:])])


@answers.wrong(
    "of the stages that are recomputed only the one with most inside is looked at, and at one "
    "behind it more may be kept of the stages before: look at each, and take the most."
)
def only_the_largest(inputs: list[int], inside: list[int], recomputed: set[int]) -> int:
    known = inputs, inside, recomputed
    largest = sorted(recomputed, key=lambda s: -inside[s])[:1]
    return max([at_the_end(*known), *(at_stage(*known, s) for s in largest)])


@answers.wrong(
    "only the moments of the backward pass are looked at: when the forward pass ends, more may be "
    "kept."
)
def only_backward(inputs: list[int], inside: list[int], recomputed: set[int]) -> int:
    known = inputs, inside, recomputed
    return max((at_stage(*known, s) for s in recomputed), default=at_the_end(*known))


@answers.wrong(
    "while a stage is recomputed, its own input is there, too: inputs up to stage s, that one "
    "counted."
)
def without_its_input(inputs: list[int], inside: list[int], recomputed: set[int]) -> int:
    known = inputs, inside, recomputed
    return max([at_the_end(*known), *(at_stage(*known, s) - inputs[s] for s in recomputed)])


@answers.wrong(
    "while a stage is recomputed, the stages before it that are not recomputed still keep what is "
    "inside them: add that."
)
def inputs_alone(inputs: list[int], inside: list[int], recomputed: set[int]) -> int:
    back = (sum(inputs[: s + 1]) + inside[s] for s in recomputed)
    return max([at_the_end(inputs, inside, recomputed), *back])


@answers.wrong(
    "while a stage is recomputed, what is inside the recomputed stages before it is not there: "
    "they have forgotten it, and their turn comes later."
)
def nothing_forgotten(inputs: list[int], inside: list[int], recomputed: set[int]) -> int:
    back = (sum(inputs[: s + 1]) + sum(inside[: s + 1]) for s in recomputed)
    return max([at_the_end(inputs, inside, recomputed), *back])


@answers.wrong(
    "while a stage is recomputed, the inputs of the stages behind it have been given back: only "
    "those up to its own are there."
)
def no_input_given_back(inputs: list[int], inside: list[int], recomputed: set[int]) -> int:
    known = inputs, inside, recomputed
    back = (at_stage(*known, s) + sum(inputs[s + 1 :]) for s in recomputed)
    return max([at_the_end(*known), *back])


@answers.right
def moment_by_moment(inputs: list[int], inside: list[int], recomputed: set[int]) -> int:
    n = len(inputs)
    kept = [inputs[s] + (0 if s in recomputed else inside[s]) for s in range(n)]
    moments = [sum(kept)]
    for s in recomputed:
        moments.append(sum(kept[:s]) + inputs[s] + inside[s])
    return max(moments)


@answers.right
def backwards(inputs: list[int], inside: list[int], recomputed: set[int]) -> int:
    now = sum(inputs) + sum(b for s, b in enumerate(inside) if s not in recomputed)
    most = now
    for s in reversed(range(len(inputs))):
        if s in recomputed:
            most = max(most, now + inside[s])
        else:
            now -= inside[s]
        now -= inputs[s]
    return most


EXERCISE = Exercise(
    task="Tell the most bytes that a chain keeps at once when some of its stages are recomputed.",
    reference=recompute_peak,
    cases=cases,
    answers=answers,
)
