"""What a plan needs of a GPU: rates, memory, watts, and the link to its neighbors."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.links import NVLINK_SECONDS, PCIE_SECONDS, Link
from gpulearn.perf.gpus import GPUS, Price

MACHINE = 8  # GPUs of one machine: NVIDIA's DGX and HGX, from the V100 to the B200
AMPERE, HOPPER = (8, 0), (9, 0)  # compute capabilities from which on a generation counts

# Fractions of the peak that published measurements reach.
# Matrix products: Bekman, "Machine learning engineering", 2026, "Maximum achievable matmul FLOPS":
# A100 271.2 of 312, H100 794.5 of 989 in bfloat16 and 1402.6 of 1979 in 8 bits (TFLOP/s).
# Attention by FlashAttention-2, and by the newest kernels: Dao, arXiv 2307.08691, 2023 (A100, 50 to
# 73%), and Shah and others, arXiv 2407.08608, 2024 (H100, 35% by FlashAttention-2, 61 to 65% by
# cuDNN and FlashAttention-3 forward without a mask; for causal and backward we take 50%).
PRODUCT = {AMPERE: 0.869, HOPPER: 0.803}
PRODUCT_8_BITS = 0.709
ATTENTION = {AMPERE: (0.6, 0.6), HOPPER: (0.35, 0.5)}
PRECISIONS = ("float32", "tf32", "bfloat16", "float16", "float8")


@dataclass(frozen=True)
class Processor:
    """A GPU as a plan sees it."""

    name: str
    generation: tuple[int, int]  # AMPERE, which stands for all before Hopper, too, or HOPPER
    peak: float  # FLOP per second, for the plan's precision
    product: float  # FLOP per second of a large product in that precision
    wide_product: float  # the same in 16 bits, where 8 are too few: the scores of tokens
    attention: Mapping[str, float]  # FLOP per second of attention, by what is fused
    bandwidth: float  # bytes per second from and to its memory
    memory: float  # bytes
    power: float  # watts at most, by its design
    price: Price | None  # of an hour, where it is known
    neighbors: Link  # the link to the others of its machine


def accelerator(gpu: str, precision: str = "bfloat16") -> Processor:
    """A GPU of `gpulearn.perf.gpus.GPUS`, for one precision of its matrix products.

    In "float8" a GPU of Hopper's generation or later has twice its peak in 16 bits. Without
    NVLink, its neighbors are behind PCI Express.

    >>> print(accelerator("H100").neighbors)
    NVLink of the H100 (3.4 µs, 450 GB/s)
    """
    spec = GPUS[require.choice("GPU", gpu, GPUS)]
    generation = HOPPER if spec.multiprocessor.capability >= HOPPER else AMPERE
    peak = dict(spec.peak)
    if generation == HOPPER:
        peak["float8"] = 2 * peak["bfloat16"]
    if precision not in peak:
        raise BadInput(
            f"precision is {precision!r}, which the {gpu} does not have: it has {', '.join(peak)}."
        )
    wide = peak["bfloat16" if precision == "float8" else precision]
    part = PRODUCT_8_BITS if precision == "float8" else PRODUCT[generation]
    if spec.nvlink:
        link = Link(NVLINK_SECONDS, spec.nvlink, f"NVLink of the {gpu}")
    else:
        link = Link(PCIE_SECONDS, spec.link, f"PCI Express of the {gpu}")
    older, newest = ATTENTION[generation]
    return Processor(
        gpu, generation, peak[precision], part * peak[precision], PRODUCT[generation] * wide,
        {"attention": older * wide, "all": newest * wide}, spec.bandwidth, spec.memory,
        spec.power, spec.price, link,
    )  # fmt: skip
