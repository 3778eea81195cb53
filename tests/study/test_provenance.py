"""Every value knows who measured it, where, with what, since when and until when. In every storage."""

import csv
import json
import os
import shutil
import socket
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import elsewhere
from inside import execute
from ostinato.errors import Conflict, Damaged, Failed, Paused
from ostinato.study import Rescued, Study, verify
from ostinato.study.unsaved import Unsaved
from terminal import ostinato

X = np.arange(30.0)[:, None]
HOST = socket.gethostname()
SCHEMAS = Path(__file__).parents[1] / "storage" / "schemas"


def measure(candidate):
    return float(candidate[0])


def origins(study):
    """Of every measurement: worker, host, program and version."""
    return [(each.worker, each.host, each.program, each.version) for each in study.measurements(everything=True)]


@pytest.fixture
def study(address):
    return Study("lab", address, X, budget=60, seed=0)


def test_a_run_says_which_function_measured_and_when(study):
    start = time.time()
    study.run(measure, 12, progress=False)
    first = next(study.measurements())
    assert (first.host, first.program) == (HOST, f"{__name__}:measure")
    assert first.worker.startswith(HOST)
    assert len(first.version) == 12
    assert set(origins(study)) == {(first.worker, HOST, first.program, first.version)}
    for each in study.measurements():
        assert start - 60 < each.began <= each.at < time.time() + 60
    assert study.last_measurements(1)[0].program == first.program


def test_another_function_is_another_program_and_the_same_one_is_not(study):
    study.run(measure, 4, progress=False)
    study.run(partial(measure), 8, progress=False)
    study.run(lambda candidate: 2.0, 12, progress=False)
    programs = [program for _, _, program, _ in origins(study)]
    assert programs[:8] == [f"{__name__}:measure"] * 8
    assert len(set(programs)) == 2
    assert len({version for *_, version in origins(study)}) == 2


def test_a_version_of_the_module_is_kept_with_the_digest(study, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "__version__", "2.1", raising=False)
    study.run(measure, 4, progress=False)
    assert {version.split()[0] for *_, version in origins(study)} == {"2.1"}


def test_an_object_that_says_nothing_is_measured_with_all_the_same(study):
    class Rig:
        def __call__(self, candidate):
            return 1.0

        def __getattr__(self, name):
            return Rig()  # whatever is asked of it, and so on for ever

    study.run(Rig(), 4, progress=False)
    assert len(origins(study)) == 4


def test_what_is_asked_for_by_a_name_comes_from_it(study):
    robot, person = study.ask(limit=2, worker="robot-3"), study.ask(limit=1, worker="Ana")
    study.tell_all([(robot, [1.0] * robot.repeats, robot.start), (person, [2.0], person.start)])
    by = [worker for worker, *_ in origins(study)]
    assert by == ["robot-3"] * robot.repeats + ["Ana"]
    assert {host for _, host, *_ in origins(study)} == {HOST}


def test_a_task_known_by_its_numbers_comes_from_who_has_it(study):
    task = study.ask(limit=1, worker="robot-3")
    since = study.leases()[0].since
    study.tell(study.task(task.batch, task.start), [1.0])
    (told,) = study.measurements()
    assert (told.worker, told.began) == ("robot-3", since)


def test_what_comes_late_is_not_said_to_be_of_who_has_it_now(study):
    late = study.ask(limit=1, worker="robot-3")
    study.release(late)
    now = study.ask(limit=1, worker="robot-4")
    assert (now.batch, now.start) == (late.batch, late.start)
    study.tell(late, [1.0])
    (told,) = study.measurements()
    assert (told.worker, told.began) == ("robot-3", 0.0)


def test_observations_know_the_host_that_told_them(study):
    study.observe(3, [1.0, 2.0])
    assert origins(study) == [("", HOST, "", "")] * 2


