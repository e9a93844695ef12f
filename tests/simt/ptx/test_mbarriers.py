"""Barriers in shared memory, and copies that they wait for: phases as the PTX ISA counts them."""

import numpy as np
import pytest

from .test_executor import carried_out, on_both, said, zeros

SHARED = ".shared .align 16 .b8 tile[512];\n.shared .align 8 .b64 bar;"
INIT = """
    .reg .b64 %state;
    mov.u64 %rd4, tile;
    mul.wide.s32 %rd5, %r1, 4;
    add.s64 %rd6, %rd4, %rd5;
    setp.eq.s32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [bar], {count};
    bar.sync 0;
"""
# the first warp writes, the second reads what the first has written
ROLES = """
    setp.lt.s32 %p2, %r1, 32;
    @!%p2 bra $READ;
    {produce}
    mbarrier.arrive.shared.b64 %state, [bar];
    bra.uni $END;
$READ:
    {wait}
    ld.shared.u32 %r7, [%rd6+-128];
    st.global.u32 [%rd3], %r7;
"""
STORE = "mul.lo.s32 %r5, %r1, 3; st.shared.u32 [%rd6], %r5;"
COPY = "cp.async.ca.shared.global [%rd6], [%rd3], 4;"
WAIT = """
    { .reg .pred done;
    LOOP: mbarrier.test_wait.parity.shared.b64 done, [bar], 0;
    @!done bra LOOP; }
"""
TRY = WAIT.replace("test_wait", "try_wait").replace(", 0;", ", 0, 1000;")


@pytest.mark.parametrize("wait", [WAIT, TRY])
def test_who_waits_sees_what_others_did_before_they_arrived(wait: str) -> None:
    body = INIT.format(count=32) + ROLES.format(produce=STORE, wait=wait)
    ran = on_both(body, zeros(64), block=64, shared=SHARED)
    assert ran.results[0].tolist() == [0] * 32 + [3 * t for t in range(32)]
    assert not ran.findings


def test_who_does_not_wait_races_and_who_waits_in_vain_is_told() -> None:
    body = INIT.format(count=32) + ROLES.format(produce=STORE, wait="")
    kinds = [f.kind for f in carried_out(body, zeros(64), block=64, shared=SHARED).findings]
    assert "race" in kinds
    body = INIT.format(count=33) + ROLES.format(produce=STORE, wait=WAIT)
    message = said(body, zeros(64), block=64, shared=SHARED)
    assert "thread 32 of block 0 waits forever at the mbarrier bar" in message
    assert "its phase ends after one more arrival" in message


SPIN = """
    { .reg .pred again;
    TURN: ld.volatile.shared.u32 %r6, [flag];
    setp.eq.u32 again, %r6, 0;
    @again bra TURN; }
"""


GATE = """
    setp.eq.s32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [gate], 32;
    @%p1 st.shared.u32 [flag], 0;
"""


TOLD = "st.volatile.shared.u32 [flag], 1; mbarrier.arrive.shared.b64 %state, [bar];"


@pytest.mark.parametrize(("count", "told", "says"), [
    (32, "", "this loop waits forever"),
    (33, TOLD, "thread 0 of block 0 waits forever at the mbarrier bar"),
    (32, TOLD, ""),
])  # fmt: skip
def test_a_loop_that_has_ended_is_not_blamed_for_a_wait_after_it(
    count: int, told: str, says: str
) -> None:
    wait = WAIT.replace("[bar]", "[gate]").replace("LOOP", "CLOSED") + told
    open_gate = f"{STORE} mbarrier.arrive.shared.b64 %state, [gate]; {SPIN} {WAIT}"
    body = GATE + INIT.format(count=count) + ROLES.format(produce=open_gate, wait=wait)
    shared = SHARED + "\n.shared .align 8 .b64 gate;\n.shared .b32 flag;"
    if says:
        assert says in said(body, zeros(64), block=64, shared=shared)
        return
    ran = on_both(body, zeros(64), block=64, shared=shared)
    assert ran.results[0].tolist() == [0] * 32 + [3 * t for t in range(32)]
    assert not ran.findings


@pytest.mark.parametrize(("kind", "count"), [("", 32), (".noinc", 64)])
def test_a_barrier_waits_for_copies(kind: str, count: int) -> None:
    produce = f"{COPY} cp.async.mbarrier.arrive{kind}.shared.b64 [bar];"
    body = INIT.format(count=count) + ROLES.format(produce=produce, wait=WAIT)
    given = np.arange(64, dtype="i4") + 5
    ran = on_both(body, given, block=64, shared=SHARED)
    assert ran.results[0].tolist() == [*range(5, 37), *range(5, 37)]
    assert not ran.findings
    early = INIT.format(count=count) + ROLES.format(produce=produce, wait="")
    found = carried_out(early, given, block=64, shared=SHARED).findings
    assert "race" in [f.kind for f in found]


STATES = """
    .reg .b64 %state;
    mbarrier.init.shared.b64 [bar], 3;
    {steps}
    mbarrier.arrive.noComplete.shared.b64 %state, [bar], 0;
    mbarrier.pending_count.b64 %r5, %state;
    mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 1;
    selp.u32 %r6, 10, 0, %p1;
    selp.u32 %r7, 100, 0, %p2;
    add.u32 %r5, %r5, %r6;
    add.u32 %r5, %r5, %r7;
    st.global.u32 [%rd3], %r5;
"""
ARRIVE = "mbarrier.arrive.shared.b64 _, [bar];"
DROP = "mbarrier.arrive_drop.shared.b64 _, [bar];"
EXPECT = "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 8;"
COMPLETE = "mbarrier.complete_tx.shared.b64 [bar], 8;"


