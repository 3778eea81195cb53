"""Does the model fit what was measured? Residuals, repeats and returns are asked, and the answer is said in words."""

from collections.abc import Set
from math import sqrt
from typing import Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri, fdtrc

from ostinato.arrays import Matrix, Vector, to_numpy
from ostinato.checks import counted
from ostinato.learning.noise import Scatter
from ostinato.measurements.history import History
from ostinato.measurements.tally import Tally
from ostinato.optimizer.knowledge import Knowledge
from ostinato.posterior import Posterior
from ostinato.records import Learned, Outlier

MIN_CANDIDATES = 5  # unique candidates below which a model is not said to fit, nor a learned one not to
DOUBT = 1e-3  # chance of data as odd as these, below which a check fails
OUTLIER = 4.0  # standard deviations
FADES = 15  # the part of all measurements that is the half-life to begin with: `python -m benchmarks.half_life`
DRIFT = 1e-3  # chance of straight lines in time that explain so much of how averages differ, below which they do
LOOKED_LITTLE, LOOKED_ENOUGH = 1.0, 6.0  # candidates measured, over the root of all measurements
HALF = 0.5
REPEATS = 9  # degrees of freedom of a candidate's repeats from which they say something of its own noise
ROUNDING = 1e-12  # of the values: scatter that is no noise
REPEATED = 3  # candidates whose repeats are all equal, from which that is said
NEVER_DIFFER = (
    "Repeats never differ: does your program use a fixed seed, or round its values? Without noise, repeats tell "
    "nothing new."
)


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
    fits is None where too little was measured to say so, or where repeats never differ. outliers: single values that do
    not fit.
    """

    verdict: str
    fits: bool | None
    checks: tuple[Check, ...]
    rows: tuple[int, ...]
    residuals: Vector
    noise_std: float | None
    noise_interval: tuple[float, float] | None
    learned: Learned
    outliers: tuple[Outlier, ...] = ()

    def __str__(self) -> str:
        lines = [self.verdict]
        lines += [f"  {'ok ' if check.ok else 'NOT'} {check.name}: {check.words}" for check in self.checks]
        if self.noise_std is not None and self.noise_interval is not None:
            low, high = self.noise_interval
            lines.append(f"  repeats scatter by {self.noise_std:.3g} (95% interval {low:.3g} to {high:.3g})")
        lines += [f"  {outlier}" for outlier in self.outliers]
        return "\n".join([*lines, f"  the model: {self.learned}"])


class Returns:
    """What was measured of each candidate, batch by batch: how far do averages lie apart on returning to it?

    Measurements that came with standard errors are left out.
    """

    def __init__(self, history: History, aside: Set[int]) -> None:
        each: dict[int, list[tuple[float, float, float]]] = {}
        before = 0.0
        for part, measured in history:
            statistics = measured.without(aside)
            if statistics.n and not statistics.known:
                row = (statistics.n, statistics.mean, (measured.at or before + statistics.n) - statistics.n / 2)
                each.setdefault(part.candidate, []).append(row)
            before += measured.statistics.n
        self._each = {candidate: np.array(rows).T for candidate, rows in each.items() if len(rows) > 1}

    def in_units(self, noise: Vector) -> tuple[float, float]:
        """Degrees of freedom between batches and their squares, each in units of the candidate's noise."""
        freedom, squares = 0, 0.0
        for candidate, (n, means, _) in self._each.items():
            freedom += len(n) - 1
            squares += float(n @ (means - n @ means / n.sum()) ** 2) / float(noise[candidate])
        return freedom, squares

    def trends(self, noise: Vector) -> tuple[float, float]:
        """How many candidates were returned to later, and the squares that straight lines in time explain."""
        freedom, squares = 0, 0.0
        for candidate, (n, means, times) in self._each.items():
            gaps = times - n @ times / n.sum()
            freedom += 1
            squares += float(n @ (gaps * means)) ** 2 / float(n @ gaps**2) / float(noise[candidate])
        return freedom, squares


def diagnosis(known: Knowledge, learned: Learned, outliers: tuple[Outlier, ...], unknown: float | None) -> Diagnosis:
    """Ask the data. unknown: the share of the prior's variance that is left where nothing was measured."""
    posterior, tally, candidates = known.posterior, known.told, len(known.problem.table)
    averages = Averages.of(posterior)
    noise, freedom = _scatter_of(tally)
    checks = [_residuals(averages.z, averages.square)]
    if noise is not None:
        checks += _of_repeats(known, averages, noise, given="noise_std" not in learned.what)
    far = int(np.count_nonzero(np.abs(averages.z) > OUTLIER))
    fits, same = all(check.ok for check in checks), never_differ(known)
    checks += [Check("repeats", 0.0, 0.0, "repeats are all equal, as with a fixed seed")] if same else []
    measured, needed = len(averages.z), min(MIN_CANDIDATES, candidates)
    early = measured < needed and (fits or bool(learned.what))
    doubt = "" if early or not fits or "kernel" not in learned.what else _doubt(tally, candidates, unknown)
    if same and fits and not early:
        doubt = NEVER_DIFFER
    if early or doubt:
        fits = None
    return Diagnosis(
        verdict=doubt or _verdict(fits, checks, measured, far, needed),
        fits=fits,
        checks=() if early else tuple(checks),
        rows=tuple(known.problem.table.index_of(candidate) for candidate in averages.candidates),
        residuals=averages.z,
        noise_std=None if noise is None else sqrt(noise),
        noise_interval=None if noise is None else _interval(noise, freedom),
        learned=learned,
        outliers=outliers,
    )


