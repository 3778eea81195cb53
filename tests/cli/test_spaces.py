"""Spaces that cannot be listed, on the command line."""

import json

from terminal import ostinato

SPACE = """
[solver]
levels = ["sgd", "adam"]

[rate]
low = 1e-5
high = 1
log = true

[momentum]
low = 0
high = 1
digits = 2
when = { solver = "sgd" }
"""


def made(lab, name="space.db"):
    (lab / "space.toml").write_text(SPACE)
    done = ostinato("create", name, "space.toml", "--seed", "0", cwd=lab)
    assert done.returncode == 0, done.stderr
    assert "any point of a space" in done.stdout


def test_points_are_handed_out_told_and_listed(lab):
    made(lab)
    for _ in range(2):
        tasks = [json.loads(line) for line in ostinato("ask", "space.db", "--slots", "6", cwd=lab).stdout.splitlines()]
        for task in tasks:
            assert (task["candidate"]["momentum"] is None) == (task["candidate"]["solver"] == "adam")
            task["values"] = [float(task["candidate"]["rate"])] * task["repeats"]
        told = ostinato("tell", "space.db", cwd=lab, typed="".join(json.dumps(task) + "\n" for task in tasks))
        assert told.returncode == 0, told.stderr
    listed = json.loads(ostinato("candidates", "space.db", "list", "--json", cwd=lab).stdout)
    assert [each["row"] for each in listed] == list(range(len(listed)))
    assert json.loads(ostinato("status", "space.db", "--json", cwd=lab).stdout)["candidates"] is None


def test_measurements_go_from_one_study_of_a_space_to_another(lab):
    """Rows are numbered anew in each: columns decide."""
    made(lab)
    (lab / "some.csv").write_text("solver,rate,momentum,value\nsgd,0.1,0.9,1.5\nadam,0.2,,2.5\n")
    assert ostinato("import", "space.db", "some.csv", cwd=lab).returncode == 0
    assert ostinato("export", "space.db", "-o", "all.csv", cwd=lab).returncode == 0
    made(lab, "other.db")
    (lab / "first.csv").write_text("solver,rate,value\nadam,0.7,0.5\n")
    assert ostinato("import", "other.db", "first.csv", cwd=lab).returncode == 0
    taken = ostinato("import", "other.db", "all.csv", cwd=lab)
    assert taken.returncode == 0, taken.stderr
    values = {
        (row["candidate"]["rate"], row["value"])
        for row in json.loads(ostinato("history", "other.db", "--values", "--json", cwd=lab).stdout)
    }
    assert values == {(0.7, 0.5), (0.1, 1.5), (0.2, 2.5)}
    (lab / "bad.csv").write_text("solver,rate,momentum,value\nsgd,0.1,0.5,1.5\nsgd,7,0.9,1\n")
    refused = ostinato("import", "other.db", "bad.csv", cwd=lab)
    assert (refused.returncode, "line 3" in refused.stderr, "outside of" in refused.stderr) == (2, True, True)
    assert len(json.loads(ostinato("candidates", "other.db", "list", "--json", cwd=lab).stdout)) == 3


def test_a_line_whose_row_and_columns_differ_is_refused(lab):
    assert ostinato("create", "lab.db", "catalogue.csv", cwd=lab).returncode == 0
    (lab / "wrong.csv").write_text("row,temp,ph,value\n0,80,8,5.5\n")
    refused = ostinato("import", "lab.db", "wrong.csv", cwd=lab)
    assert (refused.returncode, "and not row 0" in refused.stderr) == (2, True)


def test_a_condition_is_a_table(lab):
    (lab / "space.toml").write_text(SPACE.replace('{ solver = "sgd" }', '"sgd"'))
    refused = ostinato("create", "space.db", "space.toml", cwd=lab)
    assert (refused.returncode, "momentum" in refused.stderr) == (2, True)


CERTIFIED = (
    "--kernel", 'RBF(0.3).on("x") * Matern52(lengthscale=2, std=2).on("y")', "--noise-std", "0.2",
    "--policy", "MiniUCB(C=1.3, beta=2)", "--search", "certified",
)  # fmt: skip


def test_a_certified_search_says_how_near_it_came(lab):
    (lab / "wide.toml").write_text("[x]\nlow = 0\nhigh = 1\n[y]\nlow = 0\nhigh = 5\n")
    made = ostinato("create", "wide.db", "wide.toml", "--seed", "0", *CERTIFIED, cwd=lab)
    assert made.returncode == 0, made.stderr
    task = json.loads(ostinato("ask", "wide.db", cwd=lab).stdout.splitlines()[0])
    task["values"] = [1.0] * task["repeats"]
    assert ostinato("tell", "wide.db", cwd=lab, typed=json.dumps(task) + "\n").returncode == 0
    assert ostinato("ask", "wide.db", cwd=lab).returncode == 0
    said = ostinato("explain", "wide.db", "1", cwd=lab)
    assert "of the highest of the whole space" in " ".join(said.stdout.split()), said.stderr


def test_a_certified_search_is_refused_in_the_words_of_the_command_line(lab):
    (lab / "wide.toml").write_text("[x]\nlow = 0\nhigh = 1\n")
    refused = ostinato("create", "wide.db", "wide.toml", "--search", "certified", cwd=lab)
    assert refused.returncode == 2
    assert "--search 'certified' needs a model of which nothing is learned" in " ".join(refused.stderr.split())
    assert "give --kernel and --noise-std" in " ".join(refused.stderr.split())
