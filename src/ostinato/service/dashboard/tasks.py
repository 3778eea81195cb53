"""What a person is to measure: asked for, looked up again after a reload, and told."""

from collections.abc import Sequence
from math import isnan
from typing import Any
from uuid import uuid4

import msgspec
from litestar import Request

from ostinato.errors import InvalidFeedback, UnknownBatch
from ostinato.service.dashboard.measurements import of_repeats
from ostinato.service.dashboard.reading import LARGEST
from ostinato.service.requests import service_of
from ostinato.service.routes.tasks import asked
from ostinato.service.schemas import Ask, TasksOut, Told
from ostinato.service.telling import report_of
from ostinato.storage import Reader
from ostinato.study import Measurement, Study
from ostinato.study.settings import has_setting

LEASE = 3_600.0  # seconds for which a person holds a candidate
PROGRAM = "dashboard"


class AssignedRepeats(msgspec.Struct, frozen=True, kw_only=True):
    """Repeats start, …, start + repeats - 1 of a batch, and what was told of them."""

    batch: int
    start: int
    repeats: int
    candidate: Any
    told: list[Measurement]

    @property
    def left(self) -> list[int]:
        """The repeats that nothing was told of, nor skipped."""
        return self.left_after(self.seen)

    @property
    def seen(self) -> int:
        """The number of the newest measurement here; 0 where there is none."""
        return max((each.number for each in self.told), default=0)

    def left_after(self, seen: int) -> list[int]:
        """The repeats that were left when this was the newest measurement.

        A page that is sent twice, since its answer was lost, speaks of the same repeats both times.
        """
        known = {each.repeat for each in self.told if each.number <= seen}
        return [repeat for repeat in range(self.start, self.start + self.repeats) if repeat not in known]


def held(study: Study, batch: int, start: int, repeats: int) -> AssignedRepeats:
    """Repeats of a batch, by numbers."""

    def find(reader: Reader) -> tuple[int, int]:
        found = reader.batch(batch) if 0 <= batch <= LARGEST else None
        if found is None:
            raise UnknownBatch(f"Batch {batch} is none that was asked for in this study.")
        return found.facts.index, found.facts.places

    index, places = study.reading(find)
    start = min(start, places)
    last = min(start + repeats, places)
    told = of_repeats(study, batch, range(start, last))
    return AssignedRepeats(
        batch=batch, start=start, repeats=max(0, last - start), candidate=study.candidate(index), told=told
    )


def keeps_setups(study: Study) -> bool:
    """Whether repeats of a batch, one preparation, share an error: whoever measures has to know the batch."""
    return study.reading(lambda reader: has_setting(reader.record.settings, "setup_std"))


async def ask_for(request: Request[Any, Any, Any], study: str, wanted: Ask) -> TasksOut:
    """What to measure next, for whoever asks."""
    service = service_of(request)
    question = msgspec.structs.replace(wanted, key=f"page-{uuid4().hex}")
    found = await service.asking(study, asked, question, request.user)
    service.events.changed(study)
    return found


async def tell(request: Request[Any, Any, Any], study: str, told: Sequence[tuple[int, int, list[float]]]) -> int:
    """Values, each run of them with its batch and its first repeat: all of them or none."""
    service = service_of(request)
    outcome = (await service.opened(study)).viewing.outcome
    reports = [
        report_of(
            Told(
                batch=batch,
                start=start,
                values=[None if isnan(value) else value for value in values],
                program=PROGRAM,
            ),
            outcome,
            request.user,
        )
        for batch, start, values in told
    ]
    new = await service.writer.tell(study, reports)
    service.events.changed(study)
    return new


def runs(values: dict[tuple[int, int], float]) -> list[tuple[int, int, list[float]]]:
    """Values by batch and repeat, as runs of repeats that follow one another."""
    found: list[tuple[int, int, list[float]]] = []
    for (batch, repeat), value in sorted(values.items()):
        if found and found[-1][0] == batch and found[-1][1] + len(found[-1][2]) == repeat:
            found[-1][2].append(value)
        else:
            found.append((batch, repeat, [value]))
    return found


def check_room(left: list[int], values: list[float]) -> None:
    """Whether there are so many repeats to come."""
    if len(values) > len(left):
        raise InvalidFeedback(
            f"These are {len(values)} values, and {len(left)} are to come here: give fewer. Nothing was taken in."
        )
