"""Published runs, as the papers tell them, and how far the planner is off each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gpulearn.parallel.links import Link
from gpulearn_lessons.plan_a_run.plan.accelerators import TPU_V4
from gpulearn_lessons.plan_a_run.plan.plan import ClusterPlan, plan_run
from gpulearn_lessons.plan_a_run.plan.step import CALIBRATED, Calibration


@dataclass(frozen=True)
class PublishedRun:
    """One step time or rate that a paper reports."""

    run: str  # whose it is; rows of one run are left out together
    row: str  # which of its rows
    source: str  # the paper
    plan: Mapping[str, Any]  # arguments of `plan_run`
    # of what is reported: "TFLOP/s" is that of one GPU, recomputed operations counted; "s" of a
    # step; "k tokens/s" of all GPUs, thousands
    unit: str
    reported: float  # the number
    assumed: str = ""  # what the paper does not tell

    def planned(self, calibration: Calibration = CALIBRATED) -> ClusterPlan:
        """The plan of this run."""
        return plan_run(**self.plan, calibration=calibration)

    def modeled(self, calibration: Calibration = CALIBRATED) -> float:
        """What the planner says, in the unit of the paper."""
        plan = self.planned(calibration)
        if self.unit == "s":
            return plan.step_seconds
        if self.unit == "k tokens/s":
            return plan.tokens_per_second / 1000
        return plan.hardware_flops_utilization * plan.gpu.peak / 1e12


# 2104.04473: Selene, 8 cards of 200 Gbit/s for 8 GPUs; float16; 51,200 tokens (section 5)
SELENE = {"vocabulary": 51_200, "sequence": 2048, "precision": "float16", "recompute": "full"}
MEGATRON = "arXiv 2104.04473, "
GPT3 = {**SELENE, "parameters": 174.6e9, "layers": 96, "hidden": 12288, "heads": 96, "batch": 1536}
# bfloat16, gradients in float32; 8 × 35 (section 2.4)
MT_NLG = {
    "parameters": 530e9, "layers": 105, "hidden": 20480, "heads": 128, "vocabulary": 51_200,
    "sequence": 2048, "batch": 1920, "tensor": 8, "pipeline": 35, "recompute": "full", "zero": 0,
}  # fmt: skip


def _table_1(
    billions: float, heads: int, hidden: int, layers: int, tensor: int, pipeline: int, gpus: int,
    batch: int, reported: float, interleave: int = 1,
) -> PublishedRun:  # fmt: skip
    return PublishedRun(
        "Megatron-LM",
        f"{billions:g} B on {gpus:,}",
        MEGATRON + "table 1",
        {
            **SELENE, "parameters": billions * 1e9, "layers": layers, "hidden": hidden,
            "heads": heads, "tensor": tensor, "pipeline": pipeline, "interleave": interleave,
            "gpus": gpus, "data": gpus // (tensor * pipeline), "batch": batch, "zero": 0,
        },
        "TFLOP/s",
        reported,
        "micro-batches of 1; two parts on each stage, where there is a pipeline",
    )  # fmt: skip


CALIBRATION: tuple[PublishedRun, ...] = (
    _table_1(1008, 160, 25600, 128, 8, 64, 3072, 3072, 163, interleave=2),
    *(
        PublishedRun(
            "GPT-3 by Megatron-LM", f"{96 * data:,} GPUs", MEGATRON + "table 2",
            {**GPT3, "gpus": 96 * data, "tensor": 8, "pipeline": 12, "data": data, "zero": 0},
            "TFLOP/s", reported,
        )
        for data, reported in ((4, 153.0), (8, 149.0), (16, 141.0))
    ),
    *(
        PublishedRun(
            "GPT-3 by ZeRO-3", f"{gpus:,} GPUs", MEGATRON + "table 2",
            {**GPT3, "gpus": gpus, "data": gpus, "micro_batch": 1536 // gpus, "zero": 3},
            "TFLOP/s", reported,
        )
        for gpus, reported in ((384, 144.0), (768, 88.0), (1536, 44.0))
    ),
    *(
        PublishedRun(
            "MT-NLG 530B", f"{280 * data:,} GPUs", "arXiv 2201.11990, section 2.4",
            {**MT_NLG, "gpus": 280 * data, "data": data},
            "s", reported, "micro-batches of 1, one part on each stage",
        )
        for data, reported in ((8, 60.1), (10, 50.2), (12, 44.4))
    ),
    PublishedRun(
        "PaLM 540B", "6,144 TPU v4", "arXiv 2204.02311, section 4",
        {
            "parameters": 540.35e9, "layers": 118, "hidden": 18432, "heads": 48,
            "vocabulary": 256_000, "sequence": 2048, "batch": 2048, "gpu": "TPU v4",
            "gpus": 6144, "tensor": 12, "data": 512, "zero": 3, "micro_batch": 4,
            "recompute": 0.79, "sequence_parallel": True, "fused_attention": True,
            "parallel_blocks": True, "interconnect": TPU_V4.neighbors,
        },
        "k tokens/s", 238.3,
        "0.79 of the forward pass is recomputed: 57.8 of hardware to 45.7 of the model; the "
        "traffic between the two pods of 3,072 takes no time of its own",
    ),
    PublishedRun(
        "BLOOM 176B", "384 GPUs", "arXiv 2211.05100, section 3",
        {
            "parameters": 176.247e9, "layers": 70, "hidden": 14336, "heads": 112,
            "vocabulary": 250_880, "sequence": 2048, "batch": 2048, "gpus": 384, "tensor": 4,
            "pipeline": 12, "data": 8, "micro_batch": 2, "zero": 1, "recompute": "full",
            # four cards of 100 Gbit/s for eight GPUs
            "interconnect": Link(9.6e-6, 6.25e9, "Omni-Path"),
        },
        "TFLOP/s", 153.0, "the middle of 150 and 156, both of which are reported",
    ),
    PublishedRun(
        "OPT-175B", "992 GPUs", "arXiv 2205.01068, section 2",
        {
            "parameters": 175e9, "layers": 96, "hidden": 12288, "heads": 96,
            "vocabulary": 50_272, "sequence": 2048, "batch": 992, "gpus": 992, "tensor": 8,
            "data": 124, "micro_batch": 8, "zero": 3, "recompute": "full", "precision": "float16",
        },
        "TFLOP/s", 147.0, "992 rows, 8 for each replica; the paper says “up to 147”",
    ),
    PublishedRun(
        "LLaMA-65B", "2,048 GPUs", "arXiv 2302.13971, section 2",
        {
            "parameters": 65.2e9, "layers": 80, "hidden": 8192, "heads": 64,
            "vocabulary": 32_000, "sequence": 2048, "batch": 2048, "gpus": 2048, "tensor": 8,
            "data": 256, "micro_batch": 8, "zero": 3, "recompute": "selective",
            "sequence_parallel": True, "fused_attention": True,
        },
        "k tokens/s", 0.38 * 2048, "the layout: tensor 8, the rest fully sharded",
    ),
)  # fmt: skip

# rows of table 1 that nothing was fitted to
OTHERS = (
    _table_1(1.7, 24, 2304, 24, 1, 1, 32, 512, 137),
    _table_1(3.6, 32, 3072, 30, 2, 1, 64, 512, 138),
    _table_1(7.5, 32, 4096, 36, 4, 1, 128, 512, 142),
    _table_1(18.4, 48, 6144, 40, 8, 1, 256, 1024, 135),
    _table_1(39.1, 64, 8192, 48, 8, 2, 512, 1536, 138, interleave=2),
    _table_1(76.1, 80, 10240, 60, 8, 4, 1024, 1792, 140),
    _table_1(145.6, 96, 12288, 80, 8, 8, 1536, 2304, 148),
    _table_1(310.1, 128, 16384, 96, 8, 16, 1920, 2160, 155, interleave=2),
    _table_1(529.6, 128, 20480, 105, 8, 35, 2520, 2520, 163),
)


class ErrorReport(NamedTuple):
    """A published number beside the planner's, and the errors as parts of the published one."""

    row: PublishedRun  # what is compared
    modeled: float  # by the planner, in the paper's unit
    error: float  # modeled / reported − 1
    # the same, fitted without all rows of this run; None where nothing was fitted to it in the
    # first place
    left_out: float | None


