"""The reports of the comparison out of the box: what was said and what happened, and where others are ahead."""

import csv

from benchmarks.outofthebox.__main__ import stored
from benchmarks.outofthebox.problems import SETS, names
from benchmarks.outofthebox.report import against_rivals, chances, coverage, save, sure
from benchmarks.outofthebox.trial import Outcome

from documents import ROOT

FOLDER = ROOT / "docs" / "results" / "outofthebox"
GAPS = ("0.03", "0.1", "0.3")


def claimed(problem, said, true):
    """A run that said the same chance four times over, of which the same came true."""
    claims = {"chance": said, "is_best": float(true)}
    claims |= {f"chance_within_{gap}": said for gap in GAPS} | {f"is_within_{gap}": float(true) for gap in GAPS}
    return Outcome(problem=problem, optimizer="Ostinato find", seed=0, horizon=60, claims=claims)


def test_claims_are_counted_by_family_and_by_problem():
    runs = [claimed("eggholder", 0.9, k % 2) for k in range(4)] + [claimed("griewank6", 0.8, True)] * 2
    runs += [claimed("griewank6", 0.79, False)]
    rows = {row["problem"]: row for row in sure(runs)}
    assert rows.keys() == {"", "eggholder"}  # griewank6 has 8 claims of 0.8 and more: too few for a row of its own
    assert (rows["eggholder"]["claims"], rows["eggholder"]["happened"]) == (16, 0.5)
    assert (rows[""]["claims"], round(rows[""]["happened"], 3)) == (24, 0.667)


def test_others_are_compared_problem_by_problem_on_shared_seeds():
    ours = {("eggholder", seed): {"recommended": 5.0} for seed in range(3)}
    theirs = {("eggholder", seed): {"recommended": 3.0} for seed in range(1, 9)}
    (row,) = against_rivals({(60, "Ostinato find"): ours, (60, "TPE"): theirs})
    assert (row["rival"], row["seeds"], row["behind_find"], row["behind_find_low"]) == ("TPE", 2, -2.0, -2.0)


def test_the_files_are_those_of_the_runs(tmp_path):
    """Those that need no truth of a problem, and so no data that not everybody has."""
    wanted = set(names(SETS["report"]))
    runs = [run for run in stored(FOLDER / "runs") if run.problem in wanted and run.claims]
    ours = [run for run in runs if run.optimizer.startswith("Ostinato")]
    for name, made in (("coverage", coverage(ours)), ("chances", chances(ours)), ("sure", sure(ours))):
        save(tmp_path / f"{name}.csv", made)
        assert read(tmp_path / f"{name}.csv") == read(FOLDER / f"report_{name}.csv")


def read(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.reader(file))
