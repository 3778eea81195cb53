"""Test functions to be maximised, each on a box: the usual ones of the field, written as rewards.

`FUNCTIONS` gives for each name the function of points in the unit cube (a row a point) and its number of columns.
"""

from collections.abc import Callable

import numpy as np

from ostinato.arrays import Matrix, Vector

Function = Callable[[Matrix], Vector]


def on_box(low: float | tuple[float, ...], high: float | tuple[float, ...]) -> Callable[[Function], Function]:
    """A function on a box as one on the unit cube."""

    def wrap(function: Function) -> Function:
        return lambda U: function(np.asarray(low) + U * (np.asarray(high) - np.asarray(low)))

    return wrap


# Smooth


@on_box((-5.0, 0.0), (10.0, 15.0))
def branin(X: Matrix) -> Vector:
    x, y = X.T
    return -((y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10)


@on_box((-3.0, -2.0), (3.0, 2.0))
def camel(X: Matrix) -> Vector:
    x, y = X.T
    return -((4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (-4 + 4 * y**2) * y**2)


@on_box(-2.0, 2.0)
def goldstein(X: Matrix) -> Vector:
    """The logarithm of Goldstein and Price's function."""
    x, y = X.T
    first = 1 + (x + y + 1) ** 2 * (19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2)
    second = 30 + (2 * x - 3 * y) ** 2 * (18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2)
    return -np.log(first * second)


def two_peaks(X: Matrix) -> Vector:
    """A broad hill, and a narrower and higher one."""
    broad = np.exp(-np.sum((X - [0.3, 0.35]) ** 2, axis=1) / (2 * 0.2**2))
    narrow = np.exp(-np.sum((X - [0.75, 0.7]) ** 2, axis=1) / (2 * 0.1**2))
    return broad + 1.35 * narrow


HARTMANN = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_3 = (
    np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]]),
    1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]),
)
HARTMANN_6 = (
    np.array(
        [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
    ),
    1e-4
    * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    ),
)


def _hartmann(X: Matrix, A: Matrix, P: Matrix) -> Vector:
    return np.exp(-np.einsum("kj,nkj->nk", A, (X[:, None, :] - P) ** 2)) @ HARTMANN


def hartmann3(X: Matrix) -> Vector:
    return _hartmann(X, *HARTMANN_3)


def hartmann4(X: Matrix) -> Vector:
    """Hartmann's function of six columns with two of them held at a half."""
    return hartmann6(np.column_stack([X, np.full((len(X), 2), 0.5)]))


def hartmann6(X: Matrix) -> Vector:
    return _hartmann(X, *HARTMANN_6)


@on_box(-10.0, 10.0)
def levy(X: Matrix) -> Vector:
    W = 1 + (X - 1) / 4
    middle = np.sum((W[:, :-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * W[:, :-1] + 1) ** 2), axis=1)
    last = (W[:, -1] - 1) ** 2 * (1 + np.sin(2 * np.pi * W[:, -1]) ** 2)
    return -(np.sin(np.pi * W[:, 0]) ** 2 + middle + last)


@on_box(-2.0, 2.0)
def rosenbrock(X: Matrix) -> Vector:
    return -np.sum(100 * (X[:, 1:] - X[:, :-1] ** 2) ** 2 + (1 - X[:, :-1]) ** 2, axis=1)


@on_box(-5.0, 5.0)
def styblinski(X: Matrix) -> Vector:
    return -0.5 * np.sum(X**4 - 16 * X**2 + 5 * X, axis=1)


@on_box(-1.0, 1.0)
def cosines(X: Matrix) -> Vector:
    """The cosine mixture."""
    return 0.1 * np.sum(np.cos(5 * np.pi * (X - 0.2)), axis=1) - np.sum((X - 0.2) ** 2, axis=1)


@on_box(-10.0, 10.0)
def dixon_price(X: Matrix) -> Vector:
    i = np.arange(2, X.shape[1] + 1)
    return -((X[:, 0] - 1) ** 2 + np.sum(i * (2 * X[:, 1:] ** 2 - X[:, :-1]) ** 2, axis=1))


@on_box(-5.0, 10.0)
def zakharov(X: Matrix) -> Vector:
    s = 0.5 * X @ np.arange(1, X.shape[1] + 1)
    return -np.log1p(np.sum(X**2, axis=1) + s**2 + s**4)


