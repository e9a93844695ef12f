"""Plans of cluster runs: against their own sums, limits that must hold, and published runs."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn.nn.transformer_costs import DecoderShape
from gpulearn_lessons.plan_a_run import best_layout
from gpulearn_lessons.plan_a_run.plan import by_hand
from gpulearn_lessons.plan_a_run.plan.accelerators import accelerator
from gpulearn_lessons.plan_a_run.plan.plan import plan_run
from gpulearn_lessons.plan_a_run.plan.published import CALIBRATION, OTHERS, fit, hold_against
from gpulearn_lessons.plan_a_run.plan.step import (
    CALIBRATED,
    Calibration,
    product_rate,
    tensor_all_reduce,
)

GPT3 = {
    "parameters": 174.6e9, "layers": 96, "hidden": 12288, "heads": 96, "vocabulary": 51_200,
    "sequence": 2048, "batch": 1536,
}  # fmt: skip
SMALL = {
    "parameters": 1.3e9, "layers": 24, "hidden": 2048, "heads": 16, "vocabulary": 50_000,
    "sequence": 1024, "batch": 64,
}  # fmt: skip


@pytest.fixture(scope="module")
def held():
    return hold_against()


def test_the_planner_is_within_a_tenth_on_twelve_of_the_fourteen_rows_it_was_fitted_to(held):
    assert [entry.row for entry in held] == list(CALIBRATION)
    far = [(entry.row.run, entry.row.row) for entry in held if abs(entry.error) > 0.1]
    assert far == [("GPT-3 by ZeRO-3", "384 GPUs"), ("MT-NLG 530B", "3,360 GPUs")]
    assert max(abs(entry.error) for entry in held) < 0.2


def test_what_is_fitted_is_what_the_planner_uses():
    assert fit() == CALIBRATED


def test_no_calibration_nearby_fits_better():
    def badness(calibration):
        return sum(math.log(row.modeled(calibration) / row.reported) ** 2 for row in CALIBRATION)

    least = badness(CALIBRATED)
    for product, link in itertools.product((-0.01, 0, 0.01), repeat=2):
        nearby = Calibration(CALIBRATED.product + product, CALIBRATED.link + link)
        assert badness(nearby) > least - 1e-5


def test_only_one_run_tells_what_the_network_reaches(held):
    for entry in held:
        if entry.row.run == "GPT-3 by ZeRO-3":
            assert entry.left_out > 0.2
        else:
            assert abs(entry.left_out) < 0.16
            assert abs(entry.left_out - entry.error) < 0.035
    assert sum(abs(entry.left_out) <= 0.1 for entry in held) == 5


def test_rows_that_nothing_was_fitted_to_are_all_faster_than_the_plan():
    others = hold_against(OTHERS)
    assert all(-0.17 < entry.error < 0 and entry.left_out is None for entry in others)
    assert sum(abs(entry.error) <= 0.1 for entry in others) == 6


def test_the_papers_rates_and_times_agree():
    """Table 2 gives days for 300 B tokens too, and MT-NLG both seconds and TFLOP/s."""
    for row, days in zip(CALIBRATION[1:4], (84, 43, 23), strict=True):
        plan = row.planned()
        seconds = plan.step_seconds * plan.hardware_flops_utilization * 312e12 / row.reported / 1e12
        assert 300e9 / plan.work.tokens * seconds / 86400 == pytest.approx(days, rel=0.02)
    for row, rate in zip(CALIBRATION[7:10], (126, 121, 113), strict=True):
        plan = row.planned()
        done = plan.hardware_flops_utilization * 312 * plan.step_seconds
        assert done / row.reported == pytest.approx(rate, rel=0.02)


@pytest.mark.parametrize("row", [*CALIBRATION, *OTHERS], ids=lambda row: f"{row.run} {row.row}")
def test_a_published_run_fits_and_its_parts_add_up(row):
    plan = row.planned()
    assert sum(plan.memory_per_gpu.values()) < plan.gpu.memory
    assert min(plan.parts.values()) >= 0
    assert plan.step_seconds == pytest.approx(sum(plan.parts.values()))
    assert 0 < plan.model_flops_utilization <= plan.hardware_flops_utilization < 1


def test_one_gpu_alone_computes_and_nothing_else():
    plan = plan_run(**SMALL, gpus=1)
    tokens, body = 64 * 1024, 1.3e9 - 50_000 * 2048
    rate = product_rate(1024, 2048, 1, accelerator("A100 80GB"))
    forward = 2 * body + 4 * 24 * 1024 * 2048 + 2 * 50_000 * 2048
    assert plan.parts["products"] == pytest.approx(3 * forward * tokens / rate)
    assert plan.parts["tensor"] == plan.parts["pipeline"] == plan.parts["data"] == 0
    assert plan.parts["bubble"] == 0
    assert plan.memory_per_gpu["weights"] == 2 * 1.3e9
    assert plan.memory_per_gpu["gradients"] == 4 * 1.3e9
    assert plan.memory_per_gpu["optimizer state"] == 12 * 1.3e9


def test_all_reduces_bubble_and_exchange_by_hand():
    layout = {"gpus": 16, "tensor": 2, "pipeline": 4, "data": 2, "recompute": "full", "zero": 0}
    plan = plan_run(**SMALL, **layout)
    m, size = 32, 2 * 1024 * 2048
    near, far = 300e9 * CALIBRATED.link, 25e9 * CALIBRATED.link
    each = 2 * 3.4e-6 + size / near  # a ring of two: two messages, and S bytes in all
    assert plan.parts["tensor"] == pytest.approx(m * 6 * 6 * each)
    assert plan.parts["pipeline"] == pytest.approx(m * 2 * (9.6e-6 + size / 2 / far))
    working = sum(plan.parts[name] for name in ("products", "memory", "tensor", "pipeline"))
    assert plan.parts["bubble"] / working == pytest.approx(3 / m)
    assert plan.parts["data"] == pytest.approx(2 * 9.6e-6 + 4 * 1.3e9 / 8 / far, rel=1e-6)


def test_a_layer_on_two_machines_goes_the_cheaper_of_two_ways():
    near, far, size = gl.parallel.Link(1e-6, 100e9), gl.parallel.Link(5e-6, 10e9), 8e8
    inside = 2 * 7 * 1e-6 + 2 * 7 / 8 * size / 100e9
    assert tensor_all_reduce(8, size, 8, near, far) == pytest.approx(inside)
    between = 2 * 5e-6 + size / 8 / 10e9  # each GPU's eighth, with its peer in the other machine
    assert tensor_all_reduce(16, size, 8, near, far) == pytest.approx(inside + between)
    # 12 GPUs are 4 in each of three machines, where a machine has 4 or 8
    thirds = 2 * 3 * 1e-6 + 2 * 3 / 4 * size / 100e9 + 4 * 5e-6 + 2 * 2 / 3 * size / 4 / 10e9
    for machine in (4, 8):
        assert tensor_all_reduce(12, size, machine, near, far) == pytest.approx(thirds)
    ring = gl.parallel.all_reduce_seconds("ring", 16, size, far)
    slow = gl.parallel.Link(1e-6, 1e9)  # inside of a machine slower than between
    assert tensor_all_reduce(16, size, 8, slow, far) == pytest.approx(ring)
    assert tensor_all_reduce(5, size, 4, near, far) == pytest.approx(
        gl.parallel.all_reduce_seconds("ring", 5, size, far)
    )


def test_stage_3_waits_only_for_what_computing_does_not_cover():
    slow = gl.parallel.Link(1e-6, 1e9)
    plans = [
        plan_run(**SMALL, gpus=16, data=16, zero=3, interconnect=link)
        for link in (slow, "400 Gbit", gl.parallel.Link(0.0, 1e15))
    ]
    # gathers of 2 bytes, twice, and a reduce-scatter of 4, for each of 4 micro-batches
    sent = 4 * 15 / 16 * 1.3e9 * 8 / (1e9 * CALIBRATED.link)
    busy = plans[2].parts["products"] + plans[2].parts["memory"]
    assert plans[2].parts["data"] == 0
    assert plans[0].parts["data"] == pytest.approx(sent - busy, rel=0.01)
    assert plans[0].step_seconds > plans[1].step_seconds


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
    assert full.work.recomputed == 1


def test_the_first_stage_keeps_as_many_micro_batches_as_there_are_stages():
    kept = [
        plan_run(**SMALL, gpus=4, pipeline=p, data=4 // p).memory_per_gpu["activations"]
        for p in (1, 2, 4)
    ]
    assert kept[0] == kept[1] == kept[2]  # a p-th of the layers, p micro-batches
    few = plan_run(**{**SMALL, "batch": 2}, gpus=4, pipeline=4).memory_per_gpu["activations"]
    assert few == kept[0] / 2
    parts = plan_run(**SMALL, gpus=4, pipeline=4, interleave=2).memory_per_gpu["activations"]
    assert parts == pytest.approx(kept[0] * (1 + 3 / 8))


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
        calibration=Calibration(min(1.0, 1.2 * CALIBRATED.product), CALIBRATED.link),
    )  # fmt: skip
    assert better.step_seconds < fast.step_seconds
    assert sum(fast.memory_per_gpu.values()) <= 80e9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": 3}, "tensor × pipeline × data is 1 × 1 × 3 = 3, and there are 8 GPUs"),
        ({"data": 1, "pipeline": 8, "layers": 9}, "divides neither 9 layers nor 9"),
        ({"data": 1, "tensor": 8, "heads": 4}, "tensor is 8, which does not divide 4 heads"),
        ({"batch": 12}, "batch is 12, which 8 replicas with 1 at a time do not divide"),
        ({"parameters": 1e12}, "Each GPU would need .* GB, and the A100 80GB has 80 GB"),
        ({"zero": 4}, "zero is 4: give 0"),
        ({"recompute": "most"}, "There is no way to recompute 'most'"),
        ({"recompute": 1.5}, "recompute is 1.5: give 'none'"),
        ({"interleave": 2}, "interleave is 2, and there is one stage"),
        ({"data": 4, "pipeline": 2, "zero": 3}, "zero is 3 and pipeline 2"),
        ({"parameters": 1e6}, "the table of 50,000 tokens already has 102,400,000"),
        ({"gpu": "V100"}, "precision is 'bfloat16', which the V100 does not have"),
        ({"gpu": "TPU v4", "precision": "float16"}, "of the TPU v4 only 'bfloat16'"),
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
    tpu = next(row for row in CALIBRATION if row.run.startswith("PaLM")).planned()
    with pytest.raises(BadInput, match="No price of the TPU v4"):
        tpu.cost(1e12)


def test_the_search_finds_what_trying_everything_finds():
    best = best_layout(**SMALL, gpus=16, zero=1, recompute="full", interleave=1)
    seconds = []
    for tensor, pipeline in itertools.product((1, 2, 4, 8), (1, 2, 4, 8, 16)):
        if tensor * pipeline <= 16:
            layout = {"tensor": tensor, "pipeline": pipeline, "data": 16 // tensor // pipeline}
            try:
                plan = plan_run(**SMALL, gpus=16, zero=1, recompute="full", **layout)
            except BadInput:
                continue
            seconds.append(plan.step_seconds)
    assert best.step_seconds == min(seconds)
    assert best_layout(**SMALL, gpus=16).step_seconds <= best.step_seconds
    with pytest.raises(BadInput, match=r"No layout of 1 GPU works; .* would need"):
        best_layout(**GPT3, gpus=1)


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
    assert accelerator("TPU v4").machine == 4096


def test_a_product_comes_near_its_part_of_the_peak_when_it_is_large():
    gpu = accelerator("A100 80GB")
    rates = [product_rate(2**k, 2**k, 1, gpu) for k in range(6, 20)]
    assert rates == sorted(rates)
    assert rates[-1] == pytest.approx(CALIBRATED.product * 312e12, rel=0.01)
    # a sum of two times: 2n³ operations, and 3n² numbers of 2 bytes
    n = 1024
    seconds = 2 * n**3 / (CALIBRATED.product * 312e12) + 3 * n**2 * 2 / 2039e9
    assert product_rate(n, n, 1, gpu) == pytest.approx(2 * n**3 / seconds)
