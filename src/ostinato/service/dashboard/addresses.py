"""Studies in addresses. A name may hold anything, a slash too, which no part of a path can: it is written as ~2F."""

import re
from typing import Any
from urllib.parse import quote, urlencode

MARKED = re.compile("~(2F|2E|7E)")
MARKS = {"2F": "/", "2E": ".", "7E": "~"}


def in_address(name: str) -> str:
    """A study's name as the part of a path."""
    safe = MARKED.sub(r"~7E\1", name).replace("/", "~2F")
    return safe.replace(".", "~2E") if not safe.strip(".") else safe


def from_address(part: str) -> str:
    """The name that a part of a path stands for."""
    return MARKED.sub(lambda match: MARKS[match[1]], part)


def address_of(study: str, *parts: str, **query: Any) -> str:
    """Where something of a study is."""
    path = "/".join(["/studies", quote(in_address(study), safe="~"), *parts])
    given = {key: value for key, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path
