"""Make the pictures of docs/dashboard.md: `python docs/screenshots.py` (needs Chromium, and the group `test`).

It makes studies, serves them as `ostinato serve` does, and photographs the pages.
"""

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from ostinato import Study
from ostinato.candidates import Candidates, Float, Space
from ostinato.candidates.reading import listed
from ostinato.errors import OstinatoWarning

HERE = Path(__file__).parent / "dashboard"
CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PATIENCE = 60_000  # milliseconds
COLOURS = 64  # of a picture, so that it is small
SOLVENTS = {"water": 0.0, "ethanol": 6.0, "toluene": -5.0, "acetonitrile": 3.0}
WIDE, PHONE = {"width": 1180, "height": 820}, {"width": 360, "height": 720}


def yields(rng: np.random.Generator, temp: float, catalyst: float, solvent: str) -> float:
    """A reaction's yield in percent, with noise."""
    truth = 78 + SOLVENTS[solvent] - (temp - 68) ** 2 / 90 - 14 * (np.log10(catalyst) - 0.2) ** 2
    return round(float(truth + rng.normal(0, 1.6)), 1)


def reactions() -> list[dict[str, object]]:
    return [
        {"temp": temp, "catalyst": catalyst, "solvent": solvent}
        for temp in range(30, 105, 5)
        for catalyst in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
        for solvent in SOLVENTS
    ]


def table(rows: list[dict[str, object]]) -> Candidates:
    return listed({name: [row[name] for row in rows] for name in rows[0]})


def make_studies(file: Path, budget: int = 120) -> None:
    """A laboratory: a study that goes on, with tasks under way and a typing mistake; one that is over; a new one."""
    rng = np.random.default_rng(3)
    called = {"value": "yield", "unit": "%"}
    study = Study("Suzuki coupling", file, candidates=table(reactions()), budget=budget, seed=1, **called)
    for _ in range(200):
        task = study.ask(worker="robot-1")
        if task is None or study.counters()[0].answered >= budget * 0.7:
            break
        study.tell(task, [yields(rng, **task.candidate) for _ in range(task.repeats)])
    last = study.last_measurements(9)[0]
    if last.value is not None:
        study.correct(number=last.number, new=round(last.value * 10, 1), why="the decimal point was missed")
    study.ask(worker="robot-1")
    study.ask(worker="Ana")
    minimal = Study(
        "Simulator step", file, candidates=Space(dt=Float(1e-4, 1e-1, log=True)), direction="minimize", seed=1
    )
    minimal.run(lambda c: float((np.log10(c["dt"]) + 2.6) ** 2 + rng.normal(0, 0.2)), 40, progress=False)
    Study("Antibody screen", file, candidates=table([{"clone": f"AB-{i:03}"} for i in range(96)]), budget=300, seed=1)
    done = Study("Column flow", file, candidates=table([{"flow": i / 10} for i in range(1, 40)]), budget=60, seed=1)
    done.run(lambda c: float(4 - (c["flow"] - 2.2) ** 2 + rng.normal(0, 0.3)), progress=False)


@contextmanager
def serving(file: Path) -> Iterator[str]:
    """A server of its own process; the link that signs in."""
    command = [sys.executable, "-m", "ostinato", "serve", str(file), "--port", "0", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait(30)


def settled(page: Page) -> None:
    """Wait until every part of the page is there; figures come when they are scrolled to."""
    for figure in page.locator("[data-figure]").all():
        figure.scroll_into_view_if_needed()
        expect(figure.locator(".loading")).to_have_count(0, timeout=PATIENCE)
    page.evaluate("window.scrollTo(0, 0)")
    expect(page.locator(".loading, .htmx-request")).to_have_count(0, timeout=PATIENCE)


class Camera:
    """Pages of one server, photographed."""

    def __init__(self, browser: Browser, link: str, folder: Path) -> None:
        self.folder, self.root = folder, link.split("/login")[0]
        self.context = browser.new_context(viewport=WIDE)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.goto(link)

    def take(self, name: str, address: str, *, dark: bool = False, phone: bool = False, whole: bool = False) -> None:
        self.page.emulate_media(color_scheme="dark" if dark else "light")
        self.page.set_viewport_size(PHONE if phone else WIDE)
        if address:
            self.page.goto(self.root + address)
        settled(self.page)
        path = self.folder / f"{name}.png"
        self.page.screenshot(path=path, full_page=whole)
        Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)


def take_all(camera: Camera) -> None:
    page, study = camera.page, "/studies/Suzuki%20coupling"
    camera.take("studies", "/")
    camera.take("study", study, whole=True)
    camera.take("study-dark", study, dark=True)
    camera.take("study-phone", study, phone=True)
    camera.take("candidates", f"{study}/candidates?find=temp%20%3E%3D%2050,%20solvent%20%3D%20ethanol")
    camera.take("log", f"{study}/log")
    camera.take("progress", f"{study}/progress")
    page.goto(f"{camera.root}{study}/bench")
    page.get_by_role("button", name="What should I measure?").click()
    page.get_by_label("Yield (%) 1").fill("81.3")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("81.3").first.wait_for()
    camera.take("bench", "", phone=True)
    page.set_viewport_size(WIDE)
    page.goto(f"{camera.root}{study}/plate")
    page.get_by_label("How many measurements").fill("8")
    page.get_by_role("button", name="Plan it").click()
    page.get_by_role("button", name="Print").wait_for()
    camera.take("plate", "")
    page.goto(f"{camera.root}/new")
    rows = "\n".join(f"{each['temp']},{each['catalyst']},{each['solvent']}" for each in reactions())
    file = {"name": "reactions.csv", "mimeType": "text/csv", "buffer": f"temp,catalyst,solvent\n{rows}".encode()}
    page.get_by_label("Drop a CSV file here").set_input_files(file)
    page.get_by_role("button", name="Make the study").wait_for()
    camera.take("new", "", whole=True)


def main(folder: Path) -> None:
    warnings.simplefilter("ignore", OstinatoWarning)
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "lab.db"
        make_studies(file)
        with serving(file) as link, sync_playwright() as play:
            browser = play.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
            take_all(Camera(browser, link, folder))
            browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
