"""`ostinato.Client`: the verbs of a study, and what happens where answers are lost or the server dies."""

import signal
import threading
from math import nan

import pytest

from ostinato import Client
from ostinato.errors import Conflict, Denied, FewerSlots, InvalidFeedback, InvalidSetting, Unavailable, UnknownStudy
from ostinato.service.tokens import Role
from ostinato.study import Study, verify
from service_lab import CSV, Deaf, Lab, Serving, wait_until

pytestmark = pytest.mark.filterwarnings("ignore::ostinato.errors.OstinatoWarning")


def value_of(candidate):
    return 70 - (candidate["temp"] - 50) ** 2 / 20


def test_the_loop(client):
    study = client.study("reaction")
    study.allow(12)
    while (task := study.ask(worker="python")) is not None:
        assert study.tell(task, [value_of(task.candidate)] * task.repeats) == task.repeats
    status = study.status()
    assert (status.measurements, status.finished) == (12, True)
    assert study.best().candidate["temp"] == 50
    assert len(study.top(3)) == 3
    assert [each.value for each in study.history()] == [value_of(each.candidate) for each in study.history()]
    assert study.explain(0)
    assert study.diagnose().verdict


def test_every_verb_of_the_loop(client):
    study = client.study("reaction")
    first, second = study.plan(slots=2, distinct=True, worker="robot")
    assert study.renew(first, lease=1_000) == 1
    assert study.renew("robot") == 2
    assert {each.worker for each in study.leases()} == {"robot"}
    assert study.tell_all([(first, [1.0]), (second, [nan])]) == 2
    third = study.ask(limit=1, worker="robot")
    assert study.fail(third) == third.repeats
    fourth = study.ask(limit=1, worker="robot")
    assert study.release(worker="robot") == fourth.repeats
    study.close(fourth.batch)
    assert study.status().failures == 1 + third.repeats
    assert study.tell(study.ask(limit=1), 4.0, stderr=0.5) == 1


def test_a_plan_with_fewer_measurements_than_wanted_says_so(client):
    with pytest.warns(FewerSlots, match="6 of 8 slots are filled: no other candidate"):
        assert len(client.study("reaction").plan(slots=8, distinct=True)) == 6


def test_putting_right_and_changing_candidates(client):
    study = client.study("reaction")
    assert study.observe({"temp": 40, "solvent": "water"}, 705.0) == 1
    assert study.observe(3, 60.0) == 1
    assert study.observe(4, 60.0, count=5, std=0.5) == 5
    study.correct(1, 70.5, why="typo")
    assert study.retract(2, why="wrong vial") == 1
    assert next(study.history()).value == 70.5
    assert study.add([{"temp": 70, "solvent": "water"}]) == [6]
    assert study.add(csv="temp,solvent\n80,water\n") == [7]
    assert study.retire([0, 1]) == 2
    assert study.restore([0]) == 1
    listed = study.candidates(sort="row", descending=True, where=["solvent=water"], limit=2)
    assert [each.row for each in listed.candidates] == [7, 6]
    predicted = study.predict([{"temp": 55, "solvent": "water"}])
    assert predicted.low[0] < predicted.mean[0] < predicted.high[0]


def test_studies_are_made_listed_and_deleted(client):
    made = client.create("one's own? 50% &c.", csv=CSV, budget=5, noise_std=0.5, seed=1)
    assert made.status().budget == 5
    assert made.ask() is not None
    assert {each.name for each in client.studies()} == {"reaction", "one's own? 50% &c."}
    client.delete("one's own? 50% &c.")
    with pytest.raises(InvalidSetting, match="without /"):
        client.create("a/b", csv=CSV)
    assert [each.name for each in client.studies()] == ["reaction"]


