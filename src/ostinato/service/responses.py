"""The answers of the API, made from records of studies."""

from math import isnan
from typing import Any

from ostinato.optimizer.diagnosis import Diagnosis
from ostinato.records import Best, Outlier, Prediction
from ostinato.running.task import Task
from ostinato.service.schemas import (
    BatchOut,
    BestOut,
    CheckOut,
    DiagnosisOut,
    LeaseOut,
    MeasurementOut,
    OutlierOut,
    PredictionOut,
    RevisionOut,
    StatusOut,
    StudyOut,
    TaskOut,
)
from ostinato.service.studies import Studies
from ostinato.storage import BatchRecord
from ostinato.study import Assigned, Measurement, Study
from ostinato.study.exchange import plain, task_as_json


def study_out(studies: Studies, name: str) -> StudyOut:
    record, assigned = studies.opened(name).viewing.counters()
    return StudyOut(
        name=name,
        created=record.created,
        budget=record.budget,
        measurements=record.answered - record.failed,
        failures=record.failed,
        batches=record.asked,
        in_flight=assigned,
    )


def status_out(study: Study) -> StatusOut:
    found = study.status()
    counts: dict[str, Any] = {
        name: getattr(found, name)
        for name in (
            *("name", "created", "candidates", "retired", "budget", "measurements", "failures", "in_flight"),
            *("waiting", "unique", "batches", "switches", "finished"),
        )
    }
    return StatusOut(
        **counts,
        best=None if found.best is None else best_out(found.best),
        outliers=[outlier_out(each) for each in found.outliers],
        missing=list(found.missing),
        paused=[str(each) for each in found.paused],
        value=found.quantity.name,
        unit=found.quantity.unit,
    )


def best_out(best: Best) -> BestOut:
    return BestOut(
        row=best.index,
        candidate=plain(best.candidate),
        mean=best.mean,
        std=best.std,
        interval=[*best.interval],
        level=best.level,
        n=float(best.n),
        chance=best.chance,
        within=best.within,
    )


def outlier_out(each: Outlier) -> OutlierOut:
    return OutlierOut(
        number=each.number,
        batch=each.batch,
        row=each.index,
        candidate=plain(each.candidate),
        value=each.value,
        expected=[*each.expected],
    )


def task_out(task: Task) -> TaskOut:
    return TaskOut(**task_as_json(task), key=task.key)


def lease_out(each: Assigned) -> LeaseOut:
    return LeaseOut(
        batch=each.batch,
        start=each.start,
        repeats=each.repeats,
        row=each.index,
        candidate=plain(each.candidate),
        worker=each.worker,
        token=each.token,
        since=each.since,
        until=each.until,
        state=each.state,
    )


def measurement_out(study: Study, each: Measurement) -> MeasurementOut:
    return MeasurementOut(
        number=each.number,
        at=each.at,
        batch=each.batch,
        repeat=each.repeat,
        row=each.index,
        candidate=plain(study.candidate(each.index)),
        value=each.value,
        failed=each.value is not None and isnan(each.value),
        withdrawn=each.value is None,
        stderr=each.stderr,
        count=each.count,
        std=each.std,
        told=each.told,
        revisions=[RevisionOut(value=r.value, at=r.at, why=r.why) for r in each.revisions],
        worker=each.worker,
        token=each.token,
        program=each.program,
        version=each.version,
        host=each.host,
        began=each.began,
    )


def batch_out(study: Study, batch: BatchRecord) -> BatchOut:
    facts, statistics = batch.facts, batch.facts.statistics
    spread = (statistics.squares / (statistics.n - 1)) ** 0.5 if statistics.n > 1 and not statistics.known else None
    return BatchOut(
        batch=facts.id,
        made=batch.made,
        row=facts.index,
        candidate=plain(study.candidate(facts.index)),
        repeats=facts.repeats,
        measured=int(statistics.n),
        failed=facts.failed,
        closed=facts.closed,
        average=float(statistics.mean) if statistics.n else None,
        std=None if spread is None else float(spread),
    )


def prediction_out(prediction: Prediction, level: float) -> PredictionOut:
    low, high = prediction.interval(level)
    return PredictionOut(
        mean=prediction.mean.tolist(), std=prediction.std.tolist(), low=low.tolist(), high=high.tolist()
    )


def diagnosis_out(found: Diagnosis) -> DiagnosisOut:
    checks = [CheckOut(name=c.name, ok=c.ok, value=c.value, chance=c.chance, words=c.words) for c in found.checks]
    return DiagnosisOut(
        verdict=found.verdict,
        fits=found.fits,
        checks=checks,
        noise_std=found.noise_std,
        noise_interval=None if found.noise_interval is None else [*found.noise_interval],
        outliers=[outlier_out(each) for each in found.outliers],
        words=str(found),
    )
