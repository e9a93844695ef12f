"""Tested helpers behind the gpulearn notebooks.

`import gpulearn as gl` costs next to nothing: each public name is loaded when it is
first used (PEP 562), so neither torch nor numba nor matplotlib is imported here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gpulearn.data.digits import Digits, digits
    from gpulearn.device.accelerators import accelerator
    from gpulearn.device.selection import banner
    from gpulearn.display import show
    from gpulearn.errors import (
        BadInput,
        CheckpointError,
        DataError,
        DeviceError,
        GpulearnError,
        KernelError,
        MissingPackage,
        NotSolvedYet,
        RankError,
        RecordingError,
        TrainingError,
        WrongAnswer,
    )
    from gpulearn.exercise.check import check
    from gpulearn.exercise.overview import exercises, progress, solution
    from gpulearn.kernels.indexing import blocks_for
    from gpulearn.kernels.ladder import ladder_reports
    from gpulearn.kernels.matmul import matmul_flops, matmul_loops
    from gpulearn.kernels.precision import relative_error, round_mantissa
    from gpulearn.nn.autograd import Variable
    from gpulearn.optim.adaptive import adagrad_step, adam_step, adamw_step, rmsprop_step
    from gpulearn.optim.landscapes import quadratic
    from gpulearn.optim.numerical import largest_stable_step, numerical_gradient
    from gpulearn.optim.optimizers import gradient_step, momentum_step, nesterov_step
    from gpulearn.optim.plateau import plateau_step
    from gpulearn.optim.range_test import rate_range_test
    from gpulearn.optim.schedules import (
        constant_rate,
        cosine_rate,
        exponential_rate,
        scaled_learning_rate,
        step_rate,
        warm_up_cosine_rate,
        warm_up_rate,
    )
    from gpulearn.optim.surfaces import surface
    from gpulearn.optim.trajectories import descend
    from gpulearn.parallel.allreduce import (
        all_reduce,
        all_reduce_via_root,
        doubling_all_reduce,
        ring_all_reduce,
        tree_all_reduce,
    )
    from gpulearn.parallel.alpha_beta import fit_alpha_beta, fit_link
    from gpulearn.parallel.averaging import average_gradients, broadcast_weights
    from gpulearn.parallel.buckets import bucket_gradients
    from gpulearn.parallel.collectives import (
        all_gather,
        all_to_all,
        broadcast,
        reduce,
        reduce_scatter,
    )
    from gpulearn.parallel.communicator import (
        barrier,
        clock,
        compute,
        exchange,
        irecv,
        isend,
        rank,
        recv,
        send,
        world_size,
    )
    from gpulearn.parallel.compression import CompressedDataParallel
    from gpulearn.parallel.costs import all_reduce_cost, all_reduce_seconds, ring_bytes_per_rank
    from gpulearn.parallel.data_parallel import (
        BucketedDataParallel,
        NaiveDataParallel,
        OverlappingDataParallel,
    )
    from gpulearn.parallel.export.to_torchrun import to_torchrun
    from gpulearn.parallel.launch.launch import launch
    from gpulearn.parallel.link import Link, link
    from gpulearn.parallel.process_group import gather_results, join_group
    from gpulearn.parallel.sharding import ShardSampler, shard_indices
    from gpulearn.parallel.simulate.simulate import simulate
    from gpulearn.parallel.simulate.simulation import Simulation
    from gpulearn.perf.choosing import Offer, cheapest_gpu_that_fits, offers
    from gpulearn.perf.estimates import Estimate, estimate
    from gpulearn.perf.families.roofline import gpu_points
    from gpulearn.perf.gpus import GpuSpec, gpu_spec
    from gpulearn.perf.graph_work import graph_work
    from gpulearn.perf.ladder_rates import kernel_roofs, ladder_rates
    from gpulearn.perf.matmul_times import cpu_times, gpu_times, peak_rate
    from gpulearn.perf.measured_roof import RoofPoint, measured_roof, memory_bandwidth, roof_point
    from gpulearn.perf.roofline import (
        Roof,
        arithmetic_intensity,
        attainable,
        ridge_point,
        roof,
    )
    from gpulearn.perf.series import Provenance, Series, crossover
    from gpulearn.perf.timing import Measurement, format_seconds, measure, time_correctly
    from gpulearn.plot.access_explorer import access, access_explorer
    from gpulearn.plot.bank_explorer import BankRequest, bank_explorer, bank_request
    from gpulearn.plot.basins import plot_basins
    from gpulearn.plot.batch_sizes import plot_batch_sizes
    from gpulearn.plot.compression import compression_table, plot_compression
    from gpulearn.plot.confusion import confusion_matrix, plot_confusion
    from gpulearn.plot.convolution_explorer import convolution_explorer
    from gpulearn.plot.counters import compare_reports
    from gpulearn.plot.curves import plot_curves
    from gpulearn.plot.descent import compare_descents, plot_descent, plot_losses
    from gpulearn.plot.descent_explorer import descent_explorer
    from gpulearn.plot.descent_race import race_methods
    from gpulearn.plot.drift import plot_drift
    from gpulearn.plot.filters import show_filters
    from gpulearn.plot.gpu_tables import (
        compare_precisions,
        compare_transposes,
        kernel_times,
        training_rates,
    )
    from gpulearn.plot.graph_player import graph_player, show_graph
    from gpulearn.plot.ladder import compare_rungs, ladder_explorer
    from gpulearn.plot.matmul import compare_gpus, plot_rates, plot_times, rates
    from gpulearn.plot.matmul_explorer import matmul_explorer
    from gpulearn.plot.memory_bars import plot_memory
    from gpulearn.plot.operations import compare_operations
    from gpulearn.plot.photo import photo, show_images
    from gpulearn.plot.product_scheme import product_scheme
    from gpulearn.plot.reduce_times import all_reduce_explorer, plot_all_reduce
    from gpulearn.plot.reduction_player import reduction_player
    from gpulearn.plot.ring_player import ring_player
    from gpulearn.plot.roofline import compare_points, compare_roofs, plot_roofline
    from gpulearn.plot.roofline_explorer import roofline_explorer
    from gpulearn.plot.scaling_curves import plot_scaling
    from gpulearn.plot.strides import plot_strides
    from gpulearn.plot.thread_explorer import thread_explorer
    from gpulearn.plot.tiles import show_halo, show_tile
    from gpulearn.plot.timeline import plot_timeline
    from gpulearn.plot.training_board import training_board
    from gpulearn.plot.training_curves import compare_runs, runs_table
    from gpulearn.plot.training_explorer import training_explorer
    from gpulearn.scaling.batch_sizes import batch_size_study
    from gpulearn.scaling.compression import compression_study
    from gpulearn.scaling.drift import measure_drift
    from gpulearn.scaling.laws import Amdahl, fit_amdahl, scaling_efficiency
    from gpulearn.scaling.measured import measure_scaling
    from gpulearn.scaling.modelled import data_parallel_seconds, modelled_scaling
    from gpulearn.simt.host.settings import seed, unchecked
    from gpulearn.simt.host.xray import xray
    from gpulearn.tables import table
    from gpulearn.train.accumulation import accumulate_gradients
    from gpulearn.train.clipping import clip_by_global_norm
    from gpulearn.train.evaluate import evaluate, predict
    from gpulearn.train.logs import read_log
    from gpulearn.train.loop import fit
    from gpulearn.train.measured import measured_memory
    from gpulearn.train.memory import memory_budget
    from gpulearn.train.models import MLP, LeNet
    from gpulearn.train.step import train_step

# the module that defines them -> public names
_HOMES = {
    "gpulearn.device.accelerators": ("accelerator",),
    "gpulearn.nn.autograd": ("Variable",),
    "gpulearn.data.digits": ("Digits", "digits"),
    "gpulearn.optim.adaptive": ("adagrad_step", "adam_step", "adamw_step", "rmsprop_step"),
    "gpulearn.optim.landscapes": ("quadratic",),
    "gpulearn.optim.numerical": ("largest_stable_step", "numerical_gradient"),
    "gpulearn.optim.optimizers": ("gradient_step", "momentum_step", "nesterov_step"),
    "gpulearn.optim.plateau": ("plateau_step",),
    "gpulearn.optim.range_test": ("rate_range_test",),
    "gpulearn.optim.schedules": (
        "constant_rate",
        "cosine_rate",
        "exponential_rate",
        "scaled_learning_rate",
        "step_rate",
        "warm_up_cosine_rate",
        "warm_up_rate",
    ),
    "gpulearn.optim.surfaces": ("surface",),
    "gpulearn.optim.trajectories": ("descend",),
    "gpulearn.device.selection": ("banner",),
    "gpulearn.errors": (
        "BadInput",
        "CheckpointError",
        "DataError",
        "DeviceError",
        "GpulearnError",
        "KernelError",
        "MissingPackage",
        "NotSolvedYet",
        "RankError",
        "RecordingError",
        "TrainingError",
        "WrongAnswer",
    ),
    "gpulearn.plot.access_explorer": ("access", "access_explorer"),
    "gpulearn.plot.bank_explorer": ("BankRequest", "bank_explorer", "bank_request"),
    "gpulearn.plot.basins": ("plot_basins",),
    "gpulearn.plot.batch_sizes": ("plot_batch_sizes",),
    "gpulearn.plot.compression": ("compression_table", "plot_compression"),
    "gpulearn.plot.confusion": ("confusion_matrix", "plot_confusion"),
    "gpulearn.plot.convolution_explorer": ("convolution_explorer",),
    "gpulearn.plot.counters": ("compare_reports",),
    "gpulearn.plot.curves": ("plot_curves",),
    "gpulearn.plot.descent": ("compare_descents", "plot_descent", "plot_losses"),
    "gpulearn.plot.descent_explorer": ("descent_explorer",),
    "gpulearn.plot.descent_race": ("race_methods",),
    "gpulearn.plot.drift": ("plot_drift",),
    "gpulearn.plot.filters": ("show_filters",),
    "gpulearn.plot.gpu_tables": (
        "compare_precisions",
        "compare_transposes",
        "kernel_times",
        "training_rates",
    ),
    "gpulearn.plot.graph_player": ("graph_player", "show_graph"),
    "gpulearn.plot.ladder": ("compare_rungs", "ladder_explorer"),
    "gpulearn.plot.matmul": ("compare_gpus", "plot_rates", "plot_times", "rates"),
    "gpulearn.plot.matmul_explorer": ("matmul_explorer",),
    "gpulearn.plot.memory_bars": ("plot_memory",),
    "gpulearn.plot.operations": ("compare_operations",),
    "gpulearn.plot.photo": ("photo", "show_images"),
    "gpulearn.plot.product_scheme": ("product_scheme",),
    "gpulearn.plot.reduce_times": ("all_reduce_explorer", "plot_all_reduce"),
    "gpulearn.plot.reduction_player": ("reduction_player",),
    "gpulearn.plot.ring_player": ("ring_player",),
    "gpulearn.plot.roofline": ("compare_points", "compare_roofs", "plot_roofline"),
    "gpulearn.plot.roofline_explorer": ("roofline_explorer",),
    "gpulearn.plot.scaling_curves": ("plot_scaling",),
    "gpulearn.display": ("show",),
    "gpulearn.plot.strides": ("plot_strides",),
    "gpulearn.tables": ("table",),
    "gpulearn.plot.thread_explorer": ("thread_explorer",),
    "gpulearn.plot.tiles": ("show_halo", "show_tile"),
    "gpulearn.plot.timeline": ("plot_timeline",),
    "gpulearn.plot.training_board": ("training_board",),
    "gpulearn.plot.training_curves": ("compare_runs", "runs_table"),
    "gpulearn.plot.training_explorer": ("training_explorer",),
    "gpulearn.perf.families.roofline": ("gpu_points",),
    "gpulearn.kernels.indexing": ("blocks_for",),
    "gpulearn.kernels.ladder": ("ladder_reports",),
    "gpulearn.kernels.matmul": ("matmul_flops", "matmul_loops"),
    "gpulearn.kernels.precision": ("relative_error", "round_mantissa"),
    "gpulearn.exercise.check": ("check",),
    "gpulearn.exercise.overview": ("exercises", "progress", "solution"),
    "gpulearn.parallel.allreduce": (
        "all_reduce",
        "all_reduce_via_root",
        "doubling_all_reduce",
        "ring_all_reduce",
        "tree_all_reduce",
    ),
    "gpulearn.parallel.alpha_beta": ("fit_alpha_beta", "fit_link"),
    "gpulearn.parallel.averaging": ("average_gradients", "broadcast_weights"),
    "gpulearn.parallel.buckets": ("bucket_gradients",),
    "gpulearn.parallel.collectives": (
        "all_gather",
        "all_to_all",
        "broadcast",
        "reduce",
        "reduce_scatter",
    ),
    "gpulearn.parallel.communicator": (
        "barrier",
        "clock",
        "compute",
        "exchange",
        "irecv",
        "isend",
        "rank",
        "recv",
        "send",
        "world_size",
    ),
    "gpulearn.parallel.compression": ("CompressedDataParallel",),
    "gpulearn.parallel.costs": ("all_reduce_cost", "all_reduce_seconds", "ring_bytes_per_rank"),
    "gpulearn.parallel.data_parallel": (
        "BucketedDataParallel",
        "NaiveDataParallel",
        "OverlappingDataParallel",
    ),
    "gpulearn.parallel.process_group": ("gather_results", "join_group"),
    "gpulearn.parallel.launch.launch": ("launch",),
    "gpulearn.parallel.link": ("Link", "link"),
    "gpulearn.parallel.export.to_torchrun": ("to_torchrun",),
    "gpulearn.parallel.sharding": ("ShardSampler", "shard_indices"),
    "gpulearn.parallel.simulate.simulate": ("simulate",),
    "gpulearn.parallel.simulate.simulation": ("Simulation",),
    "gpulearn.perf.choosing": ("Offer", "cheapest_gpu_that_fits", "offers"),
    "gpulearn.perf.estimates": ("Estimate", "estimate"),
    "gpulearn.perf.gpus": ("GpuSpec", "gpu_spec"),
    "gpulearn.perf.graph_work": ("graph_work",),
    "gpulearn.perf.ladder_rates": ("kernel_roofs", "ladder_rates"),
    "gpulearn.perf.measured_roof": (
        "RoofPoint",
        "measured_roof",
        "memory_bandwidth",
        "roof_point",
    ),
    "gpulearn.perf.matmul_times": ("cpu_times", "gpu_times", "peak_rate"),
    "gpulearn.perf.roofline": (
        "Roof",
        "arithmetic_intensity",
        "attainable",
        "ridge_point",
        "roof",
    ),
    "gpulearn.perf.series": ("Provenance", "Series", "crossover"),
    "gpulearn.perf.timing": ("Measurement", "format_seconds", "measure", "time_correctly"),
    "gpulearn.scaling.batch_sizes": ("batch_size_study",),
    "gpulearn.scaling.compression": ("compression_study",),
    "gpulearn.scaling.drift": ("measure_drift",),
    "gpulearn.scaling.laws": ("Amdahl", "fit_amdahl", "scaling_efficiency"),
    "gpulearn.scaling.measured": ("measure_scaling",),
    "gpulearn.scaling.modelled": ("data_parallel_seconds", "modelled_scaling"),
    "gpulearn.simt.host.settings": ("seed", "unchecked"),
    "gpulearn.simt.host.xray": ("xray",),
    "gpulearn.train.accumulation": ("accumulate_gradients",),
    "gpulearn.train.clipping": ("clip_by_global_norm",),
    "gpulearn.train.evaluate": ("evaluate", "predict"),
    "gpulearn.train.logs": ("read_log",),
    "gpulearn.train.loop": ("fit",),
    "gpulearn.train.measured": ("measured_memory",),
    "gpulearn.train.memory": ("memory_budget",),
    "gpulearn.train.models": ("LeNet", "MLP"),
    "gpulearn.train.step": ("train_step",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "MLP",
    "Amdahl",
    "BadInput",
    "BankRequest",
    "BucketedDataParallel",
    "CheckpointError",
    "CompressedDataParallel",
    "DataError",
    "DeviceError",
    "Digits",
    "Estimate",
    "GpuSpec",
    "GpulearnError",
    "KernelError",
    "LeNet",
    "Link",
    "Measurement",
    "MissingPackage",
    "NaiveDataParallel",
    "NotSolvedYet",
    "Offer",
    "OverlappingDataParallel",
    "Provenance",
    "RankError",
    "RecordingError",
    "Roof",
    "RoofPoint",
    "Series",
    "ShardSampler",
    "Simulation",
    "TrainingError",
    "Variable",
    "WrongAnswer",
    "accelerator",
    "access",
    "access_explorer",
    "accumulate_gradients",
    "adagrad_step",
    "adam_step",
    "adamw_step",
    "all_gather",
    "all_reduce",
    "all_reduce_cost",
    "all_reduce_explorer",
    "all_reduce_seconds",
    "all_reduce_via_root",
    "all_to_all",
    "arithmetic_intensity",
    "attainable",
    "average_gradients",
    "bank_explorer",
    "bank_request",
    "banner",
    "barrier",
    "batch_size_study",
    "blocks_for",
    "broadcast",
    "broadcast_weights",
    "bucket_gradients",
    "cheapest_gpu_that_fits",
    "check",
    "clip_by_global_norm",
    "clock",
    "compare_descents",
    "compare_gpus",
    "compare_operations",
    "compare_points",
    "compare_precisions",
    "compare_reports",
    "compare_roofs",
    "compare_rungs",
    "compare_runs",
    "compare_transposes",
    "compression_study",
    "compression_table",
    "compute",
    "confusion_matrix",
    "constant_rate",
    "convolution_explorer",
    "cosine_rate",
    "cpu_times",
    "crossover",
    "data_parallel_seconds",
    "descend",
    "descent_explorer",
    "digits",
    "doubling_all_reduce",
    "estimate",
    "evaluate",
    "exchange",
    "exercises",
    "exponential_rate",
    "fit",
    "fit_alpha_beta",
    "fit_amdahl",
    "fit_link",
    "format_seconds",
    "gather_results",
    "gpu_points",
    "gpu_spec",
    "gpu_times",
    "gradient_step",
    "graph_player",
    "graph_work",
    "irecv",
    "isend",
    "join_group",
    "kernel_roofs",
    "kernel_times",
    "ladder_explorer",
    "ladder_rates",
    "ladder_reports",
    "largest_stable_step",
    "launch",
    "link",
    "matmul_explorer",
    "matmul_flops",
    "matmul_loops",
    "measure",
    "measure_drift",
    "measure_scaling",
    "measured_memory",
    "measured_roof",
    "memory_bandwidth",
    "memory_budget",
    "modelled_scaling",
    "momentum_step",
    "nesterov_step",
    "numerical_gradient",
    "offers",
    "peak_rate",
    "photo",
    "plateau_step",
    "plot_all_reduce",
    "plot_basins",
    "plot_batch_sizes",
    "plot_compression",
    "plot_confusion",
    "plot_curves",
    "plot_descent",
    "plot_drift",
    "plot_losses",
    "plot_memory",
    "plot_rates",
    "plot_roofline",
    "plot_scaling",
    "plot_strides",
    "plot_timeline",
    "plot_times",
    "predict",
    "product_scheme",
    "progress",
    "quadratic",
    "race_methods",
    "rank",
    "rate_range_test",
    "rates",
    "read_log",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduction_player",
    "relative_error",
    "ridge_point",
    "ring_all_reduce",
    "ring_bytes_per_rank",
    "ring_player",
    "rmsprop_step",
    "roof",
    "roof_point",
    "roofline_explorer",
    "round_mantissa",
    "runs_table",
    "scaled_learning_rate",
    "scaling_efficiency",
    "seed",
    "send",
    "shard_indices",
    "show",
    "show_filters",
    "show_graph",
    "show_halo",
    "show_images",
    "show_tile",
    "simulate",
    "solution",
    "step_rate",
    "surface",
    "table",
    "thread_explorer",
    "time_correctly",
    "to_torchrun",
    "train_step",
    "training_board",
    "training_explorer",
    "training_rates",
    "tree_all_reduce",
    "unchecked",
    "warm_up_cosine_rate",
    "warm_up_rate",
    "world_size",
    "xray",
]


def __getattr__(name: str) -> Any:
    if name == "cuda":  # a module, and which one is decided when it is first asked for
        return importlib.import_module("gpulearn.cuda")
    if name not in _HOME:
        raise AttributeError(f"module 'gpulearn' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
