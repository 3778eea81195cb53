"""The description of the API: made from the routes, with errors, examples and links for each."""

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from litestar import Litestar
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme
from litestar.types import ControllerRouterHandler

from ostinato import __version__
from ostinato.service.errors import PROBLEM
from ostinato.service.examples import REQUESTS, RESPONSES

ERRORS = {
    400: "The body cannot be read, or the server is called by a name that is not its own.",
    401: "There is no token, or it is unknown, revoked or expired.",
    403: "The token has not the role that this takes, or a page of another site asks.",
    404: "There is no such study, batch or candidate.",
    409: "It cannot be done as the study stands: another value was told before, or nothing was measured yet.",
    422: "The request was understood, and cannot be true: the detail says what is wrong.",
    429: "Too many requests: wait as long as Retry-After says.",
    503: "The server is busy, or its storage does not answer: try again.",
}
WITH_BODY = {
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "The body is not JSON.",
}
EXAMPLE_PROBLEM = {
    "type": "urn:ostinato:invalid-feedback",
    "title": "Measurements were rejected",
    "status": 422,
    "detail": "Batch 0 came without values: give values, null for a measurement that failed; or successes and trials.",
}
PUBLIC = ("health",)
STUDY = {"study": "$request.path.study"}
LINKS: dict[str, dict[str, Any]] = {  # from an operation to those that go on with what it answered
    "createStudy": {
        name: {"operationId": name, "parameters": {"study": "$response.body#/name"}}
        for name in ("getStatus", "ask", "getHistory", "listCandidates", "deleteStudy")
    },
    "ask": {
        "tell": {
            "operationId": "tell",
            "parameters": STUDY,
            "requestBody": {
                "batch": "$response.body#/tasks/0/batch",
                "start": "$response.body#/tasks/0/start",
                "values": [1.5],
            },
        },
        "heartbeat": {
            "operationId": "heartbeat",
            "parameters": STUDY,
            "requestBody": {"key": "$response.body#/tasks/0/key"},
        },
        "explainBatch": {
            "operationId": "explainBatch",
            "parameters": {**STUDY, "batch": "$response.body#/tasks/0/batch"},
        },
    },
    "tell": {name: {"operationId": name, "parameters": STUDY} for name in ("getBest", "getHistory", "ask")},
    "observe": {name: {"operationId": name, "parameters": STUDY} for name in ("getTop", "diagnose", "getStatus")},
}


def description(routes: Sequence[ControllerRouterHandler]) -> dict[str, Any]:
    """OpenAPI 3.1, as JSON has it."""
    return _described(tuple(routes))


@cache  # it takes longer than everything else of an application, and is the same for all
def _described(routes: tuple[ControllerRouterHandler, ...]) -> dict[str, Any]:
    bearer = SecurityScheme(type="http", scheme="bearer", description="A token of `ostinato token create`.")
    config = OpenAPIConfig(
        title="Ostinato",
        version=__version__,
        description="Ask what to measure next, and tell what came of it.",
        components=Components(security_schemes={"token": bearer}),
        security=[{"token": []}],
        use_handler_docstrings=True,
    )
    schema = Litestar(routes, openapi_config=config, logging_config=None).openapi_schema.to_schema()
    for operations in schema["paths"].values():
        for operation in operations.values():
            if isinstance(operation, dict) and "operationId" in operation:
                _complete(cast("dict[str, Any]", operation))
    schema["components"]["schemas"]["Problem"] = _problem()
    return schema


def _complete(operation: dict[str, Any]) -> None:
    """Errors, examples and links of one operation."""
    name, responses = operation["operationId"], operation["responses"]
    body = operation.get("requestBody")
    succeeded = next(code for code in responses if code.startswith("2"))
    for code in [each for each in responses if not each.startswith("2")]:
        del responses[code]
    if name in PUBLIC:
        operation["security"] = []
    for code, words in {**_errors(name), **(WITH_BODY if body else {})}.items():
        responses[str(code)] = _problem_response(words)
    if name in RESPONSES:
        for content in responses[succeeded].get("content", {}).values():
            content["example"] = RESPONSES[name]
    if body:
        body["required"] = True
        for content in body["content"].values():
            content["example"] = REQUESTS[name]
    if name in LINKS:
        responses[succeeded]["links"] = LINKS[name]


def _errors(name: str) -> dict[int, str]:
    if name in PUBLIC:
        return {code: ERRORS[code] for code in (400, 429)}
    return ERRORS


def _problem_response(words: str) -> dict[str, Any]:
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "example": EXAMPLE_PROBLEM}
    return {"description": words, "content": {PROBLEM: content}}


def _problem() -> dict[str, Any]:
    texts = {name: {"type": "string"} for name in ("type", "title", "detail")}
    return {
        "type": "object",
        "description": "What went wrong (RFC 9457): `detail` says the value, the cause and the remedy.",
        "properties": {**texts, "status": {"type": "integer"}},
        "required": ["type", "title", "status", "detail"],
    }
