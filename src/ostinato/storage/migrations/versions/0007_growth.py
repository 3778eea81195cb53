"""What waits, what was told of lately, and what observations may join are found by indices of their own: none of it
takes longer as a study grows, or others beside it. Observations of before stay as they are, each a batch of its own.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

UNFINISHED = "closed IS {false} AND id >= 0 AND (((repeats + replaced) - n) - failed) - withdrawn > 0"
WITH_ROOM = "repeats < 500 AND substr(reason, 1, 6) = 'shared'"


def upgrade() -> None:
    false = "false" if op.get_bind().dialect.name == "postgresql" else "0"
    _index("batches_unfinished", ["study", "id"], UNFINISHED.format(false=false))
    _index("batches_with_room", ["study", "candidate"], WITH_ROOM)
    op.drop_index("ix_batches_last", "batches")
    op.create_index("batches_by_last", "batches", ["study", "last"])


def _index(name: str, columns: list[str], where: str) -> None:
    op.create_index(name, "batches", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
