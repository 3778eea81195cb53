"""`python -m benchmarks.integrations run studies | run searches | report`: see the package's own words."""

from concurrent.futures import ProcessPoolExecutor, as_completed
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import track

from benchmarks.integrations import __doc__ as about
from benchmarks.integrations import report as reporting
from benchmarks.integrations import searches, studies

FOLDER, PAGE = Path("docs/results/integrations"), Path("docs/integrations.md")
app = typer.Typer(no_args_is_help=True)


class Part(StrEnum):
    studies = "studies"
    searches = "searches"


PARTS = {
    Part.studies: (studies.run, studies.Study, list(studies.SAMPLERS), studies.names()),
    Part.searches: (searches.run, searches.Search, list(searches.SEARCHES), searches.names()),
}


@app.callback(help=about)
def integrations() -> None: ...


@app.command()
def run(
    part: Part,
    only: Annotated[list[str] | None, typer.Option(help="Contestants to run; all by default.")] = None,
    seeds: int = 20,
    jobs: int = 1,
    folder: Path = FOLDER,
) -> None:
    """Run what is not finished yet. Every finished run is kept at once."""
    folder.mkdir(parents=True, exist_ok=True)
    work, _, contestants, problems = PARTS[part]
    todo = [(name, each, seed) for seed in range(seeds) for each in problems for name in only or contestants]
    done = {(made.contestant, made.problem, made.seed) for made in stored(part, folder)}
    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(work, *job) for job in todo if job not in done]
        for future in track(as_completed(futures), "Running", len(futures), console=Console(stderr=True)):
            with file_of(part, folder, future.result().contestant).open("ab") as file:
                file.write(msgspec.json.encode(future.result()) + b"\n")


def file_of(part: Part, folder: Path, contestant: str) -> Path:
    return folder / f"{part}-{contestant}.jsonl"


def stored(part: Part, folder: Path) -> list[reporting.Run]:
    """Finished runs."""
    kind = PARTS[part][1]
    files = sorted(folder.glob(f"{part}-*.jsonl"))
    return [msgspec.json.decode(line, type=kind) for file in files for line in file.read_bytes().splitlines()]


@app.command()
def report(folder: Path = FOLDER, page: Path = PAGE) -> None:
    """Write the tables, from the runs that are finished, into the page between its marks."""
    page.write_text(with_tables(page.read_text(encoding="utf-8"), folder), encoding="utf-8")


def with_tables(text: str, folder: Path = FOLDER) -> str:
    """A page with the tables of the runs: `<!-- studies -->`, the table, `<!-- end -->`."""
    made = {
        **reporting.of_studies(stored(Part.studies, folder)),
        **reporting.of_searches(stored(Part.searches, folder)),
    }
    for name, lines in made.items():
        start, _, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        text = "\n".join([f"{start}<!-- {name} -->", "", *lines, "", f"{end}{after}"])
    return text


if __name__ == "__main__":
    app()
