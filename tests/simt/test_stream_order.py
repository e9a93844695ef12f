"""Random programs on streams: their races are found, and no result is one that CUDA forbids."""

import pytest

from . import stream_programs as programs


@pytest.mark.parametrize("length", [6, 14, 24])
def test_exactly_the_races_are_found_and_without_any_there_is_one_result(length: int) -> None:
    for number in range(100):
        wrong = programs.difference(number, length)
        assert wrong is None, f"case {number}: {wrong}"


def test_a_race_gives_a_result_that_is_allowed_and_not_the_one_that_was_meant() -> None:
    racy = 0
    for number in range(60):
        program = programs.Program(number, 6)
        if not program.races():
            continue
        racy += 1
        meant = program.result(list(range(len(program.steps))))
        allowed = [program.result(list(order)) for order in program.orders()]
        for seed in range(3):
            got, _ = programs.carried_out(program, seed)
            assert any(programs.same(got, one) for one in allowed), (seed, program.source)
        got, _ = programs.carried_out(program, 0)
        always = all(programs.same(one, meant) for one in allowed)
        assert always or not programs.same(got, meant), program.source
    assert racy >= 10