class Averages(msgspec.Struct, frozen=True, eq=False):
    """What was measured, candidate by candidate, as the posterior sees it: M, α and ℓ of those measured.

    z: each average less what the others say of it, in standard deviations; square: mᵀMm.
    """

    candidates: NDArray[np.int64]
    z: Vector
    square: float
    l: Vector
    M: Matrix
    alpha: Vector

    @classmethod
    def of(cls, posterior: Posterior) -> "Averages":
        factor = posterior.factor
        M, alpha, l, m = (to_numpy(each) for each in (factor.M, factor.alpha, factor.l, factor.m))
        here = np.flatnonzero(l > 0)
        z: Vector = alpha[here] / np.sqrt(np.diagonal(M)[here])
        return cls(posterior.measured[here], z, float(m @ alpha), l[here], M[np.ix_(here, here)], alpha[here])


def _scatter_of(tally: Tally) -> tuple[float | None, float]:
    """The variance of repeats around their averages, None where it is no noise; and its degrees of freedom."""
    scatter = Scatter(tally)
    freedom = float(np.sum(scatter.freedom))
    rounding = (ROUNDING * max(abs(statistics.mean) for _, statistics in tally)) ** 2
    return (scatter.pooled if freedom and scatter.pooled > rounding else None), freedom


def never_differ(known: Knowledge) -> bool:
    """Whether repeats of several candidates are all equal, and not because values are whole numbers."""
    tally, scatter = known.told, Scatter(known.told)
    if not known.problem.outcome.real or len(scatter.candidates) < REPEATED:
        return False
    means = np.array([tally[candidate].mean for candidate in scatter.candidates.tolist()])
    least = scatter.freedom * (ROUNDING * float(np.max(np.abs(means)))) ** 2
    return bool(np.all(scatter.squares <= least) and np.any(means != np.round(means)))


def _of_repeats(known: Knowledge, averages: Averages, noise: float, *, given: bool) -> list[Check]:
    """What repeats of the same candidate say: of the noise, of the curve, and of returns."""
    outcome, scatter, posterior = known.problem.outcome, Scatter(known.told), known.posterior
    freedom, noises = float(np.sum(scatter.freedom)), posterior.noise[scatter.candidates]
    ratio = float(np.sum(scatter.squares / noises)) / freedom  # in units of each candidate's noise, so that it is χ²
    held = sqrt(noise / ratio) if ratio > 0 else sqrt(float(np.mean(noises)))
    checks: list[Check] = []
    if not outcome.whole:  # whose noise is given by its mean
        checks.append(_noise(ratio, freedom, sqrt(noise), held, given=given))
    checks.append(_lack_of_fit(averages.l, averages.M, averages.alpha, ratio, freedom))
    checks += _unequal(scatter, noises) if outcome.real else []
    returns = Returns(known.state.history, known.left_out)
    again, squares = returns.in_units(posterior.noise)
    within = freedom - again
    alike = known.answering.setup == 0 and not known.told.has_errors and known.problem.settings.half_life is None
    if again and within >= MIN_CANDIDATES and alike:
        trends, steps = returns.trends(posterior.noise), known.state.history.steps
        checks.append(_returns(again, squares, (ratio * freedom - squares) / within, within, trends, steps))
    return checks


def _doubt(tally: Tally, candidates: int, unknown: float | None) -> str:
    """Why a model that fits may be wrong all the same: what it has seen is too little."""
    if unknown is None:
        return ""
    unique, root = len(tally), sqrt(tally.steps)
    most = max(statistics.n for _, statistics in tally) / tally.steps
    seen = f"{counted(unique, 'candidate')} of {candidates:,}"
    if unique < min(LOOKED_LITTLE * root, candidates):
        cause = f"{counted(int(tally.steps), 'measurement')} went to {seen}"
    elif most > HALF and unique < LOOKED_ENOUGH * root:
        cause = f"one candidate took {most:.0%} of all measurements, and {seen} were looked at"
    elif unknown > HALF:
        cause = f"{seen} were looked at, and {unknown:.0%} of what the others vary by is unknown"
    else:
        return ""
    return f"The model fits what was measured, but it has seen too little to be sure of the rest: {cause}."


