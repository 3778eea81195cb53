"""Pages of the dashboard over ASGI: every page with every kind of study, roles, and names that are shown as text."""

import asyncio
import base64
import gzip
import hashlib
import json
import re
import sqlite3
import threading
import warnings
from contextlib import asynccontextmanager, closing
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest

from dashboard_laboratory import LONG, SCRIPT, make_studies, make_token
from ostinato import Study
from ostinato.errors import InvalidFeedback, OstinatoWarning
from ostinato.service.app import create_app
from ostinato.service.auth import COOKIE, OWNER
from ostinato.service.configuration import Config, Limits
from ostinato.service.dashboard import ROUTES, home
from ostinato.service.dashboard.addresses import from_address, in_address
from ostinato.service.dashboard.files import KINDS, content
from ostinato.service.dashboard.html import div, joined, span
from ostinato.service.dashboard.reading import values_in
from ostinato.service.dashboard.study_page import FIGURES
from ostinato.service.guards import READ_NAME
from ostinato.storage import open_storage

pytestmark = pytest.mark.filterwarnings("ignore::ostinato.errors.OstinatoWarning")
HOST = "http://localhost"
NAMES = (
    "yield",
    "empty",
    "clicks",
    "one measurement",
    "one candidate",
    "all failed",
    "long names",
    "extreme",
    "minimize",
)
NAMES = (*NAMES, SCRIPT)
PAGES = ("", "/candidates", "/log", "/progress", "/bench", "/plate")
PARTS = ("best", "counters", "answer", "warnings", "candidates", "log", "progress", *(f"figures/{k}" for k in FIGURES))
ASSETS = 150_000  # bytes, gzipped, of all JavaScript and CSS


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "lab.db"
    assert make_studies(path) == list(NAMES)
    return path


@asynccontextmanager
async def visiting(file, token=None, config=None):
    """A browser of the owner, or a client with a token."""
    app = create_app(open_storage(f"sqlite:///{file}"), config)
    cookies = {} if token else {COOKIE: app.service.authentication.begin_session(OWNER)}
    headers = {"authorization": f"Bearer {token}"} if token else {"origin": HOST}
    try:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=HOST, cookies=cookies, headers=headers) as client:
            yield client
    finally:
        app.service.close()


def at(study, part=""):
    return f"/studies/{quote(in_address(study), safe='~')}{part}"


@pytest.mark.anyio
async def test_every_page_and_part_shows_every_kind_of_study(file):
    async with visiting(file) as client:
        for study in NAMES:
            for part in (*PAGES, *(f"/parts/{each}" for each in PARTS)):
                answer = await client.get(at(study, part))
                assert answer.status_code == 200, (study, part, answer.text)
                assert "nan" not in answer.text.lower().replace("announce", ""), (study, part)


@pytest.mark.anyio
async def test_names_are_text_wherever_they_are_shown(file):
    async with visiting(file) as client:
        for place in ("/", *(at(SCRIPT, part) for part in PAGES), *(at(SCRIPT, f"/parts/{part}") for part in PARTS)):
            text = (await client.get(place)).text
            assert "<script>alert" not in text
            assert "<img" not in text
            assert "<b " not in text
        assert "&lt;script&gt;" in (await client.get("/")).text


@pytest.mark.anyio
async def test_figures_follow_the_width_and_the_part_of_the_axis_that_is_asked_for(file):
    async with visiting(file) as client:
        part = at("yield", "/parts/figures/progress")
        assert 'viewBox="0 0 500 ' in (await client.get(part, params={"width": 500})).text
        zoomed = (await client.get(part, params={"start": 2, "end": 5})).text
        assert 'data-low="2.0"' in zoomed
        assert 'data-high="5.0"' in zoomed
        along = await client.get(at("yield", "/parts/figures/posterior"), params={"column": "solvent"})
        assert "ethanol" in along.text
        assert (await client.get(part, params={"column": "colour"})).status_code == 200  # others have no column
        wrong = await client.get(at("yield", "/parts/figures/posterior"), params={"column": "colour"})
        assert wrong.status_code == 422


