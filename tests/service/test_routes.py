"""Every route does what the same verb of a study does."""

import msgspec
import pytest

from inside import unheard
from ostinato.service import schemas
from ostinato.service.examples import REQUESTS, RESPONSES
from ostinato.study import Study, verify

pytestmark = pytest.mark.filterwarnings("ignore::ostinato.errors.OstinatoWarning")


def asked(lab, **more):
    answer = lab.post("ask", {"worker": "robot", **more}, role="gateway")
    assert answer.status_code == 200, answer.text
    return answer.json()["tasks"]


def test_ask_and_tell(lab):
    (task,) = asked(lab)
    told = {"batch": task["batch"], "start": task["start"], "values": [70.5] * task["repeats"]}
    assert lab.post("tell", told, role="worker").json() == {"new": task["repeats"]}
    assert lab.post("tell", told, role="worker").json() == {"new": 0}  # sent again
    other = lab.post("tell", {**told, "values": [1.0] * task["repeats"]}, role="worker")
    assert other.status_code == 409
    assert other.headers["content-type"] == "application/problem+json"
    assert "has the value 70.5" in other.json()["detail"]
    assert lab.get().json()["measurements"] == task["repeats"]
    assert verify(lab.storage, "reaction") == []


@pytest.mark.parametrize("verb", ["tell", "tell-all", "heartbeat"])
@pytest.mark.parametrize("body", [b"", b"{}", b'{"batch": 0, "batch": 1}', b"[", b'{"batch": NaN}', b'{"key": "none"}'])
def test_the_short_way_answers_as_litestar_does(lab, verb, body):
    """A path that ends in a slash is Litestar's."""
    path, kind = f"/api/v1/studies/reaction/{verb}", {"content-type": "application/json"}
    short, long = (lab.request("POST", each, content=body, headers=kind) for each in (path, f"{path}/"))
    assert (short.status_code, short.json()) == (long.status_code, long.json())
    for name in ("content-type", "cache-control", "content-security-policy"):
        assert short.headers[name] == long.headers[name]


def test_a_question_asked_again_with_its_key_is_answered_alike(lab):
    first, again = asked(lab, key="k"), asked(lab, key="k")
    assert first == again
    plan, again = asked(lab, key="p", slots=4), asked(lab, key="p", slots=4)
    assert plan == again
    assert sum(task["repeats"] for task in plan) == 4
    assert {task["batch"] for task in asked(lab, key="q")}.isdisjoint({task["batch"] for task in first})


def test_tell_all_is_all_or_nothing(lab):
    tasks = asked(lab, slots=3, distinct=True)
    good = [{"batch": task["batch"], "start": task["start"], "values": [1.0]} for task in tasks]
    bad = lab.post("tell-all", {"answers": [*good[:2], {"batch": 99, "start": 0, "values": [1.0]}]})
    assert bad.status_code == 404
    assert lab.get().json()["measurements"] == 0
    assert lab.post("tell-all", {"answers": good}).json() == {"new": 3}


def test_failures_statistics_and_candidates_of_an_answer(lab):
    (task,) = asked(lab)
    wrong = lab.post("tell", {"batch": task["batch"], "values": [1.0], "row": task["row"] + 1})
    assert wrong.status_code == 422
    assert "is of row" in wrong.json()["detail"]
    right = {"batch": task["batch"], "values": [None], "candidate": task["candidate"]}
    assert lab.post("tell", right).json() == {"new": 1}
    assert lab.get().json()["failures"] == 1
    assert lab.post("observe", {"observations": [{"row": 0, "value": 3.0, "count": 5, "std": 0.5}]}).json() == {
        "new": 5
    }
    left_out = lab.post("observe", {"observations": [{"row": 0, "value": 3.0}, {"row": 0}]})
    assert left_out.status_code == 422
    assert "None or nan for a measurement that failed" in left_out.json()["detail"]
    assert lab.post("observe", {"observations": [{"row": 0, "value": None}]}).json() == {"new": 1}
    assert lab.get().json()["failures"] == 2


def test_observations_with_a_key_count_once(lab):
    body = {"observations": [{"candidate": {"temp": 50, "solvent": "water"}, "value": 70.0}], "key": "from the bench"}
    assert lab.post("observe", body).json() == {"new": 1}
    assert lab.post("observe", body).json() == {"new": 0}
    other = lab.post("observe", {**body, "observations": [{"row": 3, "value": 7.0}, {"row": 4, "value": 8.0}]})
    assert other.status_code == 409
    assert "give another key" in other.json()["detail"]
    assert lab.get().json()["measurements"] == 1
    assert lab.post("observe", {**body, "key": "another"}).json() == {"new": 1}
    assert lab.post("observe", body, role="worker").json() == {"new": 1}  # whose keys are others
    assert verify(lab.storage, "reaction") == []


