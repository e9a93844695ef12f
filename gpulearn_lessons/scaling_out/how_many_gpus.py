"""How many GPUs are worth it for one batch: foreseen from the α–β model of the ring."""

from __future__ import annotations

import math

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.links import Link
from gpulearn_lessons.scaling_out.modelled import how_many_gpus

answers = Answers(how_many_gpus)

LIMIT = "while gpus < batch:"
SHARE = "compute / (gpus + 1)"
ROUNDS = "2 * gpus * "
LATENCY = "link.latency + "
PART = "size / (gpus + 1)"
BANDWIDTH = " / link.bandwidth"
STOP = "share < least * (share + exchange)"


def cases() -> list[Case]:
    """Links where latency decides, or bandwidth; few images; nothing to send; 1 GPU at most."""
    fast, slow = Link(9.6e-6, 12.5e9), Link(50e-6, 1.25e9)
    works: dict[str, tuple[float, float, Link, int, float]] = {
        "0.4 s, 200 MB, 100 Gbit/s, 1,024 images, a half": (0.4, 200e6, fast, 1024, 0.5),
        "0.4 s, 200 MB, 100 Gbit/s, 1,024 images, 90 %": (0.4, 200e6, fast, 1024, 0.9),
        "5 s, 200 MB, 10 Gbit/s, 4,096 images, 80 %": (5.0, 200e6, slow, 4096, 0.8),
        "0.02 s, 0.1 MB, 10 Gbit/s, where the latency decides": (0.02, 1e5, slow, 512, 0.5),
        "0.02 s and nothing to send but messages": (0.02, 0, slow, 4096, 0.5),
        "20 s, 1 MB, 100 Gbit/s and 24 images only": (20.0, 1e6, fast, 24, 0.5),
        "0.001 s, 400 MB, 10 Gbit/s: one GPU alone": (0.001, 400e6, slow, 256, 0.5),
        "400 s, 1 MB, 100 Gbit/s, 8,192 images": (400.0, 1e6, fast, 8192, 0.5),
        "1 image": (3.0, 1e6, fast, 1, 0.5),
        "0.2 s, 10 MB, 10 Gbit/s, 20 images that N need not divide": (0.2, 1e7, slow, 20, 0.5),
        "0.9 s, 60 MB, 1 GB/s without latency": (0.9, 60e6, Link(0, 1e9), 4096, 0.7),
        "4 s, 1 byte, 1 byte/s: just a half on 2 GPUs": (4.0, 1, Link(0.5, 1.0), 64, 0.5),
        "60 s, 12 bytes, 4 bytes/s": (60.0, 12, Link(0.01, 4.0), 64, 0.5),
        "3,000 s, 12 bytes, 3 bytes/s and a long latency": (3000.0, 12, Link(4.0, 3.0), 64, 0.5),
        "900 s, 900 bytes, 100 bytes/s and a latency of 1 s": (900.0, 900, Link(1.0, 100), 99, 0.6),
        "10 s, nothing to send and a latency of 1 s": (10.0, 0, Link(1.0, 1.0), 64, 0.8),
        "2 s, 50 MB, a third of the time": (2.0, 50e6, Link(2e-3, 0.5e9), 300, 1 / 3),
    }
    return [Case(label, work) for label, work in works.items()]


