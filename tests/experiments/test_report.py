"""The report: complete, in one file, safe, and legible in a terminal."""

import csv
import re
from html.parser import HTMLParser
from io import StringIO

import numpy as np
import pytest
from msgspec import structs
from rich.console import Console

from ostinato.experiments import report, summary
from ostinato.experiments.records import Run

FILES = (
    {"regret.png", "unique.png", "rounds.png", "seconds.png"}
    | {"results.csv", "summary.csv", "settings.csv"}
    | {"runs.csv", "ratios.csv"}
)


def runs_of(algorithms=summary.ORDER, problems=("hill", "dale"), seeds=3):
    """Fresh runs, the GP-TS family's shorter; and three settings of each algorithm but uniform tried before."""
    rng, made = np.random.default_rng(0), []
    for problem in problems:
        for i, algorithm in enumerate(algorithms):
            for seed in range(seeds):
                rate = 1 if algorithm == "uniform" else 0.5 + 0.03 * i
                made.append(
                    run("report", problem, algorithm, {"C": 1.5}, 100 + seed, rate, rng, long=algorithm != "GP-TS")
                )
                if algorithm != "uniform":
                    made += [run("choose", problem, algorithm, {"C": C}, seed, rate, rng) for C in (1.1, 1.5, 2.0)]
    return made


def run(stage, problem, algorithm, settings, seed, rate, rng, *, long=False):
    t = np.geomspace(10, 10_000 if long else 1000, 10 if long else 7).round().astype(int)
    counts = np.ceil(t**0.4).astype(int).tolist()
    regret, seconds = t**rate * np.exp(0.1 * rng.standard_normal()), 1e-4 * t * rng.uniform(1, 2)
    lists = {"unique": counts, "rounds": counts, "switches": counts, "seconds": seconds.tolist()}
    lists["simple"] = float(rng.uniform(0, 0.1))
    return Run(stage, problem, algorithm, settings, seed, int(t[-1]), t=t.tolist(), regret=regret.tolist(), **lists)


class Tags(HTMLParser):
    """Every tag closed in its turn, what they refer to, and the text between."""

    def __init__(self, page):
        super().__init__()
        self.open, self.references, self.text = [], [], ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.references += [value for name, value in attributes if name.split(":")[-1] in ("src", "href")]

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "new" / "folder"
    page = report.write(
        runs_of(),
        folder,
        title="Experiment <1>",
        facts=[("machine", "2 cores & a fan"), ("command", "ostinato run > log")],
        notes=["Costly algorithms ran for a tenth of the time.", "<script>alert('no')</script>"],
    )
    return folder, page.read_text(encoding="utf-8")


