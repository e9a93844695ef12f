"""Links, and the α–β model."""

import pytest

import gpulearn as gl
from gpulearn.parallel.allreduce import ALGORITHMS
from gpulearn.parallel.links import LINKS


def test_presets_are_in_order_and_say_their_source():
    order = ["10 Gbit", "100 Gbit", "200 Gbit", "PCIe 4", "400 Gbit", "PCIe 5"]
    order += ["NVLink 3", "NVLink 4"]
    assert sorted(LINKS, key=lambda name: LINKS[name].bandwidth) == order
    assert LINKS["PCIe 4"].bandwidth == pytest.approx(31.5e9, rel=0.001)
    for name, link in LINKS.items():
        assert gl.parallel.link(name) is link
        assert link.source.startswith("bandwidth: ")
        assert "latency: NCCL" in link.source
        assert link.seconds(1e9) == pytest.approx(link.latency + 1e9 / link.bandwidth)
        assert link.seconds(0) == link.latency > 0


@pytest.mark.parametrize(
    ("latency", "bandwidth", "said"),
    [(-1, 1e9, "latency is -1"), (0, 0, "bandwidth is 0"), (0, "fast", "bandwidth is 'fast'")],
)
def test_a_link_without_sense_is_refused(latency, bandwidth, said):
    with pytest.raises(gl.errors.BadInput, match=said):
        gl.parallel.Link(latency, bandwidth)


def test_the_crossover_of_latency_and_bandwidth():
    """Small tensors are fastest by recursive doubling, large ones by halving or the ring."""
    best = [
        min(ALGORITHMS, key=lambda name: gl.parallel.all_reduce_seconds(name, n, size, "100 Gbit"))
        for n, size in ((64, 1e3), (64, 1e9), (96, 1e9))
    ]
    assert best == ["doubling", "halving", "ring"]


def test_halving_and_doubling_has_the_rings_bytes_in_few_rounds():
    link = gl.parallel.link("400 Gbit")
    rounds, sent, seconds = gl.parallel.halving_doubling_cost(1024, 2e9, link)
    assert (rounds, sent) == (20, gl.parallel.ring_bytes_per_rank(1024, 2e9))
    assert seconds == gl.parallel.all_reduce_seconds("halving", 1024, 2e9, link)
    assert seconds == pytest.approx(80.1e-3, rel=1e-3)
    assert gl.parallel.all_reduce_seconds("ring", 1024, 2e9, link) == pytest.approx(99.6e-3, 1e-3)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: gl.parallel.fit_alpha_beta([1, 2], [1.0]), "sizes has 2, seconds has 1 entries"),
        (lambda: gl.parallel.fit_alpha_beta([1], [1.0]), "give at least two different ones"),
        (lambda: gl.parallel.fit_alpha_beta([-1, 5], [1.0, 2.0]), r"sizes is \[-1, 5\]"),
        (lambda: gl.parallel.fit_alpha_beta([1, 2], [1.0, 0.0]), "each time must be above zero"),
        (lambda: gl.parallel.fit_alpha_beta(["a", 2], [1.0, 2.0]), "sizes is .*real numbers"),
        (lambda: gl.parallel.fit_alpha_beta(3, [1.0]), "sizes is 3: give a list"),
        (lambda: gl.parallel.all_reduce_cost("ring", 0, 8), "ranks is 0"),
        (lambda: gl.parallel.halving_doubling_cost(6, 8, LINKS["NVLink 4"]), "a power of two"),
        (lambda: gl.parallel.all_reduce_cost("ring", 2, -8), "size is -8"),
        (lambda: gl.parallel.all_reduce_seconds("ring", 2, 8, 5), "link is 5"),
        (lambda: gl.parallel.ring_bytes_per_rank(2.5, 8), "ranks is 2.5"),
    ],
)
def test_bad_input_is_one_sentence(call, said):
    with pytest.raises(gl.errors.BadInput, match=said):
        call()
