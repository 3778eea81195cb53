"""People who want to know: a program of theirs is started at an outage, at the end, and where a run finds better."""

import os
import subprocess
from collections.abc import Collection
from threading import Thread
from time import monotonic

import msgspec

from ostinato.errors import FailedNotification, InvalidSetting, notify
from ostinato.running.events import Event, plain
from ostinato.running.template import Template

KINDS = ("outage", "resumed", "best", "stop")
LONGEST = 60.0  # seconds that a notification may take
AT_THE_END = 15.0  # seconds for which the last ones are waited for


class Notifier:
    """Starts a program for some events, without waiting for it. It is a listener of `Events`.

    template: the program, with {event}, {message} and {study} where these go. All that is known of the event is in its
    environment too, as JSON in OSTINATO_EVENT.
    """

    def __init__(self, template: str, kinds: Collection[str] = KINDS) -> None:
        unknown = sorted(set(kinds) - set(KINDS))
        if unknown:
            raise InvalidSetting(f"--notify-on {unknown[0]}: there is no such event. Give {', '.join(KINDS)}.")
        self._template = Template(template, ("event", "message", "study"), "--notify")
        self._template.check()
        self._kinds = frozenset(kinds)
        self._threads: list[Thread] = []
        self._failed = ""

    def __call__(self, event: Event) -> None:
        if self._failed:
            notify(self._failed, FailedNotification)
            self._failed = ""
        if event.kind in self._kinds:
            thread = Thread(target=self._send, args=(event,), name="ostinato-notify", daemon=True)
            thread.start()
            self._threads.append(thread)

    def finish(self) -> None:
        """Wait for those under way, for a while."""
        end = monotonic() + AT_THE_END
        for thread in self._threads:
            thread.join(max(0.0, end - monotonic()))
        if self._failed:
            notify(self._failed, FailedNotification)

    def _send(self, event: Event) -> None:
        values = {"event": event.kind, "message": str(event), "study": event.study}
        environment = os.environ | {"OSTINATO_EVENT": msgspec.json.encode(plain(event)).decode()}
        try:
            done = subprocess.run(
                self._template.filled(values),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=LONGEST,
                env=environment,
                check=False,
            )
            said = done.stderr.decode(errors="replace").strip()[-200:]
            cause = f"it ended with code {done.returncode}" + (f": {said}" if said else "") if done.returncode else ""
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            cause = str(error)
        if cause:
            self._failed = f"--notify did not work for {event.kind!r} ({cause}); the run goes on."
