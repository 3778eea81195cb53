"""Tables as spreadsheets write them, taken into studies."""

import csv
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest

from ostinato import Category, Float, Integer, Space, Study
from ostinato.candidates import read_file
from terminal import ostinato


def said(done):
    return " ".join(done.stderr.split())


def values(lab, study="lab.db"):
    rows = list(csv.DictReader(ostinato("export", study, cwd=lab).stdout.splitlines()))
    return [(float(row["temp"]), float(row["ph"]), float(row["value"])) for row in rows]


@pytest.fixture
def study(lab):
    Study("lab", lab / "lab.db", read_file(lab / "catalogue.csv"), value="Yield", unit="%")
    return lab


@pytest.mark.parametrize(
    "text",
    [
        "temp;ph;value\n20;6,5;12,25\n30;5;13\n",
        "temp;ph;yield\n20;6,5;12,25\n30;5;13\n",
        "temp;ph;Yield (%);remark\n20;6,5;12,25;\n30;5;13;good\n",
        "temp,ph,Yield\n20,6.5,12.25\n30,5,13\n",
        "temp , ph , value\n20 , 6.5 , 12.25\n\n30,5,13\n",
    ],
)
def test_what_spreadsheets_write(study, text):
    (study / "mine.csv").write_text(text, encoding="utf-8-sig")
    done = ostinato("import", "lab.db", "mine.csv", cwd=study)
    assert "took in 2 measurements" in said(done)
    assert values(study) == [(20, 6.5, 12.25), (30, 5, 13)]


def test_tabs_and_a_missing_value_among_decimal_commas(study):
    (study / "mine.tsv").write_text("temp\tph\tvalue\n20\t6.5\t12.25\n")
    assert "took in 1 measurement" in said(ostinato("import", "lab.db", "mine.tsv", cwd=study))
    (study / "mine.csv").write_text("temp;ph;value\n20;6,5;12,25\n30;5;nan\n")
    assert "took in 2 measurements" in said(ostinato("import", "lab.db", "mine.csv", cwd=study))
    assert json.loads(ostinato("status", "lab.db", "--json", cwd=study).stdout)["failures"] == 1


def test_the_column_of_values_is_named(study):
    (study / "mine.csv").write_text("temp,ph,OD600\n20,6.5,12.25\n")
    refused = said(ostinato("import", "lab.db", "mine.csv", cwd=study))
    assert "The columns are temp, ph, OD600. --value says which holds the values." in refused
    assert "has no column 'OD'" in said(ostinato("import", "lab.db", "mine.csv", "--value", "OD", cwd=study))
    assert "is a column of the candidates" in said(ostinato("import", "lab.db", "mine.csv", "--value", "ph", cwd=study))
    assert "took in 1" in said(ostinato("import", "lab.db", "mine.csv", "--value", "OD600", cwd=study))
    (study / "both.csv").write_text("temp,ph,value,yield\n20,6.5,12.25,3\n")
    assert "has both 'value' and 'yield'" in said(ostinato("import", "lab.db", "both.csv", cwd=study))
    assert "took in 1" in said(ostinato("import", "lab.db", "both.csv", "--value", "yield", cwd=study))
    assert values(study) == [(20, 6.5, 12.25), (20, 6.5, 3)]


def test_columns_that_name_rows_are_said_and_left_out(lab):
    rows = "".join(f"S{n},{20 + n},{n % 3}\n" for n in range(12))
    (lab / "plate.csv").write_text("sample,temp,ph\n" + rows)
    done = ostinato("create", "a.db", "plate.csv", cwd=lab)
    assert "note: Column 'sample' is different in every row" in said(done)
    assert "--ignore sample" in said(done)
    done = ostinato("create", "b.db", "plate.csv", "--ignore", "sample", cwd=lab)
    assert (done.returncode, done.stderr) == (0, "")
    (task,) = map(json.loads, ostinato("ask", "b.db", cwd=lab).stdout.splitlines())
    assert task["candidate"].keys() == {"temp", "ph"}
    (lab / "more.csv").write_text("sample,temp,ph\nS20,90,1\n")
    assert "columns do not change" in said(ostinato("candidates", "b.db", "add", "more.csv", cwd=lab))
    done = ostinato("candidates", "b.db", "add", "more.csv", "--ignore", "sample", cwd=lab)
    assert "added 1 row" in said(done)
    (lab / "measured.csv").write_text("sample,temp,ph,value\nS20,90,1,3.5\n")
    assert "took in 1" in said(ostinato("import", "b.db", "measured.csv", cwd=lab))
    (lab / "space.toml").write_text("temp = { low = 20, high = 80 }\n")
    done = ostinato("create", "c.db", "space.toml", "--ignore", "temp", cwd=lab)
    assert "describes a space" in said(done)


