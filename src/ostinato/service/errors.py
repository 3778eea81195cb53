"""Errors as answers: one table from the error tree to status codes, and problem+json (RFC 9457) for all of them."""

import logging
import re
from http import HTTPStatus

import msgspec

from ostinato import errors
from ostinato.errors import OstinatoError

PROBLEM = "application/problem+json"
TYPE = "urn:ostinato:"
RETRY = {"retry-after": "1"}
log = logging.getLogger("ostinato.service")

STATUS: dict[type[OstinatoError], int] = {  # the nearest class of an error counts
    errors.InvalidInput: 422,
    errors.UnknownCandidate: 404,
    errors.UnknownBatch: 404,
    errors.UnknownStudy: 404,
    errors.StudyDiffers: 409,
    errors.Conflict: 409,
    errors.NothingMeasured: 409,
    errors.NothingToAsk: 409,
    errors.Unavailable: 503,
    errors.Damaged: 500,
    OstinatoError: 500,
}


class Problem(msgspec.Struct, frozen=True):
    """What went wrong: `type` names it for programs, `detail` says the value, the cause and the remedy."""

    type: str
    title: str
    status: int
    detail: str


class Refused(Exception):
    """A request that is refused before a study hears of it."""

    def __init__(self, status: int, kind: str, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.problem = Problem(f"{TYPE}{kind}", HTTPStatus(status).phrase, status, detail)
        self.headers = headers or {}

    @classmethod
    def of(cls, problem: Problem, headers: dict[str, str] | None = None) -> "Refused":
        """A problem that has a name and a title of its own."""
        refused = cls(problem.status, "", problem.detail, headers)
        refused.problem = problem
        return refused


def refusal_of(error: Exception) -> Refused:
    """Any error as an answer; what is the server's own fault is logged."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, OstinatoError):
        problem = problem_of(error)
        if problem.status >= 500:
            log.warning("%s", error)
        return Refused.of(problem, RETRY if isinstance(error, errors.Unavailable) else None)
    log.error("A request failed", exc_info=error)
    return Refused(500, "bug", "The server failed; its log says more. This is a bug: please report it.")


def status_of(error: OstinatoError) -> int:
    """The status code of an error."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def problem_of(error: OstinatoError) -> Problem:
    """An error as an answer. What says where things are stored is for the log, and not for whoever asks."""
    kind, status, detail = type(error).__name__, status_of(error), str(error)
    if isinstance(error, errors.Unavailable):
        detail = "The storage does not answer, or cannot write. Nothing that was acknowledged is lost: try again."
    elif isinstance(error, errors.Damaged):
        detail = "What is stored is damaged. Nothing was changed: run `ostinato verify` where the server runs."
    title = (type(error).__doc__ or kind).partition(".")[0]
    return Problem(f"{TYPE}{name_of(kind)}", title, status, detail)


def name_of(kind: str) -> str:
    """InvalidFeedback → invalid-feedback."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", kind).lower()


def error_of(problem: Problem) -> OstinatoError | None:
    """The error that a problem stands for, where it is one of the tree; for clients."""
    name = problem.type.removeprefix(TYPE)
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, OstinatoError) and name_of(kind.__name__) == name:
            return kind(problem.detail)
    return None
