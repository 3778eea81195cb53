"""Listeners of a run's events: a log file, and programs that notify people."""

import logging
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import msgspec

from ostinato.errors import InvalidSetting, MissingSetting, StorageAway, notify
from ostinato.running.events import LOGGER, Listener
from ostinato.running.notifying import KINDS, Notifier


class JsonLines(logging.Formatter):
    """One JSON object a line: when, level, message, and all that an event says."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created).astimezone().isoformat()
        line = {"when": when, "level": record.levelname.lower(), "message": record.getMessage()}
        details: dict[str, object] = getattr(record, "details", {})
        return msgspec.json.encode(line | details).decode()


class LogFile(logging.FileHandler):
    """A file that is appended to. Where that does not work it is said once, and the run goes on."""

    failed = False

    def handleError(self, record: logging.LogRecord) -> None:
        if not self.failed:
            self.failed = True
            notify(f"--log {self.baseFilename} cannot be written ({sys.exception()}): the run goes on.", StorageAway)

    def close(self) -> None:
        with suppress(OSError):
            super().close()


def check_log(file: Path | None) -> None:
    """Whether a file can be a log: a new one, or one of such lines."""
    if file is None or not file.is_file():
        return
    with file.open("rb") as there:
        if there.read(1) not in (b"", b"{"):
            raise InvalidSetting(f"--log {file}: the file is there, and is no log. Give another one.")


@contextmanager
def logged(file: Path | None) -> Generator[None, None, None]:
    """Within the block all that is logged is appended to a file."""
    if file is None:
        yield
        return
    handler, level = LogFile(file, encoding="utf-8"), LOGGER.level
    handler.setFormatter(JsonLines())
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
        handler.close()


def notifier_of(program: str | None, kinds: Sequence[str] | None) -> Notifier | None:
    """What starts the program, where one was given; checked."""
    if kinds and not program:
        raise MissingSetting("--notify-on says for which events: give the program too, --notify './tell-me {message}'.")
    chosen = [kind.strip() for each in kinds or KINDS for kind in each.split(",")]
    return Notifier(program, chosen) if program is not None else None


@contextmanager
def notified(notifier: Notifier | None) -> Generator[list[Listener], None, None]:
    """Listeners of a run; at the end the last notifications are waited for."""
    try:
        yield [] if notifier is None else [notifier]
    finally:
        if notifier is not None:
            notifier.finish()