def test_putting_right(lab):
    lab.post("observe", {"observations": [{"row": 2, "value": 705.0}, {"row": 3, "value": 60.0}]})
    assert lab.post("correct", {"number": 1, "value": 70.5, "why": "typo"}).json() == {"changed": 1}
    assert lab.post("retract", {"numbers": [2], "why": "wrong vial"}).json() == {"changed": 1}
    first, second = lab.get("history").json()["measurements"]
    assert (first["value"], first["told"], first["revisions"][0]["why"]) == (70.5, 705.0, "typo")
    assert (second["value"], second["withdrawn"]) == (None, True)


def test_history_comes_in_pages(lab):
    lab.post("observe", {"observations": [{"row": i % 6, "value": float(i)} for i in range(25)]})
    place, values = 1, []
    while place is not None:
        page = lab.get("history", params={"start": place, "limit": 10}).json()
        values += [each["value"] for each in page["measurements"]]
        place = page["next"]
    assert values == [float(i) for i in range(25)]
    lines = lab.get("export", params={"format": "jsonl"}).text.splitlines()
    assert [msgspec.json.decode(line)["value"] for line in lines] == values
    head, *rows = lab.get("export").text.splitlines()
    assert head.startswith("batch,repeat,row,temp,solvent,value")
    assert len(rows) == 25
    assert lab.get("batches", params={"limit": 2}).json()["next"] == 2


def test_candidates_are_sorted_filtered_added_and_retired(lab):
    lab.post(
        "observe", {"observations": [{"row": 1, "value": 9.0}, {"row": 4, "value": 1.0}, {"row": 4, "value": 1.1}]}
    )
    rows = lambda **params: [each["row"] for each in lab.get("candidates", params=params).json()["candidates"]]  # noqa: E731
    assert rows() == [0, 1, 2, 3, 4, 5]
    assert rows(where="solvent=water") == [0, 2, 4]
    assert rows(where=["temp>=50", "solvent!=water"]) == [3, 5]
    assert rows(sort="measured", descending=True)[:2] == [4, 1]
    assert rows(sort="mean", descending=True)[0] == 1
    assert rows(offset=4, limit=1) == [4]
    refused = lab.get("candidates", params={"where": "colour=red"})
    assert refused.status_code == 422
    assert lab.post("candidates", {"rows": [{"temp": 70, "solvent": "water"}]}).json() == {"rows": [6]}
    assert lab.post("candidates/retire", {"rows": [0, 1]}).json() == {"changed": 2}
    assert rows(where="retired=true") == [0, 1]
    assert lab.post("candidates/restore", {"rows": [0]}).json() == {"changed": 1}


def test_answers(lab):
    assert lab.get("best").status_code == 409  # nothing was measured
    lab.post("observe", {"observations": [{"row": i % 6, "value": 60.0 + i % 6} for i in range(18)]})
    assert lab.get("best").json()["row"] == 5
    assert len(lab.get("top", params={"k": 3}).json()["top"]) == 3
    predicted = lab.post("predict", {"points": [{"temp": 55, "solvent": "water"}]}, role="read").json()
    assert predicted["low"][0] < predicted["mean"][0] < predicted["high"][0]
    assert lab.post("predict", {"rows": [0, 10**12]}).status_code == 404
    (task,) = asked(lab)
    assert lab.get(f"batches/{task['batch']}/explanation").json()["words"]
    assert "verdict" in lab.get("diagnosis").json()


def test_leases_are_renewed_and_released(lab):
    (task,) = asked(lab, lease=60)
    assert lab.get("leases").json()["leases"][0]["worker"] == "robot"
    assert lab.post("heartbeat", {"key": task["key"], "lease": 600}).json() == {"changed": task["repeats"]}
    assert lab.get("leases").json()["leases"][0]["until"] > task["until"]
    assert lab.post("heartbeat", {"worker": "robot"}).json() == {"changed": task["repeats"]}
    assert lab.post("release", {"worker": "robot"}).json() == {"changed": task["repeats"]}
    assert lab.get("leases").json() == {"leases": []}


@pytest.mark.parametrize(
    "candidates",
    [
        {"csv": "a,b\n1,x\n2,y\n"},
        {"rows": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]},
        {"space": {"a": {"low": 0, "high": 1, "step": 0.5}, "b": {"levels": ["x", "y"]}}},
        {"space": {"a": {"low": 0, "high": 1}}},
    ],
    ids=["csv", "rows", "space", "ranges"],
)
def test_studies_are_made_and_deleted(lab, candidates):
    settings = {"kernel": "Matern52(lengthscale=0.3, std=1)", "noise_std": 0.1, "stop": ["width=0.5"], "seed": 1}
    body = {"name": "a <script> of one's own", **candidates, "budget": 10, "settings": settings}
    made = lab.request("POST", "/api/v1/studies", json=body)
    assert made.status_code == 201, made.text
    assert lab.request("POST", "/api/v1/studies", json=body).status_code == 201  # sent again
    assert (
        lab.request("POST", "/api/v1/studies", json=body | {"csv": "q\n1\n", "rows": None, "space": None}).status_code
        == 409
    )
    path = "/api/v1/studies/a%20%3Cscript%3E%20of%20one's%20own"
    assert lab.request("PUT", f"{path}/budget", json={"budget": 20}).json()["budget"] == 20
    assert lab.request("DELETE", path).status_code == 204
    assert lab.request("GET", path).status_code == 404


