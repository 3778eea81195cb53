"""Measurements: observed, put right, listed, exported."""

import csv
import io
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
from litestar import Request
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from litestar.response import Stream
from msgspec import UNSET

from ostinato.errors import InvalidFeedback
from ostinato.service.errors import Refused
from ostinato.service.guards import check_owner, check_worker
from ostinato.service.requests import service_of
from ostinato.service.responses import batch_out, measurement_out
from ostinato.service.routes.decorators import get, post
from ostinato.service.routes.studies import STUDY
from ostinato.service.schemas import (
    BatchesOut,
    Changed,
    Close,
    Correct,
    HistoryOut,
    New,
    Observation,
    Observe,
    Retract,
)
from ostinato.service.service import Service
from ostinato.service.tokens import Identity, Role
from ostinato.study import Study
from ostinato.study.lines import csv_rows

CHUNK = 1_000  # measurements that are sent at once
Page = Annotated[int, QueryParameter(ge=1, le=1_000, description="At most so many.")]
Place = Annotated[int, QueryParameter(ge=0, le=2**53)]


@post(f"{STUDY}/observe", Role.WORKER, tags=["measurements"], operation_id="observe")
async def observe(request: Request[Any, Any, Any], study: FromPath[str], data: JSONBody[Observe]) -> New:
    """Measurements that were not asked for, all of them or none. Sent again with the same key they count once.

    A key belongs to the token and the worker, and to what was sent with it: with other observations it is refused
    (409). gateway and admin may name the worker who measured.
    """
    return New(new=await _changing(request, study, observed, data, request.user))


def observed(study: Study, given: Observe, teller: Identity) -> int:
    worker = check_worker(teller, given.worker) or teller.name
    told = [_one(each) for each in given.observations]
    return study.observe_all(told, key=given.key, worker=worker, token=teller.name)


def _one(given: Observation) -> tuple[Any, dict[str, Any]]:
    """A candidate, and what was measured of it."""
    if (given.row is None) == (given.candidate is None):
        raise InvalidFeedback("An observation is of a row or of a candidate: give one of them.")
    what = {name: getattr(given, name) for name in ("stderr", "count", "std", "successes", "trials")}
    said = {name: value for name, value in what.items() if value is not None}
    failed = given.value is None and given.trials is None and given.successes is None  # beside trials it says nothing
    value = {"value": given.value} if failed or given.value not in (None, UNSET) else {}
    return given.candidate if given.row is None else given.row, value | said


@post(f"{STUDY}/retract", Role.WORKER, tags=["measurements"], operation_id="retract")
async def retract(request: Request[Any, Any, Any], study: FromPath[str], data: JSONBody[Retract]) -> Changed:
    """Take measurements back, as if they had never been told; the study keeps what they were.

    Other tokens than those of the role admin take back, by their numbers, what was told with them.
    """
    if sum((data.numbers is not None, data.batch is not None, data.failures)) != 1:
        raise InvalidFeedback("Say what is taken back: numbers, or a batch, or failures.")
    which = {"number": data.numbers, "batch": data.batch, "failures": data.failures, "since": data.since}
    await _check_own(request, study, data.numbers)
    return Changed(changed=await _changing(request, study, Study.retract, **which, why=data.why))


@post(f"{STUDY}/correct", Role.WORKER, tags=["measurements"], operation_id="correct")
async def correct(request: Request[Any, Any, Any], study: FromPath[str], data: JSONBody[Correct]) -> Changed:
    """Another value for a measurement, as if it had been told in the first place; null says that it failed.

    Other tokens than those of the role admin correct what was told with them.
    """
    await _check_own(request, study, [data.number])
    new = float("nan") if data.value is None else data.value
    await _changing(request, study, Study.correct, number=data.number, new=new, why=data.why)
    return Changed(changed=1)


@post(f"{STUDY}/close", Role.ADMIN, tags=["measurements"], operation_id="closeBatch")
async def close(request: Request[Any, Any, Any], study: FromPath[str], data: JSONBody[Close]) -> Changed:
    """Give up the repeats of a batch that did not come; what came stays, and what comes late still counts."""
    await _changing(request, study, Study.close, data.batch)
    return Changed(changed=1)


