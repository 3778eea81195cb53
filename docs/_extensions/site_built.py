"""Looks at a site that was built, without a network: ``python docs/_extensions/site_built.py docs/_build/html``.

Every link within the site has to lead to a page and to a place on it, no page may load anything from elsewhere, and
none may name the folder in which it was built.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    """The places on a page, its links, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.places: set[str] = {"", "top"}
        self.links: list[str] = []
        self.loaded: list[str] = []
        text = path.read_text(encoding="utf-8")
        self.names_its_folder = f"{ROOT}/" in text
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.places.add(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)
            elif (tag, name) in LOADED and value and ("rel", "canonical") not in attrs:
                self.loaded.append(value)


def problems(folder: Path) -> list[str]:
    """What is wrong with a site, one sentence each."""
    listed = (path for path in folder.rglob("*.html") if "_static" not in path.parts)
    pages = {path.resolve(): Page(path) for path in listed}
    found: list[str] = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        found += [f"{name} names the folder {ROOT}."] * page.names_its_folder
        found += [f"{name} loads {each} from elsewhere." for each in page.loaded if urlsplit(each).netloc]
        inside = (
            each for each in (*page.links, *page.loaded) if not urlsplit(each).scheme and not each.startswith("//")
        )
        found += [
            f"{name} links to {each}: there is no such {what}."
            for each in inside
            if (what := missing(path, each, pages))
        ]
    return found


def missing(path: Path, link: str, pages: dict[Path, Page]) -> str:
    """What a link fails to find: a file, a place on a page, or nothing."""
    parts = urlsplit(link)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return "file"
    place = unquote(parts.fragment)
    return "place" if target in pages and place not in pages[target].places else ""


if __name__ == "__main__":
    built = Path(sys.argv[1])
    listed = problems(built)
    print(
        "\n".join(listed) if listed else f"{len(list(built.rglob('*.html')))} pages: all links within lead somewhere."
    )
    sys.exit(bool(listed))
