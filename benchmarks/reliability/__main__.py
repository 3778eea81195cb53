"""`python -m benchmarks.reliability [name[:size] …]`: the long tortures, and what they found. `make torture` runs all.

size: how often the harm is done, as in `kills:200`, where that is not to be as often as docs/reliability.md says.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks import explain
from benchmarks.reliability import damage, full, growth, outage, schema, shared, short, soak, torture, waiting, writes

sys.path.insert(0, str(torture.ROOT / "tests"))
SHORT_KILLS, LESS_LOST = 20, 0.2
KILLS, PROCESSES, ASKS, RESTARTS, FEEDBACKS = 10_000, 16, 1_000, 200, 10_000_000
KILLS_OF_A_STUDY = 1_000
ENDS, BEATS = 3, 1_000
SHARED = 20  # studies that several runs share
CASES = 20_000  # requests to the service
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


def kills(size: int = KILLS) -> Iterator[Row]:
    """Of several studies, one after the other, so that young ones are among them."""
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("kills", total=size)
        for done in range(0, size, KILLS_OF_A_STUDY):
            where, count = folder(), min(KILLS_OF_A_STUDY, size - done)
            address = f"sqlite:///{where}/lab.db"
            found = torture.killed(address, where, count, report=lambda n, d=done: bar.update(task, completed=d + n))
            yield f"SQLite, 4 processes, kills {done + 1:,} to {done + count:,}", told(found), well(found)


def generated() -> Iterator[Row]:
    sent = schema.fuzz(folder() / "lab.db", CASES)
    yield f"the service, {sent:,} generated requests", "no 5xx, no answer that is not described", sent >= CASES / 2


def asks() -> Iterator[Row]:
    server = _server()
    for name, address, where in (("SQLite", None, folder()), ("PostgreSQL", server.database(), folder())):
        began = time.perf_counter()
        found, codes = torture.asked_at_once(address or f"sqlite:///{where}/lab.db", where, PROCESSES, ASKS)
        seconds = time.perf_counter() - began
        what = f"{name}, {PROCESSES} processes × {ASKS:,} asks and tells, in {seconds:.0f} s"
        yield what, f"{told(found)}, {found.twice} handed out twice", well(found) and not any(codes) and not found.twice
    server.remove()


def restarts(size: int = RESTARTS) -> Iterator[Row]:
    server = _server()
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("restarts", total=size)
        found, errors = torture.restarted(
            server, server.database(), folder(), size, report=lambda n: bar.update(task, completed=n)
        )
    server.remove()
    fine = well(found) and not errors and found.done == size
    yield f"PostgreSQL stopped at once and restarted {found.done} times", told(found), fine


def faults() -> Iterator[Row]:
    for name, fault in torture.FAULTS.items():
        found, failed, _ = torture.faulty(folder(), fault, 20.0)
        yield f"SQLite, {name}: {failed} calls failed", told(found), well(found) and failed > 0


def every_write(size: int = 1) -> Iterator[Row]:
    """size: every so many-th write of the session fails."""
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("writes", total=None)
        seen = writes.every_write(folder(), step=size, report=lambda n, all_: bar.update(task, completed=n, total=all_))
    words = (
        f"{seen.runs:,} runs, {seen.failed:,} calls failed, {seen.acknowledged:,} acknowledged, {seen.lost} lost, "
        f"{seen.doubled} doubled, {seen.damage[0] if seen.damage else 'no damage'}"
    )
    fine = seen.failed >= seen.runs and seen.lost == seen.doubled == 0 and not seen.damage
    yield "SQLite, EIO at every write once, ENOSPC from every write on", words, fine


def damages(size: int = 1) -> Iterator[Row]:
    """size: every so many-th of the damages is done."""
    where = folder()
    whole = damage.made(where)
    kinds = {
        f"cut off at every {damage.CUT * size:,}th byte": damage.cuts(whole, damage.CUT * size),
        f"a bit of every {damage.FLIPPED * size:,} bytes flipped": damage.flips(whole, damage.FLIPPED * size),
    }
    with Progress(console=Console(stderr=True)) as bar:
        for kind, files in kinds.items():
            task = bar.add_task(kind, total=None)
            seen = damage.damaged(whole, where, files, lambda n, task=task: bar.update(task, completed=n))
            words = (
                f"{seen.done:,} files: {seen.noticed:,} noticed when read, {seen.verified:,} by verify, "
                f"{seen.harmless:,} harmless, {seen.silent} silent"
            )
            yield f"SQLite, {len(whole.data) / 2**10:,.0f} KB, {kind}", words, seen.silent == 0 and seen.noticed > 0


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
            seconds, ready = zip(*(waiting.ended(place(), folder(), how) for _ in range(ENDS)), strict=True)
            after, then = (", ".join(f"{each:.1f}" for each in times) for times in (seconds, ready))
            words = f"the next measurement began after {after} s, {then} s after Python had started"
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
    """Curves of tell, ask, open and best by the length of the log, and their figure."""
    server = _server()
    lengths = [growth.at_length(values, one_batch=False) for values in growth.LENGTHS]
    yield from _lengths("SQLite, observations", lengths)
    yield from _lengths("SQLite, one batch", [growth.at_length(n, one_batch=True) for n in growth.LENGTHS])
    other = [growth.at_length(n, one_batch=False, address=server.database()) for n in growth.LENGTHS]
    yield from _lengths("PostgreSQL, observations", other)
    server.remove()
    file, what = torture.ROOT / "docs" / "growth.svg", "single values in the log"
    growth.figure(growth.BY_LENGTH, growth.LENGTHS, lengths, what, file)


def sizes() -> Iterator[Row]:
    """The same by the number of candidates."""
    measured = list[growth.AtSize]()
    for candidates in growth.CANDIDATES:
        each = growth.at_size(candidates)
        measured.append(each)
        words = (
            f"tell {_ms(each.tell)}, ask {_ms(each.ask)}, with a fit {_ms(each.fitted)}, the first {_ms(each.first)}, "
            f"open {_ms(each.opened)}, best {_ms(each.best)}"
        )
        fine = each.ask.processor < 0.05 or candidates > 100_000
        yield f"{candidates:,} candidates, {each.unique} of them measured", words, fine
    file, what = torture.ROOT / "docs" / "candidates.svg", "candidates, in six columns"
    growth.figure(growth.BY_SIZE, growth.CANDIDATES, measured, what, file)


def soaked(size: int = int(soak.LONG)) -> Iterator[Row]:
    """size: seconds that a day takes; up to two minutes less happens in it."""
    server = _server()
    day = soak.Day(size) if size > 120 else msgspec.structs.replace(soak.SHORT_DAY, seconds=size)
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("24 hours", total=1.0)
        found = soak.Soak(server, folder(), day).live(lambda share: bar.update(task, completed=share))
    server.remove()
    happened, count = ", ".join(f"{times} {what}" for what, times in found.done.items()), len(found.failures)
    words = (
        f"{found.stored:,} measurements, {len(found.lost)} lost, {found.doubled} doubled, {count} failures of outages "
        f"that count, {found.paused} runs left paused, {found.damage[0] if found.damage else 'no damage'}; the "
        f"best {'the same' if found.same_best else 'ANOTHER'} as from scratch, means {found.apart:.1g} apart"
    )
    for what, lines in (("lost", found.lost), ("counts", found.failures)):
        for line in lines:
            Console(stderr=True).print(f"{what}: {line}", highlight=False)
    fine = not found.lost and not found.damage and found.doubled == found.paused == 0
    yield f"24 hours in {size} s: {happened}", words, fine and found.same_best and found.apart < 1e-6


def shares(size: int = SHARED) -> Iterator[Row]:
    """size: studies of each kind."""
    for kind in shared.KINDS:
        found = list[shared.Found]()
        for seed in range(size):
            where = folder()
            found.append(shared.together(f"sqlite:///{where}/lab.db", where, kind, seed))
            for line in found[-1].story:
                Console(stderr=True).print(line, highlight=False)
        failed, counting, pauses = (
            sum(getattr(each, name) for each in found) for name in ("failed", "counting", "pauses")
        )
        words = f"{failed} failures, of which {counting} count; {pauses} pauses"
        fine = counting == 0 if kind == "an outage" else pauses == 0
        yield f"{size} studies of {shared.RUNS} runs each, {kind}", words, fine


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


TORTURES: dict[str, Callable[..., Iterator[Row]]] = {
    "kills": kills, "asks": asks, "restarts": restarts, "faults": faults, "writes": every_write, "damage": damages,
    "dask": dask, "feedbacks": feedbacks, "gone": gone, "beats": beats, "clocks": clocks, "short": shorts,
    "growth": grown, "sizes": sizes, "outage": outage.rows, "shared": shares, "full": full.rows, "soak": soaked,
    "schema": generated,
}  # fmt: skip


def main(names: list[str]) -> int:
    console = Console(width=140)
    table = Table("what", "found", "")
    failed = 0
    unknown = [each for each in names if each.partition(":")[0] not in TORTURES]
    if unknown:
        console.print(f"Unknown test {unknown[0]!r}: the tests are {', '.join(TORTURES)}.")
        return 2
    for each in names:
        name, _, size = each.partition(":")
        if size and not (size.isdigit() and signature(TORTURES[name]).parameters):
            sized = [name for name, torture in TORTURES.items() if signature(torture).parameters]
            console.print(f"{each!r} has no such size: whole numbers, for {', '.join(sized)}.")
            return 2
    for each in names or TORTURES:
        name, _, size = each.partition(":")
        for what, found, fine in TORTURES[name](*([int(size)] if size else [])):
            console.print(f"{what}: {found}", highlight=False)
            table.add_row(what, found, "[green]ok" if fine else "[red]NOT")
            failed += not fine
    console.print(table)
    return 1 if failed else 0


if __name__ == "__main__":
    explain(__doc__, ", ".join(TORTURES))
    sys.exit(main(sys.argv[1:]))
