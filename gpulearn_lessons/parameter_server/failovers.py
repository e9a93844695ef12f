"""A fail-over, step by step as the processes wrote it down: which server holds which pushes."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.controls import Player, slider
from gpulearn.plot.style import box, centred, figure

if TYPE_CHECKING:
    from gpulearn_lessons.parameter_server.server.events import ProcessEvent
    from gpulearn_lessons.parameter_server.server.kills import KillReport

__all__ = ["failover_player"]

Name = tuple[int, int]  # of a push: worker and number
# what is shown of an event, and what is not: "is done" says again what "has taken" has said
TOLD = {
    "sends": "{who} sends push {number}{again}",
    "receives": "{who} receives push {number} of worker {worker}",
    "has taken": "{who} has taken push {number} of worker {worker}",
    "acknowledges": "{who} acknowledges push {number} of worker {worker}",
    "hears": "{who} hears that its push {number} is safe",
    "is killed": "{who} is killed",
    "serves": "{who} is the primary now",
    "has the state": "{who} has the primary's state, as the new backup",
}


@dataclass
class FailOverStep:
    """Who holds what after an event.

    Attributes:
        event: what has just been done.
        primary: the server that serves, or served last.
        roles: server → "primary", "backup" or "dead".
        held: server → push → how often its weights count it.
        sent: push → how often its worker has sent it.
        heard: pushes that a worker knows to be acknowledged.
    """

    event: ProcessEvent
    primary: str = ""
    roles: dict[str, str] = field(default_factory=dict)
    held: dict[str, dict[Name, int]] = field(default_factory=dict)
    sent: Counter[Name] = field(default_factory=Counter)
    heard: set[Name] = field(default_factory=set)

    def go_on(self, event: ProcessEvent) -> None:
        """Become the moment after the next event."""
        self.event = event
        who, what, push = event.who, event.what, event.push
        if what == "serves":
            self.primary, self.roles[who] = who, "primary"
            self.held.setdefault(who, {})
        elif what == "has the state":
            self.held[who], self.roles[who] = dict(self.held[self.primary]), "backup"
        elif what == "is killed" and who in self.roles:
            self.roles[who] = "dead"
        elif push is not None and what == "sends":
            self.sent[push] += 1
        elif push is not None and what == "hears":
            self.heard.add(push)
        elif push is not None:
            self.held[who][push] = event.times


@dataclass(frozen=True)
class FailOver:
    """The moments around the death of a primary.

    Attributes:
        pushes: of each worker the push that it had sent last when the primary died, with the one
            before and the one after.
        moments: from the first of the pushes under way to the last one's end.
    """

    pushes: tuple[Name, ...]
    moments: tuple[FailOverStep, ...]


def fail_over(events: Sequence[ProcessEvent]) -> FailOver:
    """The first fail-over of a run in which pushes were under way.

    Raises:
        BadInput: no primary was killed after a push had been sent.

    >>> from gpulearn_lessons.parameter_server.server.kills import Kill
    >>> from gpulearn_lessons.parameter_server.server.kills import run_with_kills
    >>> found = fail_over(run_with_kills([Kill("primary", "forwarded")], pushes=10).events)
    >>> found.moments[-1].roles
    {'server 1': 'dead', 'server 2': 'primary', 'server 3': 'backup'}
    """
    kill = _kill(events)
    sent = [one.push for one in events if one.what == "sends" and one.push is not None]
    before = [one.push for one in events[:kill] if one.what == "sends" and one.push is not None]
    under_way = dict(before)
    pushes = tuple(
        (worker, number + step)
        for worker, number in sorted(under_way.items())
        for step in (-1, 0, 1)
        if (worker, number + step) in sent
    )
    last_sent = tuple(under_way.items())
    places = [number for number, one in enumerate(events) if one.push in pushes]
    first = min(number for number in places if events[number].push in last_sent)
    now, found = FailOverStep(events[0]), []
    for number, event in enumerate(events[: max(places) + 1]):
        now.go_on(event)
        about = event.push is None or event.push in pushes
        if number >= first and about and event.what in TOLD:
            found.append(copy.deepcopy(now))
    return FailOver(pushes, tuple(found))


def _kill(events: Sequence[ProcessEvent]) -> int:
    """The place of the first death of a primary to which a push had been sent."""
    primary, sent = "", False
    for number, event in enumerate(events):
        sent = sent or event.what == "sends"
        if event.what == "serves":
            primary = event.who
        elif event.what == "is killed" and event.who == primary and sent:
            return number
    raise BadInput(
        "report has no primary that was killed after a push had been sent: there is no fail-over "
        "to show."
    )


def sentence(found: FailOver, step: int) -> str:
    """What was done, and which server has which of the acknowledged pushes."""
    now = found.moments[step]
    worker, number = now.event.push or (0, 0)
    again = " again" if now.sent[worker, number] > 1 else ""
    done = TOLD[now.event.what].format(who=now.event.who, worker=worker, number=number, again=again)
    servers = " ".join(_of_server(now, who) for who in now.roles)
    return (
        f"Step {step} of {len(found.moments) - 1}: {done}. Acknowledged so far, those of all "
        f"workers: {len(now.heard)}. {servers}"
    )


def _of_server(now: FailOverStep, who: str) -> str:
    name, role = who.capitalize(), now.roles[who]
    if role == "dead":
        return f"{name} is dead."
    there = sum(now.held[who].get(push, 0) > 0 for push in now.heard)
    often = [
        f"push {number} of worker {worker} {'twice' if times == 2 else f'{times} times'}"
        for (worker, number), times in now.held[who].items()
        if times > 1
    ]
    counts = f" and counts {', '.join(often)}" if often else ""
    return f"{name}, the {role}, has {there} of {len(now.heard)}{counts}."


WIDE, HIGH = 1.9, 0.8  # of a cell
FRAME = {"edgecolor": "0.7", "linewidth": 0.8}
LOOKS: dict[int, dict[str, Any]] = {
    0: {"facecolor": "white"},
    1: {"facecolor": "C0", "alpha": 0.35},
    2: {"facecolor": "C1", "alpha": 0.6, "hatch": "////"},
}


def draw(found: FailOver, step: int) -> tuple[Picture, str]:
    """A row for the workers and one for each server, a column for each push; and the sentence.

    The thick frame is where something has just been done.

    Raises:
        BadInput: there is no such step.
    """
    if not 0 <= step < len(found.moments):
        raise BadInput(f"There is no step {step}: the last one is {len(found.moments) - 1}.")
    now, said = found.moments[step], sentence(found, step)
    servers = list(found.moments[-1].roles)
    with figure(9.6, 1.3 + 0.55 * len(servers)) as (made, axes):
        for row, who in enumerate(["workers", *servers]):
            role = now.roles.get(who)
            label = who if role is None else f"{who}: {role}"
            bold = now.event.push is None and now.event.who == who
            axes.text(-0.2, row + HIGH / 2, label, ha="right", va="center", fontsize=11,
                      fontweight="bold" if bold else "normal")  # fmt: skip
            for column, push in enumerate(found.pushes):
                text, look = _cell(now, who, push)
                own = who if who != "workers" else f"worker {push[0]}"
                new = now.event.push == push and now.event.who == own
                look = look | {"edgecolor": "black", "linewidth": 2.5} if new else look | FRAME
                box(axes, column * WIDE, row, WIDE - 0.1, HIGH, zorder=3 if new else 2, **look)
                centred(axes, column * WIDE + (WIDE - 0.1) / 2, row + HIGH / 2, text, fontsize=10,
                        zorder=4)  # fmt: skip
        for column, (worker, number) in enumerate(found.pushes):
            centred(axes, column * WIDE + (WIDE - 0.1) / 2, -0.45,
                    f"worker {worker}\npush {number}", fontsize=10)  # fmt: skip
        axes.set_xlim(-2.6, max(len(found.pushes), 3) * WIDE)
        axes.set_ylim(len(servers) + 1, -0.9)
        axes.axis("off")
        return show(made, said), said


def _cell(now: FailOverStep, who: str, push: Name) -> tuple[str, dict[str, Any]]:
    """What is written in a cell, and what it looks like."""
    if who == "workers":
        if push in now.heard:
            return "acknowledged", {"facecolor": "0.9"}
        times = now.sent[push]
        return ("", "sent", "sent again")[min(times, 2)], LOOKS[0]
    times = now.held.get(who, {}).get(push, 0)
    look = LOOKS[min(times, 2)]
    if now.roles.get(who) == "dead":
        return "gone" if times else "", {"facecolor": "0.9", "hatch": "xx"}
    return f"counted {times} ×" if times else "", look


def failover_player(report: KillReport) -> Player:
    """Step through the first fail-over of a run, as its processes wrote it down.

    Each step says who did what with the pushes that were under way when the primary died, and
    which server has the acknowledged ones. The slider moves with the arrow keys; it and the play
    button are reached with Tab.

    Args:
        report: what `run_with_kills` returned, with a primary among its kills.

    Raises:
        BadInput: report is something else, or no primary was killed after a push had been sent.

    >>> from gpulearn_lessons.parameter_server.server.kills import Kill
    >>> from gpulearn_lessons.parameter_server.server.kills import run_with_kills
    >>> failover_player(run_with_kills([Kill("primary", "forwarded")], pushes=10))
    [interactive figure: Step ... Server 1 is dead. Server 2, the primary, has ...]
    """
    require.package("ipywidgets", "parameter_server.failover_player")
    require.each({"report": report}, "events", "what run_with_kills returns", "this has")
    found = fail_over(report.events)
    last = len(found.moments) - 1
    controls = {"step": slider("step", 0, 0, last)}
    return Player(lambda step: draw(found, step), controls, "step", interval=1500, still=last)