def _verdict(fits: bool | None, checks: list[Check], unique: int, far: int, needed: int) -> str:
    if fits is None:
        return f"Too early to say: {counted(unique, 'different candidate')} measured, and {needed} are needed."
    if fits:
        return "The model fits these data."
    causes = "; ".join(check.words for check in checks if not check.ok)
    single = f" ({far} of {unique} averages are more than {OUTLIER:g} standard deviations off)" if far else ""
    return f"The model does not fit these data: {causes}{single}."


def _residuals(z: Vector, square: float) -> Check:
    """Each average against what the others say of it. Together, mᵀMm is a χ² variable of q degrees."""
    spread = sqrt(float(np.mean(z**2)))
    chance = float(cast("Any", chdtrc)(len(z), square))
    words = f"averages lie {spread:.2f} times as far as expected from what the other candidates say of them" + (
        ""
        if chance >= DOUBT
        else ": values differ more than prior mean and kernel allow for (a length-scale that is too long, a mean that "
        "is off, or single outliers, for which there is robust=True)"
    )
    return Check("left-out candidates", spread, chance, words)


def _noise(ratio: float, freedom: float, seen: float, held: float, *, given: bool) -> Check:
    """Repeats against the noise that the model holds true; too much and too little both count."""
    above = float(cast("Any", chdtrc)(freedom, ratio * freedom))
    chance = 2 * min(above, 1 - above)
    words = f"repeats scatter by {seen:.3g}, and the model holds {held:.3g} true"
    if chance < DOUBT and given:
        words += ": give the former as noise_std, or leave it out, and it is learned"
    return Check("noise", sqrt(ratio), chance, words)


def _lack_of_fit(l: Vector, M: Matrix, alpha: Vector, ratio: float, pure: float) -> Check:
    """What the fitted curve leaves of the averages, over the pure error of repeats.

    The residuals over their noise have covariance S = L½ M L½, so that their squares sum up weighted χ² variables; that
    is compared with one χ² variable of the same mean and variance (Satterthwaite).
    """
    root = np.sqrt(l)
    S = root[:, None] * M * root
    trace, trace2 = float(np.trace(S)), float(np.sum(S * S))
    freedom, scale = trace**2 / trace2, trace2 / trace
    statistic = float(np.sum((root * alpha) ** 2)) / ratio / scale / freedom
    chance = float(cast("Any", fdtrc)(freedom, pure, statistic))
    words = f"averages differ from the fitted curve by {sqrt(statistic):.2f} times what repeats explain"
    return Check("lack of fit", statistic, chance, words)


def _unequal(scatter: Scatter, noises: Vector) -> list[Check]:
    """Whether candidates differ in noise by more than the model says; from those with enough repeats to tell."""
    enough = scatter.freedom >= REPEATS
    if np.count_nonzero(enough) < 2:
        return []
    z, weights = (scatter.z - np.log(noises))[enough], 1 / scatter.errors[enough]
    off = z - np.average(z, weights=weights)
    chance = float(cast("Any", chdtrc)(len(z) - 1, float(np.sum(off**2 * weights))))
    spread = sqrt(max(float(np.average(off**2, weights=weights)), 0.0))
    words = (
        "candidates are as noisy as the model says, each of them"
        if chance >= DOUBT
        else f"noise differs between candidates, by a factor of about {np.exp(spread / 2):.2g} up and down: "
        "noise_std='varying' learns it (or robust=True, if it comes from outliers)"
    )
    return [Check("noise of each candidate", spread, chance, words)]


def _returns(
    again: float, squares: float, within: float, freedom: float, trends: tuple[float, float], steps: int
) -> Check:
    """Averages of one candidate from different batches, against the scatter within batches.

    Where they differ, straight lines in time explain it (each takes one of the degrees of freedom), or they do not.
    """
    ratio = squares / again / within if within > 0 else 1.0
    chance = float(cast("Any", fdtrc)(again, freedom, ratio))
    words = f"averages differ {sqrt(ratio):.2f} times as much as repeats when a candidate is measured again"
    lines, explained = trends
    left = max((squares - explained) / max(again - lines, 1), within)
    straight = explained / lines / left if left > 0 else 0.0
    drifts = float(cast("Any", fdtrc)(lines, max(again - lines, 1) + freedom, straight))
    if chance < DOUBT and drifts < DRIFT and again - lines >= MIN_CANDIDATES:
        words += f": values drift with time, and half_life= (such as {max(steps // FADES, 1):,}) lets old ones fade"
    elif chance < DOUBT:
        words += ": repeats share the error of a set-up, and setup_std='learn' accounts for it"
    return Check("returns", ratio, chance, words)


def _interval(noise: float, freedom: float) -> tuple[float, float]:
    """95%, by the χ² law of squared deviations."""
    low, high = (noise * freedom / float(cast("Any", chdtri)(freedom, p)) for p in (0.025, 0.975))
    return sqrt(low), sqrt(high)