def test_columns_that_are_called_as_options(lab):
    (lab / "odd.toml").write_text("seed = { low = 1, high = 5 }\nbudget = { low = 1, high = 5 }\n")
    assert ostinato("create", "odd.db", "odd.toml", cwd=lab).returncode == 0
    (lab / "other.toml").write_text("seed = { low = 1, high = 6 }\nbudget = { low = 1, high = 5 }\n")
    command = ("optimize", "other.toml", "--command", "echo 1", "--storage", "odd.db", "--name", "odd", "--budget", "9")
    done = said(ostinato(*command, cwd=lab))
    assert "parameter 'seed': Float(1, 5) is stored, and Float(1, 6) was given" in done
    done = said(ostinato(*command, "--seed", "3", "--storage", "no.db", "--kernel", "Matern(3)", cwd=lab))
    assert "--kernel 'Matern(3)' cannot be read" in done  # a setting is an option, still


def test_successes_of_trials_are_told(lab):
    create = ("create", "shop.db", "catalogue.csv", "--outcome", "binary", "--seed", "0")
    assert ostinato(*create, cwd=lab).returncode == 0
    (task,) = map(
        json.loads, ostinato("ask", "shop.db", "--slots", "100", "--limit", "100", cwd=lab).stdout.splitlines()[:1]
    )
    trials = task["repeats"]
    told = ostinato("tell", "shop.db", task["batch"], f"1/{trials}", cwd=lab)
    assert f"took in {trials} measurement" in said(told)
    (row,) = [row for row in json.loads(ostinato("history", "shop.db", "--json", cwd=lab).stdout) if row["measured"]]
    assert row["average"] == pytest.approx(1 / trials)
    assert "more successes than trials" in said(ostinato("tell", "shop.db", task["batch"], "3/2", cwd=lab))
    Study("lab", lab / "lab.db", read_file(lab / "catalogue.csv"))
    (task,) = map(json.loads, ostinato("ask", "lab.db", cwd=lab).stdout.splitlines())
    assert "3/20 is for what is yes or no" in said(ostinato("tell", "lab.db", task["batch"], "1/1", cwd=lab))