@pytest.mark.anyio
async def test_the_address_of_the_page_follows_the_filter_and_the_order(file):
    async with visiting(file) as client:
        part = {"find": "temp >= 50", "sort": "column:0", "down": "false"}
        rows = await client.get(at("yield", "/parts/candidates"), params=part)
        address = urlsplit(rows.headers["hx-replace-url"])
        assert address.path == at("yield", "/candidates")
        page = (await client.get(rows.headers["hx-replace-url"])).text
        assert 'value="temp &gt;= 50"' in page
        (again,) = re.findall('id="rows"[^>]*hx-get="([^"]*)"', page)
        assert parse_qs(urlsplit(again.replace("&amp;", "&")).query) == {key: [value] for key, value in part.items()}
        assert (await client.get(again.replace("&amp;", "&"))).text == rows.text


@pytest.mark.anyio
async def test_long_names_are_cut_in_figures_and_whole_where_one_points(file):
    async with visiting(file) as client:
        text = (await client.get(at("long names", "/parts/figures/measurements"))).text
        assert "…" in text
        assert f"<title>what {LONG.format(0)}" in text
        shown = re.findall("([^>]*…[^<]*)<title>", text)
        assert len(set(shown)) == len(shown) > 1, "cut in the middle: they differ at their ends"
        failed = (await client.get(at("all failed", "/parts/figures/measurements"))).text
        assert "All 4 measurements failed: there is no value to show." in failed


@pytest.mark.anyio
async def test_on_a_phone_candidates_are_named_by_their_values_and_axes_have_two_ticks(file):
    async with visiting(file) as client:
        wide, narrow = [
            (await client.get(at("yield", "/parts/figures/measurements"), params={"width": width})).text
            for width in (1000, 260)
        ]
        assert re.search(r">temp [^<]*, solvent [^<]*<title>", wide)
        assert re.search(r">[\d.]+, (water|ethanol)<title>temp ", narrow)
        assert len(re.findall('class="tick middle"', narrow)) >= 2


@pytest.mark.anyio
@pytest.mark.parametrize(("role", "works"), [("read", False), ("worker", True)])
async def test_roles_see_what_they_may_do(file, role, works):
    async with visiting(file, make_token(file, role, role)) as client:
        assert (await client.get(at("yield", "/bench"))).status_code == (200 if works else 403)
        page = (await client.get(at("yield"))).text
        assert ("Plan a plate" in page) == works
        assert "New study" not in (await client.get("/")).text
        assert "Correct" not in (await client.get(at("yield", "/log"))).text
        for action in ("correct", "retract", "close"):
            assert (await client.post(at("yield", f"/{action}"), data={"number": 1})).status_code == 403
        for action in ("bench/ask", "bench/tell", "plate", "release"):
            refused = (await client.post(at("yield", f"/{action}"), data={})).status_code == 403
            assert refused != works


@pytest.mark.anyio
async def test_a_token_for_one_study_sees_no_other(file):
    async with visiting(file, make_token(file, "limited", "admin", ["empty"])) as client:
        assert (await client.get(at("empty"))).status_code == 200
        for study in ("yield", SCRIPT, "empty~2F", "no such study"):
            for part in (*PAGES, "/events", *(f"/parts/{each}" for each in PARTS)):
                assert (await client.get(at(study, part))).status_code == 404
        text = (await client.get("/")).text
        assert "yield" not in text


@pytest.mark.anyio
async def test_pages_that_are_not_there_say_so_in_words(file):
    async with visiting(file) as client:
        answer = await client.get(at("no such study"))
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("text/html")
        assert "no such study" in answer.text
        assert "All studies" in answer.text
        nowhere = await client.get("/nowhere", headers={"accept": "text/html"})
        assert (nowhere.status_code, nowhere.headers["content-type"][:9]) == (404, "text/html")
        assert "The link may be old or mistyped" in nowhere.text
        assert (await client.get("/api/v1/nowhere")).headers["content-type"] == "application/problem+json"
        assert (await client.get("/assets/x/..%2Ffiles.py")).status_code == 404


