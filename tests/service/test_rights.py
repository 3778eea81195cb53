"""What a token may do follows the token: under which name it asks and tells, and whose tasks and values it changes."""

import time

import pytest

from ostinato import Client
from ostinato.errors import Denied, InvalidSetting
from ostinato.service.tokens import Role, create_token
from service_lab import wait_until

pytestmark = pytest.mark.filterwarnings("ignore::ostinato.errors.OstinatoWarning")


@pytest.fixture
def tokens(lab):
    """Ana and Ben, a gateway for robots, and whoever looks after the study."""
    roles = {"Ana": Role.WORKER, "Ben": Role.WORKER, "cell-1": Role.GATEWAY, "Mia": Role.ADMIN}
    now = time.time()
    return {name: create_token(lab.storage, name, role, (), now, None)[0] for name, role in roles.items()}


def ask(lab, token, **more):
    (task,) = lab.post("ask", {"limit": 1, **more}, token=token).json()["tasks"]
    return task


def tell(lab, token, task, value=1.0, **more):
    return lab.post("tell", {"batch": task["batch"], "start": task["start"], "values": [value], **more}, token=token)


def history(lab):
    return lab.get("history").json()["measurements"]


def test_a_workers_token_asks_and_tells_under_its_own_name_alone(lab, tokens):
    task = ask(lab, tokens["Ana"])
    assert task["worker"] == "Ana"
    assert ask(lab, tokens["Ana"], worker="Ana")["worker"] == "Ana"
    refused = lab.post("ask", {"worker": "Ben"}, token=tokens["Ana"])
    assert refused.status_code == 403
    assert "as 'Ana' alone" in refused.json()["detail"]
    observed = {"observations": [{"row": 0, "value": 2.0}]}
    assert tell(lab, tokens["Ana"], task, worker="Ben").status_code == 403
    assert lab.post("observe", {**observed, "worker": "Ben"}, token=tokens["Ana"]).status_code == 403
    answers = [{"batch": task["batch"], "start": task["start"], "values": [1.0], "worker": "Ben"}]
    assert lab.post("tell-all", {"answers": answers}, token=tokens["Ana"]).status_code == 403
    assert history(lab) == []
    assert tell(lab, tokens["Ana"], task).json() == {"new": 1}
    assert lab.post("observe", observed, token=tokens["Ana"]).json() == {"new": 1}
    assert [(each["worker"], each["token"]) for each in history(lab)] == [("Ana", "Ana")] * 2


def test_a_gateway_names_workers_and_rights_follow_its_token(lab, tokens):
    """Also where a worker of that name has a token of its own."""
    task = ask(lab, tokens["cell-1"], worker="Ana", key="k")
    (lease,) = lab.get("leases").json()["leases"]
    assert (lease["worker"], lease["token"]) == ("Ana", "cell-1")
    assert ask(lab, tokens["cell-1"], worker="Ana", key="k") == task
    other = ask(lab, tokens["Ana"], key="k")  # the keys of another token are others
    assert (other["batch"], other["start"]) != (task["batch"], task["start"])
    assert tell(lab, tokens["cell-1"], task).json() == {"new": 1}
    observed = {"observations": [{"row": 0, "value": 2.0}], "worker": "robot-7", "key": "o"}
    assert lab.post("observe", observed, token=tokens["cell-1"]).json() == {"new": 1}
    assert lab.post("observe", observed, token=tokens["cell-1"]).json() == {"new": 0}
    named = [(each["worker"], each["token"]) for each in history(lab)]
    assert named == [("Ana", "cell-1"), ("robot-7", "cell-1")]
    correction = {"number": 1, "value": 5.0}
    assert lab.post("correct", correction, token=tokens["Ana"]).status_code == 403
    assert lab.post("retract", {"numbers": [1, 2]}, token=tokens["Ana"]).status_code == 403
    assert lab.post("correct", correction, token=tokens["cell-1"]).status_code == 200
    assert lab.post("retract", {"numbers": [2]}, token=tokens["cell-1"]).json() == {"changed": 1}


