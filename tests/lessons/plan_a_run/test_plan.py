"""Plans of cluster runs: against their own sums, limits that must hold, and published runs."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn.nn.transformer_costs import DecoderShape
from gpulearn_lessons.plan_a_run import best_layout
from gpulearn_lessons.plan_a_run.plan import by_hand
from gpulearn_lessons.plan_a_run.plan.accelerators import AMPERE, HOPPER, accelerator
from gpulearn_lessons.plan_a_run.plan.plan import plan_run
from gpulearn_lessons.plan_a_run.plan.published import models, published
from gpulearn_lessons.plan_a_run.plan.step import CALIBRATED, Calibration, ring_seconds

GPT3 = {
    "parameters": 174.6e9, "layers": 96, "hidden": 12288, "heads": 96, "vocabulary": 51_200,
    "sequence": 2048, "batch": 1536,
}  # fmt: skip
SMALL = {
    "parameters": 1.3e9, "layers": 24, "hidden": 2048, "heads": 16, "vocabulary": 50_000,
    "sequence": 1024, "batch": 64,
}  # fmt: skip
TINY = {
    "parameters": 38e6, "layers": 6, "hidden": 512, "heads": 8, "vocabulary": 37_000,
    "sequence": 256, "batch": 8,
}  # fmt: skip


@pytest.fixture(scope="module")
def errors():
    return {run.name: run.error() for run in published()}


def test_the_planner_is_near_runs_that_it_was_not_fitted_to(errors):
    assert len(errors) == len(published()) == 45
    assert len({run.about.citation.split(",")[0] for run in published()}) >= 10
    sizes = [abs(error) for error in errors.values()]
    assert np.median(sizes) < 0.06
    assert sum(size <= 0.1 for size in sizes) == 35
    assert sum(size <= 0.2 for size in sizes) == 39
    assert sum(error < 0 for error in errors.values()) == 29
    far = {name.split(":")[0] for name, error in errors.items() if abs(error) > 0.2}
    assert far == {"MT-NLG", "GLM", "DGX Cloud MaxText"}


def test_llama_3_fits_as_published_and_is_near(errors):
    runs = [run for run in published() if run.source == "Llama 3 paper"]
    assert [run.plan["gpus"] for run in runs] == [8192, 16_384]
    assert all(abs(run.error()) < 0.07 for run in runs)
    assert all(sum(run.planned().memory_per_gpu.values()) < 60e9 for run in runs)


@pytest.mark.parametrize("gpu", ["A100", "H100"])
def test_every_second_source_is_held_out(gpu):
    sources = {
        (run.about.date, run.about.citation.split(",")[0], run.about.set)
        for run in (*published("fitted"), *published())
        if gpu in run.plan["gpu"] and run.source != "Llama 3 paper"
    }
    sets = [which for _, _, which in sorted(sources)]
    assert sets == (["fitted", "held out"] * len(sets))[: len(sets)]


def test_what_is_fitted_is_what_the_planner_uses():
    """Least sum of |log(planned / published speed)|, so that a few runs that are slow for reasons
    of their own do not decide: Gauss and Newton's steps, reweighted."""
    rows = published("fitted")
    of = [accelerator(run.plan["gpu"]).generation == HOPPER for run in rows]

    def residuals(point):
        both = [Calibration(kernels, point[2]) for kernels in point[:2]]
        return np.array([math.log1p(run.error(both[k])) for run, k in zip(rows, of, strict=True)])

    point = np.array([0.8, 0.8, 0.5])  # kernels before Hopper, kernels since, hidden
    for _ in range(30):
        now = residuals(point)
        weights = 1 / np.sqrt(np.maximum(np.abs(now), 0.01))
        moved = [(residuals(point + move) - now) / 1e-3 for move in 1e-3 * np.eye(3)]
        slopes = np.stack(moved, axis=1) * weights[:, None]
        point = np.clip(point + np.linalg.lstsq(slopes, -now * weights)[0], 0.01, 1.0)
    ampere, hopper, hidden = (round(float(number), 2) for number in point)
    assert {AMPERE: (ampere, hidden), HOPPER: (hopper, hidden)} == {
        generation: (found.kernels, found.hidden) for generation, found in CALIBRATED.items()
    }