@pytest.mark.anyio
async def test_whoever_is_not_signed_in_is_shown_a_page_that_the_policy_lets_look_well(file):
    headers = {"accept": "text/html", "origin": HOST, "authorization": ""}
    async with visiting(file, "none") as client:
        page = await client.get("/", headers=headers)
        wrong = await client.post("/session", data={"token": "ost_wrong"}, headers=headers)
    style = re.search("<style>(.*)</style>", page.text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in page.headers["content-security-policy"]
    assert (wrong.status_code, wrong.headers["content-type"][:9]) == (401, "text/html")
    assert "That token is unknown" in wrong.text


@pytest.mark.anyio
async def test_a_finished_study_offers_nothing_to_measure_and_wells_are_named(tmp_path):
    path = tmp_path / "lab.db"
    study = Study("s", path, [[1.0], [2.0], [3.0]], noise_std=1.0, budget=3, seed=1)
    async with visiting(path) as client:
        assert 'href="/studies/s/bench" class="button' in (await client.get(at("s"))).text
        planned = await client.post(at("s", "/plate"), data={"slots": 3, "hours": 1})
        tasks = parse_qs(urlsplit(planned.headers["hx-push-url"]).query)["tasks"][0]
        fields = dict.fromkeys(re.findall(r'name="(v-\d+-\d+)"', planned.text), "1")
        second = list(fields)[1]
        wrong = await client.post(at("s", "/plate/tell"), data={**fields, "tasks": tasks, second: "abc"})
        assert wrong.status_code == 422
        assert "Well 2: " in wrong.json()["detail"]
        assert study.counters()[0].answered == 0
        await client.post(at("s", "/plate/tell"), data={**fields, "tasks": tasks})
        assert study.counters()[0].answered == 3
        assert 'href="/studies/s/bench" class="button' not in (await client.get(at("s"))).text
        for part in ("/bench", "/plate"):
            assert "its budget of 3 measurements is spent" in (await client.get(at("s", part))).text


@pytest.mark.anyio
async def test_values_come_in_once_and_can_be_undone_by_who_entered_them(tmp_path):
    path = tmp_path / "lab.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OstinatoWarning)
        study = Study("s", path, [[1.0], [2.0], [3.0]], noise_std=1.0, seed=1)
    ana, ben = (make_token(path, name, "worker") for name in ("Ana", "Ben"))
    async with visiting(path, ana) as client:
        asked = await client.post(at("s", "/bench/ask"))
        batch = study.leases()[0].batch
        assert f"batch={batch}" in asked.headers["hx-push-url"]
        task = {"batch": batch, "start": 0, "repeats": 1}
        assert "5.5" in (await client.post(at("s", "/bench/tell"), data={**task, "values": "5,5"})).text
        again = await client.post(at("s", "/bench/tell"), data={**task, "values": "6"})
        assert again.status_code == 422
        assert "to come here" in again.text
        right = await client.post(at("s", "/bench/correct"), data={**task, "number": 1, "value": "6.25"})
        assert "6.25" in right.text
    async with visiting(path, ben) as client:
        other = await client.post(at("s", "/bench/correct"), data={**task, "number": 1, "value": "7"})
        assert other.status_code == 403
    (told,) = study.measurements()
    assert (told.value, told.worker, told.program) == (6.25, "Ana", "dashboard")


def test_assets_are_small_and_nothing_comes_from_elsewhere():
    sizes = {name: len(gzip.compress(content(name), 9)) for name in KINDS if not name.endswith(".svg")}
    assert sum(sizes.values()) <= ASSETS, sizes
    for name in ("dashboard.js", "dashboard.css"):
        assert b"http://" not in content(name).replace(b"http://www.w3.org", b"")
        assert b"https://" not in content(name)


def test_what_is_not_markup_is_escaped():
    assert div("<b>", span("&"), title='"') == '<div title="&quot;">&lt;b&gt;<span>&amp;</span></div>'
    assert div(f"{span('x')}") == "<div>&lt;span&gt;x&lt;/span&gt;</div>"
    assert div(span("x") + "<i>") == "<div>&lt;span&gt;x&lt;/span&gt;&lt;i&gt;</div>"
    assert joined(None, [1, 2.5], div(hidden=True, class_=None)) == "12.5<div hidden></div>"


@pytest.mark.parametrize("name", ["a", "a/b", "..", ".", "~2F", "~7E2F/", "a~b", "ä ö?#%"])
def test_every_name_has_an_address_of_its_own(name):
    assert from_address(in_address(name)) == name
    assert "/" not in in_address(name)
    assert in_address(name).strip(".")


def test_values_are_read_as_people_type_them():
    assert values_in("1.5 2,5;−3") == [1.5, 2.5, -3]
    assert values_in("3/5 yes", binary=True) == [1, 1, 1, 0, 0, 1]
    assert str(values_in("failed")) == "[nan]"
    assert values_in("0,125 1234,567 1,2345") == [0.125, 1234.567, 1.2345]


@pytest.mark.parametrize("word", ["1,234", "-12,000", "2 100,000"])
def test_a_comma_that_may_be_of_thousands_is_asked_about(word):
    with pytest.raises(InvalidFeedback, match="may be"):
        values_in(word)


@asynccontextmanager
async def measuring(path):
    """A worker's browser, a study of one candidate, and a task of it with several repeats."""
    study = Study("s", path, [[1.0]], noise_std=1.0, seed=1, budget=50)
    async with visiting(path, make_token(path, "Ana", "worker")) as client:
        (task,) = (await client.post("/api/v1/studies/s/ask", json={"slots": 4})).json()["tasks"]
        assert task["repeats"] == 4
        yield client, study, {name: task[name] for name in ("batch", "start", "repeats")}


@pytest.mark.anyio
async def test_a_form_that_is_sent_again_stores_nothing_twice(tmp_path):
    async with measuring(tmp_path / "lab.db") as (client, study, task):
        shown = (await client.get(at("s", "/bench"), params=task)).text
        assert 'name="seen" value="0"' in shown
        page = {**task, "seen": 0}
        for _ in range(2):  # as after an answer that was lost
            saved = await client.post(at("s", "/bench/tell"), data={**page, "values": "5"})
            assert saved.status_code == 200
            assert "1 of 4 done" in saved.text
        other = await client.post(at("s", "/bench/tell"), data={**page, "values": "6"})
        assert other.status_code == 409
        assert 'name="seen" value="1"' in saved.text
        next_page = {**task, "seen": 1}
        for _ in range(2):
            assert (await client.post(at("s", "/bench/skip"), data=next_page)).status_code == 200
        assert [each.value for each in study.measurements()] == [5.0]
        skipped = (await client.get(at("s", "/bench"), params=task)).text
        assert "2 of 4 done" in skipped


@pytest.mark.anyio
async def test_what_others_hold_is_theirs_to_skip_to_end_and_to_hand_back(tmp_path):
    path = tmp_path / "lab.db"
    async with measuring(path) as (ana, study, task), visiting(path, make_token(path, "Ben", "worker")) as ben:
        for way in ("skip", "enough"):
            refused = await ben.post(at("s", f"/bench/{way}"), data=task)
            assert refused.status_code == 403, way
            assert "it takes their token" in refused.text
        assert (await ben.post(at("s", "/bench/back"), data=task)).status_code == 200
        assert (await ben.post(at("s", "/release"), data={"batch": 0, "worker": "Ana"})).status_code == 200
        assert [(each.token, each.repeats) for each in study.leases()] == [("Ana", 4)]
        for client, shown in ((ana, True), (ben, False)):
            assert ("Release batch 0 of Ana" in (await client.get(at("s", "/progress"))).text) == shown
            assert ("You hold already" in (await client.get(at("s", "/bench"))).text) == shown
        assert (await ana.post(at("s", "/bench/skip"), data=task)).status_code == 200
        assert (await ana.post(at("s", "/bench/back"), data=task)).status_code == 200
        assert study.leases() == []


@pytest.mark.anyio
async def test_a_plate_with_fewer_wells_than_asked_for_says_so(tmp_path):
    Study("s", tmp_path / "lab.db", [[1.0], [2.0], [3.0]], noise_std=1.0, seed=1, budget=10)
    async with visiting(tmp_path / "lab.db") as client:
        wanted = {"slots": 24, "hours": 1}
        planned = await client.post(at("s", "/plate"), data={**wanted, "distinct": "yes"})
        assert "You asked for 24 measurements, and there were 3 to plan: 3 of 24 slots are filled" in planned.text
        assert "no other candidate" in planned.text
        reloaded = await client.get(planned.headers["hx-push-url"])
        assert "You asked for 24 measurements, and there were 3 to plan." in reloaded.text
        planned = await client.post(at("s", "/plate"), data=wanted)
        assert "there were 7 to plan: 7 of 24 slots are filled: the budget leaves no more" in planned.text
        study = Study("s", tmp_path / "lab.db")
        study.allow(20)
        planned = await client.post(at("s", "/plate"), data={**wanted, "slots": 4})
        assert "You asked for" not in planned.text


@pytest.mark.anyio
async def test_a_new_study_counts_candidates_and_takes_the_error_that_repeats_share(tmp_path):
    path = tmp_path / "lab.db"
    Study("other", path, [[1.0]])

    def form(text="temp\n20\n30\n", **said):
        return {"data": {"name": "s", "setup": "no", **said}, "files": {"file": ("s.csv", text.encode())}}

    async with visiting(path) as client:
        for text, words in (
            ("temp\n20\n30\n20\n", "2 candidates, 1 column. 1 row repeats an earlier one, and counts for it."),
            ("temp\n20\n20\n20\n", "1 candidate, 1 column. 2 rows repeat earlier ones, and count for them."),
            ("temp\n20\n30\n", "2 candidates, 1 column.</p>"),
        ):
            understood = (await client.post("/new/columns", files={"file": ("s.csv", text.encode())})).text
            assert words in understood
        assert 'name="setup_std"' in understood
        for said, why in (
            ({"setup_std": "2"}, "choose Yes"),
            ({"setup": "yes", "setup_std": "-1"}, "is not a number above 0"),
            ({"setup": "yes", "setup_std": "wide"}, "is not a number"),
            ({"setup": "yes", "setup_std": "failed"}, "is not a number above 0"),
            ({"setup": "yes", "setup_std": "0"}, "is not a number above 0"),
        ):
            refused = await client.post("/new", **form(**said))
            assert refused.status_code == 422, said
            assert why in refused.json()["detail"], said
        for name, said, kept in (
            ("none", {}, None),
            ("learned", {"setup": "yes"}, "learn"),
            ("known", {"setup": "yes", "setup_std": "0,5"}, 0.5),
        ):
            assert (await client.post("/new", **form(name=name, **said))).status_code == 200
            settings = Study(name, path).reading(lambda reader: reader.record.settings)
            assert json.loads(settings).get("setup_std") == kept


@pytest.mark.anyio
async def test_who_measures_is_told_which_wells_share_a_preparation(tmp_path):
    Study("s", tmp_path / "lab.db", [[1.0]], noise_std=1.0, setup_std=3.0, seed=1, budget=20)
    Study("plain", tmp_path / "lab.db", [[1.0]], noise_std=1.0, seed=1, budget=20)
    async with visiting(tmp_path / "lab.db") as client:
        planned = await client.post(at("s", "/plate"), data={"slots": 3, "hours": 1})
        assert '<th scope="col">Batch</th>' in planned.text
        assert "Prepare anew for each batch number; wells of one batch share a preparation." in planned.text
        assert re.findall(r'<th scope="row">(\d)</th><td>(\d)</td>', planned.text) == [
            ("1", "0"),
            ("2", "1"),
            ("3", "2"),
        ]
        assert "Batch 1: its repeats share a preparation" in (await client.get(at("s", "/bench?batch=1"))).text
        planned = await client.post(at("plain", "/plate"), data={"slots": 3, "hours": 1})
        assert "Batch" not in planned.text
        assert "preparation" not in planned.text + (await client.get(at("plain", "/bench?batch=0"))).text


@pytest.mark.anyio
async def test_a_plate_whose_page_was_closed_is_found_again(tmp_path):
    path = tmp_path / "lab.db"
    study = Study("s", path, [[1.0], [2.0]], noise_std=1.0, seed=1, budget=20)
    study.ask(slots=6, worker="Ana")
    tasks = [(each.batch, each.start, each.repeats) for each in study.leases()]
    assert len(tasks) == 2
    async with visiting(path) as client:
        page = (await client.get(at("s", "/progress"))).text
        for batch, _, repeats in tasks:
            assert f'<td>{batch}</td><td class="number">1 to {repeats}</td>' in page
        (address,) = re.findall(r'href="([^"]+)">Ana: 6 measurements<', page)
        plate = (await client.get(address.replace("&amp;", "&"))).text
        assert len(re.findall(r'name="v-\d+-\d+"', plate)) == 6
    async with visiting(path, make_token(path, "Ben", "worker")) as client:
        assert "As lists to print" not in (await client.get(at("s", "/progress"))).text


@pytest.mark.anyio
async def test_a_figure_that_was_begun_before_the_study_changed_is_asked_for_again(tmp_path, monkeypatch):
    study = Study("s", tmp_path / "lab.db", [[1.0], [2.0]], noise_std=1.0, seed=1)
    study.observe([1.0], 3.0)
    begun, free = threading.Event(), threading.Event()

    def draw(found):
        count = found.counters()[0].answered
        begun.set()
        free.wait()
        return count

    async with visiting(tmp_path / "lab.db") as client:
        await client.get(at("s", "/parts/figures/progress"))
        drawings = client._transport.app.litestar.state["drawings"]
        first = asyncio.create_task(drawings.of("s", "count", draw))
        await asyncio.to_thread(begun.wait)
        study.correct(number=1, new=4.0)
        study.observe([2.0], 5.0)
        joined, once = asyncio.Event(), drawings._once
        monkeypatch.setattr(drawings, "_once", lambda *args: joined.set() or once(*args))
        second = asyncio.create_task(drawings.of("s", "count", draw))
        await joined.wait()
        free.set()
        assert (await first).again == 0
        assert (await second).again > 0


@pytest.mark.anyio
async def test_correcting_starts_from_the_whole_value(tmp_path):
    study = Study("s", tmp_path / "lab.db", [[1.0], [2.0]], noise_std=1.0, seed=1)
    study.observe([1.0], 12345.6789)
    async with visiting(tmp_path / "lab.db") as client:
        assert 'data-value="12345.6789"' in (await client.get(at("s", "/log"))).text


@pytest.mark.anyio
async def test_release_is_of_one_worker(tmp_path):
    study = Study("s", tmp_path / "lab.db", [[1.0]], noise_std=1.0, seed=1, budget=9)
    study.ask(slots=4, worker="Ana")
    study.release_all(worker="Ana")
    for worker in ("Ana", "Ben"):
        (task,) = study.ask(slots=2, worker=worker)
        assert task.batch == 0
    async with visiting(tmp_path / "lab.db") as client:
        page = (await client.get(at("s", "/progress"))).text
        assert "{&quot;batch&quot;:0,&quot;worker&quot;:&quot;Ana&quot;}" in page
        assert (await client.post(at("s", "/release"), data={"batch": 0})).status_code == 422
        for worker, left in (("Ben", {"Ana"}), ("Ana", set())):
            answer = await client.post(at("s", "/release"), data={"batch": 0, "worker": worker})
            assert answer.status_code == 200
            assert {each.worker for each in study.leases()} == left


@pytest.mark.anyio
async def test_what_is_asked_for_is_counted_at_once(tmp_path):
    study = Study("s", tmp_path / "lab.db", [[1.0], [2.0]], noise_std=1.0, seed=1, budget=20)
    study.observe([1.0], 3.0)
    async with visiting(tmp_path / "lab.db") as client:
        assert "<dt>Under way</dt><dd>0</dd>" in (await client.get(at("s", "/parts/answer"))).text
        tasks = study.ask(slots=3, worker="Ana")
        for place in ("/parts/answer", ""):
            text = (await client.get(at("s", place))).text
            assert "<dt>Under way</dt><dd>3</dd>" in text
            assert f"<dt>Batches</dt><dd>{study.status().batches}</dd>" in text
        study.release_all()
        assert "<dt>Waiting</dt><dd>3</dd>" in (await client.get(at("s", "/parts/answer"))).text
        assert tasks


HUGE = "9" * 20


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("place", "status"),
    [
        (f"/bench?batch={HUGE}", 404),
        (f"/bench?batch=0&start={HUGE}&repeats={HUGE}", 200),
        (f"/parts/why/{HUGE}", 404),
        (f"/log?before={HUGE}", 200),
        (f"/log?row={HUGE}", 200),
        (f"/log?number={HUGE}", 200),
        ("/parts/candidates?sort=column:²", 200),
        (f"/parts/candidates?sort=column:{HUGE * 300}", 200),
        (f"/parts/candidates?after={HUGE}", 200),
        ("/parts/figures/progress?start=-inf&end=inf", 200),
        ("/parts/figures/progress?start=nan&end=nan", 200),
        ("/parts/figures/progress?start=-1e308&end=1e308", 200),
        ("/parts/figures/progress?start=0&end=1e308", 200),
        ("/parts/figures/progress?start=0&end=5e-324", 200),
        ("/parts/figures/progress?start=1&end=1.0000000000000002", 200),
    ],
)
async def test_odd_addresses_are_answered(file, place, status):
    async with visiting(file) as client:
        answer = await client.get(at("yield", place))
        assert answer.status_code == status, answer.text


