"""The dashboard in a real browser: what people do with it, step by step."""

import re
from urllib.parse import quote

import pytest

from dashboard_laboratory import CHROMIUM, FLAGS, SCRIPT, make_studies, make_token, need_chromium, serving
from ostinato import Study

PATIENCE = 30_000  # milliseconds: a busy machine is no defect
PARTS = ("", "/candidates", "/log", "/progress", "/bench", "/plate")
CSV = "temp,catalyst,solvent\n" + "\n".join(
    f"{temp},{catalyst},{solvent}" for temp in (20, 40, 60) for catalyst in (0.1, 1, 10) for solvent in ("water", "dmf")
)
DROP = """([text, name]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name, { type: "text/csv" }));
    const drop = document.querySelector("[data-drop]");
    for (const kind of ["dragenter", "dragover", "drop"])
        drop.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    need_chromium()
    path = tmp_path_factory.mktemp("dashboard") / "lab.db"
    make_studies(path)
    return path


@pytest.fixture(scope="module")
def link(file):
    with serving(file) as printed:
        yield printed


@pytest.fixture(scope="module")
def root(link):
    return link.split("/login")[0]


@pytest.fixture(scope="module")
def browser():
    need_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


class Eyes:
    """A browser that somebody is signed in with, and what went wrong in it."""

    def __init__(self, browser, root):
        self.root, self.wrong = root, []
        self.context = browser.new_context(viewport={"width": 1100, "height": 900})
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", self._dialog)
        self.page.on("console", lambda said: self.wrong.append(said.text) if "Content Security" in said.text else None)
        self.page.on("request", lambda sent: None if sent.url.startswith(root) else self.wrong.append(sent.url))

    def _dialog(self, dialog):
        if dialog.type == "alert":
            self.wrong.append(dialog.message)
        dialog.accept()

    def sign_in(self, token):
        self.page.goto(self.root)
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("heading", name="Studies").wait_for()
        return self

    def open(self, study, part=""):
        self.page.goto(address(self.root, study) + part)
        return self.page


def address(root, study):
    return f"{root}/studies/{quote(study.replace('/', '~2F'), safe='~')}"


@pytest.fixture(scope="module")
def owner(browser, root, link):
    eyes = Eyes(browser, root)
    eyes.page.goto(link)
    yield eyes
    assert eyes.wrong == []
    eyes.context.close()


@pytest.fixture(scope="module")
def expect():
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE)
    return expect


def settled(page, expect):
    """Every part that is fetched by itself is there."""
    for figure in page.locator("[data-figure]").all():  # they come when they are scrolled to
        figure.scroll_into_view_if_needed()
        expect(figure.locator(".loading")).to_have_count(0)
    expect(page.locator(".loading, .htmx-request")).to_have_count(0)


def test_a_study_is_made_from_a_dropped_table_and_measured_by_hand(owner, root, expect):
    page = owner.page
    page.goto(f"{root}/new")
    page.evaluate(DROP, [CSV, "reaction.csv"])
    understood = page.get_by_role("region", name="Columns")
    expect(understood).to_contain_text("solvent")
    expect(understood.get_by_role("row", name="catalyst")).to_contain_text("logarithmic")
    expect(page.get_by_label("Name of the study")).to_have_value("reaction")
    page.get_by_text("Lower is better").click()
    page.get_by_label("Measurements in all").fill("30")
    page.get_by_role("button", name="Make the study").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("reaction")
    page.get_by_role("link", name="Measure", exact=True).first.click()
    page.get_by_role("button", name="What should I measure?").click()
    field = page.get_by_label(re.compile("^Value 1 of"))
    field.fill("abc")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").filter(has_text="not a number")).to_be_visible()
    field.fill("12,5")
    page.get_by_role("button", name="Save").click()
    entered = page.locator(".told")
    expect(entered).to_have_count(1)
    expect(entered.first).to_contain_text("12.5")
    page.get_by_text("Undo").click()  # a typing mistake, put right
    page.get_by_label("12.5 should have been").fill("1.25")
    page.locator(".told").get_by_role("button", name="Save").click()
    expect(entered.first).to_contain_text("1.25")
    page.reload()  # the address holds the task
    expect(entered.first).to_contain_text("1.25")
    page.goto(address(root, "reaction"))
    expect(page.locator("#counters")).to_contain_text("1 of 30")
    expect(page.locator(".estimate")).to_have_count(1)


def test_what_another_person_enters_appears_without_reloading(owner, file, expect):
    page = owner.open("yield")
    settled(page, expect)
    page.evaluate("window.stays = true")
    before = page.locator("#figure-batches svg.chart").get_attribute("aria-label")
    other = Study("yield", file)
    n = other.counters()[0].answered
    task = other.ask(limit=2, worker="Ana")
    other.tell(task, [44.0] * task.repeats)
    expect(page.locator("#counters")).to_contain_text(f"{n + task.repeats} of 60")
    expect(page.locator("#figure-batches svg.chart")).not_to_have_attribute("aria-label", before)
    assert page.evaluate("window.stays") is True


def test_a_measurement_is_corrected_and_taken_back_in_the_log(owner, expect):
    page = owner.open("minimize", "/log")
    page.get_by_role("button", name="Correct measurement 8").click()
    page.get_by_label("New value").fill("0.5")
    page.get_by_label("Why").fill("typing mistake")
    page.get_by_role("button", name="Save").click()
    row = page.locator("#m8")
    expect(row).to_contain_text("0.5")
    expect(row).to_contain_text("typing mistake")
    page.get_by_role("button", name="Take back measurement 8").click()
    page.locator("dialog").get_by_role("button", name="Take back").click()
    expect(row).to_contain_text("taken back")


def test_candidates_are_filtered_and_sorted(owner, expect):
    page = owner.open("yield", "/candidates")
    rows = page.locator("#rows tbody tr")
    expect(rows).to_have_count(12)
    page.get_by_label("Filter").fill("temp >= 50, solvent = water")
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="temp").click()
    expect(rows.first.locator("td").first).to_have_text("50")
    page.get_by_label("Filter").fill("temp >= 60, solvent = water")  # they stay sorted
    expect(rows).to_have_count(2)
    expect(rows.first.locator("td").first).to_have_text("60")
    page.get_by_role("button", name="temp").click()  # the click is not overtaken by the filter that is left
    expect(rows.first.locator("td").first).to_have_text("70")
    expect(page.locator(".htmx-request")).to_have_count(0)
    expect(rows.first.locator("td").first).to_have_text("70")
    page.get_by_label("measured only").check()
    expect(page).to_have_url(re.compile("measured=true"))
    page.get_by_label("Filter").fill("colour = red")
    expect(page.get_by_role("alert").filter(has_text="colour")).to_be_visible()


def test_the_keyboard_stays_where_it_was(owner, file, expect):
    page = owner.open("yield", "/candidates")
    sorts = page.get_by_role("button", name="temp")
    for order in ("ascending", "descending"):
        sorts.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("columnheader", name="temp")).to_have_attribute("aria-sort", order)
        expect(sorts).to_be_focused()
    owner.open("yield", "/log")
    corrects = page.get_by_role("button", name="Correct measurement 2", exact=True)
    corrects.focus()
    page.keyboard.press("Enter")
    page.keyboard.type("45.5")
    page.keyboard.press("Enter")
    expect(page.locator("#m2")).to_contain_text("45.5")
    expect(corrects).to_be_focused()
    takes_back = page.get_by_role("button", name="Take back measurement 2", exact=True)
    takes_back.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator("#m2")).to_contain_text("taken back")
    expect(page.locator("#log")).to_be_focused()
    owner.open("yield")
    settled(page, expect)
    chart = page.locator("#figure-measurements svg.chart")
    chart.focus()
    chart.evaluate("chart => chart.setAttribute('data-old', 'yes')")
    other = Study("yield", file)
    task = other.ask(limit=1, worker="Ana")
    other.tell(task, [44.0] * task.repeats)
    expect(chart).not_to_have_attribute("data-old", "yes")
    expect(chart).to_be_focused()


def test_enter_in_an_empty_field_answers_neither_yes_nor_no(owner, expect):
    page = owner.open("clicks", "/bench")
    page.get_by_role("button", name="What should I measure?").click()
    expect(page.get_by_label(re.compile("^Value 1 of"))).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="No value was given")).to_be_visible()
    expect(page.locator(".told")).to_have_count(0)
    page.get_by_role("button", name="No", exact=True).click()
    expect(page.locator(".told")).to_contain_text("0")


def test_figures_say_values_and_zoom(owner, file, expect):
    page = owner.open("yield")
    settled(page, expect)
    chart = page.locator("#figure-progress svg.chart")
    chart.scroll_into_view_if_needed()
    told = Study("yield", file).optimizer.steps
    expect(chart).to_have_attribute("data-high", str(told))  # what other tests told a moment ago is drawn later
    chart.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#figure-progress .tip")).to_contain_text("after")
    whole = chart.get_attribute("data-high")
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 80, steps=4)
    page.mouse.up()
    expect(chart).not_to_have_attribute("data-high", whole)
    page.get_by_role("button", name="Show all: Progress").click()
    expect(chart).to_have_attribute("data-high", whole)
    page.locator("#column").select_option("solvent")
    expect(page.locator("#figure-posterior svg.chart")).to_contain_text("ethanol")


def test_light_and_dark_are_switched_and_remembered(owner, root, expect):
    page = owner.page
    page.goto(root)
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Theme").click()
    assert page.evaluate(colour) != light
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate(colour) != light
    page.get_by_role("button", name="Theme").click()
    assert page.evaluate(colour) == light
    owner.context.clear_cookies(name="ostinato_theme")
    page.emulate_media(color_scheme="dark")
    page.reload()
    assert page.evaluate(colour) != light
    page.emulate_media(color_scheme="light")


def test_nothing_is_wider_than_a_narrow_screen(owner, root, expect):
    page = owner.page
    page.set_viewport_size({"width": 360, "height": 700})
    for place in (root, f"{root}/new", *(address(root, "long names") + part for part in PARTS)):
        page.goto(place)
        settled(page, expect)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, place
    page.set_viewport_size({"width": 1100, "height": 900})


def test_a_plate_is_planned_and_filled_in(owner, expect):
    page = owner.open("empty", "/plate")
    page.get_by_label("How many measurements").fill("3")
    page.get_by_role("button", name="Plan it").click()
    wells = page.get_by_label(re.compile("^Value of well"))
    expect(wells).to_have_count(3)
    expect(wells.first).to_be_focused()
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", level=1)).to_have_text("Plate of empty")  # the sheet says of what it is
    expect(page.get_by_role("button", name="Print")).to_be_hidden()
    page.emulate_media(media="screen")
    wells.nth(0).fill("3.5")
    wells.nth(1).fill("failed")
    page.get_by_role("button", name="Save the values").click()
    expect(wells).to_have_count(1)
    expect(wells.first).to_be_focused()
    page.locator("#plate").get_by_role("link", name="3.5").click()  # a typing mistake, put right
    page.get_by_text("Undo").click()
    page.get_by_label("3.5 should have been").fill("5.3")
    page.locator(".told").get_by_role("button", name="Save").click()
    expect(page.locator(".told")).to_contain_text("5.3")


def test_a_reader_sees_no_buttons_and_is_refused(browser, root, file, expect):
    eyes = Eyes(browser, root).sign_in(make_token(file, "Rita", "read"))
    for part in ("", "/candidates", "/log", "/progress"):
        page = eyes.open("yield", part)
        settled(page, expect)
        changing = page.locator("main :is([hx-post], form[method=post], [data-dialog], a[href$=bench], a[href$=plate])")
        expect(changing).to_have_count(0)
        expect(page.get_by_role("link", name="Measure", exact=True)).to_have_count(0)
    answer = page.request.post(
        f"{address(root, 'yield')}/retract", form={"number": "1"}, headers={"origin": root}, max_redirects=0
    )
    assert answer.status == 403
    assert eyes.wrong == []
    eyes.context.close()


def test_a_worker_measures_and_corrects_nothing_in_the_log(browser, root, file, expect):
    eyes = Eyes(browser, root).sign_in(make_token(file, "Willem", "worker"))
    page = eyes.open("yield", "/log")
    expect(page.locator("#log tbody tr").first).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Correct|Take back"))).to_have_count(0)
    page.get_by_role("link", name="Measure").click()
    page.get_by_role("button", name="What should I measure?").click()
    expect(page.get_by_label(re.compile("^Value 1 of"))).to_be_visible()
    page.get_by_role("button", name="Hand it back").click()
    expect(page.get_by_role("status").filter(has_text="handed back")).to_be_visible()
    eyes.context.close()


def test_a_study_named_like_a_script_is_text(owner, root, expect):
    page = owner.page
    page.goto(root)
    page.get_by_role("link", name=SCRIPT).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(SCRIPT)
    settled(page, expect)
    for part in PARTS:
        owner.open(SCRIPT, part)
        settled(page, expect)
        assert page.locator("main script, main img, main b").count() == 0
    expect(page.locator(".crumb")).to_have_text(SCRIPT)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(owner, root, expect, theme):
    from axe_playwright_python.sync_playwright import Axe

    page, axe = owner.page, Axe()
    page.emulate_media(color_scheme=theme)
    places = [root, f"{root}/new", *(address(root, "yield") + part for part in PARTS)]
    found = []
    for place in places:
        page.goto(place)
        settled(page, expect)
        results = axe.run(page, options={"resultTypes": ["violations"]})
        found += [
            (place, each["id"], [node["html"][:200] for node in each["nodes"][:2]])
            for each in results.response["violations"]
            if each["impact"] in ("serious", "critical")
        ]
    page.emulate_media(color_scheme="light")
    assert found == []
