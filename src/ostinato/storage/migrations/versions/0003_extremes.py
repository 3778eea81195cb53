"""Batches keep their lowest and highest value by themselves, so that one that does not fit can be left out. Those of
before have none, and their checksums stay as they are.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("batches", sa.Column("extremes", sa.Text, nullable=False, server_default=""))
