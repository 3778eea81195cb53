"""Candidates: listed, added, retired, restored."""

from typing import Annotated, Any, Literal

from litestar import Request
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from ostinato.service.create import candidates_of
from ostinato.service.listing import ListQuery, listed
from ostinato.service.requests import service_of
from ostinato.service.routes.decorators import get, post
from ostinato.service.routes.measurements import Page, Place
from ostinato.service.routes.studies import STUDY
from ostinato.service.schemas import Add, Added, CandidatesOut, Changed, Rows
from ostinato.service.tokens import Role
from ostinato.study import Study

PATH = f"{STUDY}/candidates"


@get(PATH, Role.READ, tags=["candidates"], operation_id="listCandidates")
async def list_candidates(
    request: Request[Any, Any, Any],
    study: FromPath[str],
    offset: Place = 0,
    limit: Page = 100,
    sort: FromQuery[Literal["row", "measured", "mean", "std"]] = "row",
    descending: FromQuery[bool] = False,
    where: Annotated[
        list[str] | None, QueryParameter(description="temp>=50, solvent=water, measured>0, retired=true.")
    ] = None,
) -> CandidatesOut:
    """Candidates, some at a time: sorted, and those that meet all conditions, with what the model says of them."""
    wanted = ListQuery(offset, limit, sort, descending, tuple(where or ()))
    return await service_of(request).modelling(study, listed, wanted)


@post(PATH, Role.ADMIN, tags=["candidates"], operation_id="addCandidates")
async def add(request: Request[Any, Any, Any], study: FromPath[str], data: JSONBody[Add]) -> Added:
    """More candidates from now on, with the same columns; those that are there already are left out."""
    service = service_of(request)

    def added(found: Study) -> list[int]:
        return found.add(candidates_of(data.csv, data.rows, None, service.config.limits), noise_std=data.noise_std)

    rows = await service.modelling(study, added)
    service.events.changed(study)
    return Added(rows=rows)


@post(f"{PATH}/retire", Role.ADMIN, tags=["candidates"], operation_id="retireCandidates")
async def retire(request: Request[Any, Any, Any], study: FromPath[str], data: JSONBody[Rows]) -> Changed:
    """Candidates that are not to be measured or recommended any more; what was measured of them stays."""
    service = service_of(request)
    changed = await service.viewing(study, Study.retire, data.rows)
    service.events.changed(study)
    return Changed(changed=changed)


@post(f"{PATH}/restore", Role.ADMIN, tags=["candidates"], operation_id="restoreCandidates")
async def restore(request: Request[Any, Any, Any], study: FromPath[str], data: JSONBody[Rows]) -> Changed:
    """Retired candidates may be measured again."""
    service = service_of(request)
    changed = await service.viewing(study, Study.restore, data.rows)
    service.events.changed(study)
    return Changed(changed=changed)


ROUTES = [list_candidates, add, retire, restore]
