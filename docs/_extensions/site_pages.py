"""Writes the pages that are made from the code or from files at the root of the repository, before Sphinx reads them.

Links from a page to such a file, as in ../CHANGELOG.md, work on GitHub as they stand; here they lead to the page.
"""

import re
from pathlib import Path
from typing import Any

import site_api
import site_commands
import site_http
from docutils import nodes
from pygments.lexers.special import TextLexer

DOCS = Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
}
FOLDER = re.compile(r"\[([^\]]+)\]\(results/\w+\)")
STORY = re.compile(r"\]\(gallery/(plot_\w+)\.py\)")  # the script, and on the site the page that it makes
AS_DRAWN = re.compile(r"dashboard/|plots/map\.svg$")
ROOTED = re.compile(r"\[([^\]\n]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
LINK = re.compile(r"\[([^\]\n]*)\]\(\.\./([^)#\s]+)(#[^)\s]*)?\)")


def generated() -> dict[str, str]:
    """The text of every generated page, by its path below docs."""
    found = {"reference/commands.md": site_commands.page(), "reference/http.md": site_http.page()}
    found |= {f"api/{name}.rst": text for name, text in site_api.pages().items()}
    for source, target in OUTSIDE.items():
        if target.startswith("project/") and (ROOT / source).exists():
            found[target] = ROOTED.sub(_moved, (ROOT / source).read_text(encoding="utf-8"))
    return found


def _moved(link: re.Match[str]) -> str:
    """A link of a file at the root, as a page one folder below docs has it; what is not on the site becomes words."""
    words, target, place = link[1], link[2], link[3] or ""
    if target.startswith("docs/"):
        return f"[{words}](../{target.removeprefix('docs/')}{place})"
    if target in OUTSIDE and (ROOT / target).exists():
        return f"[{words}](../{OUTSIDE[target]}{place})"
    return words if words.startswith("`") else f"{words} (`{target}`)"


def write(_app: Any) -> None:
    """Write what has changed, so that Sphinx need not read the rest again."""
    for name, text in generated().items():
        path = DOCS / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def lead_inside(_app: Any, docname: str, content: list[str]) -> None:
    """Links of a page to files at the root become links to the pages that show them, or words."""
    if "/" not in docname:
        text = STORY.sub(r"](stories/\1.rst)", FOLDER.sub(r"`\1`", content[0]))
        content[0] = LINK.sub(_inside, text)


def _inside(link: re.Match[str]) -> str:
    words, target, place = link[1], link[2], link[3] or ""
    if target in OUTSIDE and (ROOT / target).exists():
        return f"[{words}]({OUTSIDE[target]}{place})"
    return words if words.startswith("`") else f"{words} (`{target}`)"


def mark_pictures(_app: Any, document: nodes.document) -> None:
    """Pictures that site.css shows in the dark as they are: of the dashboard, and maps."""
    for image in document.findall(nodes.image):
        if AS_DRAWN.match(image["uri"]):
            image["classes"].append("as-drawn")


def setup(app: Any) -> dict[str, Any]:
    """Join in."""
    app.connect("builder-inited", write)
    app.connect("source-read", lead_inside)
    app.connect("doctree-read", mark_pictures)
    app.add_lexer("csv", TextLexer)
    return {"parallel_read_safe": True}
