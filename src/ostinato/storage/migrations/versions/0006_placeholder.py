"""A placeholder: the schema 0006 is made elsewhere."""

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass
