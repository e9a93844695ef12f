"""Simulated ranks: the same functions, in turns; what goes wrong is told at once, by name."""

import itertools
import random
import sys
import threading
import time

import numpy as np
import pytest
import torch

import gpulearn as gl
from gpulearn.errors import RankError
from gpulearn.parallel.simulate import simulate as simulating

LINK = gl.parallel.Link(latency=10e-6, bandwidth=1e9)


def simulate(fn, count, *args, **options):
    return gl.simulate(fn, count, *args, link=LINK, **options)


@pytest.fixture(autouse=True)
def nothing_is_left():
    before, out = set(threading.enumerate()), sys.stdout
    yield
    left = set(threading.enumerate()) - before
    assert {type(one).__name__ for one in left} <= {"TMonitor"}  # of a bar, if a run was slow
    assert sys.stdout is out


def pass_round():
    me, count = gl.parallel.rank(), gl.parallel.world_size()
    token = torch.tensor([float(me)])
    if me:
        gl.parallel.recv(token, me - 1)
    if me < count - 1:
        gl.parallel.send(token + 1, me + 1)
    return token.item()


def test_a_message_goes_from_rank_to_rank():
    run = simulate(pass_round, 4)
    assert run.results == [0.0, 1.0, 2.0, 3.0]
    assert run.messages == {(0, 1): 1, (1, 2): 1, (2, 3): 1}
    assert run.bytes_moved == {(0, 1): 4, (1, 2): 4, (2, 3): 4}
    assert run.messages_sent == [1, 1, 1, 0]
    moved = [(i.rank, i.kind, i.peer) for i in run.timeline if i.size]
    assert moved[:3] == [(0, "send", 1), (1, "receive", 0), (1, "send", 2)]
    one = LINK.seconds(4)
    assert run.clocks == pytest.approx((one, 2 * one, 3 * one, 3 * one))
    assert run.seconds == pytest.approx(3 * one)


def test_1024_ranks_advance_and_end():
    run = simulate(
        lambda: gl.parallel.all_reduce(torch.tensor([gl.parallel.rank()]), algorithm="tree").item(),
        1024,
    )
    assert run.results == [1023 * 512] * 1024
    assert run.messages.total() == 2 * 1023
    assert run.seconds == pytest.approx(20 * LINK.seconds(8))


def random_talk(seed):
    """Everybody computes for random times and exchanges with random partners."""
    choose = random.Random(seed)  # the same pairs on all ranks
    own = random.Random(1000 * seed + gl.parallel.rank())
    me, count = gl.parallel.rank(), gl.parallel.world_size()
    seen = []
    for _ in range(6):
        gl.parallel.compute(own.random() * 1e-4)
        order = choose.sample(range(count), count)
        partner = dict(zip(order, order[::-1], strict=True))[me]
        if partner != me:
            sent = torch.full((3,), own.random())
            seen.append(gl.parallel.sendrecv(sent, partner, torch.empty(3), partner).sum().item())
    return seen


@pytest.mark.parametrize("seed", range(2))
def test_two_runs_are_equal_and_their_timeline_obeys_the_model(seed):
    run, again = (simulate(random_talk, 7, seed) for _ in range(2))
    assert (run.results, run.clocks, run.timeline) == (again.results, again.clocks, again.timeline)
    assert min(run.clocks) > 0
    for rank in range(7):
        own = [i for i in run.timeline if i.rank == rank]
        for kind in ("compute", "send", "receive", "wait"):
            spans = [(i.start, i.end) for i in own if i.kind == kind]
            assert all(a[1] <= b[0] + 1e-15 for a, b in itertools.pairwise(spans)), kind
        # one after another, nothing is left out: computing, messages and waiting fill the time
        edges = sorted({0.0, run.clocks[rank], *(t for i in own for t in (i.start, i.end))})
        for start, end in itertools.pairwise(edges):
            middle = (start + end) / 2
            assert middle > run.clocks[rank] or any(i.start < middle < i.end for i in own)
            waits = [i for i in own if i.kind == "wait" and i.start < middle < i.end]
            others = [i for i in own if i.kind != "wait" and i.start < middle < i.end]
            assert not (waits and others)
    for i in run.timeline:
        if i.kind in ("send", "receive"):
            assert i.end - i.start == pytest.approx(LINK.seconds(i.size))
            twin = "receive" if i.kind == "send" else "send"
            assert i._replace(rank=i.peer, peer=i.rank, kind=twin) in run.timeline


