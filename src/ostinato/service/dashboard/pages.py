"""The frame of every page, how pages and their parts are routed, and how forms are read."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import msgspec
from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler

from ostinato.errors import OstinatoError
from ostinato.service.dashboard.addresses import address_of, from_address
from ostinato.service.dashboard.files import asset
from ostinato.service.dashboard.html import (
    Child,
    Html,
    a,
    button,
    div,
    form,
    h1,
    header,
    joined,
    main,
    nav,
    p,
    span,
    tag,
)
from ostinato.service.dashboard.reading import LARGEST, is_whole
from ostinato.service.errors import Problem, Refused, problem_of
from ostinato.service.guards import READ_NAME
from ostinato.service.routes.decorators import get, post
from ostinato.service.tokens import Role

FIELDS = 20_000  # of a form
THEME = "ostinato_theme"
THEMES = ("light", "dark")
HTMX = {  # nothing is evaluated, and no style or script is made in the page
    "includeIndicatorStyles": False,
    "allowEval": False,
    "selfRequestsOnly": True,
    "disableInheritance": True,
    "historyCacheSize": 0,
    "scrollIntoViewOnBoost": False,
    "defaultSwapStyle": "innerHTML",
    "defaultSettleDelay": 0,  # a form is htmx's own as soon as it has the focus
}
TABS = (  # name, address, words, and the role that it takes
    ("overview", "", "Overview", Role.READ),
    ("candidates", "candidates", "Candidates", Role.READ),
    ("log", "log", "Log", Role.READ),
    ("progress", "progress", "In progress", Role.READ),
    ("bench", "bench", "Measure", Role.WORKER),
    ("plate", "plate", "Plate", Role.WORKER),
)
REMEDIES = {  # what whoever reads such a page can do
    403: "Ask whoever runs this server for a token that may do it, and sign in with that.",
    404: "The link may be old or mistyped, or your token may not be for this study. The list has all that you may see.",
    503: "Wait a little, and load the page again.",
}
PAGE: dict[str, Any] = {"include_in_schema": False, "media_type": "text/html", READ_NAME: from_address}
Decorated = Callable[[Callable[..., Any]], HTTPRouteHandler]


def shown(path: str, role: Role = Role.READ, **more: Any) -> Decorated:
    """A page: what goes wrong is a page too."""
    errors: dict[Any, Any] = {OstinatoError: _failed, Refused: _refused}
    return get(path, role, exception_handlers=errors, **PAGE, **more)


def part(path: str, role: Role = Role.READ, **more: Any) -> Decorated:
    """A part of a page, fetched by itself."""
    return get(path, role, **PAGE, **more)


def action(path: str, role: Role) -> Decorated:
    """What a button or a form does; it answers with a part of a page. Errors are shown beside the form."""
    return post(path, role, **PAGE)


def page(request: Request[Any, Any, Any], title: str, *content: Child, study: str | None = None, tab: str = "") -> Html:
    """A whole page; of a study, with its tabs."""
    theme = request.cookies.get(THEME)
    body = tag(
        "body",
        a("Skip to content", href="#content", class_="skip"),
        _bar(request, study),
        _tabs(request.user.role, study, tab) if study else None,
        main(*content, id="content", tabindex="-1"),
        p(id="announce", role="status", aria_live="polite", class_="hidden"),
        div(id="problems", role="alert", class_="problems"),
        data_events=address_of(study, "events") if study else None,
    )
    chosen = theme if theme in THEMES else None
    html = tag("html", _head(title), body, lang="en", data_theme=chosen)
    return Html("<!doctype html>\n" + html)


def _head(title: str) -> Html:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("title", f"{title} · Ostinato"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="htmx-config", content=msgspec.json.encode(HTMX).decode()),
        tag("link", rel="icon", href=asset("icon.svg"), type="image/svg+xml"),
        tag("link", rel="stylesheet", href=asset("dashboard.css")),
        tag("script", src=asset("htmx.min.js"), defer=True),
        tag("script", src=asset("dashboard.js"), defer=True),
    )


def _bar(request: Request[Any, Any, Any], study: str | None) -> Html:
    user = request.user
    crumb = joined(span("/", class_="slash", aria_hidden="true"), span(study, class_="crumb")) if study else None
    return header(
        a(_mark(), span("Ostinato", class_="brand-name"), href="/", class_="brand", aria_label="Ostinato: all studies"),
        crumb,
        div(
            span(user.name, span(str(user.role), class_="role"), class_="who", title="Signed in as"),
            button(
                span("Theme", class_="hidden"),
                _theme_icon(),
                type="button",
                class_="icon",
                data_theme_switch=True,
                title="Light or dark",
            ),
            form(button("Sign out", class_="quiet"), method="post", action="/sign-out"),
            class_="bar-end",
        ),
        class_="bar",
    )


def _mark() -> Html:
    wave = tag("path", d="M2 15c2 0 2-8 4.500-8s2.500 8 4.500 8 2.500-8 4.500-8 2.500 8 4.500 8", class_="mark-line")
    return tag("svg", wave, viewBox="0 0 24 22", class_="mark", aria_hidden="true")


def _theme_icon() -> Html:
    half = tag("path", d="M8 2a6 6 0 0 0 0 12z", class_="half")
    return tag(
        "svg", tag("circle", cx=8, cy=8, r=6), half, viewBox="0 0 16 16", class_="theme-icon", aria_hidden="true"
    )


def _tabs(role: Role, study: str, current: str) -> Html:
    links = [
        a(
            words,
            href=address_of(study, *([part_] if part_ else [])),
            aria_current="page" if name == current else None,
        )
        for name, part_, words, needed in TABS
        if role.includes(needed)
    ]
    return nav(*links, class_="tabs", aria_label="Pages of this study")


def wants_page(request: Request[Any, Any, Any]) -> bool:
    """Whether a person looks at an address, and no program."""
    return request.method == "GET" and "text/html" in request.headers.get("accept", "")


def refused_page(problem: Problem) -> Response[str]:
    """A problem as a page by itself."""
    content = main(
        h1("Not found" if problem.status == 404 else problem.title),
        p(problem.detail),
        p(REMEDIES[problem.status], class_="muted") if problem.status in REMEDIES else None,
        p(a("All studies", href="/", class_="button primary")),
        class_="alone",
        id="content",
    )
    html = Html("<!doctype html>\n" + tag("html", _head(problem.title), tag("body", content), lang="en"))
    return Response(html, status_code=problem.status, media_type="text/html")


def _failed(_: Any, error: OstinatoError) -> Response[str]:
    return refused_page(problem_of(error))


def _refused(_: Any, refused: Refused) -> Response[str]:
    return refused_page(refused.problem)


class Fields:
    """What a form says."""

    def __init__(self, given: dict[str, list[str]]) -> None:
        self._given = given

    @classmethod
    async def of(cls, request: Request[Any, Any, Any]) -> "Fields":
        body = (await request.body()).decode("utf-8", "replace")
        try:
            return cls(parse_qs(body, keep_blank_values=True, max_num_fields=FIELDS))
        except ValueError:
            raise Refused(422, "invalid-form", f"The form has more than {FIELDS:,} fields: send fewer.") from None

    def text(self, name: str) -> str:
        return self._given.get(name, [""])[-1].strip()

    def all(self, name: str) -> list[str]:
        return self._given.get(name, [])

    def given(self, name: str) -> str:
        """What a field says, to the letter; an error where the form has no such field."""
        if name not in self._given:
            raise Refused(422, "invalid-form", f"{name} is missing.")
        return self._given[name][-1]

    def whole(self, name: str, default: int | None = None) -> int:
        """A whole number; an error where it is none."""
        said = self.text(name)
        if not said and default is not None:
            return default
        if not is_whole(said):
            raise Refused(422, "invalid-form", f"{name}: {said[:60]!r} is not a whole number from 0 to {LARGEST:,}.")
        return int(said)


def fragment(html: Html, **headers: str) -> Response[str]:
    """A part of a page, with what htmx is told besides."""
    return Response(str(html), media_type="text/html", headers={k.replace("_", "-"): v for k, v in headers.items()})


def may(request: Request[Any, Any, Any], role: Role) -> bool:
    """Whether buttons of a role are shown; the server refuses anyway."""
    return request.user.role.includes(role)