def test_no_calibration_nearby_fits_better():
    rows = published("fitted")
    of = [accelerator(run.plan["gpu"]).generation for run in rows]

    def badness(kernels=0.0, hidden=0.0):
        near = {
            generation: Calibration(found.kernels + kernels, found.hidden + hidden)
            for generation, found in CALIBRATED.items()
        }
        return sum(
            abs(math.log1p(run.error(near[generation])))
            for run, generation in zip(rows, of, strict=True)
        )

    for move in (-0.03, 0.03):
        assert badness(kernels=move) > badness()
        assert badness(hidden=5 * move) > badness()


@pytest.mark.parametrize("name", models())
def test_a_models_matrices_make_its_parameters(name):
    size = models()[name]
    head = size["hidden"] // size["heads"]
    attention = 2 * size["hidden"] ** 2 + 2 * size["hidden"] * head * size["kv_heads"]
    layer = attention + (2 + size["gated"]) * size["hidden"] * size["ffn"]
    table = size["vocabulary"] * size["hidden"]
    counts = [size["layers"] * layer + tables * table for tables in (1, 2)]
    assert min(abs(count / size["parameters"] - 1) for count in counts) < 0.035


@pytest.mark.parametrize("run", [*published("fitted"), *published()], ids=lambda run: run.name)
def test_a_published_run_fits_and_its_parts_add_up(run):
    plan = run.planned()
    assert sum(plan.memory_per_gpu.values()) < plan.gpu.memory
    assert min(plan.parts.values()) >= 0
    assert plan.step_seconds == pytest.approx(sum(plan.parts.values()))
    assert 0 < plan.model_flops_utilization <= plan.hardware_flops_utilization < 1


def test_one_gpu_alone_computes_and_nothing_else():
    plan = plan_run(**SMALL, gpus=1, fused="all")
    tokens, h, gpu = 1024, 2048, accelerator("A100 80GB")
    kernels = CALIBRATED[gpu.generation].kernels
    assert gpu.product == pytest.approx(0.869 * 312e12)

    def seconds(k, n):
        moved = 2 * (tokens * k + k * n + tokens * n)
        return (2 * tokens * k * n / gpu.product + moved / 2.039e12) / kernels

    layer = seconds(h, 3 * h) + seconds(h, h) + 2 * seconds(h, 4 * h)
    attention = 3.5 * 2 * tokens * h * tokens / (0.6 * 312e12) / kernels
    step = 64 * (24 * (3 * layer + attention) + 3 * seconds(h, 50_000))
    assert plan.parts["products"] == pytest.approx(step)
    written = tokens * 2 * (4 * h + 4 * h + 8 * h)  # norms; Q, K, V and attention; MLP
    assert plan.parts["memory"] == pytest.approx(64 * 24 * 3 * 22 / 16 * written / 2.039e12)
    assert plan.parts["tensor"] == plan.parts["pipeline"] == plan.parts["data"] == 0
    assert plan.parts["bubble"] == 0
    assert plan.memory_per_gpu["weights"] == 2 * 1.3e9
    assert plan.memory_per_gpu["gradients"] == 4 * 1.3e9
    assert plan.memory_per_gpu["optimizer state"] == 12 * 1.3e9