def test_a_port_sends_one_message_at_a_time_and_a_link_is_shared_by_nobody():
    def fan(out):
        big = torch.zeros(1000)
        others = range(1, gl.parallel.world_size())
        if gl.parallel.rank() == 0:
            handles = [
                (gl.parallel.isend if out else gl.parallel.irecv)(big.clone(), r) for r in others
            ]
            for handle in handles:
                handle.wait()
        else:
            gl.parallel.recv(big, 0) if out else gl.parallel.send(big, 0)

    for out in (True, False):
        assert simulate(fan, 4, out).seconds == pytest.approx(3 * LINK.seconds(4000))


def test_a_message_begins_when_both_are_there_and_hides_behind_computing():
    def overlap(begin_first):
        buffer = torch.zeros(1_000_000)
        if gl.parallel.rank() == 0:
            gl.parallel.compute(1e-3)
            gl.parallel.send(buffer, 1)
            return gl.parallel.clock()
        handle = gl.parallel.irecv(buffer, 0) if begin_first else None
        gl.parallel.compute(5e-3)
        handle.wait() if handle else gl.parallel.recv(buffer, 0)
        return gl.parallel.clock()

    move = LINK.seconds(4_000_000)
    hidden, plain = simulate(overlap, 2, True), simulate(overlap, 2, False)
    assert hidden.results == pytest.approx([1e-3 + move, 1e-3 + move])
    assert plain.results == pytest.approx([5e-3 + move, 5e-3 + move])
    assert hidden.results[1] < plain.results[1]
    # rank 1 computes while 4 of the message's 4.01 ms pass; rank 0 has nothing to compute
    assert hidden.overlap == pytest.approx(0.5 * (5e-3 - 1e-3) / move)
    assert plain.overlap == 0.0
    assert hidden.share("compute") == pytest.approx(3e-3 / hidden.seconds)
    assert plain.share("wait") == pytest.approx(2e-3 / plain.seconds)


def test_messages_with_other_tags_pass_one_another_and_equal_ones_keep_their_order():
    def talk():
        if gl.parallel.rank() == 0:
            handles = [gl.parallel.isend(torch.tensor([n]), 1, tag=n % 2) for n in range(4)]
            for handle in handles:
                handle.wait()
            return None
        return [gl.parallel.recv(torch.tensor([0]), 0, tag=tag).item() for tag in (1, 0, 0, 1)]

    assert simulate(talk, 2).results[1] == [1, 0, 2, 3]


def test_a_receive_shows_only_after_wait_and_views_are_written():
    def talk():
        if gl.parallel.rank() == 0:
            return gl.parallel.send(torch.arange(3.0), 1)
        whole = torch.zeros(3, 2)
        handle = gl.parallel.irecv(whole[:, 1], 0)
        gl.parallel.compute(1.0)
        before = whole.clone()
        handle.wait()
        return before.sum().item(), whole.tolist()

    assert simulate(talk, 2).results[1] == (0.0, [[0, 0], [0, 1], [0, 2]])


def test_nobody_leaves_a_barrier_before_all_have_come():
    def meet():
        gl.parallel.compute(gl.parallel.rank() * 1e-3)
        gl.parallel.barrier()
        return gl.parallel.clock()

    for count in (1, 2, 5, 8):
        rounds = (count - 1).bit_length()
        run = simulate(meet, count)
        assert min(run.results) >= (count - 1) * 1e-3
        assert max(run.results) == pytest.approx((count - 1) * 1e-3 + rounds * LINK.latency)
        assert run.messages_sent == [rounds] * count