def friedman(X: Matrix) -> Vector:
    """Five of ten columns matter."""
    a, b, c, d, e = X[:, :5].T
    return 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e


def sparse(X: Matrix) -> Vector:
    """Four of twenty columns matter."""
    return -np.sum(((X[:, [2, 7, 11, 16]] - [0.3, 0.6, 0.5, 0.8]) / [0.3, 0.4, 0.5, 0.6]) ** 2, axis=1)


def hidden_camel(X: Matrix) -> Vector:
    """Two of twenty columns matter."""
    return camel(X[:, [4, 13]])


# Rough, flat or needle-like


@on_box(-32.768, 32.768)
def ackley(X: Matrix) -> Vector:
    root, waves = np.sqrt(np.mean(X**2, axis=1)), np.mean(np.cos(2 * np.pi * X), axis=1)
    return 20 * np.exp(-0.2 * root) + np.exp(waves)


@on_box(0.0, np.pi)
def michalewicz(X: Matrix) -> Vector:
    i = np.arange(1, X.shape[1] + 1)
    return np.sum(np.sin(X) * np.sin(i * X**2 / np.pi) ** 20, axis=1)


@on_box(-5.12, 5.12)
def rastrigin(X: Matrix) -> Vector:
    return -np.sum(X**2 - 10 * np.cos(2 * np.pi * X), axis=1)


@on_box(-15.0, 15.0)
def schaffer(X: Matrix) -> Vector:
    """Schaffer's function number 2."""
    x, y = X.T
    return -(np.sin(x**2 - y**2) ** 2 - 0.5) / (1 + 0.001 * (x**2 + y**2)) ** 2


@on_box(0.0, 2 * np.pi)
def easom(X: Matrix) -> Vector:
    """A needle on a plain."""
    x, y = X.T
    return np.cos(x) * np.cos(y) * np.exp(-((x - np.pi) ** 2) - (y - np.pi) ** 2)


def stairs(X: Matrix) -> Vector:
    """A hill in steps."""
    return -np.floor(6 * np.sqrt(np.sum((X - 0.62) ** 2, axis=1)))


def plains(X: Matrix) -> Vector:
    """Flat nearly everywhere, with a hill in one corner."""
    return np.maximum(0.0, 1 - np.sum(((X - 0.85) / 0.35) ** 2, axis=1))


@on_box(0.0, 10.0)
def shekel(X: Matrix) -> Vector:
    C = np.array(
        [
            [4, 1, 8, 6, 3, 2, 5, 8, 6, 7],
            [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6],
            [4, 1, 8, 6, 3, 2, 5, 8, 6, 7],
            [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6],
        ]
    )
    b = 0.1 * np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5])
    return np.sum(1 / (np.sum((X[:, :, None] - C) ** 2, axis=1) + b), axis=1)


@on_box(-512.0, 512.0)
def eggholder(X: Matrix) -> Vector:
    x, y = X.T
    return (y + 47) * np.sin(np.sqrt(np.abs(x / 2 + y + 47))) + x * np.sin(np.sqrt(np.abs(x - y - 47)))


@on_box(-5.12, 5.12)
def drop_wave(X: Matrix) -> Vector:
    r2 = np.sum(X**2, axis=1)
    return (1 + np.cos(12 * np.sqrt(r2))) / (0.5 * r2 + 2)


@on_box(-10.0, 10.0)
def holder(X: Matrix) -> Vector:
    """Hölder's table."""
    x, y = X.T
    return np.abs(np.sin(x) * np.cos(y) * np.exp(np.abs(1 - np.hypot(x, y) / np.pi)))


@on_box(-6.0, 6.0)
def griewank(X: Matrix) -> Vector:
    i = np.sqrt(np.arange(1, X.shape[1] + 1))
    return -(np.sum(X**2, axis=1) / 40 - np.prod(np.cos(X / i), axis=1))


def cliffs(X: Matrix) -> Vector:
    """Smooth, but for a wall beyond which everything is bad."""
    value = np.sin(3 * X[:, 0]) + np.cos(2 * X[:, 1]) - (X[:, 2] - 0.4) ** 2 + 0.5 * X[:, 3]
    return np.where(X[:, 0] + X[:, 3] > 1.3, -2.0, value)