async def _check_own(request: Request[Any, Any, Any], study: str, numbers: list[int] | None) -> None:
    """A worker puts right what was told with its token, and nothing else."""
    if request.user.limit is not None:
        if numbers is None:
            raise Refused(403, "forbidden", "That may be what others told: give numbers, or use the role admin.")
        check_owner(request.user, await service_of(request).viewing(study, _tokens_of, numbers))


def _tokens_of(study: Study, numbers: list[int]) -> set[str]:
    """With which some measurements were told."""
    return {each.token for number in set(numbers) for each in study.measurements_from(number, 1)}


async def _changing(
    request: Request[Any, Any, Any], study: FromPath[str], change: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    service = service_of(request)
    answer = await service.viewing(study, change, *args, **kwargs)
    service.events.changed(study)
    return answer


@get(f"{STUDY}/history", Role.READ, tags=["measurements"], operation_id="getHistory")
async def history(
    request: Request[Any, Any, Any],
    study: FromPath[str],
    start: Annotated[int, QueryParameter(ge=1, le=2**53, description="The number of the first.")] = 1,
    limit: Page = 100,
) -> HistoryOut:
    """Measurements in the order told, with what was taken back or corrected, and where each comes from."""
    return await service_of(request).viewing(study, _history, start, limit)


def _history(study: Study, start: int, limit: int) -> HistoryOut:
    found = study.measurements_from(start, limit)
    last = found[-1].number + found[-1].count if found else 0
    more = bool(found) and last <= study.numbered
    return HistoryOut(measurements=[measurement_out(study, each) for each in found], next=last if more else None)


@get(f"{STUDY}/batches", Role.READ, tags=["measurements"], operation_id="listBatches")
async def batches(
    request: Request[Any, Any, Any], study: FromPath[str], offset: Place = 0, limit: Page = 100
) -> BatchesOut:
    """Batches that were asked for or observed, the newest first, with what became of each."""
    return await service_of(request).viewing(study, _batches, offset, limit)


def _batches(study: Study, offset: int, limit: int) -> BatchesOut:
    found = sorted(study.history(), key=lambda batch: (batch.made, batch.facts.id), reverse=True)
    page = [batch_out(study, batch) for batch in found[offset : offset + limit]]
    return BatchesOut(batches=page, total=len(found), next=offset + limit if offset + limit < len(found) else None)


@get(f"{STUDY}/export", Role.READ, tags=["measurements"], operation_id="exportMeasurements", media_type="text/csv")
async def export(
    request: Request[Any, Any, Any], study: FromPath[str], format: FromQuery[Literal["csv", "jsonl"]] = "csv"
) -> Stream:
    """All measurements, as CSV or as JSON lines, sent as they are read."""
    service = service_of(request)
    found = (await service.opened(study)).viewing
    chunks = csv_chunks(found) if format == "csv" else json_chunks(found)
    media = "text/csv; charset=utf-8" if format == "csv" else "application/jsonl"
    return Stream(_sent(service, chunks), media_type=media)


def csv_chunks(study: Study) -> Iterator[bytes]:
    """CSV, some lines at a time."""
    told = study.measurements()
    for rows in _parts(csv_rows(study.table, told, origin=True)):
        text = io.StringIO()
        csv.writer(text).writerows(rows)
        yield text.getvalue().encode()


def json_chunks(study: Study) -> Iterator[bytes]:
    """JSON lines, some at a time."""
    for part in _parts(measurement_out(study, each) for each in study.measurements(everything=True)):
        yield b"".join(msgspec.json.encode(each) + b"\n" for each in part)


def _parts(rows: Iterable[Any]) -> Iterator[list[Any]]:
    each = iter(rows)
    while part := list(islice(each, CHUNK)):
        yield part


async def _sent(service: Service, chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (chunk := await service.read(next, chunks, b"")) != b"":
        yield chunk


ROUTES = [observe, retract, correct, close, history, batches, export]
