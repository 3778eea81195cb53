"""Tasks: asked for, told, renewed, handed back."""

from typing import Any

from litestar import Request as HttpRequest
from litestar.params import FromPath, JSONBody

from ostinato.errors import InvalidSetting
from ostinato.optimizer.plan import Wish
from ostinato.service.fast_routes import FastRoute
from ostinato.service.guards import check_worker
from ostinato.service.requests import service_of
from ostinato.service.responses import lease_out, task_out
from ostinato.service.routes.decorators import get, post
from ostinato.service.routes.studies import STUDY
from ostinato.service.schemas import Ask, Changed, LeasesOut, New, Release, Renew, TasksOut, Told, ToldAll
from ostinato.service.service import Service
from ostinato.service.telling import checked_reports, report_of
from ostinato.service.tokens import Identity, Role
from ostinato.study import Study
from ostinato.study.asking import key_of
from ostinato.study.request import Request


@post(f"{STUDY}/ask", Role.WORKER, tags=["tasks"], operation_id="ask")
async def ask(request: HttpRequest[Any, Any, Any], study: FromPath[str], data: JSONBody[Ask]) -> TasksOut:
    """What to measure next. Sent again with the same key and worker, the answer is the same task while it is held.

    A token of the role worker asks under its own name; gateway and admin may name another worker. An empty list means
    that there is nothing to measure at the moment, and fewer slots than wanted that there are no more: `why` says why.
    """
    service = service_of(request)
    found = await service.asking(study, asked, data, request.user)
    service.events.changed(study)
    return found


def asked(study: Study, wanted: Ask, identity: Identity) -> TasksOut:
    """Tasks for a worker; none where a rule of the study says that it is over."""
    worker = check_worker(identity, wanted.worker) or identity.name
    rule = None if wanted.beyond else study.stopped
    if rule is not None:
        return TasksOut(tasks=[], why=f"stopped by {rule}; ask with beyond=true to go on")
    wish = Wish.of(wanted.slots, wanted.workers, wanted.distinct, wanted.shared, wanted.limit)
    request = Request(key_of(worker, wanted.key, identity.name), wanted.lease, wanted.limit, wish=wish)
    tasks = study.hand_out(request)
    why = study.shortage(request, tasks)
    if not tasks and study.finished:
        why = f"{study.status().spent}; whoever administers the study can allow more"
    return TasksOut(tasks=[task_out(each) for each in tasks], why=why)


async def _tell(service: Service, teller: Identity, study: str, data: Told) -> New:
    outcome = (await service.opened(study)).viewing.outcome
    new = await service.writer.tell(study, [report_of(data, outcome, teller)])
    service.events.changed(study)
    return New(new=new)


@post(f"{STUDY}/tell", Role.WORKER, short=FastRoute(Told, _tell), tags=["tasks"], operation_id="tell")
async def tell(request: HttpRequest[Any, Any, Any], study: FromPath[str], data: JSONBody[Told]) -> New:
    """The values of what was asked for; on disk when this is answered. With `start`, told again they count once.

    They are kept with the worker for whom this token holds the task, and under the token's own name where others hold
    it by now; gateway and admin may name the worker.
    """
    return await _tell(service_of(request), request.user, study, data)


async def _tell_all(service: Service, teller: Identity, study: str, data: ToldAll) -> New:
    outcome = (await service.opened(study)).viewing.outcome
    reports = await service.read(checked_reports, data, outcome, teller, service.config.limits)
    new = await service.writer.tell(study, reports)
    service.events.changed(study)
    return New(new=new)


@post(f"{STUDY}/tell-all", Role.WORKER, short=FastRoute(ToldAll, _tell_all), tags=["tasks"], operation_id="tellAll")
async def tell_all(request: HttpRequest[Any, Any, Any], study: FromPath[str], data: JSONBody[ToldAll]) -> New:
    """Many answers at once, stored together: all of them or none."""
    return await _tell_all(service_of(request), request.user, study, data)


async def _renew(service: Service, identity: Identity, study: str, data: Renew) -> Changed:
    if (data.key is None) == (data.worker is None):
        raise InvalidSetting("Give the key of a task, or a worker, and not both.")
    which = data.key, data.worker, data.lease, identity.limit
    return Changed(changed=await service.viewing(study, Study.renew_held, *which))


@post(f"{STUDY}/heartbeat", Role.WORKER, short=FastRoute(Renew, _renew), tags=["tasks"], operation_id="heartbeat")
async def heartbeat(request: HttpRequest[Any, Any, Any], study: FromPath[str], data: JSONBody[Renew]) -> Changed:
    """A task, or all that a worker holds, is held anew from now on. 0 where others have got it by now.

    Only what was asked for with the same token counts; admin renews all.
    """
    return await _renew(service_of(request), request.user, study, data)


@post(f"{STUDY}/release", Role.WORKER, tags=["tasks"], operation_id="release")
async def release(request: HttpRequest[Any, Any, Any], study: FromPath[str], data: JSONBody[Release]) -> Changed:
    """Hand back what will not be measured: others are given it at once.

    Only what was asked for with the same token counts; admin hands back all.
    """
    service, limit = service_of(request), request.user.limit
    freed = await service.viewing(study, Study.release_all, worker=data.worker, batch=data.batch, token=limit)
    service.events.changed(study)
    return Changed(changed=freed)


@get(f"{STUDY}/leases", Role.READ, tags=["tasks"], operation_id="listLeases")
async def leases(request: HttpRequest[Any, Any, Any], study: FromPath[str]) -> LeasesOut:
    """What is assigned to whom, since when and until when."""
    return LeasesOut(leases=[lease_out(each) for each in await service_of(request).viewing(study, Study.leases)])


ROUTES = [ask, tell, tell_all, heartbeat, release, leases]