def test_all_reduces_bubble_and_exchange_by_hand():
    layout = {"gpus": 16, "tensor": 2, "pipeline": 4, "data": 2, "recompute": "full", "zero": 0}
    plan = plan_run(**SMALL, **layout, overlap=())
    m, size = 32, 2 * 1024 * 2048
    near, far = 0.78 * 300e9, 0.96 * 25e9
    each = 2 * 3.4e-6 + size / near  # a ring of two: two messages, and S bytes in all
    assert plan.parts["tensor"] == pytest.approx(m * 6 * 6 * each)
    assert plan.parts["pipeline"] == pytest.approx(m * 2 * (9.6e-6 + size / 2 / 25e9))
    working = sum(plan.parts[name] for name in ("products", "memory", "tensor", "pipeline"))
    assert plan.parts["bubble"] / working == pytest.approx(3 / m)
    # the two replicas are neighbors: 2 · 2 GPUs of a machine of 8
    exchange = 2 * 3.4e-6 + 4 * 1.3e9 / 8 / near
    assert plan.parts["data"] == pytest.approx(exchange, rel=1e-6)
    spread = plan_run(**SMALL, gpus=16, tensor=8, data=2, zero=0, overlap=())
    exchange = 2 * 9.6e-6 + 4 * 1.3e9 / 8 / far  # one of each pair in a machine
    assert spread.parts["data"] == pytest.approx(exchange, rel=1e-6)


def test_a_ring_over_machines_uses_all_of_their_cards():
    near, far, size = gl.parallel.Link(1e-6, 100e9), gl.parallel.Link(5e-6, 10e9), 8e8
    assert ring_seconds(1, size, 1, near, far) == 0
    # the oracle is notebook 15's ring on one link
    one = gl.parallel.Link(1e-6, 0.78 * 100e9)
    expected = gl.parallel.all_reduce_seconds("ring", 8, size, one)
    assert ring_seconds(8, size, 8, near, far) == pytest.approx(expected)
    for together, bandwidth in ((1, 9.6e9), (4, 38.4e9), (8, 76.8e9), (16, 78e9)):
        latency = 1e-6 + 4e-6 / together
        mixed = gl.parallel.Link(latency, bandwidth)
        expected = gl.parallel.all_reduce_seconds("ring", 64, size, mixed)
        assert ring_seconds(64, size, together, near, far) == pytest.approx(expected)
        assert ring_seconds(64, size, together, near, far, laps=1) == pytest.approx(expected / 2)


def test_what_overlaps_takes_less_time():
    layout = {"gpus": 64, "tensor": 4, "pipeline": 4, "data": 4, "interleave": 2}
    plans = {
        kinds: plan_run(**SMALL, **layout, overlap=kinds).parts
        for kinds in ((), ("data",), ("pipeline",), ("tensor",))
    }
    for kind in ("data", "pipeline", "tensor"):
        assert plans[kind,][kind] < plans[()][kind]
        others = {"data", "pipeline", "tensor"} - {kind}
        assert all(plans[kind,][other] == plans[()][other] for other in others)
    assert plans["pipeline",]["pipeline"] == 0
    assert plans["tensor",]["tensor"] == pytest.approx(plans[()]["tensor"] / 4)


def test_shards_within_a_machine_send_only_gradients_between_machines():
    run = {**SMALL, "gpus": 64, "data": 64, "zero": 3, "overlap": ()}
    full, hybrid = plan_run(**run), plan_run(**run, shards=8)
    near, far = 0.78 * 300e9, 0.96 * 25e9
    inside = 24 * 7 * 3.4e-6 + 7 / 8 * 1.3e9 * 2 / near  # a gather, layer by layer
    scatter = 24 * 7 * 3.4e-6 + 7 / 8 * 1.3e9 * 4 / near
    outside = 2 * 7 * 9.6e-6 + 2 * 7 / 8 * 1.3e9 / 8 * 4 / far
    assert hybrid.parts["data"] == pytest.approx(2 * inside + scatter + outside)
    assert hybrid.memory_per_gpu["optimizer state"] == 8 * full.memory_per_gpu["optimizer state"]


def test_context_parallelism_shares_a_sequence():
    long = {**SMALL, "sequence": 8192, "batch": 8, "fused": "all", "zero": 1}
    alone = plan_run(**long, gpus=8, data=8)
    shared = plan_run(**long, gpus=8, data=1, context=8)
    kept = [plan.memory_per_gpu["activations"] for plan in (alone, shared)]
    assert kept[1] == kept[0] / 8
    assert shared.memory_per_gpu["optimizer state"] == alone.memory_per_gpu["optimizer state"]
    assert shared.step_seconds == pytest.approx(alone.step_seconds, rel=0.1)


