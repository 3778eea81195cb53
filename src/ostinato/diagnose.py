"""Does the model fit what was measured? Residuals, repeats and returns are asked, and the answer is said in words."""

from math import sqrt
from typing import Any, cast

import msgspec
import numpy as np
from scipy.special import chdtrc, chdtri, fdtrc

from ostinato.arrays import Vector, to_numpy
from ostinato.learning.noise import Scatter
from ostinato.posterior import Posterior
from ostinato.tally import Statistics, Tally

FEW = 5  # unique candidates below which nothing can be said
DOUBT = 1e-3  # chance of data as odd as these, below which a check fails
OUTLIER = 4.0  # standard deviations


class Check(msgspec.Struct, frozen=True):
    """One question to the data: how likely so odd an answer is if all is well, and what a failure means."""

    name: str
    value: float
    chance: float
    words: str

    @property
    def ok(self) -> bool:
        return self.chance >= DOUBT


class Diagnosis(msgspec.Struct, frozen=True, eq=False):
    """Whether the model fits, in words and in numbers.

    residuals: of each measured candidate (row numbers in `rows`), its average minus what the others say of it, in
    standard deviations of that. noise_std: from the scatter of repeats, with a 95% interval; None without repeats.
    """

    verdict: str
    fits: bool | None
    checks: tuple[Check, ...]
    rows: tuple[int, ...]
    residuals: Vector
    noise_std: float | None
    noise_interval: tuple[float, float] | None
    learned: Any

    def __str__(self) -> str:
        lines = [self.verdict]
        lines += [f"  {'ok ' if check.ok else 'NOT'} {check.name}: {check.words}" for check in self.checks]
        if self.noise_std is not None and self.noise_interval is not None:
            low, high = self.noise_interval
            lines.append(f"  repeats scatter by {self.noise_std:.3g} (95% interval {low:.3g} to {high:.3g})")
        return "\n".join([*lines, f"  the model: {self.learned}"])


class Returns(msgspec.Struct, frozen=True):
    """How far averages of one candidate lie apart when it is measured again later: degrees of freedom, and squares."""

    freedom: float = 0.0
    squares: float = 0.0

    def after(self, before: Statistics, more: Statistics) -> "Returns":
        """One more degree of freedom where a candidate was measured before: n₁n₂/(n₁ + n₂) times the squared gap."""
        if before.n == 0 or more.known:
            return self
        gap2 = (before.mean - more.mean) ** 2 * before.n * more.n / (before.n + more.n)
        return Returns(self.freedom + 1, self.squares + gap2)


def diagnosis(
    posterior: Posterior, tally: Tally, setup: float, returns: Returns, indices: Any, learned: Any
) -> Diagnosis:
    """Ask the data."""
    factor = posterior.factor
    M, alpha, l = np.diagonal(to_numpy(factor.M)), to_numpy(factor.alpha), to_numpy(factor.l)
    measured = np.flatnonzero(l > 0)
    z: Vector = alpha[measured] / np.sqrt(M[measured])
    rows = tuple(int(indices[candidate]) for candidate in posterior.measured[measured])
    scatter = Scatter(tally)
    freedom = float(np.sum(scatter.freedom))
    noise = scatter.pooled if freedom else None
    checks = [_residuals(z)]
    if noise:
        noises = posterior.noise[scatter.candidates]
        model = float(np.sum(noises * scatter.freedom) / freedom)
        checks.append(_noise(noise / model, freedom, sqrt(noise), sqrt(model)))
        residual = float(np.sum((l * alpha)[measured] ** 2 / l[measured]))
        checks.append(_lack_of_fit(residual * model / noise, float(np.sum((l * M)[measured])), freedom))
        checks += _unequal(scatter, noises)
        if returns.freedom and setup == 0:
            checks.append(_returns(returns, noise, freedom))
    far = measured[np.abs(z) > OUTLIER]
    fits = None if len(measured) < FEW else all(check.ok for check in checks)
    return Diagnosis(
        verdict=_verdict(fits, checks, len(measured), len(far)),
        fits=fits,
        checks=tuple(checks),
        rows=rows,
        residuals=z,
        noise_std=sqrt(noise) if noise is not None else None,
        noise_interval=_interval(noise, freedom) if noise is not None else None,
        learned=learned,
    )


