"""`python -m benchmarks.reliability [name …]`: the long tortures, and what they found. `make torture` runs all."""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.reliability import full, growth, outage, short, torture, waiting

sys.path.insert(0, str(torture.ROOT / "tests"))
SHORT_KILLS, LESS_LOST = 20, 0.2
KILLS, PROCESSES, ASKS, RESTARTS, FEEDBACKS = 1_000, 16, 1_000, 50, 10_000_000
ENDS, BEATS = 3, 1_000
Row = tuple[str, str, bool]


def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="ostinato-torture-"))


def told(found: torture.Found) -> str:
    return (
        f"{found.acknowledged:,} acknowledged, {found.lost} lost, {found.changed} changed, "
        f"{found.damage[0] if found.damage else 'no damage'}, next ask {'the same' if found.same_next else 'DIFFERS'}"
    )


def well(found: torture.Found) -> bool:
    return found.lost == found.changed == 0 and not found.damage and found.same_next and found.acknowledged > 0


def kills() -> Iterator[Row]:
    where = folder()
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("kills", total=KILLS)
        found = torture.killed(
            f"sqlite:///{where}/lab.db", where, KILLS, report=lambda n: bar.update(task, completed=n)
        )
    yield f"SQLite, 4 processes, {KILLS:,} kills", told(found), well(found)


def asks() -> Iterator[Row]:
    server = _server()
    for name, address, where in (("SQLite", None, folder()), ("PostgreSQL", server.database(), folder())):
        began = time.perf_counter()
        found, codes = torture.asked_at_once(address or f"sqlite:///{where}/lab.db", where, PROCESSES, ASKS)
        seconds = time.perf_counter() - began
        what = f"{name}, {PROCESSES} processes × {ASKS:,} asks and tells, in {seconds:.0f} s"
        yield what, f"{told(found)}, {found.twice} handed out twice", well(found) and not any(codes) and not found.twice
    server.remove()


def restarts() -> Iterator[Row]:
    server = _server()
    found, errors = torture.restarted(server, server.database(), folder(), RESTARTS)
    server.remove()
    fine = well(found) and not errors and found.done == RESTARTS
    yield f"PostgreSQL stopped at once and restarted {found.done} times", told(found), fine


def faults() -> Iterator[Row]:
    for name, fault in torture.FAULTS.items():
        found, failed, _ = torture.faulty(folder(), fault, 20.0)
        yield f"SQLite, {name}: {failed} calls failed", told(found), well(found) and failed > 0


def dask() -> Iterator[Row]:
    calm, _, _ = torture.on_dask(folder() / "lab.db", 2_000, 0)
    best, left, deaths = torture.on_dask(folder() / "lab.db", 2_000, 2)
    answer = "the same" if best == calm else "DIFFERS"
    words = f"{deaths} workers killed, {len(left)} batches incomplete, the answer {answer}"
    yield "Dask, 4 worker processes, 2,000 measurements", words, best == calm and not left and deaths == 2


def gone() -> Iterator[Row]:
    server = _server()
    places = {"SQLite": lambda: f"sqlite:///{folder()}/lab.db", "PostgreSQL": server.database}
    for name, place in places.items():
        for how in waiting.ENDS:
            seconds = [waiting.ended(place(), folder(), how)[0] for _ in range(ENDS)]
            words = f"the next measurement began after {', '.join(f'{each:.1f}' for each in seconds)} s"
            yield f"{name}, {how}, {ENDS} times", words, max(seconds) < 15
    server.remove()


def beats() -> Iterator[Row]:
    server = _server()
    for name, address in (("SQLite", f"sqlite:///{folder()}/lab.db"), ("PostgreSQL", server.database())):
        seen = waiting.beaten(address, folder(), BEATS)
        words = (
            f"{seen.renewed:,} renewed, {seen.lost} lost, {seen.errors} errors, in {seen.seconds:.1f} s (one waited "
            f"{seen.longest:.1f} s at most); all {BEATS:,} in one write: {1e3 * seen.together:.0f} ms"
        )
        fine = seen.renewed == BEATS and not seen.lost and not seen.errors
        yield f"{name}, {BEATS:,} heartbeats at once from {seen.threads} threads of 4 processes", words, fine
    server.remove()


