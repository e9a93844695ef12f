"""A step of a pipeline: the gradients of one process, whatever the schedule."""

import pytest
import torch
from torch import nn

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn_lessons.pipeline_parallel import schedule
from gpulearn_lessons.pipeline_parallel.actions import schedule_of
from gpulearn_lessons.pipeline_parallel.orders import SCHEDULES
from gpulearn_lessons.pipeline_parallel.step import run_schedule, split_stages

SHAPE = gl.nn.DecoderShape(vocabulary=11, context=6, width=8, heads=2, layers=6)
ROWS = 11


def decoder():
    return gl.nn.Decoder(SHAPE).double()


def tokens(seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, SHAPE.vocabulary, (ROWS, SHAPE.context + 1), generator=generator)


def cross_entropy(scores, targets):
    return nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())


def micro_batches(m, seed=1):
    size, batch = -(-ROWS // m), tokens(seed)
    parts = batch.split(size) if len(batch.split(size)) == m else batch.tensor_split(m)
    return [(one[:, :-1], one[:, 1:]) for one in parts]


def act(plans):
    """Be a rank, for several schedules one after another."""
    torch.set_num_threads(1)
    found = []
    for name, p, m, v in plans:
        model = decoder()
        plan = schedule(name, p, m, v)
        ran = run_schedule(plan, split_stages(model, p * v), micro_batches(m), cross_entropy)
        gradients = {n: q.grad for n, q in model.named_parameters() if q.grad is not None}
        found.append((ran, gradients))
    return found


def whole():
    model = decoder()
    loss = model.loss(tokens())
    loss.backward()
    return loss.item(), {name: one.grad for name, one in model.named_parameters()}


def plans_for(p, micro):
    for name in SCHEDULES:
        for m in micro:
            if name != "interleaved":
                yield name, p, m, 1
            elif m % p == 0 and 2 * p <= SHAPE.layers + 2:
                yield name, p, m, 2


@pytest.mark.parametrize(
    ("p", "micro", "backend"),
    [
        (1, (1, 4), "simulated"),
        (2, (1, 3, 8), "simulated"),
        (4, (2, 4, 9), "simulated"),
        (8, (1, 8), "simulated"),
        *((p, (3, 8), "gloo") for p in (1, 2, 4)),
        (8, (8,), "gloo"),
    ],
)
def test_gradients_are_those_of_one_process(p, micro, backend):
    plans = list(plans_for(p, micro))
    ranks = gl.launch(act, p, plans, backend=backend)
    loss, wanted = whole()
    for number, plan in enumerate(plans):
        found = {}
        for rank, (ran, gradients) in enumerate(one[number] for one in ranks):
            found |= gradients
            assert ran.held == schedule(*plan).most_held[rank], plan
            assert (ran.loss is None) == (rank < p - 1)
        assert ranks[-1][number][0].loss == pytest.approx(loss, abs=1e-12), plan
        assert found.keys() == wanted.keys()
        for name, one in wanted.items():
            assert torch.allclose(found[name], one, rtol=0, atol=1e-12), (plan, name)


def test_what_is_held_grows_with_the_passes_that_are_held():
    """GPipe holds all micro-batches on each rank, 1F1B fewer on each later one."""
    plans = [(name, 4, 8, 1) for name in ("naive", "GPipe", "1F1B")]
    ranks = gl.launch(act, 4, plans, backend="simulated")
    each = [[one[number][0].held_bytes for one in ranks] for number in range(3)]
    naive, gpipe, alternating = each
    # micro-batches of 2 and of 1 rows: 11 rows in all, where the longest eight have 16
    even = micro_batches(8)[0][0].shape[0] * 8 / ROWS
    for rank in range(4):
        assert gpipe[rank] == pytest.approx(naive[rank] * 8 / even, rel=0.05)
    assert alternating[3] == naive[3]
    assert alternating[0] < 0.75 * gpipe[0]


def test_the_gradients_are_added_to_those_that_are_there():
    def twice():
        stage = nn.Linear(2, 2)
        rows = [(torch.ones(2, 2), torch.zeros(2, 2))]
        plan = schedule("1F1B", 1, 1)
        run_schedule(plan, [stage], rows, nn.functional.mse_loss)
        first = stage.weight.grad.clone()
        run_schedule(plan, [stage], rows, nn.functional.mse_loss)
        return torch.equal(stage.weight.grad, 2 * first)

    assert gl.launch(twice, 1, backend="simulated") == [True]


def test_a_schedule_that_would_deadlock_never_begins():
    def act():
        orders = [
            [("F", 0), ("B", 0), ("F", 1), ("B", 1)],
            [("F", 0), ("F", 1), ("B", 0), ("B", 1)],
        ]
        pairs = [(torch.ones(1, 2), torch.ones(1, 2))] * 2
        stages = [nn.Linear(2, 2), nn.Linear(2, 2)]
        run_schedule(schedule_of("mine", orders), stages, pairs, nn.functional.mse_loss)

    with pytest.raises(gl.errors.RankError, match="deadlock: rank 0 needs B0 of rank 1 for B0"):
        gl.launch(act, 2, backend="simulated")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"count": 3}, "stages has 3 entries, and the schedule '1F1B' is for 2"),
        ({"pairs": 2}, "there are 2 micro-batches, and the schedule '1F1B' is for 3"),
        ({"rows": 0}, "micro-batch 0 has no rows: cut the batch into fewer"),
        ({"ranks": 1}, "the schedule '1F1B' is for 2 ranks, and there are 1"),
    ],
)
def test_what_does_not_fit_is_said(change, said):
    def act():
        stages = [nn.Linear(2, 2) for _ in range(change.get("count", 2))]
        rows = torch.ones(change.get("rows", 1), 2)
        pairs = [(rows, rows)] * change.get("pairs", 3)
        plan = schedule("1F1B", 2, 3)
        run_schedule(plan, stages, pairs, nn.functional.mse_loss)

    with pytest.raises(gl.errors.RankError) as caught:
        gl.launch(act, change.get("ranks", 2), backend="simulated")
    assert said in str(caught.value)


