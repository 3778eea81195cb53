"""The ready problems, by name.

names()                              all names
load("rosenbrock", std=1.0)          a problem; options are those of `synthetic`, `table` or `nas101`
catalogue()                          sizes and noise laws of all, without reading any table
"""

from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from inspect import signature
from os import environ
from typing import Any

from ostinato.errors import InvalidSetting, MissingSetting
from ostinato.problems.base import Problem
from ostinato.problems.cells import CELLS, EDGES, INNER
from ostinato.problems.nasbench import ABOUT, VARIABLE, nas101
from ostinato.problems.synthetic import DIMENSION, NOISES, RECIPES, SIDE, STD, UNEVEN, synthetic
from ostinato.problems.tables import BENCHMARKS, name_of, size_of, table


@dataclass(frozen=True)
class Entry:
    """A ready problem in a listing. Where something has to be installed or given first, `missing` says what."""

    name: str
    group: str
    size: int | None
    columns: int | None
    noise: str
    about: str
    missing: str = ""


def names() -> list[str]:
    """The names that `load` knows."""
    return [name for members in groups().values() for name in members]


def groups() -> dict[str, list[str]]:
    """The names by family."""
    return {
        "synthetic": list(RECIPES),
        **{noise: [f"{function}-{noise}" for function in RECIPES] for noise in NOISES[1:]},
        **{family: [name_of(family, each) for each in source.sets] for family, source in BENCHMARKS.items()},
        "nas101": ["nas101"],
    }


def load(name: str, **options: Any) -> Problem:
    """A ready problem by name."""
    makers = _makers()
    if name not in makers:
        near = get_close_matches(str(name), names(), n=5, cutoff=0.4)
        hint = f"near names are {', '.join(near)}; all are" if near else "the names are"
        raise InvalidSetting(f"There is no problem {name!r}: {hint} {', '.join(names())}.")
    maker = makers[name]
    known = [option for option in signature(maker.func).parameters if option not in maker.keywords]
    for option in options:
        if option not in known:
            raise InvalidSetting(f"Problem {name!r} has no option {option!r}: its options are {', '.join(known)}.")
    return maker(**options)


def catalogue() -> list[Entry]:
    """Every ready problem with its size and noise law, as `load` makes it without options."""
    return [*_synthetic_entries(), *_table_entries(), _nas101_entry()]


def _makers() -> dict[str, partial[Problem]]:
    makers: dict[str, partial[Problem]] = {"nas101": partial(nas101)}
    for function in RECIPES:
        for noise in NOISES:
            name = function if noise == "gaussian" else f"{function}-{noise}"
            makers[name] = partial(synthetic, function=function, noise=noise)
    for family, source in BENCHMARKS.items():
        for each in source.sets:
            makers[name_of(family, each)] = partial(table, benchmark=family, dataset=each)
    return makers


def _synthetic_entries() -> list[Entry]:
    laws = {
        "synthetic": "Gaussian, std {std}",
        "coco": "loss × exp({beta:g}·N(0, 1))",
        "uneven": "Gaussian, std {low:g} to {high:g}",
        "setups": "Gaussian, std {std}, partly the set-up's",
    }
    told = {"std": STD, "low": STD / UNEVEN, "high": STD * UNEVEN}
    return [
        Entry(name, group, SIDE**DIMENSION, DIMENSION, law.format(beta=recipe.beta, **told), recipe.about)
        for group, law in laws.items()
        for name, recipe in zip(groups()[group], RECIPES.values(), strict=True)
    ]


def _table_entries() -> list[Entry]:
    entries: list[Entry] = []
    for family, source in BENCHMARKS.items():
        size, columns, missing = _extent(family)
        entries += [
            Entry(name_of(family, each), family, size, columns, f"one of {source.repeats}", source.title(each), missing)
            for each in source.sets
        ]
    return entries


def _extent(family: str) -> tuple[int | None, int | None, str]:
    """Rows and columns of a family's tables; or what is missing to know them."""
    try:
        return *size_of(family), ""
    except MissingSetting as error:
        return None, None, str(error)


def _nas101_entry() -> Entry:
    missing = "" if environ.get(VARIABLE) else f"needs its official file: set {VARIABLE} to its path, or give path=…"
    return Entry("nas101", "nas101", CELLS, EDGES + INNER, "one of 3 trainings", ABOUT, missing)
