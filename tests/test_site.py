"""What the documentation site holds, as far as that can be seen without building it. `make site` builds it."""

import re
from fnmatch import fnmatch

import pytest
import site_api
import site_built
import site_commands
import site_docstrings
import site_http
import site_pages

import ostinato
from documents import ROOT
from ostinato.cli.commands import COMMANDS, loaded
from ostinato.service.openapi import description
from ostinato.service.routes import ROUTES

DOCS = ROOT / "docs"
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
GENERATED = ("api/index", "project/", "reference/commands", "reference/http", "stories/index")


def listed():
    """The entries of all tables of contents."""
    texts = (page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    lines = (line for text in texts for table in TOCTREE.findall(text) for line in table.splitlines())
    return [line for line in lines if line and not line.startswith(":")]


def test_every_page_is_in_a_table_of_contents():
    for page in DOCS.glob("*.md"):
        assert page.stem == "index" or any(fnmatch(page.stem, entry) for entry in listed()), page.name


def test_every_entry_of_a_table_of_contents_is_a_page():
    for entry in listed():
        assert entry.startswith(GENERATED) or any(DOCS.glob(f"{entry}.md")), entry


def test_every_public_name_is_in_the_reference():
    text = "".join(site_api.pages().values())
    for name in ostinato.__all__:
        assert re.search(rf":: ostinato(\.policies)?\.{name}$", text, flags=re.MULTILINE), name
    for module in ("kernels", "policies", "plots", "errors", "stopping", "confidence"):
        for name in site_api.public(getattr(ostinato, module)):
            assert f":: ostinato.{module}.{name}\n" in text, f"{module}.{name}"
    for name in vars(ostinato.errors):
        assert not name[0].isupper() or f":: ostinato.errors.{name}\n" in text, name
    for name in ("botorch.OstinatoModel(", "ax.OstinatoNode(", "mlflow.log_to_mlflow("):  # read, not imported
        assert f":: ostinato.integrations.{name}" in text, name


def test_authors_of_policies_and_kernels_find_what_they_need_and_no_method_twice():
    policies, kernels = (site_api.pages()[name] for name in ("policies", "kernels"))
    assert ":: ostinato.policies.BlockedVector\n" in policies
    for member in ("means", "variances", "progress"):
        assert getattr(ostinato.policies.Belief, member).__doc__, member
    assert all(page.count(":special-members: __call__") == page.count("autoclass::") for page in (policies, kernels))
    assert "inherited-members" not in policies + kernels
    assert re.search(r"kernels\.Linear\n.*\n.*\n   :exclude-members: __call__, diag, bind\n", kernels)


def test_every_command_and_option_is_in_the_reference():
    text = site_commands.page()
    for name in COMMANDS:
        section = text.partition(f"## ostinato {name}\n")[2].partition("\n## ")[0]
        assert section, name
        for parameter in loaded(name).params:
            names = [each for each in parameter.opts if each.startswith("-") and parameter.name != "help"]
            assert all(each in section for each in names), f"{name} {names}"
    assert "[bold]" not in text
    assert "bound method" not in text


def test_every_request_is_in_the_reference():
    text = site_http.page()
    for path, methods in description(ROUTES)["paths"].items():
        for method in methods:
            assert f"\n{method.upper()} {path}\n" in text


@pytest.mark.parametrize(
    ("plain", "made"),
    [
        (
            ["budget: how many", "    there are", "seed: a number"],
            ["- **budget**: how many", "  there are", "- **seed**: a number"],
        ),
        (
            ["a: one. b: two", "    words; c: three"],
            ["- **a**: one.", "- **b**: two", "  words;", "- **c**: three"],
        ),
        (["See `Study`s and ``x * y``."], ["See ``Study``\\ s and ``x * y``\\ ."]),
        (["all* of a_ | b"], ["all\\* of a\\_ \\| b"]),
        (["As here", "", "    a = b"], ["As here", "", "", "::", "", "    a = b"]),
    ],
)
def test_docstrings_become_restructured_text(plain, made):
    assert site_docstrings.convert(plain) == made


def test_data_without_words_of_its_own_is_listed_by_name():
    lines = [*(dict.__doc__ or "").splitlines()]
    site_docstrings.process(None, "data", "ALL", {"first": 1, "second": 2}, None, lines)
    assert lines == ["By name: ``first``, ``second``."]


def test_defaults_that_are_not_code_become_code():
    """Sphinx shows a signature that it cannot read as it stands, with the marks of its own that it should follow."""
    shown, _ = site_docstrings.shorten(
        None, "class", "", None, None, "(units: dict[str, str] = <factory>, kind: ~abc.A = <class 'a.b.RBF'>)", None
    )
    assert shown == "(units: dict[str, str] = ..., kind: ~abc.A = RBF)"


def test_what_is_wrong_with_a_site_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="top">x</h1><a href="b.html#there">x</a><a href="https://x.org">x</a>')
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    assert site_built.problems(tmp_path) == []
    (tmp_path / "e.html").write_text(f"<p>{ROOT}/.venv</p>")
    (tmp_path / "c.html").write_text(
        '<a href="b.html#elsewhere">x</a><a href="d.html">x</a><script src="https://x.org/y.js"></script>'
    )
    assert sorted(site_built.problems(tmp_path)) == [
        "c.html links to b.html#elsewhere: there is no such place.",
        "c.html links to d.html: there is no such file.",
        "c.html loads https://x.org/y.js from elsewhere.",
        f"e.html names the folder {ROOT}.",
    ]


def test_links_to_files_outside_lead_to_pages_or_become_words():
    content = ["[a](../CHANGELOG.md#x) [b](../README.md) [c](../src/ostinato/demo.py) [`d`](../LICENSE) [e](http.md)"]
    site_pages.lead_inside(None, "guide", content)
    assert content == ["[a](project/changelog.md#x) [b](index.md) c (`src/ostinato/demo.py`) `d` [e](http.md)"]


def test_files_of_the_root_are_pages():
    pages = site_pages.generated()
    assert pages["project/contributing.md"].startswith("# Contributing\n")
    assert "[Architecture](../architecture.md)" in pages["project/contributing.md"]
    assert pages["project/changelog.md"].startswith("# Changelog\n")


def test_links_to_stories_lead_to_their_pages():
    content = ["[a story](gallery/plot_drift.py)"]
    site_pages.lead_inside(None, "guide", content)
    assert content == ["[a story](stories/plot_drift.rst)"]


def test_long_pages_begin_with_their_contents():
    """Three screens are some 450 words and blocks; readers of a phone have no list beside the page."""
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if len(text.split()) < 700 or text.count("\n## ") < 4:
            continue
        before = text.partition("\n## ")[0]
        assert len(set(re.findall(r"\]\((#[^)]+)\)", before))) >= 3, f"{page.name} has no list of its sections"


MEASURED = re.compile(r"\d\.\d|\d ?(?:%|s|ms|MB|GB)\b|± ?\d")
COMMAND = re.compile(r"python -m benchmarks|python docs/|make [a-z]|ostinato (?:compare|reproduce)")


def sections(text):
    """Every section of a page: its heading, its text, and the text of the sections that it lies in."""
    open_ones = [(0, "", "")]
    for part in re.split(
        r"^(?=#{1,4} )", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), flags=re.M
    ):
        heading = re.match(r"(#*)(.*)", part)
        open_ones = [each for each in open_ones if each[0] < len(heading[1])]
        yield heading[2].strip(), part, "".join(each[2] for each in open_ones)
        open_ones.append((len(heading[1]), heading[2], part))


def test_tables_of_measurements_name_the_command_that_made_them():
    for page in sorted(DOCS.glob("*.md")):
        for heading, text, around in sections(page.read_text(encoding="utf-8")):
            for table in re.findall(r"^\|[-|]+\|\n((?:^\|.*\n)+)", text, flags=re.MULTILINE):
                rows = [bool(MEASURED.search(re.sub(r"`[^`]*`", "", row))) for row in table.splitlines()]
                if sum(rows) >= 2 and 2 * sum(rows) >= len(rows):
                    assert COMMAND.search(text + around), f"{page.name}, {heading}: {table.splitlines()[0]}"
