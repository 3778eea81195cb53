"""What a study knows: the best, the top, predictions, explanations, whether the model fits."""

from typing import Annotated, Any

from litestar import Request
from litestar.params import FromPath, JSONBody, QueryParameter

from ostinato.errors import InvalidFeedback, InvalidSetting, UnknownCandidate
from ostinato.optimizer import Optimizer
from ostinato.service.requests import service_of
from ostinato.service.responses import best_out, diagnosis_out, prediction_out
from ostinato.service.routes.decorators import get, post
from ostinato.service.routes.studies import STUDY
from ostinato.service.schemas import BestOut, DiagnosisOut, ExplanationOut, Predict, PredictionOut, TopOut
from ostinato.service.schemas.common import Row
from ostinato.service.tokens import Role
from ostinato.study import Study

Level = Annotated[float, QueryParameter(gt=0.0, lt=1.0, description="Of the interval.")]


@get(f"{STUDY}/best", Role.READ, tags=["answers"], operation_id="getBest")
async def best(request: Request[Any, Any, Any], study: FromPath[str], level: Level = 0.95) -> BestOut:
    """The recommended candidate, with its estimate, its interval, and how sure that is."""
    return best_out(await service_of(request).modelling(study, Study.best, level))


@get(f"{STUDY}/top", Role.READ, tags=["answers"], operation_id="getTop")
async def top(
    request: Request[Any, Any, Any],
    study: FromPath[str],
    k: Annotated[int, QueryParameter(ge=1, le=1_000, description="How many.")] = 5,
    level: Level = 0.95,
) -> TopOut:
    """The best measured candidates; their intervals hold all at once."""
    return TopOut(top=[best_out(each) for each in await service_of(request).modelling(study, Study.top, k, level)])


@post(f"{STUDY}/predict", Role.READ, tags=["answers"], operation_id="predict")
async def predict(request: Request[Any, Any, Any], study: FromPath[str], data: JSONBody[Predict]) -> PredictionOut:
    """What the model says of some rows, or of points that need not be candidates."""
    if (data.rows is None) == (data.points is None):
        raise InvalidSetting("Give rows of the table, or points, and not both.")
    return await service_of(request).modelling(study, predicted, data)


def _row(study: Study, row: int) -> Any:
    try:
        return study.candidate(row)
    except IndexError:
        raise UnknownCandidate(
            f"There is no row {row}: the candidates have the rows 0 to {study.table.rows - 1}."
        ) from None


def _check_alike(points: list[Row]) -> None:
    """Points of different kinds or lengths cannot be looked at together."""
    if len({len(point) if isinstance(point, list) else None for point in points}) > 1:
        raise InvalidFeedback(
            "The points differ in kind or length: give all as objects, or all as lists of as many numbers as the "
            "candidates have columns."
        )


def predicted(study: Study, wanted: Predict) -> PredictionOut:
    _check_alike(wanted.points or [])
    points: Any = wanted.points if wanted.rows is None else [_row(study, row) for row in wanted.rows]

    def answer(optimizer: Optimizer) -> PredictionOut:
        return prediction_out(optimizer.predict(points), wanted.level)

    return study.looked(answer)


@get(f"{STUDY}/batches/{{batch:int}}/explanation", Role.READ, tags=["answers"], operation_id="explainBatch")
async def explain(request: Request[Any, Any, Any], study: FromPath[str], batch: FromPath[int]) -> ExplanationOut:
    """Why a batch was asked for: this candidate, and this many repeats."""
    found = await service_of(request).viewing(study, Study.explain, batch)
    return ExplanationOut(batch=batch, words=str(found))


@get(f"{STUDY}/diagnosis", Role.READ, tags=["answers"], operation_id="diagnose")
async def diagnose(request: Request[Any, Any, Any], study: FromPath[str]) -> DiagnosisOut:
    """Does the model fit what was measured? What residuals, repeats and returns say, and which values do not fit."""
    return diagnosis_out(await service_of(request).modelling(study, Study.diagnose))


ROUTES = [best, top, predict, explain, diagnose]
