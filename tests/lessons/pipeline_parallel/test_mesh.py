"""Subgroups and meshes: who speaks to whom, on simulated ranks and real ones."""

import pytest
import torch

import gpulearn as gl
from gpulearn.errors import BadInput, RankError
from gpulearn.parallel.communicator import current, using_channel
from gpulearn_lessons.pipeline_parallel.mesh import AXES, Mesh, Subgroup


def test_every_rank_has_its_own_place():
    mesh = Mesh(data=2, pipeline=3, tensor=4)
    assert len({tuple(mesh.coordinates(number).values()) for number in range(24)}) == 24
    for axis in AXES:
        for number in range(24):
            line = mesh.line(axis, number)
            others = [one for one in AXES if one != axis]
            assert number in line
            assert [mesh.coordinates(one)[axis] for one in line] == list(range(mesh.sizes[axis]))
            for one in line:
                assert all(
                    mesh.coordinates(one)[other] == mesh.coordinates(number)[other]
                    for other in others
                )


def subgroup(ranks):
    """Let some ranks be all that there are."""
    return using_channel(Subgroup(current(), ranks))


def sums():
    """The sum of the ranks along each axis, of nested groups, and a pass round a line."""
    me, mesh = gl.parallel.rank(), Mesh(data=2, tensor=2)
    found = []
    for axis in ("data", "tensor"):
        with mesh.along(axis):
            gl.parallel.barrier()
            found.append(gl.parallel.all_reduce(torch.tensor(10**me)).item())
    with subgroup([3, 2, 1, 0]), subgroup([0, 2] if me in (3, 1) else [1, 3]):
        arrived = torch.tensor(-1)
        other = 1 - gl.parallel.rank()
        gl.parallel.sendrecv(torch.tensor(me), other, arrived, other)
    return (*found, arrived.item(), gl.parallel.rank())


WANTED = [(101, 11, 2, 0), (1010, 11, 3, 1), (101, 1100, 0, 2), (1010, 1100, 1, 3)]


def test_groups_on_simulated_and_real_ranks():
    assert gl.launch(sums, 4, backend="simulated") == WANTED
    assert gl.launch(sums, 4) == WANTED


def first_of_a_group():
    with subgroup([2, 3, 1] if gl.parallel.rank() else [0]):
        if gl.parallel.rank() == 0:
            if gl.parallel.world_size() == 1:
                return None
            waiting = [gl.parallel.irecv(torch.tensor(0), source) for source in (1, 2)]
            first = gl.parallel.wait_any(waiting)
            return first, [handle.wait().item() for handle in waiting]
        gl.parallel.compute(3 - gl.parallel.rank())
        gl.parallel.send(torch.tensor(gl.parallel.rank()), 0)
        return None


def test_whichever_comes_first_is_waited_for_in_a_group():
    assert gl.simulate(first_of_a_group, 4).results[2] == (1, [1, 2])
    first, came = gl.launch(first_of_a_group, 4)[2]
    assert first in (0, 1)
    assert came == [1, 2]


def test_a_mesh_of_another_size_is_refused():
    with pytest.raises(RankError, match="the mesh has 4 ranks, and there are 2"):
        gl.simulate(lambda: Mesh(data=4).along("data"), 2)
    with pytest.raises(BadInput, match="differ along 2 axes"):
        Mesh(data=2, tensor=2).by_axis({(0, 3): 1})
