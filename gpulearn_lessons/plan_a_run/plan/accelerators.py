"""What a plan needs of a GPU: rates, memory, watts, and what joins it to its neighbors."""

from dataclasses import dataclass

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.links import NVLINK_SECONDS, PCIE_SECONDS, Link
from gpulearn.perf.gpus import GPUS, Price

MACHINE = 8  # GPUs of one machine: NVIDIA's DGX and HGX, from the V100 to the B200


@dataclass(frozen=True)
class Processor:
    """A GPU, or what is used in its place, as a plan sees it."""

    name: str  # as it is called here
    peak: float  # operations per second of its fastest units, for the plan's arithmetic
    bandwidth: float  # bytes per second from and to its memory
    memory: float  # bytes
    power: float  # watts at most, by its design
    price: Price | None  # what an hour of it costs to rent; None where it is not known here
    neighbors: Link  # the link to the others of its machine
    machine: int = MACHINE  # how many are joined by that link


# Google Cloud, "TPU v4": 275 teraflops, 32 GiB at 1200 GB/s, at most 192 W measured, and 1.1 PB/s
# of all-reduce bandwidth in a pod of 4,096 chips, which are joined by links of their own. The
# latency is not on that page: NVLink's stands here, for a link of the same kind.
TPU_V4 = Processor(
    name="TPU v4",
    peak=275e12,
    bandwidth=1200e9,
    memory=32 * 2**30,
    power=192,
    price=None,
    neighbors=Link(NVLINK_SECONDS, 1.1e15 / 4096, "the links of a TPU v4 pod"),
    machine=4096,
)


def accelerator(gpu: str, precision: str = "bfloat16") -> Processor:
    """A GPU of `gpulearn.perf.gpus.GPUS`, or "TPU v4", for one arithmetic.

    Where a GPU has no NVLink, its neighbors are behind PCI Express.

    >>> print(accelerator("H100").neighbors)
    NVLink of the H100 (3.4 µs, 450 GB/s)
    """
    require.choice("GPU", gpu, [*GPUS, TPU_V4.name])
    if gpu == TPU_V4.name:
        if precision != "bfloat16":
            raise BadInput(f"precision is {precision!r}: of the TPU v4 only 'bfloat16' is known.")
        return TPU_V4
    spec = GPUS[gpu]
    if precision not in spec.peak:
        raise BadInput(
            f"precision is {precision!r}, which the {gpu} does not have: "
            f"it has {', '.join(spec.peak)}."
        )
    if spec.nvlink:
        link = Link(NVLINK_SECONDS, spec.nvlink, f"NVLink of the {gpu}")
    else:
        link = Link(PCIE_SECONDS, spec.link, f"PCI Express of the {gpu}")
    return Processor(
        gpu, spec.peak[precision], spec.bandwidth, spec.memory, spec.power, spec.price, link
    )