def test_a_study_that_is_made_anew_elsewhere_is_the_one_that_is_served(lab):
    (task,) = asked(lab)
    lab.storage.delete("reaction")
    assert lab.get().status_code == 404
    Study("reaction", lab.path, [[1.0], [2.0]], budget=5)
    assert lab.get().json()["candidates"] == 2
    assert lab.post("tell", {"batch": task["batch"], "start": 0, "values": [1.0]}).status_code == 404


@pytest.mark.parametrize("name", REQUESTS)
def test_every_example_is_what_the_route_takes(name):
    operations = {each["operationId"]: each for path in description()["paths"].values() for each in path.values()}
    kind = operations[name]["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    msgspec.convert(REQUESTS[name], getattr(schemas, kind), strict=True)


def test_every_route_is_described_with_examples():
    for path, operations in description()["paths"].items():
        for operation in operations.values():
            assert operation["description"], path
            succeeded = next(each for code, each in operation["responses"].items() if code.startswith("2"))
            for content in succeeded.get("content", {}).values():
                assert "example" in content, operation["operationId"]
            assert ("requestBody" in operation) == (operation["operationId"] in REQUESTS)
    assert set(RESPONSES) >= set(REQUESTS)


def description():
    from ostinato.service.openapi import description
    from ostinato.service.routes import ROUTES

    return description(ROUTES)


def test_one_answer_that_cannot_be_read_does_not_refuse_those_that_came_with_it(lab):
    from ostinato.storage import Source
    from ostinato.study.exchange import Answer
    from ostinato.study.intake import Report
    from ostinato.study.reading import read_answer

    tasks, read = asked(lab, slots=3, distinct=True), read_answer([1.0], None, None, None, lab.study.outcome)
    said = [Answer(tasks[0]["batch"], candidate={"temp": 10**400}), None, None]
    pairs = zip(tasks, said, strict=True)
    reports = [[Report(task["batch"], task["start"], read, Source(), answer)] for task, answer in pairs]
    wrong, *others = lab.study.teller().take(reports)
    assert "is of row" in str(wrong)
    assert others == [1, 1]
    huge = b'{"batch": 0, "values": [1], "candidate": {"temp": 1' + b"0" * 400 + b"}}"
    path, kind = "/api/v1/studies/reaction/tell", {"content-type": "application/json"}
    assert lab.request("POST", path, content=huge, headers=kind).status_code == 422


def test_answers_of_the_next_repeats_are_stored_once_where_the_storage_was_not_heard(lab, monkeypatch):
    tasks = asked(lab, slots=12)
    task = max(tasks, key=lambda each: each["repeats"])
    assert task["repeats"] > 1
    with monkeypatch.context() as patch:
        unheard(lab.storage, patch)
        assert lab.post("tell", {"batch": task["batch"], "values": [7.5]}).json() == {"new": 1}
    assert lab.get().json()["measurements"] == 1
    assert verify(lab.storage, "reaction") == []


def test_conditions_on_logarithmic_and_optional_columns(lab):
    space = {
        "base": {"levels": ["no", "yes"]},
        "dose": {"low": 0.001, "high": 10, "count": 5, "log": True},
        "heat": {"levels": [20, 40], "ordered": True, "when": {"base": "yes"}},
    }
    made = lab.request("POST", "/api/v1/studies", json={"name": "logs", "space": space})
    assert made.status_code == 201, made.text

    def doses(where):
        answer = lab.request("GET", "/api/v1/studies/logs/candidates", params={"where": where, "limit": 100})
        assert answer.status_code == 200, answer.text
        return [each["candidate"] for each in answer.json()["candidates"]]

    assert {row["dose"] for row in doses("dose >= 0.1")} == {0.1, 1, 10}
    assert {row["dose"] for row in doses("dose=0.01")} == {0.01}
    assert len(doses("dose>-1")) == 15
    assert len(doses("heat=20")) == 5
    assert len(doses("heat!=20")) == 5


def test_points_that_differ_in_length_are_refused(lab):
    lab.study.observe(0, 1.0)
    answer = lab.post("predict", {"points": [[1.0, 2.0], [1.0]]})
    assert answer.status_code == 422
    assert "differ in kind or length" in answer.json()["detail"]


@pytest.mark.parametrize("number", [10**30, -(10**30), 2**63])
def test_a_batch_of_a_number_that_no_database_knows_is_unknown(lab, number):
    assert lab.get(f"batches/{number}/explanation").status_code == 404


def test_name_and_unit_of_what_is_measured(lab):
    body = {"name": "named", "rows": [{"a": 1}, {"a": 2}], "settings": {"value": "yield", "unit": "%"}}
    assert lab.request("POST", "/api/v1/studies", json=body).status_code == 201
    status = lab.request("GET", "/api/v1/studies/named").json()
    assert (status["value"], status["unit"]) == ("yield", "%")
    assert (
        lab.request("POST", "/api/v1/studies", json={**body, "name": "n", "settings": {"unit": ""}}).status_code == 422
    )
