"""Who sends a request: programs by a token, browsers by a cookie that a token or a one-time code was exchanged for.

Nothing of it is ever part of an address but a one-time code, which is worth nothing after the first visit.
"""

import asyncio
import secrets
from time import monotonic, time

import msgspec

from ostinato.service.tokens import OWNER as OWNER_NAME
from ostinato.service.tokens import Identity, Role, digest_of, id_of, identify, identity_of, is_valid
from ostinato.storage import Storage, TokenRecord

COOKIE = "ostinato_session"
FRESH = 1.0  # seconds for which what was read of tokens is believed: one that is revoked is refused after that
PAUSE = 0.05  # seconds between two reads because of tokens that are not among them
SESSION = 7 * 86_400.0  # seconds for which a browser is known
CODE = 3_600.0  # seconds for which a one-time code can be used
OWNER = Identity(OWNER_NAME, OWNER_NAME, Role.ADMIN)  # whoever started the server
MAX_SESSIONS = 10_000  # sessions


class Session(msgspec.Struct, frozen=True):
    """A browser: whose it is, and until when."""

    identity: Identity
    until: float


class Authentication:
    """Tokens of a storage, sessions of browsers, and one-time codes. Sessions end with the server."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._records: dict[str, TokenRecord] = {}
        self._read_at = -FRESH - 1
        self._reading: asyncio.Task[None] | None = None
        self._sessions: dict[str, Session] = {}
        self._codes: dict[str, float] = {}

    # Programs

    async def of_token(self, token: str) -> Identity | None:
        """Whose token it is. One that is not known may have just been made: tokens are read again then."""
        arrived = monotonic()
        await self._read_since(arrived - FRESH)
        if id_of(token) not in self._records and self._read_at < arrived:
            await asyncio.sleep(self._read_at + PAUSE - monotonic())
            await self._read_since(arrived)
        return identify(token, self._records, time())

    async def _read_since(self, moment: float) -> None:
        """Read tokens again unless that began after a moment; once for all who wait."""
        while self._read_at < moment:
            if self._reading is None or self._reading.done():
                self._reading = asyncio.create_task(self._read())
            await asyncio.shield(self._reading)

    async def _read(self) -> None:
        started = monotonic()
        records = await asyncio.to_thread(self._storage.tokens)
        self._records, self._read_at = {each.id: each for each in records}, started

    # Browsers

    def new_code(self) -> str:
        """A code that makes a browser the owner's, once."""
        code = secrets.token_urlsafe(32)
        self._codes[digest_of(code)] = monotonic() + CODE
        return code

    def of_code(self, code: str) -> Identity | None:
        """The owner, where the code was not used before."""
        until = self._codes.pop(digest_of(code), 0.0)
        return OWNER if monotonic() < until else None

    def begin_session(self, identity: Identity) -> str:
        """What a browser's cookie says from now on."""
        now = monotonic()
        self._sessions = {key: each for key, each in self._sessions.items() if now < each.until}
        while len(self._sessions) >= MAX_SESSIONS:
            self._sessions.pop(next(iter(self._sessions)))
        cookie = secrets.token_urlsafe(32)
        self._sessions[digest_of(cookie)] = Session(identity, now + SESSION)
        return cookie

    async def of_cookie(self, cookie: str) -> Identity | None:
        """Whose browser it is, while the token that it was opened with is valid."""
        session = self._sessions.get(digest_of(cookie))
        if session is None or monotonic() >= session.until:
            return None
        if session.identity is OWNER:
            return OWNER
        await self._read_since(monotonic() - FRESH)
        record = self._records.get(session.identity.id)
        return identity_of(record) if record is not None and is_valid(record, time()) else None

    def end_session(self, cookie: str) -> None:
        """The browser is not known any more."""
        self._sessions.pop(digest_of(cookie), None)