@pytest.mark.anyio
@pytest.mark.parametrize("field", ["²", HUGE, "-1", "1e3", "7" * 5_000, ""])
async def test_odd_forms_are_refused_with_the_reason(file, field):
    async with visiting(file) as client:
        for place, data in {
            "/bench/tell": {"batch": field, "values": 1},
            "/retract": {"number": field},
            "/close": {"batch": field},
            "/plate": {"slots": field},
        }.items():
            answer = await client.post(at("yield", place), data=data)
            assert answer.status_code == 422, answer.text
            assert "whole number" in answer.text
        table = {"file": ("t.csv", "x\n1\n2\n", "text/csv")}
        made = await client.post("/new", data={"name": "new", "budget": field or "0"}, files=table)
        assert made.status_code == 422
        assert "budget" in made.text


@pytest.mark.anyio
async def test_a_form_of_too_many_fields_is_refused(file):
    async with visiting(file) as client:
        form = {"content-type": "application/x-www-form-urlencoded"}
        answer = await client.post(at("yield", "/bench/tell"), content="a=1&" * 20_001, headers=form)
        assert answer.status_code == 422
        assert "fields" in answer.text


@pytest.mark.anyio
async def test_what_is_made_up_is_neither_drawn_nor_kept(file):
    async with visiting(file) as client:
        assert (await client.get(at("yield", "/parts/figures/made-up"))).status_code == 404
        for column in ("a", "b"):
            assert (await client.get(at("yield", "/parts/figures/noise"), params={"column": column})).status_code == 200
        drawn = client._transport.app.litestar.state["drawings"]
        assert drawn.known("yield", "figure noise") is not None
        assert drawn.known("yield", "figure noise", "a") is None