def clocks() -> Iterator[Row]:
    for name, jump in waiting.JUMPS.items():
        found, seconds = waiting.jumped(folder(), jump)
        words = f"{told(found)}; what was assigned before is for others after {seconds:.1f} s"
        yield f"SQLite, 2 processes, the clock jumps {name}", words, well(found) and seconds < 15


def feedbacks() -> Iterator[Row]:
    seen = torture.stored_and_opened(folder() / "many.db", FEEDBACKS)
    words = (
        f"{seen['a_second']:,.0f} a second, opened and answered in {seen['seconds_to_open_and_answer']:.2f} s, "
        f"memory + {seen['memory_growth_MB']:.1f} MB, {seen['file_MB']:.0f} MB of file"
    )
    fine = seen["a_second"] >= 1e5 and seen["seconds_to_open_and_answer"] < 5 and seen["memory_growth_MB"] < 20
    yield f"{FEEDBACKS:,} feedbacks in batches of 100,000", words, fine


def shorts() -> Iterator[Row]:
    """Short measurements of a run that is killed: how many that were over are not stored."""
    for executor in ("threads", "processes"):
        where = folder()
        seen = short.killed(f"sqlite:///{where}/lab.db", where, executor, SHORT_KILLS)
        share = seen.lost / seen.finished
        words = f"{seen.lost} of {seen.finished:,} lost ({share:.0%}), {seen.most} at most in one kill"
        what = f"{short.WORKERS} {executor}, {1e3 * short.SECONDS:.0f} ms each, killed {seen.kills} times"
        yield what, words, share < LESS_LOST


def grown() -> Iterator[Row]:
    """Curves of tell, ask, open and best, and their figure."""
    server = _server()
    lengths = [growth.at_length(values, one_batch=False) for values in growth.LENGTHS]
    yield from _lengths("SQLite, observations", lengths)
    yield from _lengths("SQLite, one batch", [growth.at_length(n, one_batch=True) for n in growth.LENGTHS])
    few = [growth.at_length(n, one_batch=False, address=server.database()) for n in growth.LENGTHS[:-1]]
    yield from _lengths("PostgreSQL, observations", few)
    server.remove()
    sizes = [growth.at_size(candidates) for candidates in growth.CANDIDATES]
    for each in sizes:
        words = f"ask {_ms(each.ask)}, with a fit {_ms(each.fitted)}, the first {_ms(each.first)}"
        yield f"{each.candidates:,} candidates, {each.unique} of them measured", words, each.ask.processor < 0.05
    growth.figure(lengths, sizes, torture.ROOT / "docs" / "growth.svg")


def _lengths(what: str, lengths: list[growth.AtLength]) -> Iterator[Row]:
    first = lengths[0]
    for each in lengths:
        names = ("tell", "ask", "observe", "opened", "best")
        words = ", ".join(f"{name} {_ms(getattr(each, name))}" for name in names)
        flat = each.tell.processor < 2 * first.tell.processor + 2e-3
        fine = flat and each.opened.wall < 2 and each.opened.wall + each.best.wall < 3
        yield f"{what}: {each.values:,} values, {each.megabytes:.0f} MB", words, fine


def _ms(took: growth.Took) -> str:
    return f"{1e3 * took.wall:.0f} ({1e3 * took.processor:.1f}) ms"


def _server() -> "torture.Any":
    from servers import Server

    return Server()


TORTURES: dict[str, Callable[[], Iterator[Row]]] = {
    "kills": kills, "asks": asks, "restarts": restarts, "faults": faults, "dask": dask, "feedbacks": feedbacks,
    "gone": gone, "beats": beats, "clocks": clocks, "short": shorts, "growth": grown, "outage": outage.rows,
    "full": full.rows,
}  # fmt: skip


def main(names: list[str]) -> int:
    console = Console(width=140)
    table = Table("what", "found", "")
    failed = 0
    for name in names or TORTURES:
        for what, found, fine in TORTURES[name]():
            console.print(f"{what}: {found}", highlight=False)
            table.add_row(what, found, "[green]ok" if fine else "[red]NOT")
            failed += not fine
    console.print(table)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
