"""The page on integrations shows the tables of the runs that are kept."""

from benchmarks.integrations.__main__ import with_tables

from documents import ROOT


def test_the_tables_of_the_page_are_those_of_the_runs():
    page = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    assert with_tables(page, ROOT / "docs" / "results" / "integrations") == page