def fit(rows: Sequence[PublishedRun] = CALIBRATION) -> Calibration:
    """The two numbers with which the planner comes closest to published rows.

    Least squares of log(modeled / reported), by steps of Gauss and Newton that are halved until
    the sum is smaller.

    >>> fit()
    Calibration(product=..., link=...)
    """

    def residuals(logs: np.ndarray) -> np.ndarray:
        calibration = Calibration(*(float(fraction) for fraction in np.exp(logs)))
        return np.array([math.log(row.modeled(calibration) / row.reported) for row in rows])

    logs = np.log([0.7, 0.7])
    now = residuals(logs)
    for _ in range(20):
        moved = [(residuals(logs + move) - now) / 1e-3 for move in 1e-3 * np.eye(2)]
        step = np.linalg.lstsq(np.stack(moved, axis=1), -now)[0]
        while np.abs(step).max() > 1e-4:
            later = residuals(logs + step)
            if later @ later < now @ now:
                break
            step = step / 2
        else:
            break
        logs, now = logs + step, later
    product, link = np.exp(logs)
    return Calibration(round(float(product), 3), round(float(link), 3))


def hold_against(rows: Sequence[PublishedRun] = CALIBRATION) -> list[ErrorReport]:
    """Every row beside the planner, with the error of the fit and the one when it is left out."""
    reports = []
    without: dict[str, Calibration] = {}
    for row in rows:
        modeled, left_out = row.modeled(), None
        if row in CALIBRATION:
            if row.run not in without:
                without[row.run] = fit([other for other in CALIBRATION if other.run != row.run])
            left_out = row.modeled(without[row.run]) / row.reported - 1
        reports.append(ErrorReport(row, modeled, modeled / row.reported - 1, left_out))
    return reports