def test_ranks_share_nothing_and_have_their_own_random_numbers():
    shared = [0]

    def change(values):
        shared[0] += 1
        values += 1
        first = torch.rand(2)
        torch.manual_seed(gl.parallel.rank())
        gl.parallel.barrier()
        return shared[0], values.tolist(), first.tolist(), torch.rand(1).item()

    given = np.zeros(2)
    before = torch.get_rng_state()
    one, two = simulate(change, 2, given).results
    assert torch.equal(torch.get_rng_state(), before)
    assert (one[:3], shared, given.tolist()) == (two[:3], [0], [0, 0])
    assert one[:2] == (1, [1, 1])
    for rank, result in enumerate((one, two)):
        assert result[3] == torch.rand(1, generator=torch.Generator().manual_seed(rank)).item()


def test_prints_have_the_rank_in_front(capsys):
    def talk():
        print("half ", end="")
        gl.parallel.barrier()
        print("a line", gl.parallel.rank())
        print("warning", file=sys.stderr)

    simulate(talk, 2)
    out, err = capsys.readouterr()
    assert sorted(out.splitlines()) == ["[rank 0] half a line 0", "[rank 1] half a line 1"]
    assert sorted(err.splitlines()) == ["[rank 0] warning", "[rank 1] warning"]


def test_a_thread_that_a_rank_starts_speaks_for_it():
    """Autograd calls hooks in threads of its own where tensors are on a GPU."""

    def helped():
        other, arrived = 1 - gl.parallel.rank(), torch.zeros(1)
        sent = torch.tensor([float(gl.parallel.rank())])
        helper = threading.Thread(target=lambda: gl.parallel.sendrecv(sent, other, arrived, other))
        helper.start()
        helper.join()
        return arrived.item()

    assert simulate(helped, 2).results == [1.0, 0.0]


def test_two_threads_simulate_one_after_the_other():
    def draws(seed):
        torch.manual_seed(seed)
        total = 0.0
        for _ in range(20):
            gl.parallel.barrier()
            total += torch.rand(1).item()
        print(total)
        return total

    stream, found = sys.stdout, {}
    alone = [gl.simulate(draws, 3, seed).results for seed in range(4)]
    threads = [
        threading.Thread(target=lambda n=seed: found.update({n: gl.simulate(draws, 3, n).results}))
        for seed in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[seed] for seed in range(4)] == alone
    assert sys.stdout is stream


@pytest.mark.parametrize("backend", ["gloo", "simulated"])
def test_classes_of_the_notebook_stay_as_they_are(backend):
    notebook = {"__name__": "__main__", "gl": gl}  # a class of an importable module is shared
    exec(
        "import enum\n"
        "class Color(enum.Enum):\n    RED = 1\n"
        "class Counter:\n"
        "    count = 0\n"
        "    def step(self): Counter.count += size; return self\n"
        "def work(): return Counter().step(), Counter.count, Color.RED\n"
        "size = 1\n",
        notebook,
    )
    counter = notebook["Counter"]
    for one, count, color in gl.launch(notebook["work"], 2, backend=backend, timeout=20):
        assert count == 1  # each rank has a class of its own
        assert isinstance(one, counter)
        assert color is notebook["Color"].RED
    assert counter.count == 0
    notebook["size"] = 10  # a later cell
    counter().step()
    assert counter.count == 10


def test_a_result_that_cannot_be_loaded_is_told():
    class Sealed:
        def __reduce__(self):
            return int, ("no number",)

    with pytest.raises(RankError, match=r"what rank 0 returned cannot be loaded here \(ValueErr"):
        gl.simulate(Sealed, 2)


def test_ranks_may_simulate_ranks():
    def inner():
        return gl.parallel.rank() + 10 * gl.parallel.world_size()

    def outer():
        inside = gl.simulate(inner, gl.parallel.rank() + 1).results
        gl.parallel.barrier()
        return gl.parallel.rank(), inside

    assert simulate(outer, 2).results == [(0, [10]), (1, [20, 21])]


# what goes wrong


def failure(fn, count, **options):
    with pytest.raises(RankError) as caught:
        simulate(fn, count, **options)
    return caught.value


