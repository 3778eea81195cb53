"""Measurements taken back and corrected, as they are typed."""

import json

from terminal import ostinato

MANUAL = ("optimize", "catalogue.csv", "--manual", "--seed", "0", "--budget", "30")


def numbered(lab, *options, study="catalogue.db"):
    return json.loads(ostinato("history", study, *options, "--json", cwd=lab).stdout)


def test_a_typo_is_undone_at_the_prompt(lab):
    typed = "undo\n125\nundo\n12.5\n13\nhelp\nskip\nenough\n14\nundo\nskip\nq\n"
    done = ostinato(*MANUAL, cwd=lab, typed=typed)
    assert "Nothing was typed yet" in done.stderr
    assert "125 of temp" in done.stdout
    assert "skip           leave this measurement out" in done.stderr
    values = [(row["number"], row["value"]) for row in numbered(lab, "--values")]
    assert values == [(1, 12.5), (2, 13.0)]
    everything = numbered(lab, "--all")
    assert [(row["was"], row["withdrawn"]) for row in everything] == [
        (125, False),
        (None, False),
        (None, True),
        (14, True),
    ]
    reasons = [[each["why"] for each in row["revisions"]] for row in everything]
    assert reasons == [["undone"], [], ["skipped"], ["undone"]]
    assert "well" in ostinato("verify", "catalogue.db", cwd=lab).stdout


def test_measurements_are_taken_back_and_corrected_by_their_numbers(lab):
    ostinato(*MANUAL, cwd=lab, typed="12\n130\nnan\n11\n10\nq\n")
    assert "took back 2 measurements" in ostinato("retract", "catalogue.db", "1", "4", cwd=lab).stderr
    said = ostinato("correct", "catalogue.db", "2", "13", "--why", "a digit too many", cwd=lab)
    assert "measurement 2 is 13 now" in said.stderr
    assert "took back 1 measurement" in ostinato("retract", "catalogue.db", "--failures", cwd=lab).stderr
    status = json.loads(ostinato("status", "catalogue.db", "--json", cwd=lab).stdout)
    assert (status["measurements"], status["failures"]) == (2, 0)
    ostinato("correct", "catalogue.db", "2", "13.5", "--why", "better so", cwd=lab)
    shown = ostinato("history", "catalogue.db", "--all", cwd=lab).stdout
    assert "a digit too many" in shown  # all that was ever changed
    assert "better so" in shown
    assert "taken back" in shown
    later = ("--failures", "--since", "2100-01-01")
    assert "took back 0 measurements" in ostinato("retract", "catalogue.db", *later, cwd=lab).stderr


def test_what_is_not_there_cannot_be_taken_back(lab):
    ostinato(*MANUAL, cwd=lab, typed="12\nq\n")
    for command, words in (
        (("retract", "catalogue.db", "7"), "There is no measurement 7: they are numbered 1 to 1"),
        (("retract", "catalogue.db"), "numbers of measurements, or --failures, or --batch"),
        (("retract", "catalogue.db", "1", "--failures"), "numbers of measurements, or --failures"),
        (("correct", "catalogue.db", "1", "inf"), "inf"),
    ):
        done = ostinato(*command, cwd=lab)
        assert done.returncode == 2
        assert words in done.stderr.replace("\n", " ")
    assert [row["value"] for row in numbered(lab, "--values")] == [12.0]


def test_negative_values_and_the_same_taken_back_twice(lab):
    ostinato(*MANUAL, cwd=lab, typed="12\n13\nretire\nq\n")
    assert "measurement 1 is -3 now" in ostinato("correct", "catalogue.db", "1", "-3", cwd=lab).stderr
    assert "took back 1 measurement" in ostinato("retract", "catalogue.db", "2", cwd=lab).stderr
    assert "took back 0 measurements" in ostinato("retract", "catalogue.db", "2", cwd=lab).stderr
    since = ostinato("retract", "catalogue.db", "1", "--since", "2026-01-01", cwd=lab)
    assert (since.returncode, "--since goes with --failures" in since.stderr) == (2, True)
    listed = json.loads(ostinato("candidates", "catalogue.db", "--json", cwd=lab).stdout)
    assert sum(row["retired"] for row in listed) == 1
    measured = next(row["row"] for row in listed if row["measured"])
    assert ostinato("candidates", "catalogue.db", "retire", str(measured), cwd=lab).returncode == 0
    status = ostinato("status", "catalogue.db", cwd=lab)  # nothing to recommend, and all the same a status
    assert (status.returncode, "best" in status.stdout) == (0, False)
    again = ostinato("candidates", "catalogue.db", "add", "catalogue.csv", cwd=lab)
    assert "added 0 rows; 35 of the file are there already" in again.stderr
    other = ostinato("tell", "catalogue.db", cwd=lab, typed='{"study": "other", "batch": 0, "values": [1]}\n')
    assert "is of the study 'other'" in other.stderr


