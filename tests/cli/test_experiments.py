"""`ostinato problems`, `reproduce` and `compare`, as they are typed."""

import os
import signal
import subprocess
import sys
import time

import pytest

from ostinato.experiments.store import Store
from ostinato.problems import names
from terminal import PATIENCE, ostinato, start, wait_until


def test_problems_lists_all_of_them_with_sizes_and_noise(tmp_path):
    done = ostinato("problems", cwd=tmp_path)
    assert done.returncode == 0
    for name in names():
        assert name in done.stdout
    for word in ("10,648", "62,208", "30,000", "15,625", "12,416", "one of 4 trainings", "Gaussian, std 0.5"):
        assert word in done.stdout


def test_compare_prints_tables_and_writes_the_report(tmp_path):
    command = ("compare", "rastrigin", "-a", "mini-gp-ucb", "-a", "BBKB", "--seeds", "2", "--horizon", "40")
    done = ostinato(*command, "--workers", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for word in ("mini-GP-UCB", "BBKB", "uniform", "regret, % of", "Processor", "numpy", "report.html"):
        assert word in done.stdout
    folder = tmp_path / "results" / "compare"
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert len(Store(folder / "runs.jsonl").runs) == 6
    again = ostinato(*command, "--workers", "1", cwd=tmp_path)
    assert "6 runs of an earlier call kept" in again.stdout


def test_reproduce_follows_the_protocol(tmp_path):
    command = ("reproduce", "nas201", "-p", "nas201-cifar10", "-a", "mini-GP-UCB", "--seeds", "3", "--horizon", "50")
    done = ostinato(*command, "--folder", "here", "--workers", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("33 short runs to choose settings, then 6 runs: less than a minute on 1 core")
    assert "The paper chose and reported on the same seeds" in " ".join(done.stdout.split())
    assert {run.stage for run in Store(tmp_path / "here" / "runs.jsonl").runs.values()} == {"choose", "report"}
    assert (tmp_path / "here" / "settings.csv").read_text().count("nas201-cifar10,mini-GP-UCB") == 10


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("compare", "rosenbruck"), "near names are rosenbrock"),
        (("compare", "rosenbrock", "-a", "mini-GPU"), "Did you mean mini-GP-UCB"),
        (("reproduce", "nas101", "--quick"), "nasbench_only108"),
        (("reproduce", "nas201", "-p", "rosenbrock"), "nas201-cifar10"),
        (("reproduce", "synthetic", "--seeds", "0"), "seeds"),
        (("reproduce", "synthetic", "--nasbench", "x"), "--nasbench is for nas101"),
        (("compare", "rosenbrock", "--horizon", "20", "--folder", "/dev/null/x"), "cannot be kept there"),
    ],
)
def test_mistakes_are_told_without_a_traceback(tmp_path, command, message):
    done = ostinato(*command, cwd=tmp_path)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    command = ("compare", "rosenbrock", "-a", "GP-UCB", "--seeds", "400", "--horizon", "100", "--folder", "x")
    process = start(*command, cwd=tmp_path, stdout=subprocess.PIPE)
    runs = tmp_path / "x" / "runs.jsonl"
    wait_until(lambda: runs.exists() and runs.stat().st_size > 2_000, process)
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does: to all of them
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Finished runs are kept" in output
    kept = len(Store(runs).runs)
    assert 1 <= kept < 800


def test_ctrl_c_while_the_workers_start_ends_it(tmp_path):
    command = ("compare", "rosenbrock", "--seeds", "50", "--folder", "x")
    process = start(*command, cwd=tmp_path, stdout=subprocess.PIPE)
    wait_until((tmp_path / "x").exists, process)  # made just before the workers are
    while process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.5)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Finished runs are kept" in output


def test_the_workers_end_with_a_process_that_is_terminated(tmp_path):
    command = ("compare", "rosenbrock", "-a", "GP-UCB", "--seeds", "400", "--horizon", "100", "--folder", "x")
    process = start(*command, cwd=tmp_path, stdout=subprocess.PIPE)
    runs = tmp_path / "x" / "runs.jsonl"
    wait_until(runs.exists, process)
    process.terminate()
    process.communicate(timeout=PATIENCE)  # ends only when no worker holds the pipe any more
    assert process.returncode == 143


def test_without_the_extra_the_remedy_is_said_in_full(tmp_path):
    code = "import sys; sys.modules['matplotlib'] = None; from ostinato.cli import main; main()"
    command = [sys.executable, "-c", code, "compare", "rosenbrock"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert "pip install '.[benchmarks]'" in " ".join(done.stderr.split())