def test_send_facing_send_is_a_deadlock_with_both_lines():
    def both_send():
        other = 1 - gl.parallel.rank()
        gl.parallel.send(torch.zeros(2), other)  # both wait here
        gl.parallel.recv(torch.zeros(2), other)

    error = failure(both_send, 2)
    lines = str(error).splitlines()
    assert lines[0] == "deadlock: 2 of 2 ranks wait, and none can continue."
    assert lines[1].startswith("  rank 0 sends 8 bytes to rank 1 in test_simulated_ranks.py, line")
    assert lines[2].startswith("  rank 1 sends 8 bytes to rank 0 in test_simulated_ranks.py, line")
    number = both_send.__code__.co_firstlineno + 2
    assert lines[1].endswith(f"line {number}")
    assert "let some receive first" in lines[3]
    assert error.rank == 0


def test_the_ring_of_a_deadlock_is_named_and_those_behind_it_counted():
    def chain():
        me = gl.parallel.rank()
        if me in (2, 3, 4):
            gl.parallel.recv(torch.zeros(1), {2: 3, 3: 4, 4: 2}[me])
        else:
            gl.parallel.send(torch.zeros(1), 4)

    lines = str(failure(chain, 6)).splitlines()
    assert lines[0].startswith("deadlock: 6 of 6 ranks")
    assert [line.split(" in ")[0].strip() for line in lines[1:4]] == [
        "rank 2 receives 4 bytes from rank 3",
        "rank 3 receives 4 bytes from rank 4",
        "rank 4 receives 4 bytes from rank 2",
    ]
    assert lines[4] == "  and 3 more"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: gl.parallel.recv(torch.zeros(1), 0), "receives 4 bytes from rank 0"),
        (lambda: gl.parallel.all_reduce(torch.ones(3)), "which has ended"),
        (gl.parallel.barrier, "waits in a barrier for rank"),
    ],
    ids=["message", "collective", "barrier"],
)
def test_waiting_for_a_rank_that_has_ended(call, said):
    error = str(failure(lambda: call() if gl.parallel.rank() else None, 3))
    assert said in error
    assert "which has ended" in error
    assert error.endswith("one that has ended neither sends nor receives.")


def test_a_rank_that_raises_is_named_and_the_others_end():
    cleaned = []

    def fails():
        try:
            if gl.parallel.rank() == 1:
                raise ValueError("no such digit: 12")
            gl.parallel.recv(torch.zeros(1), 1)
        finally:
            cleaned.append(gl.parallel.rank())

    error = failure(fails, 12)
    lines = str(error).splitlines()
    assert lines[0] == "rank 1 of 12 raised ValueError: no such digit: 12"
    assert 'in fails: raise ValueError("no such digit: 12")' in lines[1]
    assert "was ended where it receives 4 bytes from rank 1" in lines[2]
    assert len(lines) <= 12
    assert error.rank == 1


def test_a_tensor_that_changes_while_it_is_sent():
    def hasty(wait):
        values = torch.zeros(4)
        if gl.parallel.rank() == 0:
            handle = gl.parallel.isend(values[:2], 1)
            values[2:] = 1  # not what is sent
            if wait:
                handle.wait()
            values[0] = 5
            handle.wait()
            return None
        gl.parallel.compute(1.0)
        return gl.parallel.recv(torch.empty(2), 0).tolist()

    assert simulate(hasty, 2, True).results[1] == [0.0, 0.0]
    assert "changed before wait()" in str(failure(lambda: hasty(False), 2))


@pytest.mark.parametrize("sender", [0, 1])
def test_a_handle_that_nobody_waits_for(sender):
    def forgets():
        if gl.parallel.rank() == sender:
            gl.parallel.isend(torch.zeros(1), 1 - sender)
        else:
            gl.parallel.recv(torch.zeros(1), sender)

    assert "ended before wait() was called where it sends 4 bytes" in str(failure(forgets, 2))


def test_a_rank_that_keeps_the_turn():
    def hogs():
        while gl.parallel.rank() == 1:
            pass
        gl.parallel.barrier()

    error = failure(hogs, 2, timeout=0.3)
    assert "rank 1 of 2 ran for 0.3 seconds without speaking to another rank." in str(error)
    assert "in hogs: while gl.parallel.rank() == 1:" in str(error) or "in hogs: pass" in str(error)


