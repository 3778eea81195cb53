"""The exact Gaussian-process posterior on unique candidates."""

from ostinato.posterior.exact import Posterior

__all__ = ["Posterior"]
