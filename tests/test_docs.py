"""The documents say what the results beside them say."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def test_the_tables_of_the_results_are_those_of_the_files():
    spec = importlib.util.spec_from_file_location("results", DOCS / "results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.page() == (DOCS / "results.md").read_text(encoding="utf-8")


def test_every_figure_that_is_shown_is_there():
    for page in DOCS.glob("*.md"):
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("!["):
                assert (DOCS / line.partition("](")[2].rstrip(")")).is_file(), line
