"""What GPUs can do by their makers' data sheets, and what an hour of one costs.

All rates are dense: where a sheet gives a rate for sparse matrices, half of it stands here.
`vector` is what the ordinary arithmetic units do, the ones that a kernel of our own uses;
`tensor` is what the tensor cores do, the units for matrix products that libraries use.
float64 on NVIDIA's consumer and inference GPUs is 1/32 or 1/64 of float32, by the white papers.

What a multiprocessor has goes by compute capability: CUDA C++ Programming Guide, "Compute
Capabilities". How many there are, and the L2 cache: NVIDIA's white papers on the V100 (2017),
Turing (2018), the A100 and GA102 (2020), Ada and H100 (2022), for Ada's chips with what is
switched on in each product; H200 and B200 as `torch.cuda.get_device_properties` shows them.

The sheets were read by way of copies and reviews of them in November 2026, and prices by way of
surveys whose month stands with each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpulearn import require

BYTES = {"float64": 8, "float32": 4, "tf32": 4, "bfloat16": 2, "float16": 2}

# to the host, one direction, bytes per second: PCI Express by generation and lanes
PCIE3, PCIE4, PCIE5 = 15.75e9, 31.5e9, 63e9
PCIE4_8_LANES = 15.75e9


@dataclass(frozen=True)
class Price:
    """What an hour of one GPU costs to rent: US dollars, from `low` to `high`.

    Prices of one GPU differ several times over between providers, and change by the month:
    `when` (YYYY-MM) and `source` belong to them.
    """

    low: float
    high: float
    when: str
    source: str

    def __str__(self) -> str:
        both = f"{self.low:.2f}" if self.low == self.high else f"{self.low:.2f}–{self.high:.2f}"
        return f"${both} an hour ({self.when})"


@dataclass(frozen=True)
class Multiprocessor:
    """What one multiprocessor of a GPU has."""

    capability: tuple[int, int]
    lanes: int  # float32 units; each does a multiplication and an addition in a clock cycle
    threads: int  # that it holds at a time
    blocks: int  # that it holds at a time
    shared_bytes: int  # shared memory of all its blocks, at most
    cache_bytes: int  # L1 cache and shared memory together, which share one memory
    # clock cycles of a pass over the 32 banks of 4 bytes (the same guide, "Shared Memory"); two on
    # Turing, which moves 64 bytes in a cycle (NVIDIA, "Ampere GA102 GPU Architecture", 2020, which
    # compares the two)
    bank_cycles: int = 1
    registers: int = 65_536  # of 32 bits, of all its threads


KB, MB = 1 << 10, 1 << 20

VOLTA = Multiprocessor(
    (7, 0), lanes=64, threads=2048, blocks=32, shared_bytes=96 * KB, cache_bytes=128 * KB,
)  # fmt: skip
TURING = Multiprocessor(
    (7, 5), lanes=64, threads=1024, blocks=16, shared_bytes=64 * KB, cache_bytes=96 * KB,
    bank_cycles=2,
)  # fmt: skip
AMPERE_A100 = Multiprocessor(
    (8, 0), lanes=64, threads=2048, blocks=32, shared_bytes=164 * KB, cache_bytes=192 * KB,
)  # fmt: skip
AMPERE = Multiprocessor(
    (8, 6), lanes=128, threads=1536, blocks=16, shared_bytes=100 * KB, cache_bytes=128 * KB,
)  # fmt: skip
ADA = Multiprocessor(
    (8, 9), lanes=128, threads=1536, blocks=24, shared_bytes=100 * KB, cache_bytes=128 * KB,
)  # fmt: skip
HOPPER = Multiprocessor(
    (9, 0), lanes=128, threads=2048, blocks=32, shared_bytes=228 * KB, cache_bytes=256 * KB,
)  # fmt: skip
BLACKWELL = Multiprocessor(
    (10, 0), lanes=128, threads=2048, blocks=32, shared_bytes=228 * KB, cache_bytes=256 * KB,
)  # fmt: skip


@dataclass(frozen=True)
class GpuSpec:
    """A GPU by its data sheet; rates are operations or bytes per second."""

    name: str
    multiprocessor: Multiprocessor
    multiprocessors: int
    l2_bytes: int  # the L2 cache, which all multiprocessors share
    vector: Mapping[str, float]  # of the ordinary units, by arithmetic
    tensor: Mapping[str, float]  # of the tensor cores, by arithmetic
    bandwidth: float  # from and to its memory
    link: float  # to the host, one direction
    memory: float  # bytes
    power: float  # watts at most, by its design
    source: str  # where these numbers are from
    nvlink: float = 0.0  # to the other GPUs of its machine, one direction; 0 without NVLink
    price: Price | None = None  # of renting one on demand; None where nobody rents it out

    @property
    def peak(self) -> Mapping[str, float]:
        """The highest rate for each arithmetic, by whichever units reach it."""
        return {**self.vector, **self.tensor}

    @property
    def memories(self) -> dict[str, str]:
        """Its memories, from those of a multiprocessor outwards, as a row of a table."""
        sm = self.multiprocessor
        return {
            "GPU": self.name,
            "multiprocessors": str(self.multiprocessors),
            "registers of each": f"{4 * sm.registers // KB} KB",
            "L1 and shared memory of each": f"{sm.cache_bytes // KB} KB",
            "L2 of all": f"{self.l2_bytes // MB} MB",
            "memory": f"{self.memory / 1e9:g} GB",
            "bandwidth of memory": f"{self.bandwidth / 1e9:,.0f} GB/s",
        }

    @property
    def cycles_per_second(self) -> float:
        """Clock cycles of all multiprocessors together: the float32 rate = cycles · lanes · 2."""
        return self.vector["float32"] / (2 * self.multiprocessor.lanes)


def _halves(rate: float, tf32: float) -> dict[str, float]:
    """Tensor-core rates where bfloat16 and float16 are equally fast."""
    return {"tf32": tf32, "bfloat16": rate, "float16": rate}


# what rented GPUs cost: surveys of many providers, or the lists of two
MAY_2026 = ("2026-05", "Mercatus, cloud GPU pricing: cheapest to dearest of 22 providers")
MARCH_2026 = ("2026-03", "RunPod, by lists of Deploybase, which differ")
HOPPER_VECTOR = {"float32": 67e12, "float64": 34e12}
HOPPER_TENSOR = {"float64": 67e12, **_halves(989e12, tf32=494.5e12)}

_SPECS = (
    GpuSpec(
        name="T4",
        multiprocessor=TURING,
        multiprocessors=40,
        l2_bytes=4 * MB,
        vector={"float32": 8.1e12, "float64": 8.1e12 / 32},
        tensor={"float16": 65e12},
        bandwidth=320e9,  # 256 bits at 10 Gbit/s; the data sheet says 300
        link=PCIE3,
        memory=16e9,
        power=70,
        source="NVIDIA T4 data sheet (2019); bandwidth: NVIDIA Turing white paper (2018)",
        price=Price(0.53, 0.53, "2026-03", "AWS g4dn.xlarge, on demand, by gpuaudit"),
    ),
    GpuSpec(
        name="L4",
        multiprocessor=ADA,
        multiprocessors=58,
        l2_bytes=48 * MB,
        vector={"float32": 30.3e12, "float64": 30.3e12 / 64},
        tensor=_halves(121e12, tf32=60e12),
        bandwidth=300e9,
        link=PCIE4,
        memory=24e9,
        power=72,
        source="NVIDIA L4 data sheet (2023)",
        price=Price(0.44, 0.80, "2026-03", "RunPod, by Deploybase; AWS g6.xlarge, by gpuaudit"),
    ),
    GpuSpec(
        name="RTX 4060 Laptop",
        multiprocessor=ADA,
        multiprocessors=24,
        l2_bytes=32 * MB,
        vector={"float32": 14.6e12, "float64": 14.6e12 / 64},
        tensor=_halves(29.1e12, tf32=14.6e12),
        bandwidth=256e9,
        link=PCIE4_8_LANES,
        memory=8e9,
        power=115,
        source="NVIDIA GeForce laptop table (2023), 115 W version; rates: 2 · 3072 cores · "
        "2.37 GHz, and the Ada white paper's ratios",
    ),
    GpuSpec(
        name="RTX 3090",
        multiprocessor=AMPERE,
        multiprocessors=82,
        l2_bytes=6 * MB,
        vector={"float32": 35.6e12, "float64": 35.6e12 / 64},
        tensor=_halves(71e12, tf32=35.6e12),  # summed in float32; half of float16's 142
        bandwidth=936e9,
        link=PCIE4,
        memory=24e9,
        power=350,
        source="NVIDIA GA102 white paper (2020)",
        price=Price(0.22, 0.39, *MARCH_2026),
    ),
    GpuSpec(
        name="RTX 4090",
        multiprocessor=ADA,
        multiprocessors=128,
        l2_bytes=72 * MB,
        vector={"float32": 82.6e12, "float64": 82.6e12 / 64},
        tensor=_halves(165.2e12, tf32=82.6e12),
        bandwidth=1008e9,
        link=PCIE4,
        memory=24e9,
        power=450,
        source="NVIDIA Ada white paper (2022)",
        price=Price(0.34, 0.60, *MARCH_2026),
    ),
    GpuSpec(
        name="V100",
        multiprocessor=VOLTA,
        multiprocessors=80,
        l2_bytes=6 * MB,
        vector={"float32": 15.7e12, "float64": 7.8e12},
        tensor={"float16": 125e12},
        bandwidth=900e9,
        link=PCIE3,
        nvlink=150e9,
        memory=16e9,
        power=300,
        source="NVIDIA V100 data sheet (2020), SXM2, 16 GB",
        price=Price(0.79, 3.06, "2026-03", "Lambda, by SkyPilot; AWS p3.2xlarge, by gpuaudit"),
    ),
    GpuSpec(
        name="A100 40GB",
        multiprocessor=AMPERE_A100,
        multiprocessors=108,
        l2_bytes=40 * MB,
        vector={"float32": 19.5e12, "float64": 9.7e12},
        tensor={"float64": 19.5e12, **_halves(312e12, tf32=156e12)},
        bandwidth=1555e9,
        link=PCIE4,
        nvlink=300e9,
        memory=40e9,
        power=400,
        source="NVIDIA A100 data sheet (2020), SXM4",
        price=Price(1.29, 2.74, "2025-12", "Lambda; AWS p4d after its cut by a third in 2025-06"),
    ),
    GpuSpec(
        name="A100 80GB",
        multiprocessor=AMPERE_A100,
        multiprocessors=108,
        l2_bytes=40 * MB,
        vector={"float32": 19.5e12, "float64": 9.7e12},
        tensor={"float64": 19.5e12, **_halves(312e12, tf32=156e12)},
        bandwidth=2039e9,
        link=PCIE4,
        nvlink=300e9,
        memory=80e9,
        power=400,
        source="NVIDIA A100 data sheet (2021), SXM4",
        price=Price(0.80, 3.00, *MAY_2026),
    ),
    GpuSpec(
        name="H100",
        multiprocessor=HOPPER,
        multiprocessors=132,
        l2_bytes=50 * MB,
        vector=HOPPER_VECTOR,
        tensor=HOPPER_TENSOR,
        bandwidth=3.35e12,
        link=PCIE5,
        nvlink=450e9,
        memory=80e9,
        power=700,
        source="NVIDIA H100 data sheet (2023), SXM5",
        price=Price(1.99, 5.00, *MAY_2026),
    ),
    GpuSpec(
        name="H200",
        multiprocessor=HOPPER,
        multiprocessors=132,
        l2_bytes=60 * MB,
        vector=HOPPER_VECTOR,
        tensor=HOPPER_TENSOR,
        bandwidth=4.8e12,
        link=PCIE5,
        nvlink=450e9,
        memory=141e9,
        power=700,
        source="NVIDIA H200 data sheet (2024), SXM5",
        price=Price(2.50, 7.00, *MAY_2026),
    ),
    GpuSpec(
        name="B200",
        multiprocessor=BLACKWELL,
        multiprocessors=148,
        l2_bytes=126 * MB,
        vector={"float32": 75e12, "float64": 37e12},
        tensor={"float64": 37e12, **_halves(2250e12, tf32=1125e12)},
        bandwidth=7.7e12,
        link=PCIE5,
        nvlink=900e9,
        memory=180e9,
        power=1000,
        source="NVIDIA HGX B200 data sheet (2026), one of eight",
        price=Price(4.99, 6.25, "2026-03", "RunPod, Nebius, Modal: lists, by a survey of them"),
    ),
)

GPUS = {spec.name: spec for spec in _SPECS}


def gpu_spec(name: str) -> GpuSpec:
    """Look a GPU up by name; where there is none, the nearest name is suggested.

    >>> gpu_spec("T4").bandwidth
    320000000000.0
    """
    return GPUS[require.choice("GPU", name, GPUS)]
