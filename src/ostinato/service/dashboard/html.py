"""HTML from Python: whatever is not made here is text, and is escaped.

`div("a < b", class_="note")` is `<div class="note">a &lt; b</div>`. Markup is `Html`; joined with other text by `+` or
an f-string it becomes plain text again, and is escaped like all text. So a mistake shows markup, and never runs it.
"""

from collections.abc import Iterable
from functools import partial
from html import escape
from typing import Any, TypeAlias

VOID = frozenset({"input", "meta", "link", "br", "hr", "img", "col"})
Child: TypeAlias = "str | int | float | Iterable[Child] | None"


class Html(str):
    """Text that is markup already."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def tag(name: str, /, *children: Child, **attributes: Any) -> Html:
    """An element. `class_`, `hx_get` and `aria_label` become class, hx-get and aria-label; None and False: left out."""
    start = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(start) if name in VOID else Html(f"{start}{joined(*children)}</{name}>")


def joined(*children: Child) -> Html:
    """Children one after the other, text escaped."""
    return Html("".join(map(_child, children)))


def _child(child: Child) -> str:
    if isinstance(child, Html):
        return str.__str__(child)
    if child is None:
        return ""
    if isinstance(child, str):
        return escape(child)
    if isinstance(child, (int, float)):
        return str(child)
    return "".join(map(_child, child))


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


a = partial(tag, "a")
button = partial(tag, "button")
caption = partial(tag, "caption")
code = partial(tag, "code")
dd = partial(tag, "dd")
details = partial(tag, "details")
div = partial(tag, "div")
dl = partial(tag, "dl")
dt = partial(tag, "dt")
fieldset = partial(tag, "fieldset")
figcaption = partial(tag, "figcaption")
figure = partial(tag, "figure")
footer = partial(tag, "footer")
form = partial(tag, "form")
h1 = partial(tag, "h1")
h2 = partial(tag, "h2")
h3 = partial(tag, "h3")
header = partial(tag, "header")
input_ = partial(tag, "input")
label = partial(tag, "label")
legend = partial(tag, "legend")
li = partial(tag, "li")
main = partial(tag, "main")
nav = partial(tag, "nav")
ol = partial(tag, "ol")
option = partial(tag, "option")
p = partial(tag, "p")
section = partial(tag, "section")
select = partial(tag, "select")
small = partial(tag, "small")
span = partial(tag, "span")
strong = partial(tag, "strong")
summary = partial(tag, "summary")
table = partial(tag, "table")
tbody = partial(tag, "tbody")
td = partial(tag, "td")
textarea = partial(tag, "textarea")
th = partial(tag, "th")
thead = partial(tag, "thead")
time_ = partial(tag, "time")
tr = partial(tag, "tr")
ul = partial(tag, "ul")


def empty(words: str, *more: Child) -> Html:
    """What a page says where there is nothing."""
    return div(p(words), *more, class_="empty")
