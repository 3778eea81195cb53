"""`ostinato serve` and `ostinato token`: studies over HTTP, and who may reach them."""

import gc
from datetime import datetime
from enum import StrEnum
from time import time
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ostinato.checks import counted
from ostinato.cli.opening import PATIENCE, Where
from ostinato.cli.options import seconds_of
from ostinato.cli.terminal import Json, plain, print_answer
from ostinato.errors import InvalidSetting, MissingSetting, installing
from ostinato.running.tables import show, table_of
from ostinato.storage import TokenRecord, open_storage

OBJECTS = 20_000  # that are made, and kept, before they are looked through for cycles


class RoleName(StrEnum):
    READ = "read"
    WORKER = "worker"
    GATEWAY = "gateway"
    ADMIN = "admin"


class TokenAction(StrEnum):
    CREATE = "create"
    LIST = "list"
    REVOKE = "revoke"


def serve(
    where: Where,
    host: Annotated[str, typer.Option(help="The address to listen at. By default only this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8000,
    certfile: Annotated[str | None, typer.Option(help="The certificate for TLS, a PEM file.")] = None,
    keyfile: Annotated[str | None, typer.Option(help="Its private key, a PEM file.")] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front of it encrypts: needs no --certfile.")
    ] = False,
    host_name: Annotated[
        list[str] | None, typer.Option(help="A name by which it is called, besides localhost, such as lab.example.org.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open the dashboard.")] = True,
) -> None:
    """Serve all studies of a storage over HTTP: a dashboard for people, and ask and tell for programs.

    It listens on this machine alone, prints a link that signs a browser in once, and opens it. Programs need a token of
    [bold]ostinato token create[/bold]. To be reached from other machines it takes a token and TLS, or a proxy that
    encrypts. Ctrl-C ends it.

    Examples:

      [bold]ostinato serve lab.db[/bold]

      [bold]ostinato serve lab.db --host 0.0.0.0 --host-name lab.example.org --certfile lab.pem --keyfile lab.key[/bold]
    """
    import warnings

    from ostinato.errors import OstinatoWarning

    try:
        from ostinato.service.serving import Place
        from ostinato.service.serving import serve as served
    except ModuleNotFoundError as error:
        raise MissingSetting(
            f"{error.name} is not installed, which the server needs: {installing('server')}."
        ) from None
    warnings.simplefilter("ignore", OstinatoWarning)  # the dashboard and `diagnose` say it
    place = Place(host, port, certfile, keyfile, behind_proxy, tuple(host_name or ()))
    console = Console(stderr=True, soft_wrap=True)

    def say(link: str, address: str) -> None:
        print(link, flush=True)
        console.print(
            f"serving {escape(where)} at {address}; the link above signs in once. Ctrl-C ends it.", highlight=False
        )

    storage = open_storage(where, patience=PATIENCE)
    _collect_rarely()
    served(storage, place, say, browser=browser)
    console.print("stopped", highlight=False)


def _collect_rarely() -> None:
    """Look for cycles in what requests leave behind, and seldom: else it takes a fifth of the time of a tell."""
    gc.freeze()
    gc.set_threshold(OBJECTS, 20, 100)


def token(
    action: Annotated[TokenAction, typer.Argument(help="What to do.")],
    where: Where,
    which: Annotated[str | None, typer.Argument(help="With revoke: the token's id or name.")] = None,
    role: Annotated[RoleName, typer.Option(help="With create: what it may do.")] = RoleName.WORKER,
    study: Annotated[list[str] | None, typer.Option(help="With create: only this study. By default all.")] = None,
    expires: Annotated[
        str | None, typer.Option(help="With create: when it ends, 12h or 30d. By default never.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="With create: who has it, and asks and tells under that name. By default its role, with a number."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Tokens, by which programs and people reach studies over HTTP: create, list or revoke them.

    A token is printed once, when it is made; only a digest of it is stored. The role [bold]read[/bold] may look,
    [bold]worker[/bold] may ask and tell under the token's name, and put right what was told with it,
    [bold]gateway[/bold] the same for workers that it names, [bold]admin[/bold] everything. One that is revoked is
    refused within a second or two, by servers that run already too.

    Examples:

      [bold]ostinato token create lab.db --role worker --study reaction --expires 30d --name robot-3[/bold]

      [bold]ostinato token list lab.db[/bold]

      [bold]ostinato token revoke lab.db robot-3[/bold]
    """
    from ostinato.service.tokens import Role, create_token, free_name, revoke_token

    console, now = Console(stderr=True, soft_wrap=True), time()
    storage = open_storage(where, create=False, patience=PATIENCE)
    if (which is None) == (action == TokenAction.REVOKE):
        raise InvalidSetting("revoke takes the token's id or name, and create and list do not: see --help.")
    if action == TokenAction.CREATE:
        until = None if expires is None else now + seconds_of("expires", expires)
        own = Role(role)
        made, record = create_token(storage, name or free_name(storage, own, now), own, study or (), now, until)
        print_answer({"token": made, **_as_json(record)} if json else made, json)
        console.print(f"token {record.id} ({escape(_words(record))}): keep it, it is not shown again", highlight=False)
    elif action == TokenAction.LIST:
        _list(storage.patiently(storage.tokens), now, json=json)
    else:
        gone = revoke_token(storage, which or "", now)
        console.print(f"revoked {counted(len(gone), 'token')}", highlight=False)


def _list(records: list[TokenRecord], now: float, *, json: bool) -> None:
    if json:
        print_answer([_as_json(each) for each in records], json)
        return
    table = table_of("id", "name", "role", "studies", "created", "state")
    for each in records:
        cells = [
            each.id,
            each.name,
            each.role,
            ", ".join(each.studies) or "all",
            _moment(each.created),
            _state(each, now),
        ]
        table.add_row(*map(escape, cells))
    show(Console(), table)


def _as_json(record: TokenRecord) -> dict[str, object]:
    """All but the digest."""
    return {name: value for name, value in plain(record).items() if name != "digest"}


def _words(record: TokenRecord) -> str:
    studies = f", studies {', '.join(record.studies)}" if record.studies else ""
    return f"{record.name}, {record.role}{studies}{f', until {_moment(record.expires)}' if record.expires else ''}"


def _state(record: TokenRecord, now: float) -> str:
    if record.revoked is not None:
        return f"revoked {_moment(record.revoked)}"
    if record.expires is None:
        return "valid"
    return f"{'valid until' if now < record.expires else 'expired'} {_moment(record.expires)}"


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M}"