@pytest.mark.anyio
async def test_no_more_drawings_wait_than_the_limit_says(file):
    config = Config(limits=Limits(waiting=1))
    async with visiting(file, config=config) as client:
        parts = (client.get(at("yield", f"/parts/figures/{key}")) for key in FIGURES)
        answers = await asyncio.gather(*parts)
        assert {answer.status_code for answer in answers} == {200, 503}
        refused = next(answer for answer in answers if answer.status_code == 503)
        assert "retry-after" in refused.headers


@pytest.mark.anyio
async def test_a_damaged_study_keeps_no_other_from_being_listed(tmp_path):
    path = tmp_path / "lab.db"
    for name in ("good", "bad"):
        Study(name, path, [[1.0], [2.0]], noise_std=1.0, seed=1).observe([1.0], 3.0)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE studies SET answered = 7 WHERE name = 'bad'")
    async with visiting(path, make_token(path, "reader", "read")) as client:
        page = await client.get("/")
        assert page.status_code == 200
        assert "is damaged" in page.text
        listed = await client.get("/api/v1/studies")
        assert [each["name"] for each in listed.json()["studies"]] == ["good"]
        assert [each["name"] for each in listed.json()["unreadable"]] == ["bad"]
        for answer in (page, listed):
            assert str(tmp_path) not in answer.text


