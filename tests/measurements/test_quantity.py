"""The name and the unit of what is measured, from the settings to answers, figures and reports."""

import numpy as np
import pytest

from ostinato import Optimizer, Study
from ostinato.errors import InvalidSetting, StudyDiffers
from ostinato.plots.figures import series_of
from ostinato.plots.page import report

X = np.arange(6.0)[:, None]


def measured(what):
    for value in (3.0, 5.0, 4.0):
        what.observe(int(value), value)
    return what


def test_answers_say_name_and_unit():
    words = str(measured(Optimizer(X, value="yield", unit="%", seed=0)).best())
    assert ": yield " in words
    assert " % (95% interval" in words


def test_nothing_is_said_where_nothing_was_given():
    best = measured(Optimizer(X, seed=0)).best()
    assert (best.quantity.name, best.quantity.unit) == ("value", "")
    assert str(best).startswith(f"{best.candidate}: {best.mean:.1f}"[:-1])


def test_a_study_keeps_them_and_figures_and_reports_show_them(tmp_path):
    file = tmp_path / "lab.db"
    measured(Study("lab", file, X, value="yield", unit="mg/l", seed=0))
    study = Study("lab", file)
    assert study.quantity.label == "yield (mg/l)"
    assert "yield" in str(study.status())
    assert series_of(study, "measurements").value == "yield (mg/l)"

    assert "yield (mg/l)" in report(study)
    with pytest.raises(StudyDiffers, match="value='yield'"):
        Study("lab", file, value="purity")


@pytest.mark.parametrize(
    "given", [{"value": ""}, {"value": 3}, {"unit": "x" * 61}, {"unit": "a\nb"}, {"unit": "%", "outcome": "binary"}]
)
def test_what_is_not_a_name_is_refused(given):
    with pytest.raises(InvalidSetting):
        Optimizer(X, **given)
