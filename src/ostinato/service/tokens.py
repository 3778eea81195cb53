"""Tokens: made once, shown once, and kept as a digest.

A token is `ost_ID_SECRET`. The id finds its record; the secret has 256 random bits, so that one round of SHA-256 is all
that its digest takes, and is compared in constant time.
"""

import hmac
import secrets
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from itertools import chain, count

import msgspec
from msgspec.structs import replace

from ostinato.errors import InvalidSetting
from ostinato.storage import Storage, TokenRecord

PREFIX = "ost"
NOBODY = "0" * 64  # the digest that the secret of an unknown id is compared with: it takes as long as any other


OWNER = "owner"  # whoever started the server: no token has that name


class Role(StrEnum):
    """What a token is for; each may do all that those before it may."""

    READ = "read"
    WORKER = "worker"
    GATEWAY = "gateway"
    ADMIN = "admin"

    def includes(self, other: "Role") -> bool:
        """Whether it may do what the other role may."""
        return RANKS[self] >= RANKS[other]


RANKS = {role: rank for rank, role in enumerate(Role)}


class Identity(msgspec.Struct, frozen=True):
    """Who sent a request. studies: those that it is limited to; none for all.

    What is asked for and told is kept with the name of the token, and rights over it follow that, whatever worker it
    was done for: no two valid tokens have the same name.
    """

    id: str
    name: str
    role: Role
    studies: tuple[str, ...] = ()

    def sees(self, study: str) -> bool:
        """Whether it may know of a study at all."""
        return not self.studies or study in self.studies

    def may_name(self, worker: str) -> bool:
        """Whether it may ask and tell for a worker: for itself, or as a gateway for any."""
        return worker == self.name or self.role.includes(Role.GATEWAY)

    @property
    def limit(self) -> str | None:
        """The token whose tasks and measurements alone it may change; None for all of them."""
        return None if self.role.includes(Role.ADMIN) else self.name

    def owns(self, token: str) -> bool:
        """Whether it may change what was asked for, or told, with a token."""
        return self.limit in (None, token)


def create_token(
    storage: Storage, name: str, role: Role, studies: Iterable[str], now: float, expires: float | None
) -> tuple[str, TokenRecord]:
    """A new token, and what is kept of it. No two that are valid have the same name: values are told under it."""
    if not name or not name.isprintable() or "|" in name or len(name) > 100:
        raise InvalidSetting(f"name={name!r} is not a name: give up to 100 characters that can be printed, without |.")
    if name == OWNER:
        raise InvalidSetting(f"name={name!r} is whoever started the server: give another name.")
    limited, known = tuple(studies), storage.patiently(storage.names)
    for study in limited:
        if study not in known:
            raise InvalidSetting(f"There is no study {study!r}: it holds {', '.join(map(repr, known)) or 'none'}.")
    taken = valid_names(storage, now)
    if name in taken:
        raise InvalidSetting(
            f"There is a token of the name {name!r} already (id {taken[name]}): give another name, or revoke that one "
            f"first, with `ostinato token revoke … {taken[name]}`."
        )
    number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    record = TokenRecord(number, name, role, limited, digest_of(secret), now, expires)
    storage.patiently(lambda: storage.keep_token(record))
    return f"{PREFIX}_{number}_{secret}", record


def valid_names(storage: Storage, now: float) -> dict[str, str]:
    """The names of tokens that are valid now, with the id of each."""
    return {each.name: each.id for each in storage.patiently(storage.tokens) if is_valid(each, now)}


def free_name(storage: Storage, role: Role, now: float) -> str:
    """A name for a token that was given none: worker, worker-2, …"""
    taken = valid_names(storage, now)
    numbered = (f"{role}-{number}" for number in count(2))
    return next(name for name in chain([str(role)], numbered) if name not in taken)


def revoke_token(storage: Storage, which: str, now: float) -> list[TokenRecord]:
    """Refuse a token from now on, by its id, or all of that name; returns those that were valid until now."""
    records = storage.patiently(storage.tokens)
    found = [each for each in records if which in (each.id, each.name)]
    if not found:
        raise InvalidSetting(f"There is no token {which!r}: `ostinato token list` shows them.")
    valid = [replace(each, revoked=now) for each in found if each.revoked is None]
    for each in valid:
        storage.patiently(lambda each=each: storage.keep_token(each))
    return valid


def identify(token: str, records: dict[str, TokenRecord], now: float) -> Identity | None:
    """Whose token it is; None where it is unknown, revoked or has expired."""
    prefix, _, rest = token.partition("_")
    number, _, secret = rest.partition("_")
    record = records.get(number)
    right = hmac.compare_digest(record.digest if record else NOBODY, digest_of(secret))
    if record is None or not right or prefix != PREFIX or not is_valid(record, now):
        return None
    return identity_of(record)


def id_of(token: str) -> str:
    """By which its record is found."""
    return token.partition("_")[2].partition("_")[0]


def identity_of(record: TokenRecord) -> Identity:
    return Identity(record.id, record.name, Role(record.role), record.studies)


def is_valid(record: TokenRecord, now: float) -> bool:
    return record.revoked is None and (record.expires is None or now < record.expires)


def digest_of(secret: str) -> str:
    """What is kept of a secret."""
    return sha256(secret.encode(errors="surrogateescape")).hexdigest()