def test_8_bits_are_for_layers_of_hopper():
    run = {**GPT3, "gpus": 512, "tensor": 8, "pipeline": 8, "data": 8, "gpu": "H100"}
    run |= {"fused": "all", "sequence_parallel": True}
    plans = [plan_run(**run, precision=bits) for bits in ("bfloat16", "float8")]
    assert plans[1].gpu.peak == 2 * plans[0].gpu.peak == 1978e12
    assert plans[1].gpu.wide_product == plans[0].gpu.product
    assert 1.3 < plans[0].step_seconds / plans[1].step_seconds < 1403 / 794
    with pytest.raises(BadInput, match="precision is 'float8', which the A100 80GB does not have"):
        plan_run(**SMALL, gpus=1, precision="float8")


def test_activations_by_hand():
    """Korthikanti and others, 2022: s·b·h·(10 + 24/t + 5·a·s/(h·t)) with dropout's masks, 3·h."""
    layout = {"gpus": 8, "tensor": 8, "overlap": ()}
    plan = plan_run(**{**GPT3, "batch": 1, "layers": 1, "parameters": 2.44e9}, **layout)
    s, h, a, v = 2048, 12288, 96, 51_200
    layer = s * h * (8 + 24 / 8 + 5 * a * s / (h * 8))
    assert plan.memory_per_gpu["activations"] == pytest.approx(layer + 6 * s * v / 8)
    grouped = {**GPT3, "batch": 1, "layers": 1, "parameters": 2.2e9}
    grouped |= {"kv_heads": 8, "ffn": 32_768, "gated": True, "fused": "all"}
    plan = plan_run(**grouped, **layout, sequence_parallel=True)
    # inputs of norms, Q and attention: h each; K and V of 8 heads of 128; two of the MLP
    kept = 2 * s / 8 * (4 * h + 2 * 8 * 128 + 2 * 32_768)
    assert plan.memory_per_gpu["activations"] == pytest.approx(kept)


def test_stage_3_waits_for_what_is_not_hidden():
    slow = gl.parallel.Link(1e-6, 1e8)
    plans = [
        plan_run(**SMALL, gpus=16, data=16, zero=3, interconnect=link)
        for link in (slow, "400 Gbit")
    ]
    # gathers of 2 bytes, twice, and a reduce-scatter of 4, for each of 4 micro-batches
    sent = 4 * 15 / 16 * 1.3e9 * 8 / (8 * 0.96 * 1e8)
    busy = plans[0].parts["products"] + plans[0].parts["memory"]
    hidden = CALIBRATED[accelerator("A100 80GB").generation].hidden
    assert plans[0].parts["data"] == pytest.approx(sent - hidden * busy, rel=0.01)
    assert plans[1].step_seconds < plans[0].step_seconds


def test_recomputation_takes_time_and_not_memory():
    plans = [
        plan_run(**GPT3, gpus=384, tensor=8, pipeline=12, data=4, recompute=way)
        for way in ("none", "selective", "full")
    ]
    seconds = [plan.step_seconds for plan in plans]
    kept = [plan.memory_per_gpu["activations"] for plan in plans]
    assert seconds == sorted(seconds)
    assert kept == sorted(kept, reverse=True)
    assert seconds[2] / seconds[0] == pytest.approx(4 / 3, rel=0.02)
    none, _, full = plans
    assert none.model_flops_utilization == none.hardware_flops_utilization
    assert full.hardware_flops_utilization / full.model_flops_utilization < 4 / 3
    assert full.work.recomputed_flops == full.work.layer_flops