def test_layers_are_cut_into_consecutive_stages():
    model = decoder()
    stages = split_stages(model, 3)
    assert [len(stage) for stage in stages] == [3, 3, 2]
    assert [layer for stage in stages for layer in stage] == list(model)
    with pytest.raises(BadInput, match="stages is 9, and there are 8 layers"):
        split_stages(model, 9)
    with pytest.raises(BadInput, match=r"give a torch\.nn\.Sequential"):
        split_stages(nn.Linear(2, 2), 1)


def with_torch(name):
    """torch's own schedule on two real ranks beside ours: the largest difference of a gradient."""
    import torch.distributed.pipelining as pipelining

    torch.set_num_threads(1)
    me, m = gl.parallel.rank(), 4
    rows = torch.Generator().manual_seed(2)
    batch = torch.randint(0, SHAPE.vocabulary, (8, SHAPE.context + 1), generator=rows)
    inputs, targets = batch[:, :-1], batch[:, 1:]
    theirs, ours = split_stages(decoder(), 2), split_stages(decoder(), 2)
    stage = pipelining.PipelineStage(theirs[me], me, 2, torch.device("cpu"))
    kind = {"GPipe": pipelining.ScheduleGPipe, "1F1B": pipelining.Schedule1F1B}[name]
    step = kind(stage, m, loss_fn=cross_entropy)
    step.step(inputs) if me == 0 else step.step(target=targets)
    pairs = list(zip(inputs.chunk(m), targets.chunk(m), strict=True))
    run_schedule(schedule(name, 2, m), ours, pairs, cross_entropy)
    both = zip(theirs[me].parameters(), ours[me].parameters(), strict=True)
    return max((one.grad - other.grad).abs().max().item() for one, other in both)


@pytest.mark.parametrize("name", ["GPipe", "1F1B"])
def test_torchs_own_schedules_find_the_same_gradients(name):
    assert max(gl.launch(with_torch, 2, name, backend="gloo")) < 1e-12
