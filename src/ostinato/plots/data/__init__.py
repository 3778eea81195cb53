"""The data of each figure, without drawing it: frozen records made from a study, an optimiser or a result.

One function a figure: `progress(study)` gives a `Progress`. All of it is JSON by `msgspec.json.encode`. Nothing here
needs matplotlib, and nothing changes what it looks at.
"""

from ostinato.plots.data.axes import Axis
from ostinato.plots.data.by_candidate import Average, CandidateRow, Measurements, measurements
from ostinato.plots.data.common import Series
from ostinato.plots.data.coverage import Calibration, Residual, Share, calibration
from ostinato.plots.data.lengths import BatchBar, Batches, batches
from ostinato.plots.data.scatter import Noise, Scatter, noise
from ostinato.plots.data.slices import Dot, Slice, posterior
from ostinato.plots.data.timeline import Moment, Progress, progress
from ostinato.plots.data.tops import Line, Parallel, parallel
from ostinato.plots.source import Drawable

__all__ = [
    "Average",
    "Axis",
    "BatchBar",
    "Batches",
    "Calibration",
    "CandidateRow",
    "Dot",
    "Drawable",
    "Line",
    "Measurements",
    "Moment",
    "Noise",
    "Parallel",
    "Progress",
    "Residual",
    "Scatter",
    "Series",
    "Share",
    "Slice",
    "batches",
    "calibration",
    "measurements",
    "noise",
    "parallel",
    "posterior",
    "progress",
]
