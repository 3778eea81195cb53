"""Figures are drawn of anything, by name, and saved by the ending of a file's name."""

import subprocess
import sys
import warnings

import pytest

import scenarios
from ostinato import Category, Float, Optimizer, Space, optimize
from ostinato.candidates.reading import listed
from ostinato.errors import InvalidSetting, OstinatoWarning
from ostinato.plots import FIGURES, data, plot, save, ticks
from ostinato.plots.data.limits import limits
from ostinato.plots.drawing import numbers, style
from ostinato.plots.drawing.measured import short_labels
from ostinato.service.dashboard.charts import measured, scatter
from ostinato.service.dashboard.charts.frame import View

NAMES = list(FIGURES)


@pytest.mark.parametrize("make", scenarios.SMALL, ids=lambda make: make.__name__)
def test_every_figure_of_everything(make):
    opt = make()
    for name in NAMES:
        figure = plot(opt, name)
        assert figure.axes, name
        title = [axes.get_title(loc="left") for axes in figure.axes]
        assert any(title)


@pytest.mark.parametrize("make", [scenarios.empty, scenarios.all_failed, scenarios.long_names, scenarios.huge_values])
def test_figures_can_be_saved(make, tmp_path):
    opt = make()
    for kind, name in zip(("svg", "png", "pdf"), ("measurements", "parallel", "posterior"), strict=True):
        path = tmp_path / f"{name}.{kind}"
        save(plot(opt, name), path)
        assert path.read_bytes()[:4] in (b"<?xm", b"\x89PNG", b"%PDF")
    with pytest.raises(InvalidSetting, match=r"end its name in .svg, .png or .pdf"):
        save(plot(opt), tmp_path / "figure.jpg")


def test_axes_say_what_they_show():
    axes = plot(scenarios.minimized(), "posterior", columns=["temp"]).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("temp", "value (lower is better)")
    assert plot(scenarios.binary()).axes[0].get_xlabel() == "success rate"


def test_the_same_figure_gives_the_same_file():
    opt = scenarios.one_measurement()
    assert style.as_bytes(plot(opt), "svg") == style.as_bytes(plot(opt), "svg")


def test_methods_of_optimizers_and_results():
    result = optimize(lambda c: -((c["temp"] - 50) ** 2) + c["ph"], scenarios.grid(), budget=12, seed=1, progress=False)
    assert result.plot().axes[0].get_title(loc="left") == "Measurements by candidate"
    assert result.optimizer.plot("batches").axes
    assert result.plot("posterior", columns=["temp", "ph"]).axes


def test_a_figure_that_there_is_not():
    opt = scenarios.empty()
    with pytest.raises(InvalidSetting, match="'progres' is not a figure: give one of measurements, progress"):
        opt.plot("progres")
    with pytest.raises(InvalidSetting, match="goes with the figure 'posterior'"):
        opt.plot("noise", columns=["temp"])
    with pytest.raises(InvalidSetting, match="a study, an optimiser or a result, and not of int"):
        plot(3)


def test_labels_are_short_and_all_different():
    from ostinato.plots.data import measurements

    rows = measurements(scenarios.long_names()).rows
    labels = short_labels(rows)
    assert len(set(labels)) == len(labels)
    assert max(map(len, labels)) <= 36


def test_labels_have_fewer_digits_where_five_have_no_room():
    from ostinato import Float, Optimizer, Space
    from ostinato.plots.data import measurements

    names = ("rate", "alpha", "decay", "hidden")
    opt = Optimizer(Space(**{name: Float(1e-6, 1, log=True) for name in names}), seed=0)
    for step in range(3):
        opt.observe(dict.fromkeys(names, 0.012345678 * (1 + step)), [float(step)])
    assert short_labels(measurements(opt).rows)[-1] == "0.0123, 0.0123, 0.0123, 0.0123"
    opt.observe(dict.fromkeys(names, 0.5), [3.0])
    opt.observe(dict.fromkeys(names, 0.51234), [4.0])  # there is room for these
    assert short_labels(measurements(opt).rows)[0] == "0.512, 0.512, 0.512, 0.512"


@pytest.mark.parametrize(
    ("x", "among", "said"),
    [
        (2e-12, [0, 2e-12, 4e-12], "2e-12"),
        (2.5e12, [0, 2.5e12], "2.5e12"),
        (1200.0, [1000.0, 1200.0], "1,200"),
        (0.30000000000000004, [0.1, 0.2, 0.3], "0.3"),
        (1000.25, [1000.0, 1000.25], "1,000.25"),
        (1e-20, [0, 1], "0"),
    ],
)
def test_numbers_on_axes(x, among, said):
    assert ticks.number(x, among) == said


@pytest.mark.parametrize(
    ("low", "high", "name"),
    [
        (1e9, 1e9 + 1e-3, "value − 1e9"),
        (-1.0001e12, -0.9999e12, "value + 1e12"),
        (1000.0, 1000.001, "value − 1,000"),
        (0.0, 1e-9, "value"),
        (99.0, 101.0, "value"),
    ],
)
def test_a_small_range_about_a_large_number_is_shown_as_differences(low, high, name):
    figure = style.new_figure()
    axes = figure.add_subplot()
    axes.set_ylim(low, high)
    numbers.number_axis(axes.yaxis, "value\nof something")
    assert axes.get_ylabel() == f"{name}\nof something"
    style.as_bytes(figure, "svg")
    said = [each.get_text() for each in axes.get_yticklabels()]
    assert len(set(said)) == len(said)
    assert max(map(len, said)) <= 7


