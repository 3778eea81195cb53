"""Studies of large tables: candidates are stored in blocks and read as they are needed, and the last answer is shown
for as long as it holds.
"""

import shutil
from time import monotonic, sleep

import numpy as np
import polars as pl
import pytest
from sqlalchemy import text

from ostinato import Study
from ostinato.errors import Damaged, StudyDiffers
from ostinato.study import Rescued, verify
from terminal import PATIENCE

ROWS = 12_000  # more than are stored as a list
RNG = np.random.default_rng(0)
FRAME = pl.DataFrame(
    {
        "temp": RNG.random(ROWS),
        "layers": np.arange(ROWS),
        "solvent": RNG.choice(["water", "none"], ROWS),
    }
)
MORE = pl.DataFrame({"temp": [0.5, 0.25], "layers": [-1, -2], "solvent": ["ethanol", "water"]})


def measure(candidate):
    return -((candidate["temp"] - 0.5) ** 2) + 1e-6 * candidate["layers"]


def measured(address, budget=8):
    study = Study("large", address, FRAME, budget=budget, seed=0, noise_std=0.1)
    study.run(measure, progress=False)
    return study


def changed(study, statement):
    with study.storage._transaction(write=True) as connection:
        connection.execute(text(statement))


@pytest.fixture
def no_model(monkeypatch):
    """From now on whoever makes an optimiser fails."""

    def forbid():
        def fail(*_, **__):
            raise AssertionError("A model was made.")

        monkeypatch.setattr("ostinato.study.replica.Optimizer", fail)

    yield forbid
    monkeypatch.undo()


def test_rows_are_read_as_they_were_given(address, tmp_path):
    Study("large", address, FRAME, seed=0)
    again = Study("large", address)
    for row in (0, 7, ROWS - 1):
        assert again.candidate(row) == FRAME.row(row, named=True)
    assert [again.table[row] for row in range(100)] == FRAME.head(100).to_dicts()
    assert verify(again.storage, "large") == []
    FRAME.write_parquet(tmp_path / "same.parquet")
    assert Study("large", address, pl.read_parquet(tmp_path / "same.parquet")).table.rows == ROWS
    assert Study("large", address, FRAME.to_pandas()).table.rows == ROWS


def test_other_candidates_are_refused_and_the_difference_is_shown(any_address):
    Study("large", any_address, FRAME, seed=0)
    other = FRAME.with_columns(layers=pl.when(pl.col("layers") == 11_111).then(-5).otherwise(pl.col("layers")))
    with pytest.raises(StudyDiffers, match="row 11111, column 'layers': 11111 is stored, and -5 was given"):
        Study("large", any_address, other)
    with pytest.raises(StudyDiffers, match=r"row 0, column 'layers': 0 is stored, and 0\.0 was given"):
        Study("large", any_address, FRAME.with_columns(layers=pl.col("layers").cast(pl.Float64)))
    with pytest.raises(StudyDiffers, match="row 3, column 'temp'"):
        Study("large", any_address, FRAME[[0, 1, 2, 4, 3, *range(5, ROWS)]])
    with pytest.raises(StudyDiffers, match="2 rows more"):
        Study("large", any_address, pl.concat([FRAME, MORE]))


@pytest.mark.parametrize("how", ["add", "extend"])
def test_candidates_are_added(address, how):
    study = Study("large", address, FRAME, seed=0)
    if how == "add":
        assert study.add(pl.concat([FRAME.head(3), MORE])) == [ROWS, ROWS + 1]
    else:
        Study("large", address, pl.concat([FRAME, MORE]), extend=True)
    for each in (study, Study("large", address)):
        assert each.candidate(ROWS) == MORE.row(0, named=True)
        assert each.candidate(5) == FRAME.row(5, named=True)
        assert each.table.rows == ROWS + 2
        assert each.status().candidates == ROWS + 2
    assert verify(study.storage, "large") == []
    assert Study("large", address, pl.concat([FRAME, MORE])).index({"temp": 0.25, "layers": -2, "solvent": "water"})


def test_the_last_answer_is_shown_without_a_model(any_address, no_model):
    study = measured(any_address)
    best, status = study.optimizer.best(), study.status()
    no_model()
    again = Study("large", any_address)
    assert str(again.status()) == str(status)
    assert str(again.best()) == str(best)
    assert again.best().candidate == best.candidate == FRAME.row(best.index, named=True)


def test_what_took_a_model_is_stored_for_the_next_who_asks(any_address, no_model):
    Study("large", any_address, FRAME, budget=5, seed=0, noise_std=0.1).observe(3, [1.0, 2.0])
    best = Study("large", any_address).best()
    no_model()
    assert str(Study("large", any_address).best()) == str(best)
    assert Study("large", any_address).status().unique == 1


