"""The accesses in machine code; `listings` are what NVIDIA's compiler made of our kernels."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.gpu.cases import CASES
from tools.gpu.counters import disassembly
from tools.gpu.counters.disassembly import (
    Listing,
    assembly,
    find_tool,
    listing,
    parse_ptx,
    parse_sass,
)
from tools.gpu.counters.matching import kernel_of
from tools.gpu.counters.reasons import BY_MACHINE_CODE, Difference

LISTINGS = Path(__file__).with_name("listings")


def seen(made: Listing) -> list[tuple[str, str, int]]:
    return [(access.space, access.action, access.width) for access in made.accesses]


def listed(name: str) -> Listing:
    path = LISTINGS / name
    return (parse_sass if path.suffix == ".sass" else parse_ptx)(path.read_text())


@pytest.mark.parametrize("form", ["sass", "ptx"])
def test_each_access_of_the_source_is_one_instruction_on_its_line(form: str) -> None:
    made = listed(f"add_shared.{form}")
    assert made.form == form.upper()
    by_line: dict[int, list[tuple[str, str, int]]] = {}
    for access in made.accesses:
        by_line.setdefault(access.line, []).append((access.space, access.action, access.width))
    found = [sorted(by_line[line]) for line in sorted(by_line)]
    assert found == [
        [("shared", "store", 4)],
        [("global", "load", 4), ("shared", "atomic", 4)],
        [("global", "store", 4), ("shared", "load", 4)],
    ]


def test_a_load_in_a_divergent_branch_is_predicated() -> None:
    made = listed("read_some.sass")
    assert seen(made) == [("global", "load", 4)] * 2 + [("global", "store", 4)]
    assert [bool(access.guard) for access in made.accesses] == [False, True, False]
    assert "1 × global load of 4 bytes, predicated" in str(made)


def test_widths_and_spaces() -> None:
    text = "\n".join(
        f"/*{16 * k:04x}*/ {code} ;"
        for k, code in enumerate(
            (
                "LDG.E.128.CONSTANT R4, desc[UR4][R2.64]",
                "@!P0 LDS.U16 R5, [R0+0x8]",
                "@P1 STL.64 [R1], R4",
                "RED.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R7",
                "LD.E.U8 R3, [R2.64]",
                "LDC.64 R2, c[0x0][0x218]",
                "LDGSTS.E.BYPASS.128 [R7], [R2.64]",
            )
        )
    )
    assert seen(parse_sass(text)) == [
        ("global", "load", 16), ("shared", "load", 2), ("local", "store", 8),
        ("global", "atomic", 4), ("generic", "load", 1), ("global", "copy to shared", 16),
    ]  # fmt: skip
    text = """
        ld.param.u64 %rd1, [kernel_param_0];
        @%p3 ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4+16];
        st.local.f64 [%rd2], %fd1;
        atom.global.add.u32 %r8, [%rd21], 1;
        ld.s8 %rs1, [%rd1];
        st.volatile.shared.v2.u16 [%r1], {%rs1, %rs2};
    """
    assert seen(parse_ptx(text)) == [
        ("global", "load", 16), ("local", "store", 8), ("global", "atomic", 4),
        ("generic", "load", 1), ("shared", "store", 4),
    ]  # fmt: skip


def test_tools_are_looked_for_where_they_are_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(disassembly, "PLACES", ())
    assert find_tool("no-such-tool") is None
    (tmp_path / "no-such-tool").touch(mode=0o755)
    assert find_tool("no-such-tool") == tmp_path / "no-such-tool"


@pytest.mark.usefixtures("_compiler")
def test_the_compiler_of_today_makes_the_same_of_a_pattern() -> None:
    ptx, sass, _ = assembly(CASES["add_shared, 2 counters"])
    for made in [parse_ptx(ptx)] + [parse_sass(sass)] * bool(sass):
        assert made.count("shared", "atomic") == made.count("global", "load") == 1
    assert listing(CASES["tile_read, rows"]).count("shared", "load") == 1


@pytest.mark.usefixtures("_compiler")
@pytest.mark.parametrize("difference", BY_MACHINE_CODE, ids=lambda d: d.kernel)
def test_the_machine_code_shows_what_is_said_to_change_a_counter(difference: Difference) -> None:
    if find_tool("nvdisasm") is None:
        pytest.skip("no nvdisasm here: NVIDIA's CUDA toolkit brings it")
    case = next(case for case in CASES.values() if kernel_of(case) == difference.kernel)
    _, sass, _ = assembly(case)
    code = re.findall(r"/\*[0-9a-f]{4,}\*/ +(?:@!?U?P\w+ +)?([^;]+);", sass)
    found = {start: sum(text.startswith(start) for text in code) for start in difference.shows}
    assert found == difference.shows
