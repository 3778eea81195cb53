"""The report: the answer first, nothing from elsewhere, and names that are only text."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import scenarios
from ostinato import Category, Float, Space, Study
from ostinato.plots import report

EVIL = "<script>alert(1)</script>"


class Reader(HTMLParser):
    """Tags, attributes and visible words of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.words = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    rng = np.random.default_rng(0)
    space = Space({EVIL: Category(EVIL, "plain & simple"), "x": Float(0, 1, step=0.1)})
    study = Study(EVIL, tmp_path_factory.mktemp("lab") / "lab.db", space, budget=30, seed=1)
    while (task := study.ask(worker='"><img src=x onerror=alert(2)>')) is not None:
        value = (task.candidate[EVIL] == EVIL) - (task.candidate["x"] - 0.6) ** 2
        study.tell(task, value + 0.1 * rng.standard_normal(task.repeats))
    return study


@pytest.fixture(scope="module")
def page(study):
    return report(study)


def test_the_answer_comes_first(study, page):
    words = " ".join(Reader(page).words)
    best = study.best()
    assert page.index('class="answer"') < page.index("<h2>")
    assert f"after {best.n} measurement" in words
    assert best.standing in words
    for heading in ("Why", "Figures", "Best candidates", "Batches", "Settings", "Where the values come from"):
        assert f"<h2>{heading}</h2>" in page
    assert page.count("<svg") == 7
    assert "prefers-color-scheme: dark" in page


def test_candidates_are_below_the_best_or_above_it(page):
    assert "below the best by at most" in page
    minimized = report(scenarios.minimized())
    assert "above the best by at most" in minimized
    assert "below the best by at most" not in minimized


def test_names_are_text(page):
    read = Reader(page)
    assert not {"script", "img", "iframe", "object", "link"} & set(read.tags) - {"image"}
    assert not [name for name, _ in read.attributes if name.startswith("on")]
    assert EVIL in "".join(read.words)


def test_nothing_comes_from_elsewhere(page):
    for name, value in Reader(page).attributes:
        if name in ("src", "href", "xlink:href", "action"):
            assert value.startswith(("#", "data:image/png;base64,")), value
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page


@pytest.mark.parametrize("make", [scenarios.empty, scenarios.all_failed, scenarios.one_measurement, scenarios.binary])
def test_reports_of_little(make):
    page = report(make())
    assert "<h1>Optimizer</h1>" in page
    assert "Traceback" not in page


def test_a_report_of_a_study_without_its_code(tmp_path):
    def cost(a, b):
        return 1.0

    study = Study("lab", tmp_path / "lab.db", scenarios.grid(), budget=5, seed=1, switch_cost=cost)
    study.observe({"temp": 40, "ph": 7}, [3.0])
    page = report(Study("lab", tmp_path / "lab.db"))
    assert "switch_cost" in page
