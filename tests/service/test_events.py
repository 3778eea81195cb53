"""The stream of events: where a study stands, now and whenever that changes."""

import http.client
import json
import time

import pytest
from msgspec.structs import replace

from ostinato.running.pausing import Pause
from ostinato.service import events
from ostinato.service.configuration import Limits
from ostinato.service.tokens import Role, revoke_token
from ostinato.study import Study
from ostinato.study.pauses import PauseNote

pytestmark = pytest.mark.filterwarnings("ignore::ostinato.errors.OstinatoWarning")


class Stream:
    """A stream of a server, read as it comes."""

    def __init__(self, lab, study="reaction"):
        self.connection = http.client.HTTPConnection("127.0.0.1", lab.port, timeout=600)
        headers = {"authorization": f"Bearer {lab.tokens[Role.READ]}"}
        self.connection.request("GET", f"/api/v1/studies/{study}/events", headers=headers)
        self.answer = self.connection.getresponse()

    def until(self, condition):
        """The first event with counters that are looked for."""
        for line in self.answer:
            if line.startswith(b"data: ") and condition(found := json.loads(line[6:])):
                return found
        raise AssertionError("the stream has ended")

    def close(self):
        self.answer.close()
        self.connection.close()


@pytest.fixture
def watch(listening):
    """Opens streams, and closes them in the end."""
    opened = []

    def open_one(study="reaction"):
        opened.append(Stream(listening, study))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


def test_whoever_watches_hears_of_changes_here_and_elsewhere(listening, client, watch):
    stream = watch()
    assert stream.answer.getheader("content-type").startswith("text/event-stream")
    assert stream.until(lambda _: True)["measurements"] == 0  # at once
    study = client.study("reaction")
    task = study.ask(worker="robot", limit=1)
    assert stream.until(lambda now: now["assigned"] == 1)["asked"] == 1
    study.tell(task, [1.0])
    stream.until(lambda now: now["measurements"] == 1 and now["assigned"] == 0)
    Study("reaction", listening.path).observe(0, 2.0)  # as another process might
    stream.until(lambda now: now["measurements"] == 2)
    with PauseNote(Study("reaction", listening.path)._stored, 60.0) as note:  # a run that measures nothing
        note.keep(Pause(0.0, "the pump is off", 600.0))
        assert stream.until(lambda now: now["paused"])["paused"][0] > time.time()
        note.keep(None)
        stream.until(lambda now: not now["paused"])
    study.correct(1, None)
    late = watch()
    assert late.until(lambda _: True)["revised"] == 1
    stream.until(lambda now: now["revised"] == 1)
    client.delete("reaction")
    for each in (stream, late):
        each.answer.read()  # it ends


def test_a_stream_in_which_nothing_happens_says_so(monkeypatch, watch):
    monkeypatch.setattr(events, "ALIVE", 0.05)
    stream = watch()
    stream.until(lambda _: True)
    assert any(line == b": alive\n" for line in stream.answer)


def test_unknown_studies_and_one_stream_too_many(listening, watch):
    assert watch("nowhere").answer.status == 404
    service = listening.app.service
    service.config = replace(service.config, limits=Limits(streams=1))
    watch().until(lambda _: True)
    refused = watch()
    assert (refused.answer.status, refused.answer.getheader("retry-after")) == (503, "10")


def test_a_stream_ends_with_its_token(monkeypatch, listening, watch):
    monkeypatch.setattr(events, "ALIVE", 0.05)
    stream = watch()
    stream.until(lambda _: True)
    revoke_token(listening.storage, "read", time.time())
    stream.answer.read()  # it ends