def test_errors_are_those_of_a_study(client, listening):
    study = client.study("reaction")
    task = study.ask()
    with pytest.raises(InvalidFeedback, match="No values were given: give values, with None or nan for a measurement"):
        study.tell(task)
    with pytest.raises(InvalidFeedback, match="without a value: give a value, None for a measurement that failed"):
        study.observe(0)
    assert study.observe(0, None) == study.status().failures == 1
    study.tell(task, [1.0] * task.repeats)
    with pytest.raises(Conflict, match="has the value 1"):
        study.tell(task, [2.0] * task.repeats)
    with pytest.raises(UnknownStudy, match="There is no study 'nowhere'"):
        client.study("nowhere").status()
    with pytest.raises(Denied, match="Send a token"):
        Client(listening.url, "ost_1_2").studies()
    with pytest.raises(Denied, match="role admin"):
        Client(listening.url, listening.tokens[Role.WORKER]).delete("reaction")
    with pytest.raises(InvalidSetting, match="not the address"):
        Client("lab.example.org", "token")


def test_a_server_that_is_not_there(lab):
    nowhere, token = "http://127.0.0.1:9", lab.tokens[Role.READ]  # port 9: nothing listens there
    with pytest.raises(Unavailable, match="does not answer"):
        Client(nowhere, token, patience=0).studies()
    with pytest.raises(Unavailable, match="check the address"):  # and not after a minute
        Client(nowhere, token).studies()


def test_whoever_waits_for_a_server_is_told(lab, caplog):
    with pytest.raises(Unavailable, match="does not answer"):
        Client("http://127.0.0.1:9", lab.tokens[Role.READ], patience=0.01).studies()
    assert "trying for 0.01 s" in caplog.text


@pytest.mark.parametrize("losses", [1, 2])
def test_what_is_sent_again_because_its_answer_was_lost_counts_once(listening, losses):
    proxy = Deaf(listening.port, 0)
    client = Client(proxy.url, listening.tokens[Role.ADMIN])
    study = client.study("reaction")
    proxy.losses = losses
    task = study.ask(limit=2, worker="robot")
    assert listening.study.counters()[1] == task.repeats  # asked once
    proxy.losses = losses
    study.tell(task, [1.0] * task.repeats)
    proxy.losses = losses
    study.observe(2, 5.0)
    proxy.losses = losses
    study.retract(1)
    assert proxy.losses == 0
    assert [each.value for each in study.history()][1:] == [1.0] * (task.repeats - 1) + [5.0]
    assert study.status().measurements == task.repeats
    assert verify(listening.storage, "reaction") == []
    client.close()
    proxy.close()


def test_a_server_that_is_killed_and_comes_back(tmp_path):
    """Clients that are in the middle of something go on, and everything counts once: also keys of before."""
    lab = Lab(tmp_path / "lab.db")
    lab.app.service.close()
    told, threads = [], []
    first = Serving(lab.path)
    client = Client(first.url, lab.tokens[Role.GATEWAY], patience=600)
    study = client.study("reaction")
    assert study.observe(0, 3.0, key="bench") == 1
    held = study.ask(limit=1, worker="before", key="mine", lease=3_600)

    def work(name):
        while (task := study.ask(limit=2, worker=name)) is not None and len(told) < 25:
            told.extend([study.tell(task, [value_of(task.candidate)] * task.repeats)] * task.repeats)

    for name in ("a", "b"):
        threads.append(threading.Thread(target=work, args=(name,)))
        threads[-1].start()
    wait_until(lambda: len(told) >= 5)
    first.end(signal.SIGKILL)
    with Serving(lab.path, port=first.port) as second:
        for thread in threads:
            thread.join()
        assert study.observe(0, 3.0, key="bench") in (0, 1)  # counted before
        assert study.ask(limit=1, worker="before", key="mine", lease=3_600).batch == held.batch
        assert sum(each.row == 0 and each.value == 3.0 for each in study.history()) == 1
        assert study.status().measurements >= len(told) + 1
        client.close()
        assert second.end().endswith("stopped\n")
    assert verify(Study("reaction", lab.path).storage, "reaction") == []
