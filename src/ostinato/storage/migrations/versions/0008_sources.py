"""Values say where they come from: a program and its version, a host and a worker, and when they were begun. Those of
before stay as they are, and so do their checksums: of them that is not known.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("log", sa.Column("source", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("log", sa.Column("began", sa.Double, nullable=False, server_default="0"))
    op.create_table(
        "sources",
        sa.Column("study", sa.Integer, sa.ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("check", sa.BigInteger, nullable=False),
    )
    op.create_index("sources_by_digest", "sources", ["study", "digest"])
