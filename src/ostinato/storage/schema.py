"""The tables. Every row carries a checksum of what it says, so that damage is noticed when it is read.

A damaged row of `leases` counts as none: what it held is handed out again. So does one of `answers`: what it said is
computed again; and one of `tokens`: whoever has it is refused. Any other is an error.

studies     one row a study: settings, counters, and the state that the next decision rests on
tables      the candidates of a study, compressed; of a large table, what its columns are
blocks      the rows of a large table, up to 65,536 at a time
answers     what the best candidate is, and the moment of the study that this is true of
batches     what was asked (or observed: numbers below 0) and why, with the aggregates of what was told
leases      which repeats of a batch are assigned to whom, and until when; none that has a value
log         the values themselves: one row a tell, in the order they came; never changed
sources     where they come from: one row for every different program, version, host and worker
revisions   which of them were taken back or corrected since, when and why
tokens      who may reach the studies over HTTP: a digest of each token, never the token itself
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    and_,
    func,
    literal_column,
)

HEAD = "0009"  # the schema that this code reads and writes; older ones are migrated, newer ones refused
SHARED = "shared"  # with this word begins the reason of observations that others may join
FULL = 500  # repeats of such, from which others begin anew
metadata = MetaData()
version = Table(  # as Alembic makes it
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)

studies = Table(
    "studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created", Double, nullable=False),
    Column("settings", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("budget", BigInteger),
    Column("state", LargeBinary, nullable=False),
    Column("decided", BigInteger, nullable=False),  # how often the state has changed
    Column("asked", BigInteger, nullable=False),
    Column("observed", BigInteger, nullable=False),
    Column("closed", BigInteger, nullable=False),  # batches that were given up
    Column("told", BigInteger, nullable=False),  # rows of the log
    Column("answered", BigInteger, nullable=False),  # repeats, those that failed included
    Column("failed", BigInteger, nullable=False),
    Column("revised", BigInteger, nullable=False),  # revisions
    Column("withdrawn", BigInteger, nullable=False),  # repeats that were told and taken back
    Column("retired", Text, nullable=False),  # as JSON: rows of candidates that are not to be measured any more
    Column("check", BigInteger, nullable=False),
)

tables = Table(
    "tables",
    metadata,
    Column("study", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("data", LargeBinary, nullable=False),
    Column("check", BigInteger, nullable=False),
)

blocks = Table(
    "blocks",
    metadata,
    Column("study", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
    Column("check", BigInteger, nullable=False),
)

answers = Table(
    "answers",
    metadata,
    Column("study", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("moment", Text, nullable=False),  # a digest of the study's row
    Column("data", LargeBinary, nullable=False),
    Column("check", BigInteger, nullable=False),
)

batches = Table(
    "batches",
    metadata,
    Column("study", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("candidate", BigInteger, nullable=False),
    Column("repeats", BigInteger, nullable=False),
    Column("wanted", BigInteger, nullable=False),
    Column("capped", Boolean, nullable=False),
    Column("truncated", Boolean, nullable=False),
    Column("round", BigInteger, nullable=False),
    Column("made", Double, nullable=False),
    Column("reason", Text, nullable=False),  # as JSON; of observations, whether others may join them
    Column("leased", BigInteger, nullable=False),  # repeats that were handed out at least once
    Column("failed", BigInteger, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("mean", Double, nullable=False),
    Column("squares", Double, nullable=False),
    Column("known", Double, nullable=False),
    Column("first", BigInteger, nullable=False),  # the row of the log with its first feedback, and with its last
    Column("last", BigInteger, nullable=False),
    Column("closed", Boolean, nullable=False),
    Column("extremes", Text, nullable=False),  # as JSON: lowest and highest values by number, the rest, and when
    Column("withdrawn", BigInteger, nullable=False),  # repeats that were told and taken back,
    Column("replaced", BigInteger, nullable=False),  # and those of them that are waited for again
    Column("check", BigInteger, nullable=False),
    Index("batches_by_last", "study", "last"),
)

# An index finds what its own condition says, word by word: numbers stand in it, and in queries, as they are.
_zero, _full = literal_column("0", BigInteger), literal_column(str(FULL), BigInteger)
_held = batches.c.repeats + batches.c.replaced - batches.c.n - batches.c.failed - batches.c.withdrawn
UNFINISHED = and_(batches.c.closed.is_(False), batches.c.id >= _zero, _held > _zero)
_word = func.substr(batches.c.reason, literal_column("1"), literal_column(str(len(SHARED))))
WITH_ROOM = and_(batches.c.repeats < _full, _word == literal_column(f"'{SHARED}'"))
for _name, _columns, _where in (
    ("batches_unfinished", ("study", "id"), UNFINISHED),
    ("batches_with_room", ("study", "candidate"), WITH_ROOM),
):
    Index(_name, *(batches.c[each] for each in _columns), sqlite_where=_where, postgresql_where=_where)

leases = Table(
    "leases",
    metadata,
    Column("study", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("batch", BigInteger, primary_key=True, autoincrement=False),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("repeats", BigInteger, nullable=False),
    Column("worker", Text, nullable=False),
    Column("until", Double, nullable=False),
    Column("seconds", Double, nullable=False),  # for how long it was given, or renewed; 0 where that is not known
    Column("since", Double, nullable=False),
    Column("check", BigInteger, nullable=False),
)

log = Table(
    "log",
    metadata,
    Column("study", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("batch", BigInteger, nullable=False),
    Column("start", BigInteger, nullable=False),  # the first repeat that it holds
    Column("repeats", BigInteger, nullable=False),
    Column("kind", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("at", Double, nullable=False),
    Column("source", BigInteger, nullable=False),  # 0 where that is not known,
    Column("began", Double, nullable=False),  # and where it is not known when they were begun
    Column("check", BigInteger, nullable=False),
    Index("log_by_batch", "study", "batch", "start"),
)

sources = Table(
    "sources",
    metadata,
    Column("study", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("digest", Text, nullable=False),  # of the data, by which it is found
    Column("data", Text, nullable=False),  # as JSON
    Column("check", BigInteger, nullable=False),
    Index("sources_by_digest", "study", "digest"),
)

revisions = Table(
    "revisions",
    metadata,
    Column("study", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("measurement", BigInteger, nullable=False),  # its number in the order told
    Column("row", BigInteger, nullable=False, index=True),  # of the log, and its place in it
    Column("place", BigInteger, nullable=False),
    Column("batch", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),  # the value that counts, as a float64; nothing where it was taken back
    Column("at", Double, nullable=False),
    Column("why", Text, nullable=False),
    Column("check", BigInteger, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("studies", Text, nullable=False),  # as JSON: those that it is limited to; an empty list for all
    Column("digest", Text, nullable=False),  # SHA-256 of the secret
    Column("created", Double, nullable=False),
    Column("expires", Double),  # nothing where it does not expire
    Column("revoked", Double),  # when; nothing where it was not
    Column("check", BigInteger, nullable=False),
)