def test_what_could_not_be_stored_keeps_it_until_it_can(study, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # where a server's files go
    aside = Unsaved("lab", study._stored.created, study.storage)
    task = study.ask(limit=1, worker="robot-3")
    aside.keep([(replace(task, program="lab:measure", version="2.1"), [1.0])])
    assert aside.take_in(study.tell) == 1
    assert origins(study) == [("robot-3", HOST, "lab:measure", "2.1")]


def test_many_rows_share_a_source(study):
    for _ in range(5):
        study.tell(task := study.ask(limit=1, worker="robot-3"), [1.0] * task.repeats)
    with study.storage.read("lab") as reader:
        assert len({entry.source for entry in reader.log()}) == 1


def test_a_tell_that_is_refused_leaves_no_source_behind(study):
    first, second = study.ask(limit=1, worker="Ana"), study.ask(limit=1, worker="robot-3")
    study.tell(first, [1.0])
    with pytest.raises(Conflict):
        study.tell_all([(second, [2.0], second.start), (first, [3.0], first.start)])
    study.tell(replace(second, worker="robot-4"), [2.0])
    study.tell(study.ask(limit=1, worker="robot-3"), [4.0])
    assert [worker for worker, *_ in origins(study)] == ["Ana", "robot-4", "robot-3"]
    assert verify(study.storage, "lab") == []


def test_a_copy_keeps_it_and_a_deleted_study_leaves_nothing(study, tmp_path):
    study.run(measure, 6, progress=False)
    study.observe(2, [1.0])
    study.backup(tmp_path / "copy.db")
    copy = Study("lab", tmp_path / "copy.db")
    assert list(map(repr, copy.measurements())) == list(map(repr, study.measurements()))
    assert verify(copy.storage, "lab") == []
    study.storage.delete("lab")
    again = Study("lab", study.storage, X, budget=5)
    again.observe(1, [1.0])
    assert origins(again) == [("", HOST, "", "")]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE sources SET data = replace(data, 'robot', 'rabot')", "source 1 of its values"),
        ("DELETE FROM sources", "sources of values that are missing: 1"),
        ("UPDATE log SET source = 2 WHERE number = 1", "row 1 of the log"),
        ("UPDATE log SET began = began - 9 WHERE number = 1", "row 1 of the log"),
    ],
)
def test_damage_is_noticed_and_values_outlive_their_sources(study, statement, said):
    task = study.ask(limit=1, worker="robot-3")
    study.tell(task, [1.5])
    execute(study, statement)
    assert said in str(verify(study.storage, "lab"))
    rescued = [each.value for each in Rescued(study.storage, "lab")]
    assert rescued == ([1.5] if " sources" in statement else [])
    if "UPDATE" in statement:
        with pytest.raises(Damaged):
            list(study.measurements())


def test_values_of_older_studies_come_from_nobody_knows_where(tmp_path):
    shutil.copy(SCHEMAS / "0007.db", tmp_path / "lab.db")
    study = Study("kept", tmp_path / "lab.db", budget=41)
    assert set(origins(study)) == {("", "", "", "")}
    assert all(each.began == 0.0 for each in study.measurements())
    study.tell(study.ask(worker="robot-3"), [1.0])
    assert origins(study)[-1][:2] == ("robot-3", HOST)
    assert verify(study.storage, "kept") == []


def test_a_note_is_kept_of_another_version_of_the_same_program(study):
    assert study.note_program("./measure {temp}", "aaa") is None
    assert study.note_program("./measure {temp}", "aaa") is None
    assert study.note_program("./measure {temp}", "bbb") == "./measure {temp} (version aaa)"
    assert study.note_program("./other {temp}", "ccc") == "./measure {temp}"