@pytest.mark.parametrize("body", [{"worker": "Ana"}, {}, {"batch": 0}])
def test_tasks_of_others_are_not_handed_back(lab, tokens, body):
    task = ask(lab, tokens["Ana"], slots=1)
    assert task["batch"] == 0
    for name, freed in (("Ben", 0), ("cell-1", 0), ("Ana", 1)):
        assert lab.post("release", body, token=tokens[name]).json() == {"changed": freed}, name
    ask(lab, tokens["Ana"])
    assert lab.post("release", body, token=tokens["Mia"]).json() == {"changed": 1}


def test_tasks_of_others_are_not_renewed(lab, tokens):
    task = ask(lab, tokens["Ana"], lease=60)
    for body in ({"worker": "Ana", "lease": 6_000}, {"key": task["key"], "lease": 6_000}):
        for name, renewed in (("Ben", 0), ("cell-1", 0), ("Ana", 1), ("Mia", 1)):
            assert lab.post("heartbeat", body, token=tokens[name]).json() == {"changed": renewed}, (name, body)


def test_a_late_value_is_credited_to_who_told_it(lab, tokens):
    """The task has been handed to somebody else by then."""
    task = ask(lab, tokens["Ana"], lease=0.01)
    given = []
    wait_until(lambda: given.append(ask(lab, tokens["Ben"])) or given[-1]["batch"] == task["batch"])
    assert tell(lab, tokens["Ana"], task).json() == {"new": 1}
    (told,) = history(lab)
    assert (told["worker"], told["token"], told["began"]) == ("Ana", "Ana", 0.0)
    assert lab.post("correct", {"number": 1, "value": 2.0}, token=tokens["Ben"]).status_code == 403
    assert lab.post("correct", {"number": 1, "value": 2.0}, token=tokens["Ana"]).status_code == 200


def test_a_value_in_time_is_credited_to_the_worker_that_a_gateway_named(lab, tokens):
    task = ask(lab, tokens["cell-1"], worker="robot-7")
    tell(lab, tokens["cell-1"], task)
    late = ask(lab, tokens["cell-1"], worker="robot-8")
    tell(lab, tokens["Ben"], late)
    told = history(lab)
    assert [(each["worker"], each["token"]) for each in told] == [("robot-7", "cell-1"), ("Ben", "Ben")]
    assert told[0]["began"] > 0


def test_a_token_made_anew_under_its_name_has_its_rights(lab, tokens):
    from ostinato.service.tokens import revoke_token

    tell(lab, tokens["Ana"], ask(lab, tokens["Ana"]))
    revoke_token(lab.storage, "Ana", time.time())
    anew = create_token(lab.storage, "Ana", Role.WORKER, (), time.time(), None)[0]
    assert lab.post("correct", {"number": 1, "value": 2.0}, token=anew).status_code == 200


def test_no_token_is_called_as_whoever_started_the_server(lab):
    with pytest.raises(InvalidSetting, match="started the server"):
        create_token(lab.storage, "owner", Role.WORKER, (), time.time(), None)


def test_the_client_tells_for_the_worker_that_a_task_was_for(listening, tokens):
    with Client(listening.url, tokens["cell-1"]) as gateway, Client(listening.url, tokens["Ana"]) as ana:
        study = gateway.study("reaction")
        study.tell(study.ask(limit=1, worker="robot-7"), [1.0])
        study.observe(0, 2.0, worker="robot-8")
        task = study.ask(limit=1, worker="robot-7")
        with pytest.raises(Denied, match="as 'Ana' alone"):
            ana.study("reaction").tell(task, [3.0], worker="robot-7")
        assert ana.study("reaction").tell(task, [3.0]) == 1
        assert [each.worker for each in study.history()] == ["robot-7", "robot-8", "Ana"]
        assert [each.token for each in study.history()] == ["cell-1", "cell-1", "Ana"]
