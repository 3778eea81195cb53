"""Leases say since when and for how long they were given, so that a clock that jumps cannot make one last for a year.
Those of before stay as they are, and so do their checksums: their length is not known.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("seconds", "since"):
        op.add_column("leases", sa.Column(name, sa.Double, nullable=False, server_default="0"))