def test_it_is_seen_on_the_command_line(lab_folder):
    command = ("optimize", "t.csv", "--command", "./measure {temp}", "--seed", "0", "--budget")
    assert ostinato(*command, "6", cwd=lab_folder).returncode == 0
    program = lab_folder / "measure"
    before = sha256(program.read_bytes()).hexdigest()[:12]
    program.write_text(program.read_text() + "# better\n")
    now = sha256(program.read_bytes()).hexdigest()[:12]
    changed = ostinato(*command, "9", cwd=lab_folder)
    assert f"measured with ./measure {{temp}} (version {before}) before" in " ".join(changed.stderr.split())
    assert "measured with" not in ostinato(*command, "9", cwd=lab_folder).stderr
    task = json.loads(ostinato("ask", "t.db", "--worker", "Ana", "--lease", "9999", cwd=lab_folder).stdout or "{}")
    assert task == {}  # the budget is spent
    ostinato("budget", "t.db", "10", cwd=lab_folder)
    task = json.loads(ostinato("ask", "t.db", "--worker", "Ana", cwd=lab_folder).stdout)
    line = json.dumps({**task, "values": [1.0] * task["repeats"], "version": 3})  # not a text: left out
    assert ostinato("tell", "t.db", cwd=lab_folder, typed=line).returncode == 0
    told = json.loads(ostinato("history", "t.db", "--values", "--json", cwd=lab_folder).stdout)
    assert [each["version"] for each in told] == [before] * 6 + [now] * 3 + [None]
    assert {each["program"] for each in told[:9]} == {"./measure {temp}"}
    assert told[-1]["worker"] == "Ana"
    assert all(each["began"] <= each["when"] and each["host"] == HOST for each in told)
    shown = ostinato("history", "t.db", "--origin", cwd=lab_folder).stdout
    assert "./measure {temp}" in shown
    assert now in shown
    assert "Ana" in shown


def test_it_is_exported_and_not_imported(lab_folder):
    (lab_folder / "t.csv").write_text("temp,worker\n40,1\n50,2\n")  # a column of a name that is ours
    ostinato("create", "t.db", "t.csv", "--budget", "9", cwd=lab_folder)
    study = Study("t", lab_folder / "t.db")
    study.tell(study.ask(limit=1, worker="Ana"), [1.0])
    done = ostinato("export", "t.db", "--origin", "-o", "out.csv", cwd=lab_folder)
    assert done.returncode == 0, done.stderr
    with (lab_folder / "out.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert list(row)[-6:] == ["began", "told", "study's worker", "host", "program", "version"]
    assert (row["study's worker"], row["host"], row["program"]) == ("Ana", HOST, "")
    assert row["began"] <= row["told"]
    assert ostinato("import", "t.db", "out.csv", cwd=lab_folder).returncode == 0
    assert [each.value for each in study.measurements()] == [1.0, 1.0]
    plain = ostinato("export", "t.db", cwd=lab_folder).stdout
    assert "host" not in plain.splitlines()[0]


@pytest.fixture
def lab_folder(tmp_path):
    (tmp_path / "t.csv").write_text("temp\n40\n50\n60\n")
    program = tmp_path / "measure"
    program.write_text(f"#!{sys.executable}\nimport sys\nprint(float(sys.argv[1]))\n")
    program.chmod(0o755)
    return tmp_path


def down_for_a_while(calls, candidate):
    calls.append(candidate)
    if 20 <= len(calls) < 34:
        raise Failed("the pump is off")
    return float(candidate[0])


def test_measurements_of_a_pause_say_where_they_come_from(study):
    calls = []
    with pytest.warns(Paused):
        study.run(partial(down_for_a_while, calls), 40, workers=1, progress=False, retry_every=0.001)
    probed = [each for each in study.measurements() if each.batch < 0]
    assert probed
    assert {each.program for each in probed} == {f"{__name__}:down_for_a_while"}
    assert all(len(each.version) == 12 and each.began for each in probed)
    assert {each.worker for each in study.measurements()} == {f"{HOST}:{os.getpid()}"}


def test_the_host_is_the_machine_that_measured(study):
    spawn = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, initializer=elsewhere.on_another_machine) as pool:
        study.run(elsewhere.measure, 4, executor=pool, workers=1, progress=False)
    assert {host for _, host, _, _ in origins(study)} == {"rig-7"}


def test_values_put_aside_keep_the_machine_that_measured(study):
    task = replace(study.ask(limit=1), host="rig-7", program="./measure")
    unsaved = Unsaved(study.name, study._stored.created, study.storage)
    unsaved.keep([(task, [1.0])])
    unsaved.take_in(study.tell)
    assert [(host, program) for _, host, program, _ in origins(study)] == [("rig-7", "./measure")]