def test_looking_does_not_wait_for_whoever_writes(address, no_model, long_waits):
    study = Study("large", address, FRAME, budget=5, seed=0, noise_std=0.1)
    study.observe(3, [1.0, 2.0])
    looking, start = Study("large", address), monotonic()
    with study.storage.write("large"):
        best = looking.best()
        assert str(looking.status().best) == str(best)
    assert monotonic() - start < long_waits
    assert str(Study("large", address).best()) == str(best)  # and this one is stored
    no_model()
    assert str(Study("large", address).best()) == str(best)


CHANGES = {
    "told": lambda study: study.tell(study.ask(), [0.3]),
    "asked": lambda study: study.ask(),
    "observed": lambda study: study.observe(3, [50.0, 51.0]),
    "taken back": lambda study: study.retract(number=1),
    "corrected": lambda study: study.correct(number=2, new=40.0),
    "retired": lambda study: study.retire([study.best().index]),
    "added": lambda study: study.add(MORE),
    "budget": lambda study: study.allow(100),
}


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """The file of a study whose answer is stored."""
    path = tmp_path_factory.mktemp("large") / "lab.db"
    study = measured(path)
    study.allow(20)
    study.keep_answer()
    study.storage.close()
    return path


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_answer_is_never_stale(answered, tmp_path, change):
    shutil.copy(answered, tmp_path / "lab.db")
    study = Study("large", tmp_path / "lab.db")
    before = study.status()
    change(study)
    fresh = Study("large", tmp_path / "lab.db")
    status, best = fresh.status(), fresh.optimizer.best()
    assert (status.best.index, status.best.n, status.best.mean) == pytest.approx((best.index, best.n, best.mean))
    assert str(fresh.best()) == str(best)
    assert status.candidates == ROWS - len(study.retired) + (study.table.rows - ROWS)
    if "observe" in str(change.__code__.co_names):
        assert status.best.index == 3 != before.best.index


def test_an_answer_is_stored_while_everybody_measures(any_address):
    study = Study("large", any_address, FRAME, budget=2, seed=0, noise_std=0.1)
    seen, calls = [], []

    def slow(candidate):
        calls.append(candidate)
        other, start = Study("large", any_address), monotonic()
        while len(calls) == 2 and monotonic() - start < PATIENCE and not seen:
            sleep(0.1)
            seen.extend(each for each in [other._stored.read(lambda reader: reader.answer())] if each is not None)
        return 1.0

    study.run(slow, progress=False)
    assert seen


def test_answers_that_rest_on_code_are_not_stored(tmp_path):
    def kernel(x, y):
        return np.exp(-((x[:, None, 0] - y[None, :, 0]) ** 2))

    study = Study("large", tmp_path / "lab.db", FRAME[:, :1], budget=3, seed=0, kernel=kernel, noise_std=0.1)
    study.run(lambda candidate: candidate["temp"], progress=False)
    assert study.best().n
    looked = Study("large", tmp_path / "lab.db").status()
    assert looked.best is None
    assert looked.missing == ("kernel",)


def test_a_damaged_answer_is_as_good_as_none(any_address):
    study = measured(any_address)
    best = study.best()
    changed(study, "UPDATE answers SET data = moment_of.state FROM studies AS moment_of")
    assert str(Study("large", any_address).best()) == str(best)


def test_damaged_candidates_are_noticed(address):
    study = measured(address)
    changed(study, "UPDATE blocks SET data = studies.state FROM studies")
    assert any("block 0 of its candidates" in problem for problem in verify(study.storage, "large"))
    for read in (lambda study: study.candidate(3), lambda study: study.table):
        with pytest.raises(Damaged, match="block 0 of its candidates"):
            read(Study("large", address))
    with pytest.raises(Damaged):
        Rescued(study.storage, "large")
    changed(study, "DELETE FROM blocks")
    assert any("blocks" in problem for problem in verify(study.storage, "large"))


def test_a_study_that_is_deleted_leaves_nothing(address):
    study = measured(address)
    study.storage.delete("large")
    with study.storage._transaction(write=False) as connection:
        for table in ("blocks", "answers", "tables"):
            assert connection.execute(text(f"SELECT count(*) FROM {table}")).scalar() == 0


def test_a_block_of_candidates_that_is_lost_is_told(any_address, monkeypatch):
    monkeypatch.setattr("ostinato.candidates.blocks.SIZE", 5_000)
    study = Study("large", any_address, FRAME, seed=0)
    changed(study, "DELETE FROM blocks WHERE number = 1")
    with pytest.raises(Damaged, match="in 3 blocks, and 2 are there"):
        Study("large", any_address, budget=5).ask()


def test_an_answer_of_another_version_is_none(any_address, monkeypatch):
    study = measured(any_address)
    best = study.best()
    monkeypatch.setattr("ostinato.study.answer._version", lambda: "another")
    again = Study("large", any_address).best()
    assert again.index == best.index
    assert again.mean == pytest.approx(best.mean)
