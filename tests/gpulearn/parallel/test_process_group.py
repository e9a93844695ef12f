"""A process joins its ranks: by torchrun's variables, in gl.launch, or as one of one."""

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn.parallel.process_group import rank_info, torchrun_environment

ALL = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29501"}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in (*ALL, "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)


def test_a_process_alone_is_one_rank_of_one_and_leaves_no_trace():
    threads = torch.get_num_threads()
    with gl.parallel.init_process_group() as place:
        assert (place.rank, place.size) == (gl.parallel.rank(), gl.parallel.world_size()) == (0, 1)
        with gl.parallel.init_process_group() as again:  # there is a group: it is taken, and stays
            assert again.size == 1
        assert gl.parallel.all_reduce(torch.ones(2)).tolist() == [1, 1]
        torch.set_num_threads(threads + 1)
    assert not dist.is_initialized()
    assert torch.get_num_threads() == threads


def test_a_rank_may_wait_as_long_as_it_likes():
    with gl.parallel.init_process_group(timeout=1e300):
        assert gl.launch(gl.parallel.rank, 2, timeout=1e300) == [0, 1]


def test_an_error_in_the_block_comes_out_and_the_group_is_gone():
    for error in (gl.errors.RankError("lost"), KeyError("lost")):
        with pytest.raises(type(error), match="lost"), gl.parallel.init_process_group():
            raise error
        assert not dist.is_initialized()
        with (
            pytest.raises(type(error), match="lost"),
            gl.parallel.init_process_group(),
            gl.parallel.init_process_group(),
        ):
            raise error  # in a group that was there
        assert not dist.is_initialized()


def joined():
    with gl.parallel.init_process_group() as place:
        said = str(place)
    return said, gl.parallel.world_size()  # the launcher's group is still there


def test_ranks_of_a_launch_keep_their_group():
    said, size = zip(*gl.launch(joined, 2, backend="gloo"), strict=True)
    assert size == (2, 2)
    assert said[0].startswith("2 ranks, messages by gloo (as the launcher chose)")


def simulated():
    with gl.parallel.init_process_group() as place:
        return place.rank, place.size, place.backend


def test_simulated_ranks_keep_theirs():
    assert gl.launch(simulated, 3, backend="simulated")[2] == (2, 3, "simulated")


@given(st.sets(st.sampled_from(sorted(ALL)), min_size=1, max_size=3))
def test_half_set_variables_are_told(names):
    with pytest.raises(gl.errors.BadInput, match="torchrun sets all four") as raised:
        torchrun_environment({name: ALL[name] for name in names})
    assert all(name in str(raised.value) for name in ALL)


def test_ranks_that_do_not_come_are_waited_for_no_longer_than_said(monkeypatch):
    for name, value in ALL.items():
        monkeypatch.setenv(name, value)
    said = "Not all of 2 ranks met at 127.0.0.1:29501 within 1 s"
    with pytest.raises(gl.errors.RankError, match=said), gl.parallel.init_process_group(timeout=1):
        pass
    assert not dist.is_initialized()
    with (
        pytest.raises(gl.errors.BadInput, match="timeout is 0"),
        gl.parallel.init_process_group(timeout=0),
    ):
        pass


CPU = torch.device("cpu")


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["", *"ABC"])), min_size=1))
def test_nccl_is_taken_where_no_two_ranks_share_a_gpu_and_all_agree(hosts):
    places = [rank_info(rank, CPU, hosts) for rank in range(len(hosts))]
    used = [gpu for _, gpu in hosts]
    own = "" not in used and len(set(used)) == len(hosts)
    assert {place.backend for place in places} == {"nccl" if own else "gloo"}
    assert len({place.reason for place in places}) == 1


def test_cores_are_shared_by_the_ranks_of_a_machine(monkeypatch):
    monkeypatch.setattr("simt.device.selection.cores", lambda: 8)
    hosts = [(name, "") for name in "aab"]  # two agents on a
    assert [rank_info(rank, CPU, hosts).threads for rank in range(3)] == [4, 4, 8]
