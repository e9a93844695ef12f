"""Surfaces against numerical derivatives; paths on them against the theory of quadratics."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn.optim.landscapes import SURFACES

every_surface = pytest.mark.parametrize("surface", SURFACES.values(), ids=lambda s: s.name)
POINTS = np.random.default_rng(0).uniform(-2, 2, size=(20, 2))


@every_surface
def test_gradients_are_those_of_the_values(surface):
    numerical = np.array([gl.optim.numerical_gradient(surface.value, p) for p in POINTS])
    slopes = surface.gradient(POINTS)
    assert slopes == pytest.approx(numerical, rel=1e-7, abs=1e-7 * np.abs(slopes).max())


@every_surface
def test_minima_are_flat_and_lowest(surface):
    minima = np.array(surface.minima)
    lowest = surface.value(minima)
    assert np.abs(surface.gradient(minima)).max() < 1e-12
    assert np.ptp(lowest) < 1e-12
    rows = [
        gl.optim.numerical_gradient(lambda p, i=i: surface.gradient(p)[i], minima[0])
        for i in (0, 1)
    ]
    assert surface.hessian_at_minimum == pytest.approx(np.array(rows), rel=1e-7, abs=1e-7)
    assert (surface.value(POINTS) > lowest[0]).all()
    assert np.array_equal(surface.minimum, minima[0])


@every_surface
def test_many_points_at_once(surface):
    grid = POINTS.reshape(4, 5, 2)
    assert surface.gradient(grid).shape == (4, 5, 2)
    assert surface.value(grid)[1, 2] == pytest.approx(surface.value(grid[1, 2]), rel=1e-15)


@every_surface
def test_windows_show_start_and_minima(surface):
    left, right, bottom, top = surface.window
    for x, y in (surface.start, *surface.minima):
        assert left < x < right
        assert bottom < y < top


@every_surface
def test_the_largest_stable_step_parts_staying_from_leaving(surface):
    """Just below it a descent that begins beside the minimum stays there, just above it leaves."""
    limit = surface.largest_stable_step
    assert limit == gl.optim.largest_stable_step(surface)
    _, directions = np.linalg.eigh(surface.hessian_at_minimum)
    start = surface.minimum + 1e-7 * directions[:, -1]

    def farthest(lr):
        path = gl.optim.descend(surface, start, gl.optim.gradient_step, lr=lr, steps=400)
        return np.linalg.norm(path.points - surface.minimum, axis=1).max()

    assert farthest(0.99 * limit) < 2e-7
    assert farthest(1.01 * limit) > 3e-6


def test_surfaces_are_found_by_name():
    assert gl.optim.surface("Beale").formula.startswith("(1.5 − x")
    assert gl.optim.surface("ravine").formula == "½·(x² + 25·y²)"
    with pytest.raises(BadInput, match="There is no surface 'beel': did you mean 'Beale'"):
        gl.optim.surface("beel")


def test_points_have_as_many_entries_as_the_surface():
    with pytest.raises(BadInput, match=r"\(3,\): the bowl takes points of shape \(…, 2\)"):
        gl.optim.surface("bowl").value([1, 2, 3])