@pytest.mark.anyio
async def test_pages_of_the_list_keep_what_was_searched_for(file, monkeypatch):
    monkeypatch.setattr(home, "PAGE", 2)
    async with visiting(file) as client:
        text = (await client.get("/", params={"find": "e", "after": 2})).text
        assert 'href="/?after=4&amp;find=e"' in text
        odd = (await client.get("/", params={"find": "a&b=#ä"})).text
        assert 'hx-get="/parts/studies?after=0&amp;find=a%26b%3D%23%C3%A4"' in odd


@pytest.mark.anyio
async def test_a_token_for_a_study_with_a_slash_in_its_name_opens_that_one_alone(tmp_path):
    path = tmp_path / "lab.db"
    for name in ("a/b", "a~2Fb", "b"):
        Study(name, path, [[1.0], [2.0]], noise_std=1.0, seed=1)
    for name, other in (("a/b", "a~2Fb"), ("a~2Fb", "a/b")):
        async with visiting(path, make_token(path, name, "admin", [name])) as client:
            listed = (await client.get("/")).text
            assert f'href="{at(name)}"' in listed
            assert f'href="{at(other)}"' not in listed
            for part in (*PAGES, *(f"/parts/{each}" for each in PARTS)):
                assert (await client.get(at(name, part))).status_code == 200, part
                assert (await client.get(at(other, part))).status_code == 404, part
            assert (await client.post(at(other, "/bench/ask"))).status_code == 404


def test_every_page_of_a_study_reads_its_name_before_anybody_is_let_in():
    pages = [route for route in ROUTES if any("{study" in path for path in route.paths)]
    assert len(pages) > 20
    assert all(route.opt[READ_NAME] is from_address for route in pages)