answers.edit(
    {STOP: "share <= least * (share + exchange)"},
    "a GPU that computes for just the part `least` of a step is left out: at least that is asked "
    "for.",
)
answers.edit(
    {LIMIT: "while gpus < min(batch, 1024):"},
    "it ends at 1,024 GPUs: the batch is the only limit, besides `least`.",
)
answers.edit(
    {SHARE: "compute"},
    "each GPU computes the whole batch: that is weak scaling. One batch is shared, so that a GPU "
    "of N computes for compute / N.",
)
answers.edit(
    {ROUNDS: "gpus * "},
    "half of the ring is missing: N − 1 rounds add up, and N − 1 more pass the sums on.",
)
answers.edit(
    {ROUNDS: "2 * (gpus + 1) * "},
    "a ring of N has 2(N − 1) rounds, not 2N: what a GPU begins with need not travel to it.",
)
answers.edit(
    {PART: "size"},
    "each round sends all bytes: in a ring a message is one chunk of N, size / N.",
)
answers.edit(
    {LATENCY: ""},
    "the latency is left out: each of the 2(N − 1) rounds pays it, and with many GPUs it decides.",
)
answers.edit(
    {f"{ROUNDS}({LATENCY}{PART}{BANDWIDTH})": f"link.latency + 2 * gpus * {PART}{BANDWIDTH}"},
    "the latency is paid once: each of the 2(N − 1) rounds pays it.",
)
answers.edit(
    {BANDWIDTH: " / (link.bandwidth / 8)"},
    "the bytes count eightfold: size is in bytes, and link.bandwidth in bytes per second already.",
)
answers.edit(
    {SHARE: "compute * math.ceil(batch / (gpus + 1)) / batch"},
    "it counts whole images on the busiest GPU: here the computing is divided evenly, compute / N.",
    math=math,
)
answers.edit(
    {BANDWIDTH: " * link.bandwidth"},
    "bytes times bytes per second are no seconds: divide by the bandwidth.",
)
answers.edit(
    {BANDWIDTH: ""},
    "bytes are added to seconds: divide them by the bandwidth.",
)
answers.edit(
    {PART: "size / gpus"},
    "2(N − 1) messages are taken to have 2 · size bytes together, whatever N is, as if each had "
    "size / (N − 1): a message has size / N.",
)
answers.edit(
    {ROUNDS: ""},
    "that is the time of one round: a ring of N takes 2(N − 1) of them.",
)
answers.edit(
    {STOP: "share < least * exchange"},
    "it compares computing with sending: least is a part of the whole step, which is both.",
)
answers.edit(
    {STOP: "exchange < least * (share + exchange)"},
    "it asks for the part that is sending: least is the part that is computing.",
)
answers.edit(
    {"return gpus": "return gpus + 1"},
    "that is the first number that is too many: the one before it is asked for.",
)
answers.edit(
    {"return gpus": "return min(gpus + 1, batch)"},
    "that is the first number that is too many: the one before it is asked for.",
)
answers.edit(
    {LIMIT: "while True:"},
    "there are more GPUs than images: a GPU without an image has nothing to do, so N is at most "
    "batch.",
)
answers.edit(
    {LIMIT: "while gpus < batch - 1:"},
    "it stops one short of the batch: each of `batch` GPUs may have one image.",
)
answers.edit(
    {"        gpus += 1": "        gpus *= 2", "return gpus": "return min(gpus, batch)"},
    "only powers of two are tried: any number of GPUs may share the batch.",
)
answers.edit(
    {"return gpus": "return 2 ** (gpus.bit_length() - 1)"},
    "only powers of two are tried: any number of GPUs may share the batch.",
)
answers.edit(
    {STOP: "compute / (share + exchange) < least"},
    "that is a speed-up held against least: the part that computes is share / (share + exchange).",
)
answers.edit(
    {"return gpus": "return gpus if gpus > 1 else 0"},
    "where no second GPU is worth it there is still one, which computes all the time.",
)
answers.edit(
    {STOP: "compute / (gpus + 1) < least * (share + exchange) * (gpus + 1)"},
    "N divides twice: T₁ / (N · T_N) has compute on top, and compute / N over T_N is the same.",
)
answers.edit(
    {STOP: "share < 0.5 * (share + exchange)"},
    "a half is taken whatever least says: use the argument.",
)
answers.edit(
    {ROUNDS: "2 * math.log2(gpus + 1) * "},
    "that has the rounds of a tree: a ring of N takes 2(N − 1) rounds.",
    math=math,
)


@answers.right
def by_bisection(compute: float, size: float, link: Link, batch: int, least: float = 0.5) -> int:
    def computing(n: int) -> float:
        sending = 2 * (n - 1) * link.latency + 2 * (n - 1) / n * size / link.bandwidth
        return compute / n / (compute / n + sending)

    low, high = 1, batch + 1
    while high - low > 1:
        middle = (low + high) // 2
        if computing(middle) >= least:
            low = middle
        else:
            high = middle
    return low


@answers.right
def all_that_do(compute: float, size: float, link: Link, batch: int, least: float = 0.5) -> int:
    good = [
        n
        for n in range(1, batch + 1)
        if compute / n
        >= least * (compute / n + 2 * (n - 1) * (link.latency + size / n * link.beta))
    ]
    return max(good)


@answers.right
def by_a_quadratic(compute: float, size: float, link: Link, batch: int, least: float = 0.5) -> int:
    # N(N − 1)·2α + (N − 1)·2S/β <= C·(1/least − 1)
    a, b = 2 * link.latency, 2 * size / link.bandwidth - 2 * link.latency
    c = -2 * size / link.bandwidth - compute * (1 / least - 1)
    most = -c / b if a == 0 else (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)
    return max(1, min(batch, math.floor(most + 1e-9)))


EXERCISE = Exercise(
    task="Say how many GPUs may share one batch and still compute for a given part of each step.",
    reference=how_many_gpus,
    cases=cases,
    answers=answers,
)
