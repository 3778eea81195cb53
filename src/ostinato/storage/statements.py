"""The statements that every ask and tell makes, built once: building one takes longer than running it."""

from sqlalchemy import BigInteger, bindparam, delete, func, insert, select, update

from ostinato.storage import schema
from ostinato.storage.schema import batches, blocks, leases, log, revisions, sources, studies

_study, _batch = bindparam("in_study", type_=BigInteger()), bindparam("in_batch", type_=BigInteger())
_in_study = select(batches).where(batches.c.study == _study)
_own_batches = _in_study.order_by(batches.c.id)
_own_log = select(log).where(log.c.study == _study)
_log_of_batch = _own_log.where(log.c.batch == _batch)
_own_leases = select(leases).where(leases.c.study == _study).order_by(leases.c.batch, leases.c.start)

STUDY = select(studies).where(studies.c.name == bindparam("called"))
STUDY_LOCKED = STUDY.with_for_update()
CHANGE_STUDY = update(studies).where(studies.c.id == _study)

BLOCKS = select(blocks).where(blocks.c.study == _study).order_by(blocks.c.number)
BLOCK = BLOCKS.where(blocks.c.number == bindparam("number"))

ALL_BATCHES = _own_batches
OBSERVED_SINCE = _own_batches.where(batches.c.id < bindparam("below"))
ASKED_SINCE = _own_batches.where(batches.c.id >= bindparam("from_id"))
BATCH = _own_batches.where(batches.c.id == _batch)
BATCHES = _in_study.where(batches.c.id.in_(bindparam("numbers", expanding=True)))
UNFINISHED = _own_batches.where(schema.UNFINISHED)
WITH_ROOM = _in_study.where(schema.WITH_ROOM, batches.c.candidate.in_(bindparam("candidates", expanding=True)))
ADD_BATCH = insert(batches)
CHANGE_BATCH = update(batches).where(batches.c.study == _study, batches.c.id == _batch)

APPEND = insert(log)
LOG = _own_log.where(log.c.number > bindparam("after")).order_by(log.c.number).limit(bindparam("most"))
_between = log.c.number.between(bindparam("low"), bindparam("high"))
REPEATS = select(log.c.number, log.c.repeats).where(log.c.study == _study, _between).order_by(log.c.number)
TOLD_BETWEEN = select(func.sum(log.c.repeats)).where(log.c.study == _study, _between)
_upto = func.sum(log.c.repeats).over(order_by=log.c.number).label("upto")
_counted = select(log.c.number, log.c.repeats, _upto).where(log.c.study == _study, _between).subquery()
ROW_OF = select(_counted).where(_counted.c.upto >= bindparam("rest")).order_by(_counted.c.number).limit(1)
LAST_UP_TO = _log_of_batch.where(log.c.start <= bindparam("low")).order_by(log.c.start.desc()).limit(1)
BETWEEN = _log_of_batch.where(log.c.start > bindparam("low"), log.c.start < bindparam("high")).order_by(log.c.start)

_own_sources = select(sources).where(sources.c.study == _study)
SOURCES = _own_sources.where(sources.c.number.in_(bindparam("numbers", expanding=True)))
_of_digest = (sources.c.study == _study, sources.c.digest == bindparam("digest"))
SOURCE = select(sources.c.number).where(*_of_digest).order_by(sources.c.number).limit(1)
SOURCE_NUMBERS = (
    select(sources.c.number, sources.c.digest)
    .where(sources.c.study == _study, sources.c.digest.in_(bindparam("digests", expanding=True)))
    .order_by(sources.c.number)  # of two with the same digest, the first counts
)
LAST_SOURCE = select(func.max(sources.c.number)).where(sources.c.study == _study)
ADD_SOURCE = insert(sources)

LEASES = _own_leases
LEASES_OF_BATCH = _own_leases.where(leases.c.batch == _batch)
LEASES_OF_BATCHES = _own_leases.where(leases.c.batch.in_(bindparam("numbers", expanding=True)))
ADD_LEASE = insert(leases)
OF_WORKERS = _own_leases.where(
    leases.c.worker.in_(bindparam("workers", expanding=True)),
).with_for_update(skip_locked=True)  # who locks nothing that others hold waits for nobody
RENEW = update(leases).where(leases.c.study == _study, leases.c.batch == _batch, leases.c.start == bindparam("low"))
RELEASE = delete(leases).where(leases.c.study == _study, leases.c.batch == _batch, leases.c.start == bindparam("low"))

REVISIONS = select(revisions).where(revisions.c.study == _study).order_by(revisions.c.number)
REVISIONS_OF_BATCH = REVISIONS.where(revisions.c.batch == _batch)
LAST_REVISION = REVISIONS.where(revisions.c.number >= bindparam("from_number"))