def test_undo_undoes_a_skip_and_understands_what_the_prompt_does(lab):
    typed = "12\nskip\nundo\n13\n"  # the skipped one was 13 after all
    typed += "undo\nhelp\nmuch\nundo\n12.5\n"  # and the one before it 12.5
    typed += "undo\nundo\nundo\nenough\n14\nundo\nretire\nundo\nq\n"
    done = ostinato(*MANUAL, cwd=lab, typed=typed)
    assert "skipped of temp" in done.stdout
    assert "13 of temp" in done.stdout
    assert "skip           leave this measurement out" in done.stderr
    assert "'much' is not a number" in done.stderr
    assert "Nothing more was typed here" in done.stderr
    assert [(row["number"], row["value"]) for row in numbered(lab, "--values")] == [(1, 12.5), (2, 13), (3, 14)]
    listed = json.loads(ostinato("candidates", "catalogue.db", "--json", cwd=lab).stdout)
    assert sum(row["retired"] for row in listed) == 1
    assert "well" in ostinato("verify", "catalogue.db", cwd=lab).stdout


def test_batches_show_that_their_measurements_were_revised(lab):
    ostinato(*MANUAL, cwd=lab, typed="12\n130\n11\nq\n")
    assert "revised" not in ostinato("history", "catalogue.db", cwd=lab).stdout
    ostinato("correct", "catalogue.db", "2", "13", cwd=lab)
    assert "took back 1 measurement" in ostinato("retract", "catalogue.db", "--batch", "0", cwd=lab).stderr
    assert [(row["withdrawn"], row["corrected"]) for row in numbered(lab)][:3] == [(1, 0), (0, 1), (0, 0)]
    shown = ostinato("history", "catalogue.db", cwd=lab).stdout
    assert "1 taken back" in shown
    assert "1 corrected" in shown
    again = ostinato("tell", "catalogue.db", cwd=lab, typed='{"batch": 0, "start": 0, "values": [12]}\n')
    assert (again.returncode, "1 had been told before, and nothing changed" in again.stderr) == (0, True)
    another = ostinato("tell", "catalogue.db", cwd=lab, typed='{"batch": 0, "start": 0, "values": [13]}\n')
    assert (another.returncode, "was told before and taken back" in another.stderr.replace("\n", " ")) == (2, True)


def test_a_value_is_corrected_in_the_words_of_its_kind(lab):
    ostinato("create", "yes.db", "catalogue.csv", "--budget", "9", "--outcome", "binary", cwd=lab)
    task = json.loads(ostinato("ask", "yes.db", "--limit", "1", cwd=lab).stdout)
    ostinato("tell", "yes.db", cwd=lab, typed=json.dumps(task | {"values": [True]}))
    assert numbered(lab, "--values", study="yes.db")[0]["value"] == 1
    assert "measurement 1 is 0 now" in ostinato("correct", "yes.db", "1", "false", cwd=lab).stderr
    assert "measurement 1 counts as failed now" in ostinato("correct", "yes.db", "1", "nan", cwd=lab).stderr


def test_what_is_skipped_is_not_asked_for_again_at_once(lab):
    done = ostinato(*MANUAL, cwd=lab, typed="skip\nskip\nskip\nq\n")
    asked = [line for line in done.stderr.splitlines() if line.startswith("measure ")]
    assert len(set(asked)) == len(asked) == 4
    revised = json.loads(ostinato("history", "catalogue.db", "--all", "--json", cwd=lab).stdout)
    assert [[each["why"] for each in row["revisions"]] for row in revised] == [["skipped"]] * 3
    assert json.loads(ostinato("status", "catalogue.db", "--json", cwd=lab).stdout)["measurements"] == 0


def test_all_of_a_short_budget_is_skipped_and_it_goes_on(lab):
    short = ("optimize", "catalogue.csv", "--manual", "--seed", "0", "--budget", "2")
    done = ostinato(*short, cwd=lab, typed="skip\nskip\nskip\n12\n13\n")
    assert done.returncode == 0, done.stderr
    assert json.loads(ostinato("status", "catalogue.db", "--json", cwd=lab).stdout)["measurements"] == 2
