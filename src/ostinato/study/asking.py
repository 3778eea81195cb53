"""Asking: what waits is handed out, and what is missing is decided.

A decision is made outside the lock, so that nobody waits for its fit. It is kept where nothing but values of earlier
batches came in the meantime, as if it had been made before they did; so those who tell never wait for a decision. Where
others ask, observe or revise again and again, it is made within the lock.
"""

from functools import partial
from hashlib import sha256
from typing import cast
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from ostinato.checks import counted
from ostinato.errors import Damaged, InvalidSetting, NothingToAsk
from ostinato.measurements.batches import BatchFacts
from ostinato.optimizer.decide import Decision
from ostinato.optimizer.plan import Wish
from ostinato.records import Reason
from ostinato.running.task import Task
from ostinato.storage import BatchRecord, Lease, Reader, Writer
from ostinato.study.changing import close_retired
from ostinato.study.leases import in_hand
from ostinato.study.replica import Replica
from ostinato.study.request import Request
from ostinato.study.stored import Stored
from ostinato.study.workers import name_of, this_worker

TRIES = 4  # to hand out what is there, or to decide; the last within the lock


def tasks_for(stored: Stored, request: Request) -> list[Task]:
    """What is there to hand out, and what is decided besides."""
    found, missing = list[Task](), 0
    for tries in range(TRIES):
        last = tries == TRIES - 1
        decision: Decision | None = None
        if missing and not last:
            try:
                decision = stored.storage.patiently(partial(_decided, stored, request.rest(missing)))
            except NothingToAsk:
                if found:
                    break
                raise
        found, missing = stored.storage.patiently(partial(_commit, stored, request, decision, last=last))
        if not missing:
            break
    return found


def key_of(worker: str | None, key: str | None = None, token: str = "") -> str:
    """A name for one request, by which its answer is found again where it was not heard.

    key: what whoever asks calls this request, to ask again with the same; it may be any text. token: the name of the
    token with which it is asked over HTTP.
    """
    if worker is not None and (
        not isinstance(cast("object", worker), str) or not worker.isprintable() or "|" in worker
    ):
        raise InvalidSetting(f"worker={worker!r} is not a name: give a text that can be printed, without |.")
    who = f"{worker}|{token}" if worker and token else worker or this_worker()
    return f"{who}|{uuid4().hex if key is None else digest(key)}"


def digest(key: str) -> str:
    """A key of any length, as short as one of our own."""
    return sha256(key.encode(errors="surrogatepass")).hexdigest()[:32]


def _decided(stored: Stored, wish: Wish | None) -> Decision | None:
    """What this process would decide at the moment; nothing where nothing may be."""
    with stored.storage.read(stored.name) as reader:
        left, replica = _left(reader), stored.synced(reader)
    if left == 0:
        return None
    decision = replica.optimizer.core.decision(left, wish)
    replica.optimizer.core.warn_of_outliers(decision)
    return decision


def _commit(stored: Stored, request: Request, decision: Decision | None, *, last: bool) -> tuple[list[Task], int]:
    """Tasks, and how many repeats are still to be decided on: the state may have moved since a decision."""
    try:
        with stored.storage.write(stored.name) as writer:
            stored.look(writer)
            close_retired(stored, writer)
            leases = request.take(writer)
            left = _left(writer)
            missing = 0 if left == 0 else max(0, request.missing(writer, leases))
            if missing and last and decision is None:
                decision = stored.synced(writer).optimizer.core.decision(left, request.rest(missing))
            replica = stored.replica
            if missing and decision is not None and replica is not None and replica.may_decide(writer.record):
                leases = request.take(writer, _keep(stored, writer, decision))
                missing = 0
            tasks = [_task(stored, writer, lease) for lease in leases]
    except BaseException:
        stored.replica = None  # it may have decided what was not kept
        raise
    return tasks, missing


def _left(reader: Reader) -> int | None:
    """Measurements that may still be decided on; None for any number."""
    record = reader.record
    if record.budget is None:
        return None
    coming = sum(batch.facts.pending for batch in reader.unfinished())
    return max(0, record.budget - record.answered - coming)


def shortage(reader: Reader, request: Request, found: int) -> str:
    """Why there is nothing to measure, or a plan has fewer measurements than were wanted; nothing where it has all."""
    wish, record = request.wish, reader.record
    short = wish.short_of(found) if wish and found else ""
    if found and not short:
        return ""
    if record.budget is not None and record.answered >= record.budget:
        why = "the budget is spent"
    elif short and _left(reader) == 0:
        why = "the budget leaves no more"
    elif wish is not None and wish.workers is not None and (held := sum(in_hand(reader).values())) >= wish.workers:
        why = f"{counted(held, 'measurement')} assigned already, enough for {wish.workers:,} workers"
    elif short and wish is not None and (wish.distinct or wish.shared):
        why = "no other candidate may be part of the plan (each once at most, or alike in some columns)"
    else:
        why = "what is left is assigned to other workers, or retired"
    return f"{short}: {why}" if short else why


def _keep(stored: Stored, writer: Writer, decision: Decision) -> list[int]:
    """Batches that were decided, with the state that the next decision rests on; returns their numbers."""
    replica = cast("Replica", stored.replica)
    batches, record = replica.optimizer.core.take_up(decision), writer.record
    if batches[0].id != record.asked:
        raise Damaged(f"The study {stored.name!r} is damaged: batch {batches[0].id} comes after {record.asked}.")
    now = writer.now()
    writer.add_batches([BatchRecord(BatchFacts(batch), now, _as_text(batch.reason)) for batch in batches])
    stored.keep_table(writer, replica.optimizer.core.problem.table)
    state, asked = msgspec.json.encode(replica.stored_mind), record.asked + len(batches)
    writer.change(replace(writer.record, asked=asked, state=state, decided=record.decided + 1))
    replica.decided(writer.record, {batch.id: batch.index for batch in batches})
    return [batch.id for batch in batches]


def _task(stored: Stored, reader: Reader, lease: Lease) -> Task:
    batch = reader.batch(lease.batch)
    if batch is None:
        raise Damaged(f"The study {stored.name!r} is damaged: batch {lease.batch} is missing.")
    index, who = batch.facts.index, lease.worker
    given = (lease.start, lease.count, lease.until, name_of(who), who)
    return Task(stored.name, lease.batch, index, stored.row(reader, index), *given)


def _as_text(reason: Reason | None) -> str:
    return msgspec.json.encode(reason, enc_hook=lambda array: array.tolist()).decode()
