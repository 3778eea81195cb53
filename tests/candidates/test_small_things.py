"""Spaces and files as people write them."""

import re

import numpy as np
import pytest

from ostinato import Float, Integer, Optimizer, Space
from ostinato.candidates import read_file
from ostinato.errors import IdentifierColumn, InvalidCandidates, InvalidSetting


def test_whole_numbers_on_a_logarithmic_scale():
    assert Integer(8, 512, log=True).size == 505
    assert Integer(8, 512, log=True, count=7).values == (8, 16, 32, 64, 128, 256, 512)
    assert Integer(0, 10, count=3).values == (0, 5, 10)
    space = Space(batch=Integer(8, 512, log=True, count=7), rate=Float(0.1, 1.0, count=3))
    assert len(space) == 21
    assert len(space.where(lambda c: c["batch"] > 100)) == 9
    opt = Optimizer(space, seed=0)
    assert isinstance(opt.ask().candidate["batch"], int)
    for wrong in (lambda: Integer(0, 8, log=True), lambda: Integer(1, 8, step=2, count=3)):
        with pytest.raises(InvalidSetting):
            wrong()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("temp,ph\n20,6\nNA,7\n30,8\n", "line 3: temp is 'NA', and a number elsewhere"),
        ('temp,ph\n"20,5",6\n"30,5",7\n', "line 2: temp is '20,5'. Write decimals with a point"),
        ('temp,ph\n20,6\n"30,5",7\n40,7\n', "line 3: temp is '30,5'. Write decimals with a point"),
    ],
)
def test_a_column_of_numbers_does_not_become_categories_without_a_word(tmp_path, text, words):
    (tmp_path / "lab.csv").write_text(text)
    with pytest.raises(InvalidCandidates, match=words):
        read_file(tmp_path / "lab.csv")


def test_semicolons_and_decimal_commas_are_read(tmp_path):
    (tmp_path / "lab.csv").write_text("temp;solvent\n20,5;water\n30;ethanol\n")
    table = read_file(tmp_path / "lab.csv")
    assert [table[0], table[1]] == [{"temp": 20.5, "solvent": "water"}, {"temp": 30.0, "solvent": "ethanol"}]


def test_codes_that_are_mostly_texts_stay_texts(tmp_path):
    (tmp_path / "lab.csv").write_text("code,x\nA1,1\nB2,2\n7,3\n")
    with pytest.warns(IdentifierColumn, match="'code'"):
        assert read_file(tmp_path / "lab.csv")[2]["code"] == "7"


def test_spaces_of_files(tmp_path):
    (tmp_path / "space.toml").write_text("[n]\nlow = 8\nhigh = 512\nlog = true\ncount = 4\ninteger = true\n")
    assert [read_file(tmp_path / "space.toml")[row]["n"] for row in range(4)] == [8, 32, 128, 512]
    (tmp_path / "space.toml").write_text('[s]\nlevels = "abc"\n')
    with pytest.raises(InvalidCandidates, match=r"levels = \[...\]"):
        read_file(tmp_path / "space.toml")


def test_a_setting_that_does_not_exist_suggests_what_is_near():
    from ostinato import optimize

    with pytest.raises(InvalidSetting) as error:
        optimize(float, [[1.0], [2.0]], budget=3, n_jobs=2)
    assert "Did you mean robust" not in str(error.value)


@pytest.mark.parametrize("name", ["workers", "n_jobs", "executor"])
def test_who_wants_several_workers_is_led_to_a_study(name):
    from ostinato import optimize

    said = f"There is no setting '{name}'. Several workers measure with ostinato.Study(…).run(f, budget, workers=…)."
    with pytest.raises(InvalidSetting, match=re.escape(said)):
        optimize(float, [[1.0], [2.0]], budget=3, **{name: 2})


def test_an_index_in_an_array_without_dimensions_is_an_index():
    opt = Optimizer([[1.0], [2.0], [3.0], [4.0]])
    opt.observe(np.array(3), [1.0])
    assert opt.counts() == {3: 1}


def test_a_text_in_a_column_of_numbers_is_shown_as_it_was_given():
    opt = Optimizer(Space(x=Float(0, 1), y=Float(0, 1)), seed=0)
    with pytest.raises(InvalidCandidates, match=r"Column 'x' holds text \('0.5', …\), which is not a plain number"):
        opt.observe({"x": "0.5", "y": 0.5}, 1.0)
