"""What notebooks show: small, and names as text."""

import numpy as np
import pytest

import scenarios
from ostinato import Category, Optimizer, Space, Study, optimize

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def result():
    space = Space(kind=Category(EVIL, "plain"))
    return optimize(lambda c: float(len(c["kind"])), space, budget=8, seed=1, progress=False)


def test_every_answer_has_html_in_which_names_are_text(result, tmp_path):
    study = Study(EVIL, tmp_path / "lab.db", Space(kind=Category(EVIL, "plain")), seed=1)
    study.observe({"kind": EVIL}, [1.0, 2.0])
    plan = Optimizer(Space(kind=Category(EVIL, "plain")), seed=1).ask(slots=2)
    for what in (result, result.best, result.optimizer, study, plan, scenarios.empty(), scenarios.all_failed()):
        html = what._repr_html_()
        assert "<script" not in html
        assert html.startswith("<div>")
        assert len(html) < 10_000
    assert "&lt;script&gt;" in study._repr_html_()
    assert ">so far</th>" in study._repr_html_()


def test_no_colour_that_a_dark_notebook_would_hide(result):
    html = result._repr_html_()
    assert "color:" not in html
    assert "background:none" in html


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_measurements_as_a_frame(library):
    import narwhals as nw

    opt = scenarios.with_failures()
    frame = nw.from_native(opt.to_frame(library))
    assert frame.columns == ["number", "batch", "row", "temp", "ph", "value", "stderr", "count", "std"]
    assert len(frame) == opt.steps + opt.failures
    assert frame["number"].to_list() == list(range(1, len(frame) + 1))
    assert frame["value"].dtype == frame["std"].dtype == nw.Float64
    values = frame["value"].to_numpy()
    assert np.count_nonzero(np.isnan(values.astype(float))) == opt.failures
    assert type(opt.to_frame(library)).__module__.startswith(library)


def test_the_library_is_that_of_the_candidates():
    import pandas
    import polars

    for library in (pandas, polars):
        opt = Optimizer(library.DataFrame({"x": [1, 2, 3], "value": [4.0, 5.0, 6.0]}), seed=1)
        opt.observe(0, [1.5, 2.5], stderr=[0.1, 0.2])
        opt.observe(1, n=10, mean=3.0, std=0.5)
        frame = opt.to_frame()
        assert isinstance(frame, library.DataFrame)
        assert list(frame["study's value"]) == [1.5, 2.5, 3.0]
        assert list(frame["value"]) == [4.0, 4.0, 5.0]
        assert list(frame["count"]) == [1, 1, 10]
        assert list(frame["stderr"])[:2] == [0.1, 0.2]


def test_a_study_has_one_row_a_measurement_also_when_it_is_opened_again(tmp_path):
    study = Study("lab", tmp_path / "lab.db", scenarios.grid(), budget=12, seed=1)
    result = study.run(scenarios.hill, progress=False)
    again = Study("lab", tmp_path / "lab.db")
    for what in (result, study, again):
        assert len(what.to_frame("pandas")) == 12
    assert result.to_frame("polars").equals(again.to_frame("polars"))


def test_a_library_that_there_is_not():
    with pytest.raises(ValueError, match="library='dplyr' is unknown: give 'pandas', 'polars' or 'pyarrow'"):
        scenarios.one_measurement().to_frame("dplyr")