def test_all_files_are_written(written):
    folder, _ = written
    assert {path.name for path in folder.iterdir()} == FILES | {"report.html"}
    for name in ("regret", "unique", "rounds", "seconds"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_the_page_stands_alone(written):
    _, page = written
    tags = Tags(page)
    assert all(reference.startswith("#") for reference in tags.references)
    assert not re.search(r"<script|<link|<img|@import|url\((?!#)", page)
    assert len(page.encode()) < 3_000_000
    assert page.count("<svg ") == 4


def test_the_page_tells_everything(written):
    _, page = written
    text = Tags(page).text
    for word in (
        *summary.ORDER,
        "hill",
        "dale",
        "Experiment <1>",
        "2 cores & a fan",
        "ostinato run > log",
        "alert('no')",
    ):
        assert word in text
    assert "the paper chose and reported on the same seeds" in text
    assert "100% is the mean regret of all candidates" in text
    assert text.count("On 3 seeds after 10,000 measurements; † on 3 seeds after 1,000 measurements.") == 2
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_the_best_regret_is_bold_and_short_runs_are_marked(written):
    _, page = written
    assert page.count("<td><b>mini-GP-UCB</b></td>") == 2  # on either problem; its regret falls fastest
    assert page.count('<tr class="quiet">') == 4  # in either table
    assert page.count("†1,000") == 2


def table_in(path):
    return list(csv.DictReader(StringIO(path.read_text(encoding="utf-8"))))


def test_tables_for_a_spreadsheet(written):
    folder, _ = written
    rows = {name: table_in(folder / name) for name in FILES if name.endswith("csv")}
    assert len(rows["summary.csv"]) == 2 * len(summary.ORDER)
    assert {row["algorithm"] for row in rows["summary.csv"] if row["short"] == "True"} == {"GP-TS"}
    settings = rows["settings.csv"]
    assert len(settings) == 2 * (3 * (len(summary.ORDER) - 1) + 1)  # three tried of each, and uniform's, which were not
    assert sum(row["used"] == "True" for row in settings) == 2 * len(summary.ORDER)
    assert {row["algorithm"] for row in settings if row["stage"] == "report"} == {"uniform"}
    assert len(rows["ratios.csv"]) == 2 * len(summary.ORDER) * (len(summary.ORDER) - 1)
    assert all(float(row["simple"]) < 0.1 for row in rows["summary.csv"])
    assert {
        row["simple_difference"] for row in rows["ratios.csv"] if "GP-TS" in (row["algorithm"], row["against"])
    } == {"nan"}
    assert sum(bool(row["simple"]) for row in rows["runs.csv"]) == 2 * 3 * len(summary.ORDER)
    assert len(rows["results.csv"]) == sum(len(run.t) for run in runs_of())


def test_without_uniform_and_BBKB(tmp_path):
    page = report.write(runs_of(("mini-GP-UCB", "GP-EI"), ("hill",)), tmp_path, title="Two").read_text(encoding="utf-8")
    text = Tags(page).text
    assert "not normalised" in text
    assert "hill: ratios to mini-GP-UCB" in text
    assert "% of uniform" not in " ".join(text.split())


def test_settings_that_were_given(tmp_path):
    runs = [run for run in runs_of(("mini-GP-UCB", "uniform"), ("hill",)) if run.stage == "report"]
    text = Tags(report.write(runs, tmp_path, title="Given").read_text(encoding="utf-8")).text
    assert "They were given" in text
    assert "chose" not in text
    assert "C=1.5given" in text
    assert "mini-GP-UCB  C=1.5  given" in printed(report.text_tables(runs))


def test_simple_regret_stands_in_every_table():
    mini, other = (
        [run("report", "hill", name, {}, seed, 0.5, np.random.default_rng(0)) for seed in range(2)]
        for name in ("mini-GP-UCB", "BBKB")
    )
    runs = [structs.replace(run, simple=0.0125) for run in mini] + [structs.replace(run, simple=0.02) for run in other]
    text = printed(report.text_tables(runs))
    assert "1.25 ± 0.00" in text
    assert "-0.75 ± 0.00" in text
    old = [structs.replace(run, simple=None) for run in runs]
    assert "1.25 ± 0.00" not in printed(report.text_tables(old))


def test_settings_alone_make_a_page_without_figures(tmp_path):
    runs = [run for run in runs_of(("BBKB",)) if run.stage == "choose"]
    text = Tags(report.write(runs, tmp_path, title="Choosing").read_text(encoding="utf-8")).text
    assert "Settings" in text
    assert "Results" not in text
    assert not (tmp_path / "regret.png").exists()


def printed(tables, width=100):
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        for table in tables:
            console.print(table)
    return capture.get()


def test_tables_fit_a_terminal_of_a_hundred_columns():
    text = printed(report.text_tables(runs_of(problems=("hill", "a problem with quite a long name, 12 dimensions"))))
    assert "…" not in text
    assert max(len(line) for line in text.splitlines()) <= 100
    for word in (*summary.ORDER, "ratios to BBKB", "Settings", "regret, % of", "†1,000", "C=1.5"):
        assert word in text


def test_labels_are_no_markup():
    text = printed(report.text_tables(runs_of(("BBKB", "[bold]mine[/]"), ("[red]hill",))))
    assert "[bold]mine[/]" in text
    assert "[red]hill" in text
