"""Ostinato inside other libraries. Each module needs its library, and none is imported before it is used."""

from typing import TYPE_CHECKING

from ostinato.lazy import lazily

if TYPE_CHECKING:
    from ostinato.integrations import optuna, sklearn
    from ostinato.integrations.optuna import OstinatoSampler
    from ostinato.integrations.sklearn import OstinatoSearchCV

__all__ = ["OstinatoSampler", "OstinatoSearchCV", "optuna", "sklearn"]

__getattr__, __dir__ = lazily(
    __name__,
    {"optuna": ["OstinatoSampler"], "sklearn": ["OstinatoSearchCV"]},
    modules=["optuna", "sklearn"],
)