def test_a_plate_is_filled_in_and_told(lab):
    Study("lab", lab / "lab.db", read_file(lab / "catalogue.csv"), value="OD600", seed=0)
    done = ostinato("ask", "lab.db", "--slots", "6", "--csv", cwd=lab)
    assert "\r" not in done.stdout
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert len(rows) == 6
    assert list(rows[0]) == ["batch", "repeat", "row", "temp", "ph", "OD600"]
    filled = [row | {"well": f"A{n}", "OD600": f"0,{n + 1}" if n < 4 else ""} for n, row in enumerate(rows)]
    filled[3]["OD600"] = "nan"

    def write(rows):
        with (lab / "plate.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(filled[0]), delimiter=";")
            writer.writeheader()
            writer.writerows(row | {"ph": row["ph"].replace(".", ",")} for row in rows)

    write(filled)
    assert "took in 4 measurements" in said(ostinato("tell", "lab.db", "plate.csv", cwd=lab))
    assert "took in 0 measurements" in said(ostinato("tell", "lab.db", "plate.csv", cwd=lab))
    write([row | {"OD600": row["OD600"] or "0,9"} for row in filled])
    assert "took in 2 measurements" in said(ostinato("tell", "lab.db", "plate.csv", cwd=lab))
    status = json.loads(ostinato("status", "lab.db", "--json", cwd=lab).stdout)
    assert (status["measurements"], status["failures"], status["in_flight"]) == (5, 1, 0)
    wrong = [filled[0] | {"row": int(filled[0]["row"]) + 1}]
    write(wrong)
    assert "nothing was taken in" in said(ostinato("tell", "lab.db", "plate.csv", cwd=lab))
    assert "has no column 'batch'" in said(ostinato("tell", "lab.db", "catalogue.csv", cwd=lab))


def test_a_sheet_whose_columns_were_mixed_up_is_refused(lab):
    Study("lab", lab / "lab.db", read_file(lab / "catalogue.csv"), seed=0)
    rows = list(csv.DictReader(ostinato("ask", "lab.db", "--slots", "2", "--csv", cwd=lab).stdout.splitlines()))
    rows[0] |= {"value": "3.5", "temp": str(float(rows[0]["temp"]) + 10)}
    with (lab / "plate.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    done = ostinato("tell", "lab.db", "plate.csv", cwd=lab)
    assert done.returncode == 2
    assert "nothing was taken in" in said(done)
    assert f"temp {float(rows[0]['temp'])}" in said(done)
    assert "(temp differs)" in said(done)


@pytest.mark.parametrize("column", ["yield", "Yield (%)"])
def test_a_column_of_values_among_the_candidates_is_said_and_the_remedy_works(lab, column):
    (lab / "plate.csv").write_text(f"temp,{column}\n20,51\n30,55.5\n40,63.2\n50,70.1\n60,66\n")
    naming = ("--value", "yield", "--unit", "%")
    done = ostinato("create", "a.db", "plate.csv", *naming, cwd=lab)
    assert done.returncode == 0
    assert f"Column '{column}' is called as what is measured" in said(done)
    done = ostinato("create", "b.db", "plate.csv", *naming, "--ignore", column, cwd=lab)
    assert "is measured" not in said(done)
    assert ostinato("import", "b.db", "plate.csv", cwd=lab).returncode == 0
    assert ostinato("best", "b.db", cwd=lab).stdout.startswith("{'temp': 50}: yield")


@pytest.mark.parametrize("name", ["count", "successes", "temp", "batch"])
def test_a_sheet_can_be_told_whatever_is_measured_is_called(lab, name):
    with pytest.warns() if name == "temp" else nullcontext():
        Study("lab", lab / "lab.db", read_file(lab / "catalogue.csv"), value=name)
    sheet = ostinato("ask", "lab.db", "--slots", "2", "--csv", cwd=lab).stdout.splitlines()
    (lab / "plate.csv").write_text("\n".join([sheet[0], *(f"{line}3.5" for line in sheet[1:])]) + "\n")
    assert "took in 2 measurements" in said(ostinato("tell", "lab.db", "plate.csv", cwd=lab))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("batch,repeat,row,temp,ph,colonies\n0,0,1,20,5,3\n", "has no column 'value'"),
        ("value,batch,repeat\n3.5\n", "batch is '', which is not a number"),
        ("batch,repeat,value\n0,nan,3.5\n", "repeat is 'nan', which is not a whole number"),
        ("batch,repeat,value\n0.7,0,3.5\n", "batch is '0.7', which is not a whole number"),
    ],
)
def test_a_sheet_that_cannot_be_read_says_why(lab, text, why):
    Study("lab", lab / "lab.db", read_file(lab / "catalogue.csv"))
    ostinato("ask", "lab.db", cwd=lab)
    (lab / "plate.csv").write_text(text)
    done = ostinato("tell", "lab.db", "plate.csv", cwd=lab)
    assert done.returncode == 2
    assert why in said(done)


def test_counts_that_are_called_otherwise_are_to_be_named(lab):
    Study("lab", lab / "lab.db", read_file(lab / "catalogue.csv"), outcome="binary")
    (lab / "day.csv").write_text("row,clicks,views\n3,7,100\n")
    done = ostinato("import", "lab.db", "day.csv", cwd=lab)
    assert "The columns are row, clicks, views. Name columns of counts successes and trials; --value" in said(done)


