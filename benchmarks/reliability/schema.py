"""Schemathesis over the description of the service: whatever is sent, the answer is one that is described, and no 5xx.

A real server answers in a thread of this process. Most requests go to a study that is there, so that more than the 404
is seen. Then the links of the description are walked: a study is made, asked, told what it asked for, and looked at.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STREAM = "streamEvents"  # it never ends
DESTRUCTIVE = "deleteStudy"
ROUNDS = 2  # through all routes: the second sees what the first has stored
STEPS = 8  # requests of one walk along the links
LEFT_OUT = {
    "negative_data_rejection",  # unknown query parameters are ignored
    "ignored_auth",  # sends every request twice; tests/service/test_security.py walks every route without a token
    "unsupported_method",  # 401 and 403 come before 405; test_security.py sends every method to every path
}
ANSWERS = ["2xx", "404", "409", "422"]  # to what is right by its types: it may still say what cannot be true


@contextmanager
def served(path: Path) -> Iterator[tuple[str, str]]:
    """A server of a new study, and a token of an administrator."""
    import numpy as np

    from ostinato.service.app import create_app
    from ostinato.service.serving import Place, Server
    from ostinato.service.tokens import Role, create_token
    from ostinato.storage import open_storage
    from ostinato.study import Study

    Study("reaction", path, np.arange(12.0).reshape(6, 2), budget=500, seed=0, noise_std=0.5)
    storage = open_storage(path)
    token, _ = create_token(storage, "schema", Role.ADMIN, (), time.time(), None)
    server = Server(create_app(storage), Place(port=0))
    server.config.port = 0
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}", token
    finally:
        server.should_exit = True
        thread.join(60)


def fuzz(path: Path, cases: int, seed: int = 0) -> int:
    """Send so many generated requests, spread over all operations; returns how many were sent."""
    import requests
    import schemathesis
    from hypothesis import HealthCheck, given, settings
    from hypothesis import seed as seeded
    from schemathesis.checks import CHECKS

    schemathesis.checks.load_all_checks()
    checks: list[Any] = [check for check in CHECKS.get_all() if check.__name__ not in LEFT_OUT]
    assert {check.__name__ for check in checks} >= {"not_a_server_error", "status_code_conformance"}
    sent, failures = 0, list[Exception]()
    with served(path) as (url, token), requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {token}"
        accepting = {"checks": {"positive_data_acceptance": {"expected-statuses": ANSWERS}}}

        def described() -> Any:  # anew each time: generating from a description changes it
            told = session.get(f"{url}/api/v1/openapi.json", timeout=60).json()
            config = schemathesis.Config.from_dict(accepting)
            return schemathesis.openapi.from_dict(told, config=config).exclude(operation_id=STREAM)

        found = [each.ok() for _ in range(ROUNDS) for each in described().get_all_operations()]
        operations = [each for each in found if each.definition.raw["operationId"] != DESTRUCTIVE]
        for number, operation in enumerate(operations):

            @seeded(seed + number)
            @settings(
                max_examples=max(1, cases // len(operations)),
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
                print_blob=False,
            )
            @given(case=operation.as_strategy())
            def one(case: Any) -> None:
                nonlocal sent
                sent += 1
                if "study" in (case.path_parameters or {}) and sent % 5:
                    case.path_parameters["study"] = "reaction"
                case.call_and_validate(base_url=url, session=session, checks=checks, timeout=120)

            try:
                one()
            except Exception as failure:  # the other routes are still looked at
                failures.append(failure)
        sent += walk(described(), checks, cases // 10, {"base_url": url, "session": session, "timeout": 120})
    if failures:
        raise ExceptionGroup(f"{len(failures)} routes answer what they should not", failures)
    return sent


def walk(schema: Any, checks: list[Any], requests: int, call: dict[str, Any]) -> int:
    """Go along the links, about so many requests; returns how many were sent."""
    from hypothesis import HealthCheck, settings

    sent = 0

    class Walk(schema.as_state_machine()):  # type: ignore[misc]
        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            nonlocal sent
            sent += 1
            return call

        def validate_response(self, response: Any, case: Any, additional_checks: Any = None, **more: Any) -> None:
            case.validate_response(response, checks=checks)

    quietly = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck), "print_blob": False}
    Walk.run(settings=settings(max_examples=max(1, requests // STEPS), stateful_step_count=STEPS, **quietly))
    return sent
