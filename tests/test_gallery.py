"""The stories of the gallery: their form, the names they use, and that the short ones run. `make docs` runs all."""

import ast
import importlib
import re
import warnings
from pathlib import Path

import pytest
import site_stories

from documents import ROOT

GALLERY = ROOT / "docs" / "gallery"
STORIES = sorted(GALLERY.glob("plot_*.py"))
SHORT = ("repairing_a_mistake", "adding_conditions", "drift")  # some seconds each
FEWER = [("range(40)", "range(1)"), ("range(4)", "range(1)")]  # seeds
PUBLIC = {"ostinato", "ostinato.errors", "ostinato.policies", "ostinato.stopping", "ostinato.problems"} | {
    "ostinato.kernels",
    "ostinato.experiments",
    "ostinato.confidence",
    "ostinato.plots",
}


def imports(story: Path) -> list[tuple[str, str]]:
    """Modules and names of Ostinato that a story imports."""
    tree, found = ast.parse(story.read_text(encoding="utf-8")), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(each.name, "") for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.module or "", each.name) for each in node.names]
    return [(module, name) for module, name in found if module.partition(".")[0] == "ostinato"]


def test_every_story_has_its_place():
    assert sorted(f"plot_{name}.py" for name in site_stories.STORIES) == [story.name for story in STORIES]
    place = site_stories.Place("gallery")
    assert place("plot_own_policy.py") == site_stories.STORIES.index("own_policy")


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.stem)
def test_a_story_imports_only_public_names(story):
    assert imports(story)
    for module, name in imports(story):
        assert module in PUBLIC, f"{story.name} imports {module}"
        found = importlib.import_module(module)
        names = getattr(found, "__all__", None) or [each for each in vars(found) if not each.startswith("_")]
        assert not name or name in names, f"{story.name} imports {module}.{name}"


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.stem)
def test_a_story_has_a_title_a_figure_with_names_on_its_axes_and_a_last_word(story):
    text = story.read_text(encoding="utf-8")
    compile(text, story.name, "exec")
    title, line, *_ = ast.get_docstring(ast.parse(text)).splitlines()
    assert re.fullmatch("=+", line)
    assert len(line) == len(title)
    assert "xlabel" in text or "set_xlabel" in text or ".plot(" in text
    assert text.count("plt.subplots") <= text.count("label=")
    assert "# What to take away\n# ----" in text
    assert "seed" in text


@pytest.mark.parametrize("name", SHORT)
def test_a_short_story_runs(name, monkeypatch):
    text = (GALLERY / f"plot_{name}.py").read_text(encoding="utf-8")
    for many, few in FEWER:
        text = text.replace(many, few)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    with warnings.catch_warnings():
        plt = importlib.import_module("matplotlib.pyplot")
        plt.switch_backend("Agg")
        monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
        exec(compile(text, f"plot_{name}.py", "exec"), {"__name__": "__main__"})
