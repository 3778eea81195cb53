"""Tables that scroll by themselves, by touch and by keyboard, so that the page never does."""

from collections.abc import Iterable

from ostinato.service.dashboard.html import Child, Html, caption, div, table, tbody, th, thead, tr


def heads_of(names: Iterable[str], numbers: Iterable[str] = ()) -> list[Html]:
    """The heads of columns; those of numbers are above their digits."""
    return [th(name, scope="col", class_="number" if name in numbers else None) for name in names]


def plain_table(title: str, heads: Iterable[Child], rows: Iterable[Child], class_: str | None = None) -> Html:
    """A table with a title for those who hear it."""
    return table(caption(title, class_="hidden"), thead(tr(*heads)), tbody(*rows), class_=class_)


def scrolling(title: str, *content: Child, class_: str = "card scrolls") -> Html:
    """What may be wider than the page."""
    return div(*content, class_=class_, tabindex="0", role="region", aria_label=title)


def scrolling_table(title: str, heads: Iterable[Child], rows: Iterable[Child], class_: str | None = None) -> Html:
    """A table that may be wider than the page."""
    return scrolling(title, plain_table(title, heads, rows, class_))
