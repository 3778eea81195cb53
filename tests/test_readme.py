"""Every example of the documents runs as it stands there, and prints what the page shows. `documents.py` says how."""

import os
import re
import sys

import pytest

import ostinato
from documents import PAGES, ROOT, Shown, blocks, masked, run_page

README = (ROOT / "README.md").read_text(encoding="utf-8")
RUN = [page for page in PAGES if any(b.language in ("python", "console") for b in blocks(page.read_text("utf-8")))]


@pytest.mark.filterwarnings("ignore::ostinato.errors.SuspiciousMeasurement")
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_and_print_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setattr(sys, "path", [*sys.path])
    for each in run_page(page.read_text(encoding="utf-8"), tmp_path):
        assert each.right, f"{page.name} shows of {each.what!r}:\n{each.shown}\nand it prints:\n{each.printed}"
        if page.stem == "integrations":
            assert bears_out(each.shown), f"{page.name} shows what its text contradicts:\n{each.shown}"
            assert bears_out(each.printed), f"{page.name} prints what its text contradicts:\n{each.printed}"


def bears_out(output):
    """Whether the numbers of docs/integrations.md are such as its text says, which no comparison of words can see."""
    lucky = re.search(r"Optuna says ([\d.]+)\n.*?}: ([\d.]+) ", output)
    fits = re.search(r"([\d.]+) fits for each of the 20 poorest, ([\d.]+) for each of the 10 best", output)
    if lucky and not float(lucky[1]) > float(lucky[2]):
        return False
    return not fits or (1 <= float(fits[1]) < 2.5 and float(fits[2]) > 2 * float(fits[1]))


def test_every_page_with_code_is_run():
    assert {page.stem for page in RUN} >= {"README", "guide", "concepts", "command-line", "studies", "guarantees"}
    for page in PAGES:  # a language that nobody runs would be an example that nobody checks
        for block in blocks(page.read_text(encoding="utf-8")):
            assert block.language in ("python", "console", "text") or block.words, f"{page.name}: {block.text}"


def test_the_numbers_of_the_readme_are_those_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.environ["PATH"])
    python, output = blocks(README)[:2]
    (found,) = run_page(f"```python\n{python.text}```\n\n```text\n{output.text}```\n", tmp_path)
    assert found.printed.partition(" (95%")[0] == output.text.partition(" (95%")[0]


@pytest.mark.parametrize(
    ("shown", "printed", "right"),
    [
        ("best 1.5 (of 2)\n", "best   -17 (of 3,000)\n", True),
        ("best 1.5\n", "worst 1.5\n", False),
        ("best 1.5\n", "best 1.5\nand more\n", False),
        ("a\n…\nz\n", "a\nb\nc\nz\n", True),
        ("a\n…\nz\n", "a\nb\nc\n", False),
        ("within 0.4 of the best with 90% probability", "the best of all with 97% probability", True),
    ],
)
def test_a_page_that_shows_something_else_is_found(shown, printed, right):
    assert Shown("", shown, printed, 0, 0).right is right


@pytest.mark.parametrize(
    ("output", "right"),
    [
        ("Optuna says 1.020\n{'k': 4}: 0.8973 (95% interval …)", True),
        ("Optuna says 0.820\n{'k': 4}: 0.8973 (95% interval …)", False),
        ("1.4 fits for each of the 20 poorest, 8.0 for each of the 10 best\n", True),
        ("1.4 fits for each of the 20 poorest, 1.5 for each of the 10 best\n", False),
        ("5.0 fits for each of the 20 poorest, 15.0 for each of the 10 best\n", False),
    ],
)
def test_numbers_that_contradict_the_page_of_integrations_are_found(output, right):
    assert bears_out(output) is right


def test_what_fails_on_a_page_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.environ["PATH"])
    for number, page in enumerate(
        ("```python\n1 / 0\n```\n", "```console\n$ ostinato best no.db\n```\n", "```console\n$ false\n```\n")
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises((ZeroDivisionError, AssertionError)):
            run_page(page, folder)


def test_numbers_and_widths_do_not_count():
    assert masked(" a   1,234.5 ─────\n b -3e-05") == "a # b #"


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 160


def test_the_readme_names_every_command_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test", "check", "bench"):
        assert f"make {target}" in README
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_the_citation_is_of_this_version_and_of_the_paper():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {ostinato.__version__}\n" in citation
    assert "Evaluating a Few Unique Candidates Multiple Times" in citation


def test_examples_of_contributing_are_short():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lengths = [len(block.text.splitlines()) for block in blocks(text) if block.language == "python"]
    assert len(lengths) == 4
    assert max(lengths) < 40
