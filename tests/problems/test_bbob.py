"""The BBOB functions are COCO's own, to rounding."""

import cocoex
import numpy as np
import pytest

from ostinato.errors import InvalidSetting
from ostinato.problems import bbob
from ostinato.problems.bbob_random import normals, optimum, rotation, uniforms

FUNCTIONS = {3: bbob.rastrigin, 8: bbob.rosenbrock, 10: bbob.ellipsoid, 17: bbob.schaffer}


def lowest(number, dimension, instance):
    return optimum(dimension, number + 10_000 * instance) * (0.75 if number == 8 else 1)


@pytest.fixture(scope="module")
def suite():
    return cocoex.Suite("bbob", "", "dimensions:2,3,5,10 function_indices:3,8,10,17 instance_indices:1-5")


@pytest.mark.parametrize("number", FUNCTIONS)
@pytest.mark.parametrize("dimension", [2, 3, 5, 10])
@pytest.mark.parametrize("instance", [1, 2, 3, 4, 5])
def test_equals_coco(suite, number, dimension, instance):
    coco = suite.get_problem_by_function_dimension_instance(number, dimension, instance)
    points = np.random.default_rng(instance).uniform(-5, 5, (20, dimension))
    floor = coco(lowest(number, dimension, instance))
    expected = np.asarray([coco(point) for point in points]) - floor
    assert FUNCTIONS[number](points, instance) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert np.all(expected > 0)


@pytest.mark.parametrize("number", FUNCTIONS)
def test_is_0_at_the_optimum_alone(number):
    x = lowest(number, 4, 2)[None, :]
    assert FUNCTIONS[number](x, 2)[0] == pytest.approx(0, abs=1e-12)
    assert FUNCTIONS[number](x + 1e-3, 2)[0] > 0


def test_the_condition_weighs_the_last_axis():
    """Between the two outermost conditions lies a factor of 100 on the last axis, and none on the first."""
    seed = 10 + 10_000
    R, x = rotation(3, seed + 1_000_000), lowest(10, 3, 1)
    along = np.stack([x + 0.5 * R[0], x + 0.5 * R[2]])
    ratio = bbob.ellipsoid(along, conditioning=1e6) / bbob.ellipsoid(along, conditioning=1e4)
    assert ratio == pytest.approx([1, 100], rel=1e-6)


def test_rotations_are_orthogonal():
    R = rotation(7, 123)
    assert np.allclose(R @ R.T, np.eye(7), atol=1e-12)


def test_generators_are_uniform_and_normal():
    u, z = uniforms(20_000, 5), normals(20_000, 5)
    assert np.mean(u) == pytest.approx(0.5, abs=0.01)
    assert np.std(u) == pytest.approx(12**-0.5, abs=0.01)
    assert np.std(z) == pytest.approx(1, abs=0.02)
    assert np.array_equal(uniforms(3, -5), uniforms(3, 5))


@pytest.mark.parametrize("function", FUNCTIONS.values())
def test_points_are_checked(function):
    with pytest.raises(InvalidSetting, match="2 columns"):
        function(np.zeros((3, 1)))
    with pytest.raises(InvalidSetting, match="instance=0"):
        function(np.zeros((3, 2)), 0)