def test_what_is_exported_from_a_space_can_be_imported(lab):
    """Also levels that are empty, and whole numbers above 2**53."""
    space = Space(c=Category("", "a"), n=Integer(1, 10**18), x=Float(0, 1).when(c="a"))
    points = [{"c": "", "n": 251847321245586964, "x": None}, {"c": "a", "n": 251847321245586965, "x": 0.25}]
    study = Study("s", lab / "one.db", space)
    study.observe(points, [1.0, 2.0])
    assert ostinato("export", "one.db", "-o", "one.csv", cwd=lab).returncode == 0
    again = Study("s", lab / "two.db", space)
    done = ostinato("import", "two.db", "one.csv", cwd=lab)
    assert done.returncode == 0, said(done)
    assert [again.table[i] for i in range(2)] == points


@pytest.mark.parametrize("header", ["", ","])
def test_a_decimal_comma_that_divides_a_value_is_refused(lab, header):
    """A spreadsheet writes a heading too, an empty one, where some line has more cells."""
    Study("lab", lab / "lab.db", read_file(lab / "catalogue.csv"), seed=0)
    first, *others = ostinato("ask", "lab.db", "--slots", "3", "--csv", cwd=lab).stdout.splitlines()
    for cell, beyond in [("55,3", "3"), ("75.4,note", "note")]:
        (lab / "plate.csv").write_text(
            "\n".join([first + header, *(line + "50" for line in others[:-1]), others[-1] + cell])
        )
        done = ostinato("tell", "lab.db", "plate.csv", cwd=lab)
        assert done.returncode == 2
        assert f"plate.csv, line 4: '{beyond}' is beyond the last column, value. Write decimals with a point" in said(
            done
        )
        (lab / "mine.csv").write_text(f"temp,ph,value{header}\n20,6.5,{cell}\n")
        done = ostinato("import", "lab.db", "mine.csv", cwd=lab)
        assert f"mine.csv, line 2: '{beyond}' is beyond the last column, value." in said(done)
    assert values(lab) == []


def test_decimal_commas_in_quotes_are_read_as_they_are_when_typed(lab):
    Study("lab", lab / "lab.db", read_file(lab / "catalogue.csv"), seed=0)
    (lab / "mine.csv").write_text('temp,ph,value,stderr\n20,"6,5","55,3","0,5"\n')
    assert "took in 1 measurement" in said(ostinato("import", "lab.db", "mine.csv", cwd=lab))
    first, line = ostinato("ask", "lab.db", "--csv", cwd=lab).stdout.splitlines()
    (lab / "plate.csv").write_text(f'{first}\n{line}"1,234"\n')
    assert "line 2: 1,234 may be 1234 or 1.234: write one" in said(ostinato("tell", "lab.db", "plate.csv", cwd=lab))
    (lab / "plate.csv").write_text(f'{first}\n{line}"61,5"\n')
    assert "took in 1 measurement" in said(ostinato("tell", "lab.db", "plate.csv", cwd=lab))
    assert values(lab)[0] == (20, 6.5, 55.3)
    assert values(lab)[1][2] == 61.5


def test_a_pipe_is_read(lab):
    Study("lab", lab / "lab.db", read_file(lab / "catalogue.csv"), seed=0)
    os.mkfifo(lab / "pipe")
    with ThreadPoolExecutor() as pool:
        pool.submit((lab / "pipe").write_text, "temp,ph,value\n20,6.5,12.25\n")
        assert "took in 1 measurement of" in said(ostinato("import", "lab.db", "pipe", cwd=lab))


UNREADABLE = ["n.d.", "6,,8", "73,1 %", "< 5"]


@pytest.mark.parametrize("cell", UNREADABLE)
def test_the_cell_that_cannot_be_read_is_blamed_and_no_decimal_comma(lab, cell):
    (lab / "table.csv").write_text("a;b\n1,5;x\n2,5;y\n")
    ostinato("create", "lab.db", "table.csv", cwd=lab)
    (lab / "mine.csv").write_text(f"a;b;value\n1,5;x;50,4\n2,5;y;{cell}\n")
    assert f"line 3: value is '{cell}', which is not a number" in said(
        ostinato("import", "lab.db", "mine.csv", cwd=lab)
    )
    sheet = ostinato("ask", "lab.db", "--slots", "2", "--csv", cwd=lab).stdout.replace(",", ";").splitlines()
    (lab / "plate.csv").write_text(f"{sheet[0]}\n{sheet[1]}50,4\n{sheet[2]}{cell}\n")
    done = ostinato("tell", "lab.db", "plate.csv", cwd=lab)
    assert (done.returncode, f"line 3: value is '{cell}', which is not a number" in said(done)) == (2, True)