def test_names_in_other_scripts_and_lines(tmp_path):
    space = Space({"溶媒": Category("水", "丙酮\nacetone"), "\U000e0000": Float(0, 1, step=0.5)})
    opt = scenarios.run(Optimizer(space, seed=1), lambda c: len(c["溶媒"]), 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a font may lack a glyph
        save(plot(opt), tmp_path / "measured.png")
    assert "\n" not in "".join(each.get_text() for each in plot(opt).axes[0].get_yticklabels())


def test_labels_are_alike_and_names_without_room_stand_above_them():
    space = Space({"temp (°C)": Float(20, 80, step=5), "pH": Float(4, 9), "solvent": Category("water", "isopropanol")})
    opt = Optimizer(space, seed=1)
    opt.observe({"temp (°C)": 20, "pH": 5, "solvent": "water"}, [1.0, 2.0])  # with all names it would have room
    opt.observe({"temp (°C)": 25, "pH": 6.5, "solvent": "isopropanol"}, [3.0, 4.0])
    axes = plot(opt).axes[0]
    assert [each.get_text() for each in axes.get_yticklabels()] == ["25, 6.5, isopropanol", "20, 5, water"]
    assert "temp (°C), pH, solvent" in [each.get_text() for each in axes.texts]


def test_a_legend_has_as_many_columns_as_have_room():
    axes = style.new_figure().add_subplot()
    for label in ("measurement", "told as average ± std", "estimate", "recommended", "failed"):
        axes.plot([], [], label=label)
    style.dress(axes, "a title", legend=56)
    assert axes.get_legend()._ncols == 3
    style.dress(axes, "a title", legend=120)
    assert axes.get_legend()._ncols == 5


@pytest.mark.parametrize("length", [4, 20, 33])
def test_a_legend_does_not_reach_the_heading_beside_it(length):
    names = [f"{i}{'n' * (length - 1)}" for i in range(6)]
    opt = Optimizer(listed({"strain": names}), noise_std=1.0, seed=0)
    for i in range(6):
        opt.observe(i, [i + 0.5, i - 0.5])
    figure = plot(opt)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    heading = next(each for each in axes.texts if each.get_text() == "measured")
    assert not axes.get_legend().get_window_extent().overlaps(heading.get_window_extent())


def test_all_failed_is_said_in_words():
    axes = plot(scenarios.all_failed()).axes[0]
    assert "All 4 measurements failed: there is no value to show." in [each.get_text() for each in axes.texts]


def test_without_matplotlib_there_are_data_and_a_hint():
    code = """
import sys
sys.modules["matplotlib"] = None
import numpy, ostinato
from ostinato.plots import data
opt = ostinato.Optimizer(numpy.arange(3.0)[:, None], seed=1)
opt.observe(0, [1.0, 2.0])
assert data.measurements(opt).rows[0].n == 2
try:
    opt.plot()
except ostinato.errors.MissingSetting as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install '.[plots]' in a checkout, or 'WHEEL[plots]'" in done.stdout


def test_matplotlib_is_left_as_it_is():
    import matplotlib

    before = dict(matplotlib.rcParams)
    plot(scenarios.one_measurement(), "parallel")
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("wrong", [6950.0, -6950.0])
def test_a_typing_mistake_does_not_flatten_the_others(wrong):
    opt = Optimizer([[float(x)] for x in range(8)], seed=0)
    for row in range(8):
        opt.observe(row, [row + shift for shift in (-0.5, 0.0, 0.5)])
    assert data.measurements(opt).shown is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OstinatoWarning)
        opt.observe(3, [wrong])
        seen = data.measurements(opt)
        assert -20 < seen.shown[0] <= -0.5 < 7.5 <= seen.shown[1] < 20
        assert f"Beyond the axis, marked at its edge: {wrong:,.0f}" in seen.note
        low, high = plot(opt).axes[0].get_xlim()
        assert high - low < 50
        noise = plot(opt, "noise").axes[0]
        assert noise.get_ylim()[1] < 50
        assert noise.get_xlim()[1] - noise.get_xlim()[0] < 50
        low, high = plot(opt, "posterior").axes[0].get_ylim()
        assert high - low < 200
    drawn = str(measured.draw(seen, View()).drawing)
    assert drawn.count("value far") == 1
    assert "outside of the figure" in drawn
    assert str(scatter.draw(data.noise(opt), View()).drawing).count("value far") == 1


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.0, 2.0, 3.0, 1000.0], None),  # too few to say which is wrong
        ([0.0] * 30 + [1.0], None),  # yes and no
        ([1.0, 2.0, 3.0, 4.0, 5.0, 9.0], None),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 1000.0], (1.0, 5.0)),
        ([-1000.0, 1.0, 2.0, 3.0, 4.0, 5.0, 9.0], (1.0, 9.0)),
    ],
)
def test_what_an_axis_shows(values, shown):
    assert limits(values) == shown
    assert limits(values[::-1], [2.5]) == shown
