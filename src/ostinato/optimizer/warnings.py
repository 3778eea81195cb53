"""Warnings, each at most once in a run: measurements that contradict what the user gave, values that do not fit,
and more of them than float64 can hold.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

from ostinato.errors import LimitedPrecision, SurprisingMeasurements, SuspiciousMeasurement, notify
from ostinato.measurements.batches import number_at
from ostinato.measurements.history import Measured, Part
from ostinato.optimizer.answers import Answers
from ostinato.optimizer.facts import OutlierReview
from ostinato.optimizer.knowledge import Knowledge
from ostinato.optimizer.problem import Problem

PRECISE_UP_TO = 1e11  # κ² n/λ: beyond it float64 cannot hold what was measured
SURPRISE = 8.0  # prior standard deviations at which a measurement is surprising
NOISIER, MIN_FREEDOM = 2.0, 20  # times the given noise that repeats show, and degrees of freedom to say so


class Warnings:
    """What has been warned of, and how repeats scatter so far."""

    def __init__(self, sign: int) -> None:
        self._sign = sign
        self._imprecise = self._surprised = self._contradicted = False
        self._remarked: frozenset[int] = frozenset()  # outliers, by their numbers
        self._freedom = self._squares = 0.0  # degrees of freedom of the repeats, and their squares over the noise

    def of_outliers(self, problem: Problem, known: Knowledge) -> None:
        """Warn, once for each, of values that do not fit and were set aside. Called before a decision uses that."""
        answers, aside = Answers(problem, known), known.outlier_review.outliers
        found = [answers.outlier(misfit) for misfit in known.misfits if misfit.value.number in aside]
        new = [outlier for outlier in found if outlier.number not in self._remarked]
        self.know_of(known.outlier_review, known.state.gaps)
        for outlier in new:
            words = str(outlier)
            words = words[:1].upper() + words[1:]  # names of the user's stay as they are
            notify(
                f"{words}. It does not count unless it comes again: the candidate is measured again where it has no "
                "other values.",
                SuspiciousMeasurement,
            )

    def know_of(self, looked: OutlierReview, gaps: Sequence[int]) -> None:
        """These outliers were warned of."""
        self._remarked |= {number_at(place, gaps) for place in looked.outliers}

    def of_told(self, known: Knowledge, told: Mapping[Part, Measured]) -> None:
        """Warn where feedback is more than float64 can hold, or contradicts the kernel, prior mean or noise given."""
        model = known.model
        rho, lasting = model.kappa2 * model.heaviest, known.learner is None or not known.due
        if lasting and not self._imprecise and (rho > PRECISE_UP_TO or model.jitter > 0):
            self._warn_of_precision(rho, model.jitter)
        if known.learner is not None:
            return
        for part, measured in told.items():
            feedback, noise = measured.statistics, float(model.noise[part.candidate])
            spread = sqrt(model.kappa2 + noise / feedback.n)
            if abs(feedback.mean - model.prior_mean) > SURPRISE * spread and not self._surprised:
                self._warn_of_surprise(feedback.mean, model.prior_mean, spread)
            self._freedom += feedback.n - 1
            self._squares += feedback.squares / noise
            noisier = self._freedom >= MIN_FREEDOM and self._squares > NOISIER**2 * self._freedom
            if noisier and not self._contradicted:
                self._warn_of_noise()

    def _warn_of_precision(self, rho: float, jitter: float) -> None:
        """Counts over noise are more than float64 can hold."""
        self._imprecise = True
        needed = f" (a jitter of {jitter:g} was needed)" if jitter else ""
        notify(
            f"A candidate was measured so often, at so little noise, that κ²·n/λ = {rho:.2g}{needed}: above "
            f"{PRECISE_UP_TO:g} float64 cannot hold all of it. Answers stay finite; small variances are rough.",
            LimitedPrecision,
        )

    def _warn_of_surprise(self, mean: float, expected: float, spread: float) -> None:
        """A measurement is far from anything that prior mean and kernel allow for."""
        self._surprised = True
        notify(
            f"Measured {self._sign * mean:.4g} where {self._sign * expected:.4g} ± {spread:.2g} was expected of any "
            "candidate: the others are then misjudged. Set mean= to what a typical candidate gives, the kernel's std= "
            "to how much values vary, and noise_std= to how much repeats do; or give none of them, and they are "
            "learned.",
            SurprisingMeasurements,
        )

    def _warn_of_noise(self) -> None:
        """The repeats within batches differ by far more than the noise that was given."""
        self._contradicted = True
        notify(
            f"Repeats of one candidate differ {sqrt(self._squares / self._freedom):.3g} times as much as noise_std "
            "says, so that intervals are far too narrow. Give their standard deviation as noise_std, or leave it out, "
            "and it is learned.",
            SurprisingMeasurements,
        )
