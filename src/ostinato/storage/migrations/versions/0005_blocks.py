"""The rows of large tables of candidates are stored in blocks, so that one of them is read without the others; and the
last answer of a study with the moment it was given at. Tables of before stay as they are.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "blocks",
        sa.Column("study", sa.Integer, sa.ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("check", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "answers",
        sa.Column("study", sa.Integer, sa.ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("moment", sa.Text, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("check", sa.BigInteger, nullable=False),
    )
    if op.get_bind().dialect.name == "postgresql":  # they are compressed already
        op.execute("ALTER TABLE blocks ALTER COLUMN data SET STORAGE EXTERNAL")