@pytest.mark.parametrize(
    ("steps", "pending", "ended"),  # the parity of the phase that has ended last
    [
        ("", 3, 1), (ARRIVE, 2, 1), (ARRIVE * 3, 3, 0), (ARRIVE * 7, 2, 1),
        ("mbarrier.arrive.shared.b64 _, [bar], 2;", 1, 1),
        (DROP + ARRIVE, 1, 1), (DROP + ARRIVE * 2, 2, 0), (DROP + ARRIVE * 4, 2, 1),
        (EXPECT + ARRIVE * 2, 0, 1), (EXPECT + ARRIVE * 2 + COMPLETE, 3, 0),
        (EXPECT + COMPLETE + ARRIVE, 1, 1),
        ("mbarrier.expect_tx.shared.b64 [bar], 8;" + ARRIVE * 3 + COMPLETE, 3, 0),
    ],
)  # fmt: skip
def test_a_phase_ends_when_nothing_is_pending_or_owed(steps: str, pending: int, ended: int) -> None:
    body = STATES.format(steps=steps)
    ran = on_both(body, zeros(1), block=1, shared=SHARED)
    assert ran.results[0].tolist() == [pending + (10 if ended == 0 else 100)]


def test_a_state_tells_of_its_own_phase_only() -> None:
    body = """
    .reg .b64 %old, %new;
    mbarrier.init.shared.b64 [bar], 1;
    mbarrier.arrive.shared.b64 %old, [bar];
    mbarrier.arrive.noComplete.shared.b64 %new, [bar], 0;
    mbarrier.test_wait.shared.b64 %p1, [bar], %old;
    mbarrier.test_wait.shared.b64 %p2, [bar], %new;
    selp.u32 %r5, 1, 0, %p1;
    selp.u32 %r6, 2, 0, %p2;
    add.u32 %r5, %r5, %r6;
    st.global.u32 [%rd3], %r5;
    """
    assert on_both(body, zeros(1), block=1, shared=SHARED).results[0].tolist() == [1]
    after = body.replace("st.global", "mbarrier.inval.shared.b64 [bar];" + ARRIVE + "st.global")
    assert "the mbarrier bar, which is not there" in said(after, zeros(1), block=1, shared=SHARED)


def test_each_thread_waits_for_its_own_groups() -> None:
    # the second half of the threads commits two groups, of which the older must be there
    body = """
    mov.u64 %rd4, tile;
    mad.wide.s32 %rd6, %r1, 4, %rd4;
    setp.ge.s32 %p1, %r1, 16;
    cp.async.ca.shared.global [%rd6], [%rd3], 4;
    cp.async.commit_group;
    @%p1 bra $TWO;
    bra.uni $ALL;
$TWO:
    cp.async.ca.shared.global [%rd6+256], [%rd3], 4;
    cp.async.commit_group;
$ALL:
    @%p1 cp.async.wait_group 1;
    @!%p1 cp.async.wait_group 0;
    ld.shared.u32 %r5, [%rd6];
    {rest}
    st.global.u32 [%rd3], %r5;
    """
    given = np.arange(32, dtype="i4") + 1
    ran = on_both(body.format(rest=""), given, shared=SHARED)
    assert ran.results[0].tolist() == given.tolist()
    assert not ran.findings
    newer = body.format(rest="@%p1 ld.shared.u32 %r5, [%rd6+256];")
    found = carried_out(newer, given, shared=SHARED).findings
    assert [f.kind for f in found] == ["uninitialized-read"]


@pytest.mark.parametrize("order", ["%r8", "7"])
def test_warps_that_wait_for_one_another_go_on_one_by_one(order: str) -> None:
    # warp w adds one to what the warp after it, or before it, has written; one begins
    body = f"""
    .reg .u32 place, from, bars; .reg .pred done, first;
    mov.u32 bars, bar;
    shr.u32 %r8, %r1, 5;
    sub.u32 %r8, 3, %r8;
    {"" if order == "%r8" else "sub.u32 %r8, 3, %r8;"}
    mad.lo.u32 place, %r8, 8, bars;
    and.b32 %r9, %r1, 31;
    setp.eq.u32 %p1, %r9, 0;
    @%p1 mbarrier.init.shared.b64 [place], 32;
    bar.sync 0;
    mov.u32 %r10, 0;
    setp.eq.u32 first, %r8, 0;
    @first bra READY;
LOOP:
    mbarrier.test_wait.parity.shared.b64 done, [place+-8], 0;
    @!done bra LOOP;
    mov.u32 from, tile;
    mad.lo.u32 from, %r8, 128, from;
    mad.lo.u32 from, %r9, 4, from;
    ld.shared.u32 %r10, [from+-128];
READY:
    add.u32 %r10, %r10, 1;
    mov.u32 from, tile;
    mad.lo.u32 from, %r8, 128, from;
    mad.lo.u32 from, %r9, 4, from;
    st.shared.u32 [from], %r10;
    mbarrier.arrive.shared.b64 _, [place];
    st.global.u32 [%rd3], %r10;
    """
    shared = SHARED.replace(".b64 bar;", ".b64 bar[4];")
    ran = on_both(body, zeros(128), block=128, shared=shared)
    warps = [4, 3, 2, 1] if order == "%r8" else [1, 2, 3, 4]
    assert ran.results[0].tolist() == np.repeat(warps, 32).tolist()
    assert not ran.findings
