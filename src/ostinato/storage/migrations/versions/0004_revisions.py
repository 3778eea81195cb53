"""Measurements can be taken back and corrected, and candidates retired. What was stored stays: revisions say what
counts.

Checksums of what was never revised stay as they are.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("studies", "batches"):
        op.add_column(table, sa.Column("withdrawn", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("studies", sa.Column("revised", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("studies", sa.Column("retired", sa.Text, nullable=False, server_default=""))
    op.add_column("batches", sa.Column("replaced", sa.BigInteger, nullable=False, server_default="0"))
    op.create_table(
        "revisions",
        sa.Column("study", sa.Integer, sa.ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("measurement", sa.BigInteger, nullable=False),
        sa.Column("row", sa.BigInteger, nullable=False, index=True),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("batch", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("check", sa.BigInteger, nullable=False),
    )
