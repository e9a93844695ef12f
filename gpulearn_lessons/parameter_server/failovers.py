"""A fail-over, step by step as the processes wrote it down: which server holds which pushes."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.controls import Player, slider
from gpulearn.plot.style import bare, box, centered, figure

if TYPE_CHECKING:
    from gpulearn_lessons.parameter_server.server.events import ProcessEvent
    from gpulearn_lessons.parameter_server.server.kills import KillReport

Name = tuple[int, int]  # of a push: worker and number
# what is shown of an event, and what is not: "is done" says again what "has taken" has said
SENTENCES = {
    "sends": "{who} sends push {number}{again}",
    "receives": "{who} receives push {number} of worker {worker}",
    "has taken": "{who} has taken push {number} of worker {worker}",
    "acknowledges": "{who} acknowledges push {number} of worker {worker}",
    "hears": "{who} hears that its push {number} is safe",
    "is killed": "{who} is killed",
    "serves": "{who} is the primary now",
    "has the state": "{who} has the primary's state, as the new backup",
}
WIDE, HIGH = 1.9, 0.8  # of a cell
FRAME = {"edgecolor": "0.7", "linewidth": 0.8}
# of a cell, by how often a server counts its push
LOOKS: tuple[dict[str, Any], ...] = (
    {"facecolor": "white"},
    {"facecolor": "C0", "alpha": 0.35},
    {"facecolor": "C1", "alpha": 0.6, "hatch": "////"},
)


@dataclass
class FailOverStep:
    """Who holds what after an event."""

    event: ProcessEvent  # what has just been done
    primary: str = ""  # the server that serves, or served last
    roles: dict[str, str] = field(default_factory=dict)  # server → "primary", "backup" or "dead"
    # server → push → how often its weights count it
    held: dict[str, dict[Name, int]] = field(default_factory=dict)
    sent: Counter[Name] = field(default_factory=Counter)  # push → how often its worker has sent it
    heard: set[Name] = field(default_factory=set)  # pushes that a worker knows to be acknowledged

    def advance(self, event: ProcessEvent) -> None:
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


class FailOver(NamedTuple):
    """The moments around the death of a primary, from the first push under way to the last's end.

    `pushes` has, of each worker, the push that it had sent last when the primary died, with the
    one before and the one after.
    """

    pushes: tuple[Name, ...]
    moments: tuple[FailOverStep, ...]


def fail_over(events: Sequence[ProcessEvent]) -> FailOver:
    """The first fail-over of a run in which pushes were under way.

    >>> from gpulearn_lessons.parameter_server.server.kills import Kill
    >>> from gpulearn_lessons.parameter_server.server.kills import run_with_kills
    >>> run = fail_over(run_with_kills([Kill("primary", "forwarded")], pushes=10).events)
    >>> run.moments[-1].roles
    {'server 1': 'dead', 'server 2': 'primary', 'server 3': 'backup'}
    """
    sent = [event.push for event in events if event.what == "sends" and event.push is not None]
    # worker → the number of its last push
    under_way = dict(
        event.push
        for event in events[: _death_of_primary(events)]
        if event.what == "sends" and event.push is not None
    )
    pushes = tuple(
        (worker, number + step)
        for worker, number in sorted(under_way.items())
        for step in (-1, 0, 1)
        if (worker, number + step) in sent
    )
    last_sent = tuple(under_way.items())
    places = [place for place, event in enumerate(events) if event.push in pushes]
    first = min(place for place in places if events[place].push in last_sent)
    now, moments = FailOverStep(events[0]), []
    for place, event in enumerate(events[: max(places) + 1]):
        now.advance(event)
        about = event.push is None or event.push in pushes
        if place >= first and about and event.what in SENTENCES:
            moments.append(copy.deepcopy(now))
    return FailOver(pushes, tuple(moments))


def _death_of_primary(events: Sequence[ProcessEvent]) -> int:
    """The place of the first death of a primary to which a push had been sent."""
    primary, sent = "", False
    for place, event in enumerate(events):
        sent = sent or event.what == "sends"
        if event.what == "serves":
            primary = event.who
        elif event.what == "is killed" and event.who == primary and sent:
            return place
    raise BadInput(
        "report has no primary that was killed after a push had been sent: there is no fail-over "
        "to show."
    )


def sentence(run: FailOver, step: int) -> str:
    """What was done, and which server has which of the acknowledged pushes."""
    now = run.moments[step]
    worker, number = now.event.push or (0, 0)
    again = " again" if now.sent[worker, number] > 1 else ""
    what = SENTENCES[now.event.what]
    event = what.format(who=now.event.who, worker=worker, number=number, again=again)
    servers = " ".join(_server_text(now, who) for who in now.roles)
    return (
        f"Step {step} of {len(run.moments) - 1}: {event}. Acknowledged so far, those of all "
        f"workers: {len(now.heard)}. {servers}"
    )


def _server_text(now: FailOverStep, who: str) -> str:
    name, role, held = who.capitalize(), now.roles[who], now.held.get(who, {})
    if role == "dead":
        return f"{name} is dead."
    there = sum(held.get(push, 0) > 0 for push in now.heard)
    repeated = [
        f"push {number} of worker {worker} {'twice' if times == 2 else f'{times} times'}"
        for (worker, number), times in held.items()
        if times > 1
    ]
    counts = f" and counts {', '.join(repeated)}" if repeated else ""
    return f"{name}, the {role}, has {there} of {len(now.heard)}{counts}."


def draw(run: FailOver, step: int) -> tuple[Picture, str]:
    """A row for the workers and one for each server, a column for each push; and the sentence.

    The thick frame is where something has just been done.
    """
    now, alt = run.moments[step], sentence(run, step)
    servers = list(run.moments[-1].roles)
    with figure(9.6, 1.3 + 0.55 * len(servers)) as (fig, axes):
        for row, who in enumerate(["workers", *servers]):
            role = now.roles.get(who)
            bold = now.event.push is None and now.event.who == who
            centered(axes, -0.2, row + HIGH / 2, f"{who}: {role}" if role else who, ha="right",
                     fontsize=11, fontweight="bold" if bold else "normal")  # fmt: skip
            for column, push in enumerate(run.pushes):
                text, look = _cell(now, who, push)
                own = who if who != "workers" else f"worker {push[0]}"
                new = now.event.push == push and now.event.who == own
                look = look | {"edgecolor": "black", "linewidth": 2.5} if new else look | FRAME
                box(axes, column * WIDE, row, WIDE - 0.1, HIGH, zorder=3 if new else 2, **look)
                centered(axes, column * WIDE + (WIDE - 0.1) / 2, row + HIGH / 2, text, fontsize=10,
                         zorder=4)  # fmt: skip
        for column, (worker, number) in enumerate(run.pushes):
            centered(axes, column * WIDE + (WIDE - 0.1) / 2, -0.45,
                     f"worker {worker}\npush {number}", fontsize=10)  # fmt: skip
        bare(axes, (-2.6, max(len(run.pushes), 3) * WIDE), (len(servers) + 1, -0.9))
        return show(fig, alt), alt


def _cell(now: FailOverStep, who: str, push: Name) -> tuple[str, dict[str, Any]]:
    """What is written in a cell, and what it looks like."""
    if who == "workers":
        if push in now.heard:
            return "acknowledged", {"facecolor": "0.9"}
        return ("", "sent", "sent again")[min(now.sent[push], 2)], LOOKS[0]
    times = now.held.get(who, {}).get(push, 0)
    if now.roles.get(who) == "dead":
        return "gone" if times else "", {"facecolor": "0.9", "hatch": "xx"}
    return f"counted {times} ×" if times else "", LOOKS[min(times, 2)]


def failover_player(report: KillReport) -> Player:
    """Step through the first fail-over of a run, as its processes wrote it down.

    Each step says who did what with the pushes that were under way when the primary died, and
    which server has the acknowledged ones. The report is what `run_with_kills` returned, with a
    primary among its kills.

    >>> from gpulearn_lessons.parameter_server.server.kills import Kill
    >>> from gpulearn_lessons.parameter_server.server.kills import run_with_kills
    >>> failover_player(run_with_kills([Kill("primary", "forwarded")], pushes=10))
    [interactive figure: Step ... Server 1 is dead. Server 2, the primary, has ...]
    """
    require.each({"report": report}, "events", "what run_with_kills returns", "this has")
    run = fail_over(report.events)
    last = len(run.moments) - 1
    controls = {"step": slider("step", 0, 0, last)}
    return Player(lambda step: draw(run, step), controls, "step", interval=1500, still=last)
