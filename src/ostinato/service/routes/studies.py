"""Studies: listed, made, where they stand, budget, events, deleted."""

from functools import partial
from typing import Any

from litestar import Request
from litestar.params import FromPath, JSONBody
from litestar.response import Stream

from ostinato.errors import OstinatoError
from ostinato.service.create import create_study
from ostinato.service.errors import problem_of
from ostinato.service.requests import service_of, still_sees
from ostinato.service.responses import status_out, study_out
from ostinato.service.routes.decorators import API, delete, get, post, put
from ostinato.service.schemas import Budget, NewStudy, StatusOut, StudiesOut, StudyOut, Unreadable
from ostinato.service.service import unknown
from ostinato.service.studies import Studies
from ostinato.service.tokens import Role
from ostinato.study import Study

STUDY = f"{API}/studies/{{study:str}}"


@get(f"{API}/studies", Role.READ, tags=["studies"], operation_id="listStudies")
async def list_studies(request: Request[Any, Any, Any]) -> StudiesOut:
    """The studies that the token may see, with their counters."""
    service = service_of(request)
    names = await service.names(request.user)
    found = await service.read(lambda: [_listed(service.studies, name) for name in names])
    return StudiesOut(
        studies=[each for each in found if isinstance(each, StudyOut)],
        unreadable=[each for each in found if isinstance(each, Unreadable)],
    )


def _listed(studies: Studies, name: str) -> StudyOut | Unreadable:
    """One that is damaged does not keep the others from being listed."""
    try:
        return study_out(studies, name)
    except OstinatoError as error:
        return Unreadable(name=name, detail=problem_of(error).detail)


@post(f"{API}/studies", Role.ADMIN, 201, tags=["studies"], operation_id="createStudy")
async def create(request: Request[Any, Any, Any], data: JSONBody[NewStudy]) -> StatusOut:
    """Make a study, of candidates as CSV, as rows or as a space.

    Made again with the same candidates and settings it is the study that is there; with others it is refused (409).
    """
    service = service_of(request)
    if not request.user.sees(data.name):
        raise unknown(data.name)
    await service.think(create_study, service.storage, data, service.config.limits)
    return await service.modelling(data.name, status_out)


@get(STUDY, Role.READ, tags=["studies"], operation_id="getStatus")
async def status(request: Request[Any, Any, Any], study: FromPath[str]) -> StatusOut:
    """Where a study stands: measurements, candidates, switches, and the best so far."""
    return await service_of(request).modelling(study, status_out)


@delete(STUDY, Role.ADMIN, tags=["studies"], operation_id="deleteStudy")
async def remove(request: Request[Any, Any, Any], study: FromPath[str]) -> None:
    """Delete a study and all its measurements, for ever."""
    service = service_of(request)

    def gone(found: Study) -> None:
        service.storage.patiently(lambda: service.storage.delete(found.name))

    await service.viewing(study, gone)
    service.studies.forget(study)


@put(f"{STUDY}/budget", Role.ADMIN, tags=["studies"], operation_id="setBudget")
async def budget(request: Request[Any, Any, Any], study: FromPath[str], data: JSONBody[Budget]) -> StatusOut:
    """Another budget: how many measurements there will be in all; not fewer than were made already."""
    service = service_of(request)
    await service.viewing(study, Study.allow, data.budget)
    service.events.changed(study)
    return await service.modelling(study, status_out)


@get(f"{STUDY}/events", Role.READ, tags=["studies"], operation_id="streamEvents", media_type="text/event-stream")
async def events(request: Request[Any, Any, Any], study: FromPath[str]) -> Stream:
    """What happens, as a stream of server-sent events: the study's counters, now and whenever they change."""
    service = service_of(request)
    await service.opened(study)
    service.events.check_room()
    return Stream(service.events.stream(study, partial(still_sees, request, study)), media_type="text/event-stream")


ROUTES = [list_studies, create, status, remove, budget, events]
