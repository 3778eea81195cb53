"""A list of what is on a page, below its title, for pages that are made from code and grow long.

The theme shows such a list beside the page, on a phone behind a button. Pages that are written have one of their own.
"""

from fnmatch import fnmatch
from typing import Any

from docutils import nodes
from sphinx import addnodes

PAGES = ("api/[!i]*", "api/integrations*", "project/changelog", "stories/plot_*")
FEWEST = 2


def places(document: nodes.document) -> list[tuple[str, str]]:
    """What the list names, each with the place on the page: public names, otherwise sections."""
    names = [
        (each[0]["ids"][0], each[0]["fullname"].rpartition(".")[2])
        for each in document.findall(addnodes.desc)
        if not isinstance(each.parent, addnodes.desc_content) and each[0].get("ids") and each[0].get("fullname")
    ]
    _title, *sections = document.findall(nodes.section)
    return names or [(each["ids"][0], each[0].astext()) for each in sections]


def add(_app: Any, document: nodes.document, docname: str) -> None:
    """Put the list below the title, and below the sentence that follows it."""
    if not any(fnmatch(docname, pattern) for pattern in PAGES):
        return
    listed = places(document)
    if len(listed) < FEWEST:
        return
    line = nodes.paragraph(classes=["on-this-page"])
    for number, (place, words) in enumerate(listed):
        line += [nodes.Text(" · ")] if number else []
        line += nodes.reference("", words, internal=True, refid=place)
    top = next(document.findall(nodes.section))
    after = 2 if len(top) > 1 and isinstance(top[1], nodes.paragraph) else 1
    top.insert(after, line)


def setup(app: Any) -> dict[str, Any]:
    """Join in."""
    app.connect("doctree-resolved", add)
    return {"parallel_read_safe": True}