def test_the_first_stage_keeps_as_many_micro_batches_as_there_are_stages():
    run = {**SMALL, "fused": "all"}
    kept = [
        plan_run(**run, gpus=4, pipeline=p, data=4 // p).memory_per_gpu["activations"]
        for p in (1, 2, 4)
    ]
    assert kept[0] == kept[1] == kept[2]  # a p-th of the layers, p micro-batches
    few = plan_run(**{**run, "batch": 2}, gpus=4, pipeline=4).memory_per_gpu["activations"]
    assert few == kept[0] / 2
    parts = plan_run(**run, gpus=4, pipeline=4, interleave=2).memory_per_gpu["activations"]
    assert parts == pytest.approx(kept[0] * (1 + 3 / 8))
    plain = [plan_run(**SMALL, gpus=p, pipeline=p).memory_per_gpu["activations"] for p in (1, 2)]
    assert plain[0] - plain[1] == 6 * 1024 * 50_000  # scores, on the last stage


def test_layers_and_two_tables_may_share_the_stages():
    run = {**SMALL, "layers": 22, "gpus": 12, "pipeline": 12}
    plan = plan_run(**run)  # 22 + 2 are 12 stages of two
    assert plan.layout.stage_layers(plan.work) == (2, 1)
    with pytest.raises(BadInput, match="divides neither 22 layers nor 22 \\+ 2"):
        plan_run(**{**run, "gpus": 5, "pipeline": 5})


@given(
    tensor=st.sampled_from((1, 2, 4, 8)),
    pipeline=st.sampled_from((1, 2, 4)),
    data=st.sampled_from((1, 2, 8)),
    zero=st.sampled_from((0, 1, 2)),
)
def test_more_of_anything_never_costs_time(tensor, pipeline, data, zero):
    layout = {"gpus": tensor * pipeline * data, "tensor": tensor, "pipeline": pipeline}
    slow, fast = (
        plan_run(**SMALL, **layout, data=data, zero=zero, interconnect=link)
        for link in ("10 Gbit", "400 Gbit")
    )
    assert fast.step_seconds <= slow.step_seconds
    better = plan_run(
        **SMALL, **layout, data=data, zero=zero, interconnect="400 Gbit",
        calibration=Calibration(1.0, 1.0),
    )  # fmt: skip
    assert better.step_seconds < fast.step_seconds
    assert sum(fast.memory_per_gpu.values()) <= 80e9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": 3}, "tensor × context × pipeline × data is 1 × 1 × 1 × 3 = 3, and there are 8"),
        ({"data": 1, "pipeline": 8, "layers": 25}, "divides neither 25 layers nor 25"),
        ({"data": 1, "tensor": 8, "heads": 4}, "tensor is 8, which does not divide 4 heads"),
        ({"batch": 12}, "batch is 12, which 8 replicas with 1 at a time do not divide"),
        (
            {"layers": 480, "parameters": 24.3e9},
            "Each GPU would need .* GB, and the A100 80GB has 80 GB",
        ),
        ({"zero": 4}, "zero is 4: give 0"),
        ({"recompute": "most"}, "There is no way to recompute 'most'"),
        ({"recompute": 1.5}, "recompute is 1.5: give 'none'"),
        ({"interleave": 2}, "interleave is 2, and there is one stage"),
        ({"data": 4, "pipeline": 2, "zero": 3}, "zero is 3 and pipeline 2"),
        ({"parameters": 1e6}, "parameters is 1,000,000, and the matrices of these sizes have 1,3"),
        ({"kv_heads": 3}, "kv_heads is 3: give a divisor of 16"),
        ({"fused": "some"}, "There is no fused 'some'"),
        ({"overlap": ["all"]}, "There is no overlap 'all'"),
        ({"shards": 3}, "shards is 3: give a divisor of data × context, 8"),
        ({"data": 1, "context": 8, "sequence": 1020}, "context is 8, which does not divide 1020"),
        ({"gpu": "V100"}, "precision is 'bfloat16', which the V100 does not have"),
        ({"micro_batch": 1.5}, "micro_batch is 1.5: give a whole number"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(changes, message):
    with pytest.raises(BadInput, match=message):
        plan_run(**{**SMALL, "gpus": 8, "data": 8, **changes})


def test_days_cost_and_energy_of_a_plan():
    plan = plan_run(**SMALL, gpus=8, data=8)
    days = plan.days(1e12)
    assert days == pytest.approx(1e12 / plan.tokens_per_second / 86400)
    assert plan.days(1e12, availability=0.5) == pytest.approx(2 * days)
    assert plan.cost(1e12) == pytest.approx(days * 24 * 8 * plan.gpu.price.low)
    assert plan.cost(1e12, price=3, availability=0.5) == pytest.approx(2 * days * 24 * 8 * 3)
    assert plan.energy(1e12) == pytest.approx(days * 24 * 8 * 0.4)
    for wrong in (0, 1.1):
        with pytest.raises(BadInput, match=f"availability is {wrong}"):
            plan.days(1e12, availability=wrong)
    laptop = plan_run(**TINY, gpus=1, gpu="RTX 4060 Laptop")
    with pytest.raises(BadInput, match="No price of the RTX 4060 Laptop"):
        laptop.cost(1e12)


def test_the_search_finds_what_trying_everything_finds():
    run = {**SMALL, "gpus": 16, "zero": 1, "recompute": "full", "context": 1}
    best = best_layout(**run)
    seconds = []
    for tensor, pipeline, parts, size in itertools.product(
        (1, 2, 4, 8), (1, 2, 4, 8), (1, 2, 3, 4, 6, 12, 24), (1, 2, 4, 8)
    ):
        if tensor * pipeline <= 16:
            layout = {"tensor": tensor, "pipeline": pipeline, "data": 16 // tensor // pipeline}
            layout |= {"interleave": parts, "micro_batch": size}
            try:
                seconds.append(plan_run(**run, **layout).step_seconds)
            except BadInput:
                continue
    assert len(seconds) > 50
    assert best.step_seconds == min(seconds)
    assert best_layout(**SMALL, gpus=16).step_seconds <= best.step_seconds
    with pytest.raises(BadInput, match=r"No layout of 1 GPU works; .* would need"):
        best_layout(**GPT3, gpus=1)
    with pytest.raises(BadInput, match="micro_batch is 0"):
        best_layout(**SMALL, gpus=8, micro_batch=0)


@pytest.mark.parametrize(
    ("source", "gpus", "recompute"),
    [
        ("Llama 3 paper: Llama 3 405B", 16_384, None),
        ("Megatron-LM README: GPT-3 175B 131k", 4608, None),
        ("DGX Cloud: Nemotron 340B", 2048, None),
        ("DGX Cloud: Llama 3 70B", 64, None),
        ("MPT H100: MPT 30B", 512, "full"),  # what FSDP alone offers
        ("BLOOM: BLOOM 176B", 384, "full"),
    ],
)
def test_the_search_finds_a_layout_as_good_as_the_published_one(source, gpus, recompute):
    run = next(
        run
        for run in (*published(), *published("fitted"))
        if f"{run.source}: {run.model}" == source and run.plan["gpus"] == gpus
    )
    free = {"tensor", "context", "pipeline", "data", "interleave", "micro_batch", "zero"}
    given = {name: value for name, value in run.plan.items() if name not in {*free, "recompute"}}
    best = best_layout(**given, **({"recompute": recompute} if recompute else {}))
    assert 1 <= run.planned().step_seconds / best.step_seconds < 1.1


@given(
    layers=st.integers(1, 100), width=st.integers(1, 100), vocabulary=st.integers(1, 1000),
    context=st.integers(1, 500), tokens=st.integers(1, 10**9),
)  # fmt: skip
def test_operations_are_those_of_the_decoder_without_its_look_ups(
    layers, width, vocabulary, context, tokens
):
    shape = DecoderShape(vocabulary, context, width, 1, layers)
    multiplied = 12 * layers * width**2 + vocabulary * width  # no biases, norms, looked-up tables
    model, hardware = by_hand.model_flops(multiplied, layers, width, context, tokens)
    assert model == hardware == 3 * tokens * shape.flops_per_token()
    again = by_hand.model_flops(multiplied, layers, width, context, tokens, recompute=True)
    assert again == (model, pytest.approx(4 / 3 * model))


def test_neighbors_are_behind_nvlink_or_pci_express():
    assert accelerator("A100 80GB").neighbors.bandwidth == 300e9
    assert accelerator("H100").neighbors.bandwidth == 450e9
    assert accelerator("L4").neighbors.bandwidth == 31.5e9
