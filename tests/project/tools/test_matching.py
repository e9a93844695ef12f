"""Which profiled launch is which case."""

from __future__ import annotations

from typing import Any

from tools.gpu.counters.matching import Launch, kernel_name, match, parse


def table(*kernels: str, process: str = "7") -> list[Launch]:
    return [
        Launch(process, f"_ZN1k{len(name)}{name}B2v1E", ("", ""), {"place": float(place)})
        for place, name in enumerate(kernels)
    ]


def journal(*kernels: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = [{"process": 7}]
    for place, name in enumerate(kernels):
        entries += [{"launch": f"{name} {place}", "kernel": name}, {"done": f"{name} {place}"}]
    return entries


def places(launches: list[Launch], entries: list[dict[str, Any]]) -> dict[str, float | None]:
    return {case: metrics["place"] for case, metrics in match(launches, entries)[0].items()}


def test_launches_are_matched_by_order_and_name() -> None:
    names = ("copy", "copy", "sum", "copy")
    found, faults = match(table(*names), journal(*names))
    assert [metrics["place"] for metrics in found.values()] == [0, 1, 2, 3]
    assert not faults


def test_where_one_of_several_is_missing_none_is_taken() -> None:
    meant = journal("copy", "copy", "sum")
    assert places(table("copy", "sum"), meant) == {"sum 2": 1}
    _, faults = match(table("copy", "sum"), meant)
    assert "1 of copy, 1 of sum" in faults[-1]
    assert len(faults) == 3


def test_a_name_that_only_contains_the_kernel_s_is_another() -> None:
    assert places(table("copy_strided"), journal("copy")) == {}


def test_other_processes_are_left_out() -> None:
    probes = table("copy", process="8")
    assert places(probes + table("copy"), journal("copy")) == {"copy 0": 0}


def test_a_launch_that_failed_is_in_no_table() -> None:
    entries = [*journal("copy"), {"launch": "sum", "kernel": "sum"}, {"failed": "sum", "why": "x"}]
    assert places(table("copy"), entries) == {"copy 0": 0}


def test_a_program_that_died_in_its_last_launch() -> None:
    entries = [*journal("copy"), {"launch": "copy 1", "kernel": "copy"}]
    assert places(table("copy"), entries) == {"copy 0": 0}
    assert places(table("copy", "copy"), entries) == {"copy 0": 0, "copy 1": 1}


def test_other_forms_of_a_name() -> None:
    assert kernel_name("void ns::turn<float>(float*)") == "turn"
    assert kernel_name("copy_strided") == "copy_strided"
    escaped = "_ZN5tests13shared_reader12_3clocals_3e11shared_readB2v3E5ArrayIiLi1E1C7mutable"
    assert kernel_name(escaped) == "shared_read"


def test_lines_that_are_no_table_are_passed_over() -> None:
    text = (
        'a program\'s "own" line\n"quoted","line"\n==PROF== Connected\n'
        '"ID","Process ID","Kernel Name","a__b.sum","memory_l1_wavefronts_shared","Other"\n'
        '"","","","inst","",""\n'
        '"0","7","copy","1,234","(!) n/a","x"\n"1","7","copy","2","3"\n"goodbye"\n'
    )
    found = parse(text)
    assert [launch.metrics for launch in found] == [
        {"a__b.sum": 1234.0, "memory_l1_wavefronts_shared": None},
        {"a__b.sum": 2.0, "memory_l1_wavefronts_shared": 3.0},
    ]
