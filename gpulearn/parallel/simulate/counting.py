"""How far a long simulation is: the messages that have gone, counted while one waits."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from gpulearn.train.history import progress_bar

__all__ = ["counted"]

PATIENCE_SECONDS = 1.0  # a run that takes less shows nothing


@contextlib.contextmanager
def counted(ranks: int, count: Callable[[], int]) -> Iterator[Callable[[], None]]:
    """A bar without an end, since nobody knows how many messages there will be.

    Args:
        ranks: how many ranks there are.
        count: says how many messages have gone.

    Yields:
        What to call now and then: it shows the count, from the second second on. At the end
        nothing stays.
    """
    begun = time.monotonic()
    bars: list[Any] = []
    with contextlib.ExitStack() as shown:

        def show() -> None:
            if not bars and time.monotonic() - begun > PATIENCE_SECONDS:
                bar = progress_bar(
                    True, None, doing=f"{ranks:,} ranks", unit=" messages", stays=False
                )
                bars.append(shown.enter_context(bar))
            if bars and bars[0] is not None:
                bars[0].update(count() - bars[0].n)

        yield show
