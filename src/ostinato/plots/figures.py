"""Figures by name: what each shows, its data, and how it is drawn. matplotlib is imported when one is drawn."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ostinato.errors import InvalidSetting, MissingSetting, installing
from ostinato.plots import data
from ostinato.plots.data import Drawable, Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT = "measurements"


class Kind(NamedTuple):
    """A figure: its data, the module that draws it, and what it shows."""

    data: Callable[..., Series]
    module: str
    title: str
    words: str


FIGURES = {
    "measurements": Kind(
        data.measurements,
        "measured",
        "Measurements by candidate",
        "Every repeat of the best measured candidates, and the estimate of each with its 95% interval.",
    ),
    "progress": Kind(
        data.progress,
        "timeline",
        "Recommended value as measurements came in",
        "What was recommended at up to 40 moments, with its 95% interval, each from the measurements up to then alone.",
    ),
    "posterior": Kind(
        data.posterior,
        "slices",
        "Estimate along a column",
        "What the model believes along one column, or over two, through the best candidate, with what was measured.",
    ),
    "parallel": Kind(
        data.parallel,
        "tops",
        "Columns of the best candidates",
        "The best candidates as lines across all columns: where they agree, and where it does not matter.",
    ),
    "batches": Kind(
        data.batches,
        "lengths",
        "Batch lengths and switches",
        "How many measurements each batch had, and how switches and costs added up.",
    ),
    "noise": Kind(
        data.noise,
        "scatter",
        "Noise by candidate",
        "How repeats of each candidate scatter, beside the noise that the model holds true.",
    ),
    "calibration": Kind(
        data.calibration,
        "coverage",
        "Calibration",
        "How far batches came out from what was predicted when each was asked for, and how often intervals held.",
    ),
}


def plot(what: Drawable, name: str = DEFAULT, *, columns: Sequence[str | int] = ()) -> "Figure":
    """A figure of a study, an optimiser or a result: "measurements", "progress", "posterior", "parallel", "batches",
    "noise" or "calibration".

    columns: for "posterior", the column along which it is drawn, or two of them.
    """
    return drawn(series_of(what, name, columns=columns), name)


def series_of(what: Drawable, name: str, *, columns: Sequence[str | int] = ()) -> Series:
    """The data of a figure."""
    kind = FIGURES.get(name)
    if kind is None:
        raise InvalidSetting(f"{name!r} is not a figure: give one of {', '.join(FIGURES)}.")
    if columns and name != "posterior":
        raise InvalidSetting(f"columns={list(columns)!r} goes with the figure 'posterior', and not with {name!r}.")
    return kind.data(what, columns) if columns else kind.data(what)


def drawn(series: Series, name: str) -> "Figure":
    """The figure of some data; one that says what is missing, where there is nothing to draw."""
    style, kind = drawing("style"), FIGURES[name]
    with style.styled():
        if series.missing:
            return style.empty_figure(series, kind.title)
        return drawing(kind.module).draw(series)


def save(figure: "Figure", path: Path | str) -> None:
    """Write a figure to a file, as SVG, PNG or PDF by the ending of its name."""
    drawing("style").save(figure, Path(path))


def drawing(module: str) -> Any:
    """A module that draws; an error that says how to get matplotlib where it is not installed."""
    try:
        return import_module(f"ostinato.plots.drawing.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise MissingSetting(f"Figures need the package matplotlib: {installing('plots')}.") from error
