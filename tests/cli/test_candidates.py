"""Candidates of a study, as they are listed, added and retired on the command line."""

import json

from ostinato.candidates import read_file
from ostinato.study import Study
from terminal import ostinato

MANUAL = ("optimize", "catalogue.csv", "--manual", "--seed", "0", "--budget", "30")


def test_candidates_are_listed_added_and_retired(lab):
    ostinato(*MANUAL, cwd=lab, typed="12\n13\nq\n")
    listed = json.loads(ostinato("candidates", "catalogue.db", "list", "--json", cwd=lab).stdout)
    assert len(listed) == 35
    assert sum(row["measured"] for row in listed) == 2
    (lab / "more.csv").write_text("temp,ph\n90,5\n90,6\n")
    assert "added 2 rows, 35 to 36" in ostinato("candidates", "catalogue.db", "add", "more.csv", cwd=lab).stderr
    assert "retired 2 candidates" in ostinato("candidates", "catalogue.db", "retire", "3", "4", cwd=lab).stderr
    shown = ostinato("candidates", "catalogue.db", cwd=lab).stdout
    assert shown.count("retired") == 2
    assert "temp 90, ph 6" in shown
    assert "restored 1 candidate" in ostinato("candidates", "catalogue.db", "restore", "3", cwd=lab).stderr
    assert ostinato(*MANUAL, cwd=lab, typed="q\n").returncode == 0  # the older file goes on too


def test_a_file_with_more_rows_says_what_is_new_and_is_added(lab):
    ostinato(*MANUAL, cwd=lab, typed="12\nq\n")
    with (lab / "catalogue.csv").open("a") as file:
        file.write("95,5\n")
    refused = ostinato(*MANUAL, cwd=lab, typed="q\n")
    assert refused.returncode == 2
    assert "1 row more, the first of them {'temp': 95, 'ph': 5.0}" in refused.stderr.replace("\n", " ")
    assert ostinato(*MANUAL, "--add", cwd=lab, typed="13\nq\n").returncode == 0
    assert json.loads(ostinato("status", "catalogue.db", "--json", cwd=lab).stdout)["candidates"] == 36


def test_what_makes_no_sense_is_refused(lab):
    ostinato(*MANUAL, cwd=lab, typed="12\nq\n")
    (lab / "wrong.csv").write_text("temp\n90\n")
    for what, words in (
        (("add",), "Give one table of new rows"),
        (("add", "wrong.csv"), "columns do not change"),
        (("retire",), "Say which rows"),
        (("retire", "x"), "'x' is neither a row nor a range of rows"),
        (("retire", "20-17"), "'20-17' is neither a row nor a range of rows"),
        (("retire", "99"), "99 is not in the table"),
    ):
        done = ostinato("candidates", "catalogue.db", *what, cwd=lab)
        assert done.returncode == 2
        assert words in done.stderr.replace("\n", " ")


def test_candidates_are_retired_by_conditions(lab):
    (lab / "table.csv").write_text(
        "solvent,temp\n" + "".join(f"{s},{t}\n" for s in ("MeCN", "water") for t in (20, 40))
    )
    ostinato("create", "lab.db", "table.csv", cwd=lab)

    def listed(*what):
        shown = json.loads(ostinato("candidates", "lab.db", "list", *what, "--json", cwd=lab).stdout)
        return [row["row"] for row in shown]

    assert "retired 2 candidates" in ostinato("candidates", "lab.db", "retire", "solvent=MeCN", cwd=lab).stderr
    assert listed("retired=true") == [0, 1]
    assert listed("temp>=30", "retired=false") == [3]
    assert listed("2-3") == [2, 3]
    done = ostinato("candidates", "lab.db", "restore", "solvent = mecn", "temp<30", cwd=lab)
    assert "restored 1 candidate" in done.stderr
    assert listed("retired=1") == [1]
    for what, words in (
        ("solvent=MeCN,temp>30", "No candidate meets solvent=MeCN,temp>30: `ostinato candidates STUDY list` shows"),
        ("solvents=MeCN", "'solvents' is not a column of the candidates: there are measured, retired, solvent, temp"),
        ("solvent>MeCN", "solvent is a category, and has no order"),
    ):
        done = ostinato("candidates", "lab.db", "retire", what, cwd=lab)
        assert (done.returncode, words in done.stderr.replace("\n", " ")) == (2, True), done.stderr


def test_candidates_are_added_from_a_space(lab):
    (lab / "space.toml").write_text("[temp]\nlow = 90\nhigh = 100\nstep = 10\n[ph]\nlow = 5\nhigh = 6\ncount = 2\n")
    ostinato("create", "lab.db", "catalogue.csv", cwd=lab)
    done = ostinato("candidates", "lab.db", "add", "space.toml", cwd=lab)
    assert "added 4 rows, 35 to 38" in done.stderr


def test_columns_in_another_order_and_ranges_of_rows(lab):
    ostinato(*MANUAL, cwd=lab, typed="q\n")
    (lab / "more.csv").write_text("ph,temp\n5,90\n6,95\n")
    done = ostinato("candidates", "catalogue.db", "add", "more.csv", cwd=lab)
    assert "added 2 rows, 35 to 36" in done.stderr, done.stderr
    listed = json.loads(ostinato("candidates", "catalogue.db", "list", "--json", cwd=lab).stdout)
    assert [row["candidate"] for row in listed[35:]] == [{"temp": 90, "ph": 5}, {"temp": 95, "ph": 6}]
    assert "retired 5 candidates" in ostinato("candidates", "catalogue.db", "retire", "3", "17-20", cwd=lab).stderr
    listed = json.loads(ostinato("candidates", "catalogue.db", "list", "--json", cwd=lab).stdout)
    assert [row["row"] for row in listed if row["retired"]] == [3, 17, 18, 19, 20]


def test_rows_with_a_noise_of_their_own(lab):
    study = Study("catalogue", lab / "catalogue.db", read_file(lab / "catalogue.csv"), noise_std=[0.1] * 35, seed=0)
    (lab / "more.csv").write_text("temp,ph\n90,5\n90,6\n")
    add = ("candidates", "catalogue.db", "add", "more.csv")
    assert "give --noise-std for the new rows too" in said(ostinato(*add, cwd=lab))
    assert "added 2 rows, 35 to 36" in said(ostinato(*add, "--noise-std", "0.5", cwd=lab))
    assert study.status().candidates == 37
    refused = ostinato("candidates", "catalogue.db", "retire", "3", "--noise-std", "0.5", cwd=lab)
    assert "--noise-std goes with add" in said(refused)


def said(done):
    return " ".join(done.stderr.split())
