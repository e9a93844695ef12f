"""What sets the pace of a run that fetches, copies and computes."""


def find_the_bottleneck(
    fetch: float, copy: float, compute: float, workers: int
) -> tuple[str, float, float]:
    """What a long run waits for, how long its steps take, and how busy its GPU is.

    Without workers one process does all three for a batch, one after the other. Otherwise each
    worker fetches a batch of its own, while the link copies an earlier one and the GPU computes
    on one before that, so the slowest of the three sets the pace.

    The seconds are those of one batch. Returned are "fetch", "copy" or "compute", whichever takes
    most of a step; the seconds per step; and the fraction of a step in which the GPU computes.

    >>> find_the_bottleneck(fetch=8.0, copy=1.0, compute=3.0, workers=0)
    ('fetch', 12.0, 0.25)
    >>> find_the_bottleneck(fetch=8.0, copy=1.0, compute=3.0, workers=4)
    ('compute', 3.0, 1.0)
    """
    times = {"fetch": fetch / max(workers, 1), "copy": copy, "compute": compute}
    step = max(times.values()) if workers else sum(times.values())
    return max(times, key=lambda name: times[name]), step, compute / step
