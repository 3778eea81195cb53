"""Tasks: asked for, told, renewed, handed back."""

from typing import Any, cast

from litestar import Request
from litestar.params import FromPath, JSONBody

from ostinato.errors import InvalidSetting
from ostinato.service.direct import Short
from ostinato.service.requests import service_of
from ostinato.service.routes.making import get, post
from ostinato.service.routes.studies import STUDY
from ostinato.service.schemas import Ask, Changed, LeasesOut, New, Release, Renew, TasksOut, Told, ToldAll
from ostinato.service.service import Service
from ostinato.service.shown import lease_out, task_out
from ostinato.service.telling import checked_reports, report_of
from ostinato.service.tokens import Role
from ostinato.study import Study, Task


@post(f"{STUDY}/ask", Role.WORKER, tags=["tasks"], operation_id="ask")
async def ask(request: Request[Any, Any, Any], study: FromPath[str], data: JSONBody[Ask]) -> TasksOut:
    """What to measure next. Sent again with the same key and worker, the answer is the same task while it is held.

    An empty list means that there is nothing to measure at the moment, and `why` says why.
    """
    service = service_of(request)
    found = await service.asking(study, asked, data, data.worker or request.user.name)
    service.events.changed(study)
    return found


def asked(study: Study, wanted: Ask, worker: str) -> TasksOut:
    """Tasks for a worker; none where a rule of the study says that it is over."""
    rule = None if wanted.beyond else study.stopped
    if rule is not None:
        return TasksOut(tasks=[], why=f"stopped by {rule}; ask with beyond=true to go on")
    own: dict[str, Any] = {"worker": worker, "lease": wanted.lease, "key": wanted.key}
    if wanted.slots is None and wanted.workers is None and not wanted.distinct and not wanted.shared:
        task = study.ask(wanted.limit, **own)
        tasks = [] if task is None else [task]
    else:
        plan: dict[str, Any] = {name: getattr(wanted, name) for name in ("slots", "workers", "distinct", "shared")}
        tasks = cast("list[Task]", study.ask(wanted.limit, **plan, **own))
    if tasks:
        return TasksOut(tasks=[task_out(each) for each in tasks])
    if study.finished:
        return TasksOut(tasks=[], why=f"{study.status().spent}; whoever administers the study can allow more")
    return TasksOut(tasks=[], why="what is left is assigned to other workers, or retired")


async def _tell(service: Service, study: str, data: Told) -> New:
    outcome = (await service.opened(study)).viewing.outcome
    new = await service.writer.tell(study, [report_of(data, outcome)])
    service.events.changed(study)
    return New(new=new)


@post(f"{STUDY}/tell", Role.WORKER, short=Short(Told, _tell), tags=["tasks"], operation_id="tell")
async def tell(request: Request[Any, Any, Any], study: FromPath[str], data: JSONBody[Told]) -> New:
    """The values of what was asked for; on disk when this is answered. With `start`, told again they count once."""
    return await _tell(service_of(request), study, data)


async def _tell_all(service: Service, study: str, data: ToldAll) -> New:
    outcome = (await service.opened(study)).viewing.outcome
    reports = await service.read(checked_reports, data, outcome, service.config.limits)
    new = await service.writer.tell(study, reports)
    service.events.changed(study)
    return New(new=new)


@post(f"{STUDY}/tell-all", Role.WORKER, short=Short(ToldAll, _tell_all), tags=["tasks"], operation_id="tellAll")
async def tell_all(request: Request[Any, Any, Any], study: FromPath[str], data: JSONBody[ToldAll]) -> New:
    """Many answers at once, stored together: all of them or none."""
    return await _tell_all(service_of(request), study, data)


async def _renew(service: Service, study: str, data: Renew) -> Changed:
    if (data.key is None) == (data.worker is None):
        raise InvalidSetting("Give the key of a task, or a worker, and not both.")
    return Changed(changed=await service.viewing(study, Study.renew_held, data.key, data.worker, data.lease))


@post(f"{STUDY}/heartbeat", Role.WORKER, short=Short(Renew, _renew), tags=["tasks"], operation_id="heartbeat")
async def heartbeat(request: Request[Any, Any, Any], study: FromPath[str], data: JSONBody[Renew]) -> Changed:
    """A task, or all that a worker holds, is held anew from now on. 0 where others have got it by now."""
    return await _renew(service_of(request), study, data)


@post(f"{STUDY}/release", Role.WORKER, tags=["tasks"], operation_id="release")
async def release(request: Request[Any, Any, Any], study: FromPath[str], data: JSONBody[Release]) -> Changed:
    """Hand back what will not be measured: others are given it at once."""
    service = service_of(request)
    freed = await service.viewing(study, Study.release_all, worker=data.worker, batch=data.batch)
    service.events.changed(study)
    return Changed(changed=freed)


@get(f"{STUDY}/leases", Role.READ, tags=["tasks"], operation_id="listLeases")
async def leases(request: Request[Any, Any, Any], study: FromPath[str]) -> LeasesOut:
    """What is assigned to whom, since when and until when."""
    return LeasesOut(leases=[lease_out(each) for each in await service_of(request).viewing(study, Study.leases)])


ROUTES = [ask, tell, tell_all, heartbeat, release, leases]