def test_levels_with_commas_stay_as_they_are(lab):
    (lab / "table.csv").write_text("a;b\n1,5;2,4\n2,5;D\n3,5;E\n")
    table = read_file(lab / "table.csv")
    assert [table[row]["b"] for row in range(3)] == ["2,4", "D", "E"]
    Study("lab", lab / "lab.db", table)
    (lab / "mine.csv").write_text("a;b;value\n1,5;2,4;50,4\n;;\n")
    assert "took in 1 measurement" in said(ostinato("import", "lab.db", "mine.csv", cwd=lab))


def test_a_dash_is_a_failure_and_empty_rows_at_the_end_are_nothing(lab):
    (lab / "table.csv").write_text("a;b\n1,5;x\n2,5;y\n;\n ; \n")
    assert ostinato("create", "lab.db", "table.csv", cwd=lab).returncode == 0
    (lab / "mine.csv").write_text("a;b;value\n1,5;x;50,4\n2,5;y;-\n;;\n")
    assert "took in 2 measurements" in said(ostinato("import", "lab.db", "mine.csv", cwd=lab))
    sheet = ostinato("ask", "lab.db", "--slots", "2", "--csv", cwd=lab).stdout.splitlines()
    (lab / "plate.csv").write_text(f"{sheet[0]}\n{sheet[1]}-\n{sheet[2]}\n,,,,,\n")
    assert "took in 1 measurement" in said(ostinato("tell", "lab.db", "plate.csv", cwd=lab))
    assert json.loads(ostinato("status", "lab.db", "--json", cwd=lab).stdout)["failures"] == 2


def test_part_of_a_plate_that_is_made_again_says_how_to_take_it_in(lab):
    Study("lab", lab / "lab.db", read_file(lab / "catalogue.csv"), seed=0)
    head, *wells = ostinato("ask", "lab.db", "--slots", "4", "--csv", cwd=lab).stdout.splitlines()
    plate = lab / "plate.csv"
    plate.write_text("\n".join([head, f"{wells[0]}3.5", *(f"{well}nan" for well in wells[1:])]) + "\n")
    assert "took in 4" in said(ostinato("tell", "lab.db", "plate.csv", cwd=lab))
    assert "took back 3" in said(ostinato("retract", "lab.db", "--failures", cwd=lab))
    plate.write_text("\n".join([head, *(f"{well}3.5" for well in wells)]) + "\n")
    done = said(ostinato("tell", "lab.db", "plate.csv", cwd=lab))
    assert "3 lines were not taken in (3 to 5)" in done
    assert "`ostinato import STUDY again.csv`" in done
    (lab / "again.csv").write_text("\n".join([head, *(f"{well}3.5" for well in wells[1:])]) + "\n")
    assert "took in 3" in said(ostinato("import", "lab.db", "again.csv", cwd=lab))
    status = json.loads(ostinato("status", "lab.db", "--json", cwd=lab).stdout)
    assert (status["measurements"], status["failures"]) == (4, 0)


def test_whole_numbers_are_written_like_the_others_of_their_column(lab):
    (lab / "table.csv").write_text("b\n2.5\n3.5\n")
    (lab / "more.csv").write_text("b\n60\n")
    ostinato("create", "lab.db", "table.csv", cwd=lab)
    ostinato("candidates", "lab.db", "add", "more.csv", cwd=lab)
    asked = ostinato("ask", "lab.db", "--slots", "3", "--distinct", "--csv", cwd=lab).stdout
    assert sorted(row["b"] for row in csv.DictReader(asked.splitlines())) == ["2.5", "3.5", "60.0"]
