"""The documents say what the results beside them say."""

import importlib.util
import re
from pathlib import Path

import pytest

from documents import BLOCK, PAGES
from ostinato.cli.commands import COMMANDS, loaded

DOCS = Path(__file__).parent.parent / "docs"
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", flags=re.MULTILINE)


def test_the_tables_of_the_results_are_those_of_the_files():
    spec = importlib.util.spec_from_file_location("results", DOCS / "results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.page() == (DOCS / "results.md").read_text(encoding="utf-8")


def anchors(page):
    """The names that GitHub gives to a page's headings."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    words = (re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()) for heading in HEADING.findall(text))
    return {each.strip().replace(" ", "-") for each in words}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page):
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        found = page.parent / path if path else page
        assert found.exists(), f"{page.name} links to {target}: there is no such file"
        if anchor:
            assert anchor in anchors(found), f"{page.name} links to {target}: there is no such heading"


def test_the_page_on_the_command_line_shows_every_command_and_option():
    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"ostinato {name}" in text, name
        for option in loaded(name).params if name in ("optimize", "ask") else ():
            names = [each for each in (*option.opts, *option.secondary_opts) if each.startswith("--")]
            assert not names or any(each in text for each in names), f"{name} {names}"
