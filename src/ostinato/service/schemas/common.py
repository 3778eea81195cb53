"""Types that several bodies and answers are made of, with their limits."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

Name = Annotated[str, Meta(min_length=1, max_length=200, description="Of a study; without /.")]
Worker = Annotated[str, Meta(min_length=1, max_length=100, description="A name for whoever measures, without |.")]
Key = Annotated[str, Meta(min_length=1, max_length=200, description="Any text, another for every request.")]
Words = Annotated[str, Meta(max_length=2_000)]
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Index = Annotated[int, Meta(ge=0, le=2**53)]
Seconds = Annotated[float, Meta(gt=0, le=31 * 86_400.0)]
Finite = Annotated[float, Meta(ge=-1e300, le=1e300)]
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Cell = str | float | Whole | bool | None
Row = dict[str, Cell] | list[float]
Candidate = dict[str, Any] | list[Any]


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What is sent; a key that is not known here is refused."""


class Out(msgspec.Struct, frozen=True, kw_only=True):
    """What is answered."""
