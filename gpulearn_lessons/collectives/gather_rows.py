"""A ring that gathers rows: given with a mistake in what it sends and one that makes it slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.collectives import all_gather, gather_rows
from gpulearn.parallel.communicator import irecv, isend, rank, recv, send, sendrecv, world_size
from gpulearn_lessons.collectives.trial import (
    KINSHIPS,
    Work,
    beyond_a_neighbour,
    expected,
    on_real_ranks,
    results,
    simulated,
    slow,
)

UNSET = -9  # less its number: what stands in the rows that a rank does not have yet


@dataclass(frozen=True)
class Rows(Work):
    """A table with a row for each rank; `shape` is that of the table, "zeros" also a `kind`."""

    def numbers(self, rank: int) -> np.ndarray:
        """The table with this rank's row alone."""
        table = np.full(self.shape, UNSET - rank, dtype=self.dtype)
        table[rank] = 0 if self.kind == "zeros" else super().numbers(rank)[rank]
        return table

    def end(self, rank: int) -> np.ndarray:
        """The table with all rows."""
        return np.stack([self.numbers(one)[one] for one in range(self.ranks)])


def cases() -> list[Case]:
    """One rank to six; rows of several shapes and dtypes, also empty ones."""
    works = {
        "2 ranks and rows of 2 numbers": Rows(2, (2, 2)),
        "3 ranks and rows of 1 number": Rows(3, (3, 1)),
        "4 ranks and rows of 3 numbers": Rows(4, (4, 3)),
        "5 ranks and rows of 2 integers": Rows(5, (5, 2), "int64"),
        "6 ranks and rows of 2 numbers": Rows(6, (6, 2)),
        "3 ranks and single numbers of 32 bits": Rows(3, (3,), "float32"),
        "4 ranks and rows of shape (2, 3)": Rows(4, (4, 2, 3)),
        "3 ranks and rows of no numbers": Rows(3, (3, 0)),
        "3 ranks and rows of 2 large numbers": Rows(3, (3, 2), kind="wide"),
        "3 ranks and rows of zeros": Rows(3, (3, 2), kind="zeros"),
        "1 rank and a row of 3 numbers": Rows(1, (1, 3)),
    }
    return [Case(label, (work,)) for label, work in works.items()]


def real(count: int) -> list[Work]:
    """What real ranks gather, one after another."""
    return [Rows(count, (count, 500)), Rows(count, (count, 2, 3), "int64")]


def difference(got: Any, wanted: Any) -> str | None:
    """The rows first, then the way round, then bytes and messages, then the clock."""
    if sentence := results(got, wanted) or beyond_a_neighbour(got):
        return sentence
    work: Work = got.work
    rounds, row = work.ranks - 1, work.size // work.ranks
    for sender, sent in enumerate(got.bytes):
        if sent > rounds * row:
            return (
                f"the rows are right, but rank {sender} sends {sent:,} bytes, and (N−1) rows of "
                f"{row} bytes are enough"
            )
    return slow(got, rounds, row)


answers = Answers(gather_rows)

STEPS = "in range(count - 1)"
PAIR = "rows[(me - step) % count], rows[(me - step - 1) % count]"
OUT = "rows[(me - step) % count],"
MOVE = "sendrecv(outgoing, right, incoming, left)"
TURNS = """\
if me == 0:
            send(outgoing, right)
            recv(incoming, left)
        else:
            recv(incoming, left)
            send(outgoing, right)"""
OTHERS = """\
if me % 2 == 0:
            send(outgoing, right)
            recv(incoming, left)
        else:
            recv(incoming, left)
            send(outgoing, right)"""
OWN = (
    "each rank sends its own row in every step, and it is put down as another's: from the second "
    "step on a rank passes on the row that came in the step before, rows[(me - step) % count]."
)
WAITS = (
    "the rows are right, but in each step the ranks wait for one another in a row, and one message "
    "is under way at a time. sendrecv lets all send and receive at once."
)
answers.give({OUT: "rows[me],", MOVE: TURNS})

