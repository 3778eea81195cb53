"""Expected improvement: from the mean and variance of f at candidates, and a width β, to scores.

    u = β σ h(z),  z = (μ − max μ)/(β σ),  h(z) = z Φ(z) + φ(z);  kept as log u, which does not underflow

EI is convex in μ and w = β σ. So the means at which it reaches some τ are a concave function of w, which lies above its
chords from w = 0 to the largest w: a candidate below the chords does not reach τ, and its EI need not be computed.
"""

from functools import cache
from itertools import pairwise
from math import erfc, exp, log, pi, sqrt
from typing import Any

import numpy as np
from scipy.special import erfcx, ndtr

from ostinato.arrays import Array, Namespace, Vector, erfcx_of, from_numpy, namespace_of, to_numpy

SMALLEST = 1e-100  # width, in units of κ: keeps z finite where a candidate's value is known
FAR = -50.0  # below this z the series of h is exact, and the closed form cancels
STEP = 1 / 64  # of z, in the table by which h is inverted
WIDTHS = (0.4, 0.7, 1.0)  # of the widest, between which there are chords


def log_expected_improvement(mean: Array, variance: Array, beta: float, top: float, kappa: float) -> Array:
    """log of β σ h((μ − top)/(β σ)), for top = max μ over all candidates."""
    xp = namespace_of(mean)
    width = beta * xp.sqrt(variance)
    smallest = smallest_width(kappa)
    width = xp.where(width > smallest, width, xp.full_like(width, smallest))
    return xp.log(width) + log_h(xp, (mean - top) / width)


def chords(log_tau: float, widest: float) -> list[tuple[float, float]]:
    """Pairs (A, b) such that log EI ≥ log τ only where μ − top ≥ A − b w for one of them, for w up to the widest.

    They are the chords between some widths.
    """
    widths = [widest * share for share in WIDTHS]
    means = [exp(min(log_tau, 700.0)), *(w * _inverse_log_h(log_tau - log(w)) for w in widths)]
    points = list(zip([0.0, *widths], means, strict=True))
    slopes = [(high - low) / (right - left) for (left, low), (right, high) in pairwise(points)]
    return [(low - slope * left, -slope) for (left, low), slope in zip(points, slopes, strict=False)]


def _inverse_log_h(value: float) -> float:
    """The z at which log h is so large, or a little less; below the table by h(z) ≤ φ(z) ≤ exp(−z²/2)."""
    z, values = _table()
    place = int(np.searchsorted(values, value, side="right")) - 1
    return float(z[place]) if place >= 0 else -sqrt(-2 * value)


@cache
def _table() -> tuple[Vector, Vector]:
    z: Vector = np.arange(FAR, -FAR, STEP)
    return z, log_h(np, z)


def expected_gain(gap: Array, width: Array) -> Array:
    """E max(0, gap + width Z), Z ~ N(0, 1), with z = gap/width: width h(z), and h(z) = max(z, 0) + h(−|z|).

    h(−a) = φ(a) − a Φ(−a) loses a⁴ of its relative precision, which is little beside the gap, and is 0 from a = 39 on.
    Φ is six times as fast as exp(x²) erfc(x), where there is one.
    """
    xp = namespace_of(gap)
    if xp is not np:  # the array API has no error function
        own = erfcx_of(xp)
        if own is None:
            return from_numpy(xp, expected_gain(to_numpy(gap), to_numpy(width)))
        width = xp.clip(width, SMALLEST, None)
        a = xp.clip(xp.abs(gap) / width, None, 40.0)
        left = xp.exp(-0.5 * a * a) * (1 / sqrt(2 * pi) - 0.5 * a * own(a / sqrt(2)))
        return xp.clip(gap, 0.0, None) + width * left
    width = np.where(width > 0, width, SMALLEST)
    a: Vector = np.minimum(np.abs(gap) / width, 40.0)
    tail: Vector = np.exp(-0.5 * a * a) / sqrt(2 * pi) - a * ndtr(-a)
    return np.maximum(gap, 0.0) + width * tail


def smallest_width(kappa: float) -> float:
    return SMALLEST * (kappa or 1.0)


def log_h(xp: Namespace, z: Any) -> Any:
    """log(z Φ(z) + φ(z)), to full relative precision: in three forms, by how much would cancel."""
    if xp is not np:  # the array API has no error function
        own = erfcx_of(xp)
        return from_numpy(xp, log_h(np, to_numpy(z))) if own is None else _log_h_at_once(xp, own, z)
    near, far = z > -1, z < FAR
    result = np.empty_like(z)
    for here, form in ((near, _near), (far, _far), (~(near | far), _middle)):
        if np.count_nonzero(here):
            result[here] = form(z[here])
    return result


def _near(z: Vector) -> Vector:
    return np.log(z * ndtr(z) + np.exp(_log_phi(z)))


def _middle(z: Vector) -> Vector:
    return _log_phi(z) + np.log1p(z * sqrt(pi / 2) * erfcx(-z / sqrt(2)))


def _far(z: Vector) -> Vector:
    y = z**-2.0
    return _log_phi(z) + np.log(y) + np.log1p(y * (-3 + y * (15 - 105 * y)))


def _log_h_at_once(xp: Namespace, erfcx: Any, z: Any) -> Any:
    """The same where looking at some of the numbers costs as much as computing all three forms of all of them."""
    a = xp.abs(z)
    log_phi = -0.5 * a * a - 0.5 * log(2 * pi)
    ratio = erfcx(a / sqrt(2))
    near = xp.log(xp.exp(log_phi) - 0.5 * a * ratio * xp.exp(-0.5 * a * a))
    middle = log_phi + xp.log1p(-sqrt(pi / 2) * xp.clip(a, None, -FAR) * erfcx(xp.clip(a, None, -FAR) / sqrt(2)))
    y = xp.clip(a, -FAR, None) ** -2.0
    far = log_phi + xp.log(y) + xp.log1p(y * (-3 + y * (15 - 105 * y)))
    below = xp.where(a < 1, near, xp.where(a <= -FAR, middle, far))
    return xp.where(z > 0, xp.log(xp.clip(z, 0.0, None) + xp.exp(below)), below)


def improvement_slope(z: float) -> float:
    """d log h/dz = Φ(z)/h(z), about −z far below: how fast log EI answers to the mean, in units of β σ."""
    if z < FAR / 2:
        return -z - 2 / z
    if z < 0:
        ratio = float(erfcx(-z / sqrt(2)))  # 2 Φ(z) exp(z²/2)
        return ratio / (z * ratio + sqrt(2 / pi))
    below = 0.5 * erfc(-z / sqrt(2))  # Φ(z)
    return below / (z * below + exp(-0.5 * z * z) / sqrt(2 * pi))


def _log_phi(z: Vector) -> Vector:
    return -0.5 * z * z - 0.5 * log(2 * pi)