def test_an_interrupt_ends_all(monkeypatch):
    delays = random.Random(1)

    def endless():
        while True:
            gl.parallel.barrier()

    def interrupt(*_):
        time.sleep(delays.uniform(0, 0.01))
        raise KeyboardInterrupt

    monkeypatch.setattr("gpulearn.parallel.simulate.simulate._Run._wait", interrupt)
    for _ in range(50):  # wherever a rank is: one that is ended twice is an error of its thread
        with pytest.raises(KeyboardInterrupt):
            simulate(endless, 3)


def test_torch_distributed_is_not_there():
    error = failure(lambda: torch.distributed.get_rank(), 2)
    assert "simulated ranks speak through gl.parallel.rank, gl.parallel.send" in str(error)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: simulate(pass_round, 0), "nprocs is 0: give a whole number above zero."),
        (lambda: simulate(pass_round, 1025), "nprocs is 1025: at most 1,024 ranks"),
        (lambda: simulate(3, 2), "fn is 3: give the function itself"),
        (lambda: simulate(pass_round, 2, threading.Lock()), "argument 1, .* cannot travel"),
        (lambda: gl.simulate(pass_round, 2, link="NVLink 9"), "There is no link 'NVLink 9': did"),
        (lambda: gl.simulate(pass_round, 2, link=3), "link is 3: give a gl.parallel.Link or a"),
        (lambda: simulate(pass_round, 2, timeout=0), "timeout is 0: give a number above zero"),
    ],
)
def test_bad_input_is_told_before_anything_starts(call, said):
    with pytest.raises(gl.errors.BadInput, match=said):
        call()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: gl.parallel.send(torch.zeros(1), 0), "to is 0, which is this rank: name another"),
        (lambda: gl.parallel.send(torch.zeros(1), 1), "to is 1: there is rank 0 alone."),
        (lambda: gl.parallel.recv(torch.zeros(1), -1), "source is -1: there is"),
        (lambda: gl.parallel.recv(torch.zeros(1), "1"), "source is '1': there is"),
        (lambda: gl.parallel.send([1], 1), "tensor is [1]: give a torch tensor."),
        (lambda: gl.parallel.compute(-1), "seconds is -1: give a number above zero."),
        (lambda: gl.parallel.broadcast(torch.zeros(1), root=3), "root is 3: there is rank 0 alone"),
        (lambda: gl.parallel.all_reduce(torch.zeros(1), op="mean"), "There is no op 'mean'"),
        (lambda: gl.parallel.all_reduce(torch.zeros(1), "sum", "rign"), "There is no algorithm"),
        (lambda: gl.parallel.reduce_scatter(torch.tensor(1.0)), "tensor is 1.0, a single number"),
    ],
)
def test_bad_input_inside_a_rank_names_rank_and_line(call, said):
    with pytest.raises(RankError) as caught:
        simulate(call, 1)
    first, *lines = str(caught.value).splitlines()
    assert first.startswith(f"rank 0 of 1 raised BadInput: {said}")
    assert len(lines) == 1
    assert "test_simulated_ranks.py" in lines[0]


def test_outside_of_ranks_there_is_nobody_to_speak_to():
    with pytest.raises(RankError, match="There are no ranks here"):
        gl.parallel.rank()


def test_what_a_rank_waits_for_a_core_is_not_counted(monkeypatch):
    def busy():
        start = time.monotonic()
        while time.monotonic() - start < 0.6:
            pass
        return gl.parallel.rank()

    monkeypatch.setattr(simulating, "waited_seconds", lambda thread: 0.0)
    with pytest.raises(RankError, match=r"ran for 0\.2 seconds without speaking"):
        gl.simulate(busy, 2, timeout=0.2)
    start = time.monotonic()
    monkeypatch.setattr(simulating, "waited_seconds", lambda thread: time.monotonic() - start)
    assert gl.simulate(busy, 2, timeout=0.2).results == [0, 1]
