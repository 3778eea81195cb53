"""Ask and tell: the loop in the user's own hands, and the only place where it closes.

candidates → posterior → scores → batch → (evaluation by the user) → feedback → tally → posterior
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from math import sqrt
from typing import Any, Literal, cast

import numpy as np
from msgspec.structs import replace
from scipy.special import ndtri

from ostinato.arrays import Array, Matrix, Namespace, Vector, from_numpy, highest, lowest, to_numpy
from ostinato.candidates import read_candidates
from ostinato.checks import finite, fraction, whole
from ostinato.confidence import Progress
from ostinato.errors import (
    InvalidFeedback,
    InvalidSetting,
    NothingMeasured,
    NothingToAsk,
    SurprisingMeasurements,
    notify,
)
from ostinato.kernels import Kernel
from ostinato.ledger import Ledger
from ostinato.policies import Belief, MiniUCB, Policy, Proposal
from ostinato.posterior import Ahead, ExactGhost, Ghost, Model, Posterior
from ostinato.posterior.chance import chance_of_being_best
from ostinato.posterior.draws import PriorDraw, draw, prior_draw, square_root
from ostinato.records import Batch, Best, Certificate, Prediction
from ostinato.settings import checked_kernel, checked_policy, checked_round, generator, noise_variances, sign_of
from ostinato.tally import Statistics, Tally

JOINT = 5_000  # points whose covariance matrix is made
SURPRISE = 8.0  # prior standard deviations at which a measurement is surprising
NOISIER, ENOUGH = 2.0, 20  # times the given noise that repeats show, and degrees of freedom to say so
MANY = 16  # candidates told at once from which a rebuild is cheaper than one update each


class Optimizer:
    """Optimise a noisy function over a finite set of candidates by ask and tell.

    candidates: a 2-D array, a pandas, polars or pyarrow data frame, or a `Space`.
    policy: how candidates are picked and repeated; `MiniUCB()` by default.
    kernel: how much the values of two candidates have in common, as in `kernels.RBF(lengthscale=2.0, std=1.0)`.
    noise_std: standard deviation of one measurement's noise, in its own units; one number, or one a candidate.
    mean: the value expected of a candidate before anything is measured.
    direction: "maximize" or "minimize".
    seed: any seed of `numpy.random.default_rng`; the same seed gives the same run.
    block_size: how many candidates are scored at a time; by default all on a grid, else 16,384.
    xp: the array namespace to compute with; NumPy by default.

    An optimiser can be pickled and copied. It is not thread-safe: ask and tell from one thread, measure in many.
    """

    def __init__(
        self,
        candidates: Any,
        *,
        policy: Policy | None = None,
        kernel: Kernel | Callable[[Matrix, Matrix], Matrix] | None = None,
        noise_std: Any = None,
        mean: float = 0.0,
        direction: Literal["maximize", "minimize"] = "maximize",
        seed: Any = None,
        block_size: int | None = None,
        xp: Namespace = np,
    ) -> None:
        self._table = read_candidates(candidates)
        self._sign = sign_of(direction)
        self.policy: Policy = MiniUCB() if policy is None else checked_policy(policy)
        self.seed = np.random.SeedSequence().entropy if seed is None else seed
        self._rng = generator(self.seed)
        self._priority = self._rng.permutation(len(self._table))
        self._answers = self._rng.spawn(1)[0]
        self._model: Model = getattr(self.policy, "model", Posterior)(
            self._table.features,
            checked_kernel(kernel, self._table),
            noise_variances(noise_std, self._table),
            mean=self._sign * finite("mean", mean),
            xp=xp,
            block_size=None if block_size is None else whole("block_size", block_size),
        )
        self._exact: Posterior | None = None
        self._round: list[Proposal] = []
        self._tally = Tally()
        self._ledger = Ledger()
        self._log_det_0 = 0.0
        self._surprised = self._contradicted = False
        self._scatter = np.zeros(2)  # degrees of freedom of the repeats, and their squares over the noise
        self._chances: dict[tuple[int, int], float] = {}

    # What was done so far

    @property
    def steps(self) -> int:
        """Measurements taken in, asked for or not."""
        return self._tally.steps

    @property
    def epochs(self) -> int:
        """Batches that were answered, in full or in part."""
        return self._ledger.epochs

    @property
    def rounds(self) -> int:
        """Decisions: rounds of one batch or several, asked for without learning anything in between."""
        return self._ledger.rounds

    @property
    def switches(self) -> int:
        """Changes of candidate from one batch to the next."""
        return self._ledger.switches

    @property
    def unique(self) -> int:
        """Different candidates measured."""
        return len(self._tally)

    @property
    def in_flight(self) -> list[Batch]:
        """Batches asked and not yet answered in full."""
        return [lease.batch for lease in self._ledger.in_flight]

    @property
    def log_det(self) -> float:
        """log det(I + K_t/λ) of everything measured: twice the information gained, in nats."""
        return self._posterior.log_det

    @property
    def certificate(self) -> Certificate | None:
        """The bound on the number of full batches; None for policies that promise none."""
        per_batch = getattr(self.policy, "gain_of_full_batch", None)
        if per_batch is None:
            return None
        ledger = self._ledger
        gain = self._model.log_det - self._log_det_0
        return Certificate(ledger.full, ledger.capped, ledger.truncated, ledger.partial, gain, per_batch)

    # The loop

    def ask(self, limit: int | None = None) -> Batch:
        """The next candidate, and how often to measure it; at most `limit` times.

        Ask again before telling, and repeats in flight are counted as if they had come. A policy that decides rounds of
        several batches hands them out one by one, and decides them within the limit that was given when they began.
        """
        most = None if limit is None else whole("limit", limit)
        proposal = self._next(most)
        index = self._table.index_of(proposal.candidate)
        batch = Batch(
            self._ledger.asked,
            index,
            self._table[index],
            proposal.repeats,
            proposal.wanted or proposal.repeats,
            proposal.capped,
            proposal.truncated,
        )
        if self._ledger.asked == 0:
            self._log_det_0 = self._model.log_det
        self._ledger.lease(batch, proposal.candidate)
        return batch

    def tell(
        self,
        batch: Batch,
        values: Any = None,
        *,
        n: int | None = None,
        mean: float | None = None,
        std: float | None = None,
    ) -> None:
        """The answer to a batch: its values, or their count, mean and sample standard deviation.

        Fewer than asked is fine: tell the rest later, or `close` the batch. What is rejected changes nothing.
        """
        lease = self._ledger.find(batch)
        feedback = _statistics(values, n, mean, std)
        if feedback.n > lease.pending:
            raise InvalidFeedback(
                f"Batch {batch.id} waits for {lease.pending} of its {batch.repeats} repeats and was told {feedback.n}: "
                "tell at most those, and use observe(candidate, values) for the others."
            )
        self._take_in({lease.candidate: feedback})
        self._ledger.told(lease, feedback.n)
        self._remark({lease.candidate: feedback})

    def close(self, batch: Batch) -> None:
        """Give up the repeats of a batch that were not told; those that were, stay."""
        self._ledger.close(self._ledger.find(batch))

    def observe(
        self,
        candidate: Any,
        values: Any = None,
        *,
        n: int | None = None,
        mean: float | None = None,
        std: float | None = None,
    ) -> None:
        """Measurements that were not asked for: a warm start, logged data.

        candidate: an index or a row, with all its values (or their statistics); or many at once, a sequence of
        indices or a table of rows, with one value each. A flat array as long as a row is a row.
        """
        named = self._table.named_by(candidate)
        if isinstance(named, int) or len(named) == 1:
            number = named if isinstance(named, int) else named[0]
            feedback = {number: _statistics(values, n, mean, std)}
        elif values is None:
            raise InvalidFeedback(f"Statistics are told for one candidate at a time, and {len(named)} were given.")
        else:
            feedback = _one_value_each(named, values)
        self._take_in(feedback)
        self._remark(feedback)

    # Answers

    def predict(self, points: Any = None) -> Prediction:
        """Mean and standard deviation of f at all candidates, or at new points given like the candidates."""
        if points is None:
            mean, variance = (each[self._table.numbers] for each in self._posterior.over_candidates())
        else:
            mean, variance = self._posterior.predict(self._table.encode(points))
        return Prediction(self._sign * mean, np.sqrt(variance))

    def covariance(self, points: Any = None) -> Matrix:
        """The covariance matrix of f at candidates or new points (up to 5,000: it has a row and a column for each)."""
        return self._posterior.covariance(self._few_points(points))

    def sample(self, size: int = 1, points: Any = None) -> Matrix:
        """Joint draws of f from the posterior, one a row; at candidates or new points. Every call draws anew."""
        whole("size", size)
        if points is None and len(self._table) > JOINT:
            draws = np.stack([self._concatenated(self._draw(self._answers)) for _ in range(size)])
            return self._sign * draws[:, self._table.numbers]
        features = self._few_points(points)
        mean, _ = self._posterior.predict(features)
        root = square_root(self._posterior.covariance(features))
        return self._sign * (mean + self._answers.standard_normal((size, len(features))) @ root.T)

    def best(self, level: float = 0.95) -> Best:
        """The measured candidate with the best posterior mean: never the luckiest single value."""
        number, mean, std = self._leader()
        half = float(ndtri(0.5 + fraction("level", level) / 2)) * std
        index = self._table.index_of(number)
        return Best(
            index=index,
            candidate=self._table[index],
            mean=self._sign * mean,
            std=std,
            interval=(self._sign * mean - half, self._sign * mean + half),
            level=level,
            n=self._tally[number].n,
            chance=self._chance(number),
        )

    def leader(self) -> tuple[int, float, float]:
        """Index, posterior mean and standard deviation of the best candidate so far; cheaper than `best`."""
        number, mean, std = self._leader()
        return self._table.index_of(number), self._sign * mean, std

    # Inside

    def _next(self, most: int | None) -> Proposal:
        """The next proposal of the round, or of a new one; cut at `most`."""
        if not self._round:
            with self._whole():
                proposals = self.policy.propose(self._belief(), most)
            self._round = checked_round(self.policy, proposals, len(self._table))
            self._ledger.rounds += 1
        proposal = self._round.pop(0)
        if most is None or proposal.repeats <= most:
            return proposal
        return replace(proposal, repeats=most, truncated=True)

    def _belief(self) -> Belief:
        model, pending = self._model, self._ledger.pending
        model.refresh(self._rng)
        ghost, means, variances, covariance = model.ghost(), model.means, model.variances, model.covariance_with
        if pending:
            ahead = self._ahead(model, pending)
            ghost, variances = ahead.ghost, self._in_blocks(ahead.everywhere())
            covariance = partial(ahead.covariance, model.covariance_with)
        return Belief(
            means=means,
            variances=variances,
            top=max(map(highest, means)),
            bottom=min(map(lowest, means)),
            starts=model.starts,
            noise=model.noise,
            kappa=sqrt(model.kappa2),
            progress=Progress(self.steps, model.log_det, len(self._table)),
            priority=self._priority,
            rng=self._rng,
            variance=ghost.variance,
            covariance=covariance,
            counts=lambda: self._counts(pending),
            averages=lambda: {candidate: statistics.mean for candidate, statistics in self._tally},
            draw=lambda: self._draw_ahead(ghost, pending),
            ahead=lambda: self._ahead(model, pending),
        )

    def _ahead(self, model: Model, pending: Mapping[int, int]) -> Ahead:
        """The variances, with what is in flight counted as if it had come."""
        ahead = Ahead(model.variances, model.ghost())
        for candidate, n in pending.items():
            ahead.add(candidate, n)
        return ahead

    def _in_blocks(self, values: Vector) -> list[Array]:
        return [from_numpy(self._model.xp, part) for part in np.split(values, self._model.starts[1:])]

    @property
    def _posterior(self) -> Posterior:
        """The exact posterior, which gives all answers: the policy's own model, or made from the tally when asked."""
        if isinstance(self._model, Posterior):
            return self._model
        if self._exact is None:
            self._exact = Posterior.like(self._model)
            self._exact.rebuild(self._tally)
        return self._exact

    def _take_in(self, feedback: Mapping[int, Statistics]) -> None:
        """Feedback → posterior and tally: all of it, or, if anything stops that, none."""
        turned = {candidate: s if self._sign > 0 else -s for candidate, s in feedback.items()}
        with self._whole():
            if len(turned) < MANY:
                for candidate, statistics in turned.items():
                    self._model.condition(candidate, statistics.n, statistics.mean)
            else:
                self._model.rebuild(self._tally.plus(turned))
        self._exact = None
        for candidate, statistics in turned.items():
            self._tally.add(candidate, statistics)

    @contextmanager
    def _whole(self) -> Generator[None, None, None]:
        """Whatever stops the model half-way (a kernel that is refused, Ctrl-C), go back to what the facts say."""
        try:
            yield
        except NothingToAsk:
            raise
        except BaseException:
            self._model = self._model.restarted(self._tally)
            raise

    def _remark(self, feedback: Mapping[int, Statistics]) -> None:
        """Warnings, each at most once in a run; last of all, when the feedback is safe."""
        self._model.warn_where_float64_ends()
        for candidate, statistics in feedback.items():
            self._warn_of_surprise(candidate, statistics)
            self._warn_of_noise(candidate, statistics)

    def _warn_of_surprise(self, candidate: int, feedback: Statistics) -> None:
        """One warning, when a measurement is far from anything that prior mean and kernel allow for."""
        expected = self._sign * self._model.prior_mean
        spread = sqrt(self._model.kappa2 + float(self._model.noise[candidate]) / feedback.n)
        if abs(feedback.mean - expected) > SURPRISE * spread and not self._surprised:
            self._surprised = True
            notify(
                f"Measured {feedback.mean:.4g} where {expected:.4g} ± {spread:.2g} was expected of any candidate: the "
                "others are then misjudged. Set mean= to what a typical candidate gives, the kernel's std= to how much "
                "values vary, and noise_std= to how much repeats do.",
                SurprisingMeasurements,
            )

    def _warn_of_noise(self, candidate: int, feedback: Statistics) -> None:
        """One warning, when the repeats within batches differ by far more than the noise that was given."""
        noise = float(self._model.noise[candidate])
        self._scatter = self._scatter + np.array([feedback.n - 1, feedback.squares / noise])
        freedom, squares = self._scatter
        if freedom >= ENOUGH and squares > NOISIER**2 * freedom and not self._contradicted:
            self._contradicted = True
            notify(
                f"Repeats of one candidate differ {sqrt(squares / freedom):.3g} times as much as noise_std says, so "
                "that intervals are far too narrow. Give their standard deviation as noise_std.",
                SurprisingMeasurements,
            )

    def _counts(self, pending: Mapping[int, int]) -> dict[int, int]:
        """Measurements of every candidate, told and in flight."""
        told = {candidate: statistics.n for candidate, statistics in self._tally}
        return told | {candidate: told.get(candidate, 0) + n for candidate, n in pending.items()}

    def _leader(self) -> tuple[int, float, float]:
        if self.unique == 0:
            raise NothingMeasured(
                "Nothing was measured yet, so no candidate is best: tell or observe a measurement first."
            )
        believed = ((*self._posterior.at(number), number) for number, _ in self._tally)
        mean, variance, number = max(believed, key=lambda row: (row[0], -int(self._priority[row[2]])))
        return number, mean, sqrt(variance)

    def _chance(self, number: int) -> float:
        """Computed once for what is known now; by draws of its own, so that asking does not disturb the run."""
        key = (self.steps, number)
        if key not in self._chances:
            rng = np.random.default_rng((int(self._priority[0]), self.steps))
            self._chances = {key: chance_of_being_best(self._posterior, number, rng)}
        return self._chances[key]

    def _draw(self, rng: np.random.Generator) -> list[Array]:
        return draw(self._posterior, self._prior, self._posterior.unique, rng)

    def _draw_ahead(self, ghost: Ghost, pending: Mapping[int, int]) -> list[Array]:
        """A draw that counts what is in flight."""
        if not isinstance(ghost, ExactGhost):
            ghost = self._ahead(self._posterior, pending).ghost
        return draw(self._posterior, self._prior, cast("ExactGhost", ghost).unique, self._rng)

    @cached_property
    def _prior(self) -> PriorDraw:
        return prior_draw(self._model.kernel, self._table.features)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: all but the prior's draws, which are made again when they are needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_prior"}

    def _concatenated(self, blocks: list[Array]) -> Vector:
        return np.concatenate([to_numpy(block) for block in blocks])

    def _few_points(self, points: Any) -> Matrix:
        features = self._table.features[self._table.numbers] if points is None else self._table.encode(points)
        if len(features) > JOINT:
            raise InvalidSetting(
                f"{len(features):,} points are too many for a joint covariance, above {JOINT:,}: give fewer points."
            )
        return features


def _statistics(values: Any, n: int | None, mean: float | None, std: float | None) -> Statistics:
    if values is not None:
        if n is not None or mean is not None or std is not None:
            raise InvalidFeedback("Both values and statistics were given: give the values, or n=, mean= and std=.")
        return Statistics.of_values(values)
    if n is None or mean is None:
        raise InvalidFeedback("No feedback was given: give the measured values, or n=, mean= and std=.")
    return Statistics.of_summary(n, mean, std)


def _one_value_each(candidates: list[int], values: Any) -> dict[int, Statistics]:
    """The statistics of each candidate, from one value for each place in the list."""
    shape = np.shape(() if values is None else values)
    if shape != (len(candidates),):
        raise InvalidFeedback(f"{len(candidates)} candidates came with values of shape {shape}: give one for each.")
    Statistics.of_values(values)  # every one a finite number
    merged: dict[int, Statistics] = {}
    for candidate, value in zip(candidates, cast("list[float]", values), strict=True):
        merged[candidate] = merged.get(candidate, Statistics()) + Statistics(1, float(value))
    return merged
