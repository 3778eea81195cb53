"""A storage that is away is waited for once, however many wait. The clock of these tests is a number."""

import threading

import pytest

from ostinato.errors import StorageAway, Unavailable
from ostinato.storage import patience
from ostinato.storage.patience import Patience


class Clock:
    now = 1000.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(patience, "monotonic", made.monotonic)
    monkeypatch.setattr(patience, "sleep", made.sleep)
    return made


class Server:
    """Answers, or says that it is away, which may take it a while."""

    def __init__(self, clock, takes=0.0):
        self.clock, self.takes, self.away, self.tries = clock, takes, True, 0

    def __call__(self):
        self.tries += 1
        self.clock.now += self.takes
        if self.away:
            raise Unavailable("away", passing=True)
        return "here"


@pytest.mark.filterwarnings("ignore::ostinato.errors.StorageAway")
@pytest.mark.parametrize("takes", [0.0, 5.0])
@pytest.mark.parametrize("workers", [1, 4, 16])
def test_the_patience_is_the_whole_wait_and_not_one_for_each(clock, workers, takes):
    server, patiently, start = Server(clock, takes), Patience(60.0), clock.now
    for _ in range(workers):
        with pytest.raises(Unavailable):
            patiently(server)
    assert 60.0 <= clock.now - start <= 72.0


@pytest.mark.filterwarnings("ignore::ostinato.errors.StorageAway")
def test_when_it_is_back_it_is_used_and_the_next_wait_is_a_new_one(clock):
    server, patiently = Server(clock), Patience(60.0)
    with pytest.raises(Unavailable):
        patiently(server)
    clock.now += 3600
    server.away = False
    assert patiently(server) == "here"
    server.away, start = True, clock.now
    with pytest.raises(Unavailable):
        patiently(server)
    assert clock.now - start >= 60.0


def test_whoever_hurries_tries_once(clock):
    server, patiently = Server(clock), Patience(60.0)
    patiently.hurry()
    with pytest.raises(Unavailable):
        patiently(server)
    clock.now += 10
    with pytest.raises(Unavailable):
        patiently(server)
    assert server.tries == 1  # what did not work is not tried again
    server.away = False
    patiently.calm()
    assert patiently(server) == "here"


def test_one_who_waits_is_hurried_on(clock, monkeypatch):
    server, patiently = Server(clock), Patience(60.0)

    def sleep(seconds):
        clock.now += seconds
        if clock.now > 1001:
            patiently.hurry()

    monkeypatch.setattr(patience, "sleep", sleep)
    with pytest.raises(Unavailable):
        patiently(server)
    assert clock.now < 1002


def test_waiting_is_said(clock):
    with pytest.warns(StorageAway, match="tried again, for 60 s in all"), pytest.raises(Unavailable):
        Patience(60.0)(Server(clock))


def test_what_does_not_pass_is_not_waited_for(clock):
    def wrong():
        raise Unavailable("the password is wrong")

    with pytest.raises(Unavailable, match="password"):
        Patience(60.0)(wrong)
    assert clock.now == 1000.0


def test_whoever_hurries_does_not_hurry_others(clock):
    """Two runs in threads of one process share a storage, and the second Ctrl-C is for one of them."""
    server, patiently = Server(clock), Patience(60.0)
    thread = threading.Thread(target=patiently.hurry)
    thread.start()
    thread.join()
    start = clock.now
    with pytest.warns(StorageAway), pytest.raises(Unavailable):
        patiently(server)
    assert clock.now - start >= 60.0
