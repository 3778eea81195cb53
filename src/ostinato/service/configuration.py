"""What a server may be asked for, and how much of it."""

import msgspec

MEGABYTE = 2**20
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Limits(msgspec.Struct, frozen=True):
    """Limits that keep one client from taking all there is.

    headers, body: bytes of a request, arriving within header_seconds and body_seconds. answers, values: in one tell.
    slots: in one ask. rows: of candidates in one request. page: rows of a list. rate: requests a second for each token,
    burst: at once. failures: of authentication a minute for each address. waiting: requests that wait for a model at
    the same time. streams: of events, open at the same time.
    """

    headers: int = 65_536
    header_seconds: float = 30.0
    body: int = 64 * MEGABYTE
    body_seconds: float = 30.0
    answers: int = 10_000
    values: int = 1_000_000
    slots: int = 10_000
    rows: int = 1_000_000
    page: int = 1_000
    rate: float = 10_000.0
    burst: float = 20_000.0
    failures: int = 30
    waiting: int = 64
    streams: int = 256


class Config(msgspec.Struct, frozen=True):
    """hosts: names by which the server may be called, without ports. secure: whether it is reached over TLS."""

    hosts: tuple[str, ...] = LOOPBACK
    secure: bool = False
    limits: Limits = Limits()
