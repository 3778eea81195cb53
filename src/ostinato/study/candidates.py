"""The candidates of a study, as they are stored, and which of them were retired."""

import msgspec

from ostinato.candidates import Candidates, head_of, unpacked
from ostinato.errors import Damaged
from ostinato.storage import Reader, StudyRecord


def table_of(reader: Reader) -> Candidates:
    """Candidates as they were stored."""
    head = head_of(reader.table())
    stored = reader.blocks() if head.blocks else []
    if len(stored) != len(head.blocks):
        raise Damaged(
            f"The study {reader.record.name!r} is damaged: its candidates are in {len(head.blocks)} blocks, and "
            f"{len(stored)} are there. `ostinato verify` says what else is."
        )
    return unpacked(head, stored)


def retired_of(record: StudyRecord) -> list[int]:
    """Rows of candidates that are not to be measured any more."""
    return msgspec.json.decode(record.retired, type=list[int]) if record.retired else []
