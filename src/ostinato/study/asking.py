"""Asking: what waits is handed out, and what is missing is decided.

A decision is made outside the lock, so that nobody waits for its fit. It is kept where nothing but values of earlier
batches came in the meantime, as if it had been made before they did; so those who tell never wait for a decision. Where
others ask, observe or revise again and again, it is made within the lock.
"""

from functools import partial
from hashlib import sha256
from typing import NamedTuple
from uuid import uuid4

from msgspec.structs import replace

from ostinato.checks import counted, text
from ostinato.errors import Damaged, NothingToAsk
from ostinato.optimizer.decide import decide
from ostinato.optimizer.decision import Decision
from ostinato.optimizer.plan import Wish
from ostinato.records import Batch
from ostinato.running.events import LOGGER
from ostinato.running.task import Task
from ostinato.storage import BatchRecord, Lease, Reader
from ostinato.study.changing import close_retired
from ostinato.study.leases import in_hand
from ostinato.study.request import Request, TaskAllocation, left_of
from ostinato.study.stored import StoredStudy
from ostinato.study.workers import check_worker, name_of, this_worker

TRIES = 4  # to hand out what is there, or to decide; the last within the lock


def tasks_for(stored: StoredStudy, request: Request) -> list[Task]:
    """What is there to hand out, and what is decided besides."""
    found, missing = list[Task](), None
    with stored.lock:
        for tries in range(TRIES):
            decision, last = None, tries == TRIES - 1
            if missing is not None and not last:
                try:
                    decision = stored.storage.patiently(partial(_decided, stored, missing))
                except NothingToAsk:
                    if found:
                        break
                    raise
            found, missing = stored.storage.patiently(partial(_commit, stored, request, decision, last=last))
            if missing is None:
                break
            if decision is not None:
                LOGGER.info("study %r: decided again, because others asked, observed or revised meanwhile", stored.name)
    return found


def key_of(worker: str | None, key: str | None = None, token: str = "") -> str:
    """A name for one request, by which its answer is found again where it was not heard.

    key: what whoever asks calls this request, to ask again with the same; it may be any text. token: the name of the
    token with which it is asked over HTTP.
    """
    if worker is not None:
        check_worker(worker)
    who = f"{worker}|{token}" if worker and token else worker or this_worker()
    return f"{who}|{uuid4().hex if key is None else digest(key)}"


def digest(key: str) -> str:
    """A key of any length, as short as one of our own."""
    return sha256(text("key", key).encode(errors="surrogatepass")).hexdigest()[:32]


class DecisionRequest(NamedTuple):
    """What is to be decided: at most how many measurements, and of a plan what is missing."""

    most: int | None
    wish: Wish | None


def _decided(stored: StoredStudy, missing: DecisionRequest) -> Decision:
    """What this process would decide at the moment."""
    with stored.storage.read(stored.name) as reader:
        core = stored.synced(reader).optimizer.core
    decision = decide(core.known, *missing)
    if decision.known.outlier_review.outliers:
        core.warn_of_outliers(decision)
    return decision


def _commit(
    stored: StoredStudy, request: Request, decision: Decision | None, *, last: bool
) -> tuple[list[Task], DecisionRequest | None]:
    """Tasks, and what is still to be decided on, if anything: the state may have moved since a decision."""
    try:
        with stored.storage.write(stored.name) as writer:
            stored.look(writer)
            if writer.record.retired:
                close_retired(stored, writer)
            handing = TaskAllocation(writer, request)
            if changed := handing.take(handing.waiting):
                writer.change_batches([*changed.values()])
            missing, decided = None, dict[int, BatchRecord]()
            if handing.wanted > 0 and handing.left != 0:
                wish = request.wish and replace(request.wish, slots=handing.wanted, workers=None)
                missing = DecisionRequest(handing.left, wish)
            if missing is not None and last:
                decision = decide(stored.synced(writer).optimizer.core.known, *missing)
            if missing is not None and decision is not None and stored.replica is not None:
                decided = stored.replica.keep(writer, decision, handing.now, stored.keep_table)
            if decided:
                writer.add_batches([*(decided | handing.take(decided)).values()])
                missing = None
            tasks = [_task(stored, writer, lease, decided.get(lease.batch)) for lease in handing.own]
    except BaseException:
        stored.replica = None  # it may have decided what was not kept
        raise
    return tasks, missing


def shortage(reader: Reader, request: Request, found: int) -> str:
    """Why there is nothing to measure, or a plan has fewer measurements than were wanted; nothing where it has all."""
    wish, record = request.wish, reader.record
    short = wish.short_of(found) if wish and found else ""
    if found and not short:
        return ""
    budget = record.budget
    if budget is not None and record.answered >= budget:
        why = "the budget is spent"
    elif short and budget is not None and left_of(record, budget, reader.unfinished()) == 0:
        why = "the budget leaves no more"
    elif wish is not None and wish.workers is not None and (held := sum(in_hand(reader).values())) >= wish.workers:
        why = f"{counted(held, 'measurement')} assigned already, enough for {wish.workers:,} workers"
    elif short and wish is not None and (wish.distinct or wish.shared):
        why = "no other candidate may be part of the plan (each once at most, or alike in some columns)"
    else:
        why = "what is left is assigned to other workers, or retired"
    return f"{short}: {why}" if short else why


def _task(stored: StoredStudy, reader: Reader, lease: Lease, decided: BatchRecord | None) -> Task:
    """What a worker sees of a lease. decided: its batch, where that was decided just now; else it is read."""
    batch = _batch_of(stored, reader, lease) if decided is None else decided.facts.batch
    who = lease.worker
    given = (lease.start, lease.count, lease.until, name_of(who), who)
    return Task(stored.name, lease.batch, batch.index, batch.candidate, *given)


def _batch_of(stored: StoredStudy, reader: Reader, lease: Lease) -> Batch:
    """The batch of a lease, with its candidate's row."""
    found = reader.batch(lease.batch)
    if found is None:
        raise Damaged(f"The study {stored.name!r} is damaged: batch {lease.batch} is missing.")
    batch = found.facts.batch
    return replace(batch, candidate=stored.row(reader, batch.index))
