"""What lies between two ranks: a latency and a bandwidth, the α–β model of a link."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.require import shown

# NVIDIA/nccl, src/graph/tuning.cc (commit 01afd20, version 2.7.5), the table hwLat, row "Ring",
# protocol "Simple": what NCCL itself reckons with for one step between two neighbors. In the
# versions of 2026 the first two are the same, and a network takes 14.0e-6.
NCCL = "latency: NCCL 2.7's cost table, 2020 (src/graph/tuning.cc, hwLat, Ring/Simple)"
NVLINK_SECONDS, PCIE_SECONDS, NETWORK_SECONDS = 3.4e-6, 5.7e-6, 9.6e-6


@dataclass(frozen=True)
class Link:
    """A link between two ranks: a message of S bytes takes α + S·β seconds.

    α is the latency and β = 1/bandwidth (Hockney, "The communication challenge for MPP:
    Intel Paragon and Meiko CS-2", Parallel Computing 20(3), 1994).

    >>> Link(latency=10e-6, bandwidth=1e9).seconds(1_000_000)
    0.00101
    """

    latency: float  # α in seconds, for each message however small
    bandwidth: float  # bytes per second, in one direction
    name: str = field(default="", compare=False)  # what figures call it
    source: str = field(default="", compare=False)  # where its numbers are from

    def __post_init__(self) -> None:
        if self.latency != 0:
            require.above_zero("latency", self.latency)
        require.above_zero("bandwidth", self.bandwidth)

    @property
    def alpha(self) -> float:
        """Seconds for each message."""
        return self.latency

    @property
    def beta(self) -> float:
        """Seconds for each byte."""
        return 1 / self.bandwidth

    def seconds(self, size: float) -> float:
        """Seconds for one message of `size` bytes: α + S·β."""
        return self.latency + size / self.bandwidth

    def __str__(self) -> str:
        numbers = f"{self.latency * 1e6:.3g} µs, {self.bandwidth / 1e9:.3g} GB/s"
        return f"{self.name} ({numbers})" if self.name else f"a link of {numbers}"

    __repr__ = __str__


def _preset(name: str, latency: float, bandwidth: float, source: str) -> Link:
    return Link(latency, bandwidth, name, f"bandwidth: {source}; {NCCL}")


# bandwidths are those of one direction, as the standard or the data sheet gives them
LINKS = {
    link.name: link
    for link in (
        _preset(
            "PCIe 4", PCIE_SECONDS, 16e9 * 16 * 128 / 130 / 8,
            "PCI-SIG, PCI Express 4.0: 16 lanes of 16 GT/s, 128 of 130 bits are data",
        ),
        _preset(
            "PCIe 5", PCIE_SECONDS, 32e9 * 16 * 128 / 130 / 8,
            "PCI-SIG, PCI Express 5.0: 16 lanes of 32 GT/s, 128 of 130 bits are data",
        ),
        _preset(
            "NVLink 3", NVLINK_SECONDS, 300e9,
            "NVIDIA A100 data sheet: 600 GB/s in both directions together",
        ),
        _preset(
            "NVLink 4", NVLINK_SECONDS, 450e9,
            "NVIDIA H100 data sheet: 900 GB/s in both directions together",
        ),
        _preset("10 Gbit", NETWORK_SECONDS, 10e9 / 8, "IEEE 802.3ae: 10 Gbit/s"),
        _preset("100 Gbit", NETWORK_SECONDS, 100e9 / 8, "IEEE 802.3ba: 100 Gbit/s"),
        _preset("200 Gbit", NETWORK_SECONDS, 200e9 / 8, "InfiniBand HDR: 200 Gbit/s for a card"),
        _preset("400 Gbit", NETWORK_SECONDS, 400e9 / 8, "IEEE 802.3bs: 400 Gbit/s"),
    )
}  # fmt: skip


def link(name: str) -> Link:
    """A link by its name: PCIe 4 or 5, NVLink 3 or 4, a network of 10 to 400 Gbit/s.

    >>> print(link("NVLink 4"))
    NVLink 4 (3.4 µs, 450 GB/s)
    """
    return LINKS[require.choice("link", name, LINKS)]


def as_link(value: object) -> Link:
    """A link, or the link of a name."""
    if isinstance(value, Link):
        return value
    if isinstance(value, str):
        return link(value)
    raise BadInput(f"link is {shown(value)}: give a gl.parallel.Link or a name such as 'NVLink 4'.")
