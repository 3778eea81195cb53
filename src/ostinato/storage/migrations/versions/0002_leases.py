"""Leases carry a checksum, and hold only repeats without a value. Those of before are dropped: a study that finds
repeats not assigned to a worker hands them out again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("DELETE FROM leases")
    op.add_column("leases", sa.Column("check", sa.BigInteger, nullable=False, server_default="0"))