answers.edit(
    {OUT: "rows[me],", MOVE: TURNS},
    "the table is wrong from the second step on: which row does a rank send there, and which "
    "should it? On the clock, see in the drawing how many messages are under way at a time.",
)
answers.edit({OUT: "rows[me],"}, OWN)
answers.edit({MOVE: TURNS}, WAITS)
answers.edit(
    {MOVE: OTHERS},
    "the rows are right, but while the even ranks send, the odd ones only receive, and the other "
    "way round: twice the time or more. sendrecv lets all send and receive at once.",
)
answers.edit(
    {MOVE: "send(outgoing, right)\n        recv(incoming, left)"},
    "a deadlock: all ranks send first, and a send ends only when the other side receives, which "
    "nobody does yet. sendrecv does both at once.",
)
answers.edit(
    {MOVE: "recv(incoming, left)\n        send(outgoing, right)"},
    "a deadlock: all ranks receive first, and nobody has sent yet. sendrecv does both at once.",
)
answers.edit(
    {STEPS: "in range(count - 2)"},
    "one step is missing: each rank lacks the row of its right neighbour, which takes N−1 steps "
    "to come round.",
)
answers.edit(
    {STEPS: "in range(count)"},
    "the rows are right, but that is one step too many: the last one brings each rank its own row. "
    "N−1 steps are enough.",
)
answers.edit(
    {PAIR: "rows[(me - step) % count], rows[(me - 1) % count]"},
    "what arrives is put into the left neighbour's row in every step: in step s it is the row of "
    "rank me − s − 1.",
)
answers.edit(
    {PAIR: "rows[(me + step) % count], rows[(me + step + 1) % count]"},
    "the rows' numbers run the wrong way: what comes from the left is the row before, "
    "me − step − 1, not the one after.",
)
answers.edit(
    {"right, left = (me + 1) % count, (me - 1) % count": "right = left = (me + 1) % count"},
    "a deadlock: each rank sends to the right and waits for something from the right as well. "
    "What all send to the right comes from the left.",
)
answers.edit(
    {MOVE: "incoming = sendrecv(outgoing, right, torch.empty_like(incoming), left)"},
    "what arrives stays in another tensor, and the table keeps what it had: receive into the row "
    "itself, or copy it there.",
)
answers.edit(
    {PAIR: "rows[(me - step - 1) % count], rows[(me - step - 1) % count]"},
    "outgoing and incoming are the same row, so that what goes out is a row that the rank does not "
    "have yet: send the one that came in the step before, rows[(me - step) % count].",
)
answers.edit(
    {MOVE: "isend(outgoing, right)\n        recv(incoming, left)"},
    "a message that isend began is never waited for: keep what isend returns and call its wait() "
    "at the end of the step.",
    isend=isend,
)


@answers.wrong(
    "the rows are right, but the whole table makes each step, N rows at a time: pass on one row, "
    "the one that came in the step before."
)
def whole_tables(rows: Any) -> None:
    me, count = rank(), world_size()
    for step in range(count - 1):
        table = sendrecv(rows, (me + 1) % count, torch.empty_like(rows), (me - 1) % count)
        rows[(me - step - 1) % count] = table[(me - step - 1) % count]


@answers.wrong(
    "the rows are right, but all go to rank 0 first and from there to everybody: rank 0 sends N "
    "times as much as it needs to. Pass rows on from neighbour to neighbour."
)
def via_root(rows: Any) -> None:
    me, count = rank(), world_size()
    if me:
        send(rows[me], 0)
        recv(rows, 0)
        return
    for source in range(1, count):
        recv(rows[source], source)
    for to in range(1, count):
        send(rows, to)


@answers.wrong("it calls an all-gather that is there already: mend the loop that is given.")
def library_call(rows: Any) -> None:
    rows.copy_(all_gather(rows[rank()].clone()))


@answers.wrong(
    "it goes through torch.distributed: send and receive with sendrecv, send and recv of gpulearn, "
    "which simulated ranks have too."
)
def torch_call(rows: Any) -> None:
    dist.all_gather(list(rows), rows[rank()].clone())


answers.variant(
    {
        MOVE: (
            "leaving = isend(outgoing, right)\n        recv(incoming, left)\n        leaving.wait()"
        )
    },
    isend=isend,
)
answers.variant(
    {
        "right, left = (me + 1) % count, (me - 1) % count": (
            "right, left = (me - 1) % count, (me + 1) % count"
        ),
        PAIR: "rows[(me + step) % count], rows[(me + step + 1) % count]",
    }
)


@answers.wrong(
    "the rows are right, but each rank sends its row straight to each other one, and so to ranks "
    "that are not its neighbours: let the rows go round the ring, from neighbour to neighbour."
)
def straight_from_each(rows: Any) -> None:
    me, count = rank(), world_size()
    for shift in range(1, count):
        to, source = (me + shift) % count, (me - shift) % count
        sendrecv(rows[me], to, rows[source], source)


@answers.right
def begun_and_waited_for(rows: Any) -> None:
    me, count = rank(), world_size()
    for step in range(count - 1):
        arriving = irecv(rows[me - step - 1], (me - 1) % count)
        isend(rows[me - step], (me + 1) % count).wait()
        arriving.wait()


EXERCISE = Exercise(
    task="Mend the ring: every rank ends with all rows, in N−1 steps in which all ranks send.",
    reference=gather_rows,
    cases=cases,
    answers=answers,
    run=simulated,
    by_hand=False,
    expect=expected,
    difference=difference,
    demand=on_real_ranks((3,), real),
    kinships=KINSHIPS,
)
