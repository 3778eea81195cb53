"""Large tables at the terminal."""

import os
import pty

import numpy as np
import polars as pl

from terminal import ostinato, start

ROWS = 20_000


def typed_at_a_terminal(*arguments, cwd):
    """All that a command writes to its terminal."""
    mine, theirs = pty.openpty()
    process = start(*arguments, cwd=cwd, stderr=theirs, stdin=theirs, TERM="xterm")
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(mine, 4096):
            seen += part
    except OSError:  # it has ended
        pass
    os.close(mine)
    assert process.wait(timeout=240) == 0
    return seen.decode(errors="replace")


def test_what_takes_long_is_said_while_it_is_done(tmp_path):
    rng = np.random.default_rng(0)
    pl.DataFrame({"temp": rng.random(ROWS), "ph": rng.random(ROWS)}).write_parquet(tmp_path / "lab.parquet")
    seen = typed_at_a_terminal("create", "lab.db", "lab.parquet", "--budget", "3", "--seed", "0", cwd=tmp_path)
    assert seen.index("reading lab.parquet") < seen.index("storing 20,000 candidates")
    command = ("optimize", "lab.parquet", "--command", "echo {temp}", "--seed", "0")
    seen = typed_at_a_terminal(*command, cwd=tmp_path)
    assert seen.index("reading lab.parquet") < seen.index("looking at the candidates") < seen.index("3/3")
    done = ostinato("status", "lab.db", cwd=tmp_path)
    assert "3 of 3 measurements" in done.stdout
    assert "reading" not in done.stderr
    assert ostinato("best", "lab.db", cwd=tmp_path).stdout.startswith("{'temp': ")
    pl.DataFrame({"temp": [7.0], "ph": [8.0]}).write_csv(tmp_path / "more.csv")
    assert "added 1 row, 20000 to 20000" in ostinato("candidates", "lab.db", "add", "more.csv", cwd=tmp_path).stderr
    assert "20,001 candidates" in ostinato("status", "lab.db", cwd=tmp_path).stdout
    assert ostinato("verify", "lab.db", cwd=tmp_path).returncode == 0
    exported = ostinato("export", "lab.db", "--damaged", cwd=tmp_path)
    assert exported.returncode == 0
    assert len(exported.stdout.splitlines()) == 4
