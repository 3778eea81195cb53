"""What is known: the tally of measurements, the prior, and the model that both make, kept in step.

Feedback is taken in whole or not at all. The model is a function of prior and tally; the prior is given, or learned
from the tally on a growing schedule.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import cached_property
from math import sqrt
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Array, Matrix, Namespace, Vector, from_numpy, to_numpy
from ostinato.diagnose import Returns
from ostinato.errors import NothingMeasured, NothingToAsk
from ostinato.learning import Learner, Prior, Shrinking
from ostinato.posterior import Ahead, ExactGhost, Ghost, Model, Posterior
from ostinato.posterior.draws import PriorDraw, draw, prior_draw
from ostinato.tally import Statistics, Tally

MANY = 16  # candidates told at once from which a rebuild is cheaper than one update each


class Knowledge:
    """Tally, prior and model.

    make: from a prior to the model that the policy sees, nothing measured. learner: what changes the prior as
    measurements come, if anything does.
    """

    def __init__(
        self,
        features: Matrix,
        prior: Prior,
        learner: Learner | Shrinking | None,
        make: Callable[[Prior, Namespace], Model],
        xp: Namespace,
        *,
        by_setup: bool,
    ) -> None:
        self.features, self.prior, self.learner, self._make = features, prior, learner, make
        self.tally = Tally(by_setup=by_setup)
        self.model = make(prior, xp)
        self.returns = Returns()
        self._exact: Posterior | None = None

    # Taking in

    def take_in(self, feedback: Mapping[int, Statistics], setup: int) -> None:
        """Feedback → model and tally: all of it, or, if anything stops that, none."""
        tally = self.tally.plus(feedback, setup)
        with self.whole():
            if self.learner is None or not self.learner.due(tally) or not self._relearned(self.learner, tally):
                self._condition(feedback, tally, setup)
        for candidate, statistics in feedback.items():
            self.returns = self.returns.after(self.tally[candidate], statistics)
        self._exact, self.tally = None, tally

    @contextmanager
    def whole(self) -> Generator[None, None, None]:
        """Whatever stops the model half-way (a kernel that is refused, Ctrl-C), go back to what the facts say."""
        try:
            yield
        except NothingToAsk:
            raise
        except BaseException:
            self.model = self.model.restarted(self.prior.evidence(self.tally))
            raise

    def _relearned(self, learner: Learner | Shrinking, tally: Tally) -> bool:
        """Whether there are new hyper-parameters, and so a new model with all that was measured."""
        prior = learner.learn(tally)
        if prior is self.prior:
            return False
        model = self._make(prior, self.model.xp)
        model.rebuild(prior.evidence(tally))
        self.prior, self.model = prior, model
        self.__dict__.pop("_prior_draw", None)
        return True

    def _condition(self, feedback: Mapping[int, Statistics], tally: Tally, setup: int) -> None:
        added = {c: self.prior.addition(self.tally, c, statistics, setup) for c, statistics in feedback.items()}
        if len(added) >= MANY or None in added.values():
            self.model.rebuild(self.prior.evidence(tally))
            return
        for candidate, worth in added.items():
            self.model.condition(candidate, cast("Statistics", worth).n, cast("Statistics", worth).mean)

    # Looking

    @property
    def posterior(self) -> Posterior:
        """The exact posterior, which gives all answers: the policy's own model, or made from the tally when asked.

        A policy may look away from how bad the bad candidates are; answers do not.
        """
        looks_away = self.prior.hides(self.tally)
        if isinstance(self.model, Posterior) and not looks_away:
            return self.model
        if self._exact is None:
            prior = self.prior
            if looks_away and isinstance(self.learner, Learner):
                prior = self.learner.for_answers(self.tally)
            self._exact = Posterior.like(self.model, prior.kernel, prior.noise, prior.mean)
            self._exact.rebuild(prior.evidence(self.tally))
        return self._exact

    def leader(self, priority: NDArray[np.int64]) -> tuple[int, float, float]:
        """Number, mean and standard deviation of the measured candidate with the highest mean, in "
        "the exact posterior."""
        self.check_measured()
        numbers, means, variances = self.at_measured(self.posterior)
        place = int(np.lexsort((priority[numbers], -means))[0])
        return int(numbers[place]), float(means[place]), sqrt(float(variances[place]))

    def check_measured(self) -> None:
        if len(self.tally) == 0:
            raise NothingMeasured(
                "Nothing was measured yet, so no candidate is best: tell or observe a measurement first."
            )

    def at_measured(self, model: Model) -> tuple[NDArray[np.int64], Vector, Vector]:
        """Number, mean and variance of every measured candidate."""
        numbers = np.array([number for number, _ in self.tally], dtype=np.int64)
        block = np.searchsorted(model.starts, numbers, side="right") - 1
        means, variances = np.empty(len(numbers)), np.empty(len(numbers))
        for i in range(len(model.starts)):
            here = np.flatnonzero(block == i)
            places = numbers[here] - model.starts[i]
            means[here], variances[here] = (to_numpy(part[i])[places] for part in (model.means, model.variances))
        return numbers, means, variances

    def counts(self, pending: Mapping[int, int]) -> dict[int, int]:
        """Measurements of every candidate, told and in flight."""
        told = {candidate: int(statistics.n) for candidate, statistics in self.tally}
        return told | {candidate: told.get(candidate, 0) + n for candidate, n in pending.items()}

    # Looking ahead

    def ahead(self, pending: Mapping[int, int], model: Model | None = None) -> Ahead:
        """The variances, with what is in flight counted as if it had come."""
        model = model or self.model
        ahead = Ahead(model.variances, model.ghost())
        for candidate, n in pending.items():
            ahead.add(candidate, self.prior.worth(candidate, Statistics(n)))
        return ahead

    def in_blocks(self, values: Vector) -> list[Array]:
        return [from_numpy(self.model.xp, part) for part in np.split(values, self.model.starts[1:])]

    def draw(self, rng: np.random.Generator) -> list[Array]:
        """A function from the posterior, at all candidates."""
        return draw(self.posterior, self._prior_draw, self.posterior.unique, rng)

    def draw_ahead(self, ghost: Ghost, pending: Mapping[int, int], rng: np.random.Generator) -> list[Array]:
        """A draw that counts what is in flight."""
        if not isinstance(ghost, ExactGhost):
            ghost = self.ahead(pending, self.posterior).ghost
        return draw(self.posterior, self._prior_draw, cast("ExactGhost", ghost).unique, rng)

    @cached_property
    def _prior_draw(self) -> PriorDraw:
        return prior_draw(self.model.kernel, self.features)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: all but the prior's draws, which are made again when they are needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_prior_draw"}