def _verdict(fits: bool | None, checks: list[Check], unique: int, far: int) -> str:
    if fits is None:
        return f"Too early to say: {unique} different candidates were measured, and {FEW} are needed."
    if fits:
        return "The model fits these data."
    causes = "; ".join(check.words for check in checks if not check.ok)
    outliers = (
        f" ({far} of {unique} averages are {OUTLIER:g} standard deviations off: for outliers, robust=True)"
        if far
        else ""
    )
    return f"The model does not fit these data: {causes}{outliers}."


def _residuals(z: Vector) -> Check:
    """Each average against what the others say of it: squares of standard normal variables."""
    spread = sqrt(float(np.mean(z**2)))
    chance = float(cast("Any", chdtrc)(len(z), float(np.sum(z**2))))
    words = f"averages lie {spread:.2f} times as far as expected from what the other candidates say of them" + (
        "" if chance >= DOUBT else ": values jump more than the kernel allows for, its length-scale may be too long"
    )
    return Check("left-out candidates", spread, chance, words)


def _noise(ratio: float, freedom: float, seen: float, held: float) -> Check:
    """Repeats against the noise that the model holds true; too much and too little both count."""
    above = float(cast("Any", chdtrc)(freedom, ratio * freedom))
    chance = 2 * min(above, 1 - above)
    words = f"repeats scatter by {seen:.3g}, and the model holds {held:.3g} true"
    if chance < DOUBT:
        words += ": give the former as noise_std, or leave it out, and it is learned"
    return Check("noise", sqrt(ratio), chance, words)


def _lack_of_fit(residual: float, freedom: float, pure: float) -> Check:
    """What the fitted curve leaves of the averages, over the pure error of repeats."""
    ratio = residual / freedom if freedom > 0 else 1.0
    chance = float(cast("Any", fdtrc)(freedom, pure, ratio)) if freedom > 0 else 1.0
    words = f"averages differ from the fitted curve by {sqrt(ratio):.2f} times what repeats explain"
    return Check("lack of fit", ratio, chance, words)


def _unequal(scatter: Scatter, noises: Vector) -> list[Check]:
    """Whether candidates differ in noise by more than the model says."""
    if len(scatter.candidates) < 2:
        return []
    z = scatter.z - np.log(noises)
    weights = 1 / scatter.errors
    off = z - np.average(z, weights=weights)
    chance = float(cast("Any", chdtrc)(len(z) - 1, float(np.sum(off**2 * weights))))
    spread = sqrt(max(float(np.average(off**2, weights=weights)), 0.0))
    words = (
        "candidates are equally noisy, as far as the model says so"
        if chance >= DOUBT
        else (
            f"noise differs between candidates, by a factor of about {np.exp(spread / 2):.2g} up and down: "
            "noise_std='varying' learns it"
        )
    )
    return [Check("equal noise", spread, chance, words)]


def _returns(returns: Returns, noise: float, freedom: float) -> Check:
    """Averages of one candidate from different batches, against the scatter within batches."""
    within = max(noise * freedom - returns.squares, 1e-300) / max(freedom - returns.freedom, 1.0)
    ratio = returns.squares / returns.freedom / within
    chance = float(cast("Any", fdtrc)(returns.freedom, max(freedom - returns.freedom, 1.0), ratio))
    words = f"averages differ {sqrt(ratio):.2f} times as much as repeats when a candidate is measured again" + (
        "" if chance >= DOUBT else ": repeats share the error of a set-up, and setup_std='learn' accounts for it"
    )
    return Check("returns", ratio, chance, words)


def _interval(noise: float, freedom: float) -> tuple[float, float]:
    """95%, by the χ² law of squared deviations."""
    low, high = (noise * freedom / float(cast("Any", chdtri)(freedom, p)) for p in (0.025, 0.975))
    return sqrt(low), sqrt(high)
