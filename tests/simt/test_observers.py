"""The SIMT machine's observers: the machine knows none by name. (Its layers: pyproject.toml.)"""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import simt
from simt.host.work.prepared import observers_of
from simt.observers.races import Races

HOME = Path(simt.__file__).parent
IMPORTED = re.compile(r"(?:from|import) simt\.observers(?:\.| import \(?\s*)(\w+)")


def test_the_machine_knows_no_observer_by_name() -> None:
    known = {
        name
        for layer in ("intrinsics", "machine")
        for file in (HOME / layer).glob("*.py")
        for name in IMPORTED.findall(file.read_text(encoding="utf-8"))
    }
    assert known == {"observer"}


@pytest.mark.parametrize(
    ("blocks", "threads", "copies", "watched"),
    [(1, 1, False, False), (1, 1, True, True), (2, 1, False, True), (1, 2, False, True)],
)
def test_a_thread_alone_races_with_nobody_but_its_own_copies(
    blocks: int, threads: int, copies: bool, watched: bool
) -> None:
    program: Any = SimpleNamespace(copies_go_on=copies)
    found = observers_of(program, (1, blocks, 1), (threads, 1, 1), ())
    assert any(isinstance(one, Races) for one in found) == watched
