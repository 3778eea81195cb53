"""A PostgreSQL server of the tests' own: a real one, in a folder of its own, on a port of its own."""

import contextlib
import itertools
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

REQUIRED = "OSTINATO_REQUIRE_SERVERS"  # set where a missing server must be an error and not a skipped test


def folder_of_binaries():
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    folders = [folder for folder in folders if (folder / "initdb").exists()]
    if not folders:
        message = "PostgreSQL is not installed: apt-get install postgresql (make test does it where it may)"
        if os.environ.get(REQUIRED):
            pytest.fail(message)
        pytest.skip(message)
    return folders[-1]


class Server:
    """Started, stopped the hard way, and started again. Without fsync it is quicker, and a power cut could harm it."""

    def __init__(self, *, fsync=True):
        self.fsync = "on" if fsync else "off"
        self.bin = folder_of_binaries()
        self.folder = Path(tempfile.mkdtemp(prefix="ostinato-pg-", dir="/tmp"))
        self.data = self.folder / "data"
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._do("initdb", "-D", self.data, "-U", "ostinato", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()
        self.numbers = itertools.count(1)

    def _do(self, program, *arguments, check=True):
        command = [str(self.bin / program), *map(str, arguments)]
        if os.getuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=600)
        if check and done.returncode:
            raise RuntimeError(f"{command} failed: {done.stdout} {done.stderr}")

    def start(self):
        settings = f"-c listen_addresses=127.0.0.1 -c max_connections=100 -c fsync={self.fsync}"
        options = f"-p {self.port} -k {self.folder} {settings}"
        self._do("pg_ctl", "-D", self.data, "-o", options, "-l", self.folder / "log", "-t", "600", "-w", "start")

    def stop(self, mode="immediate"):
        self._do("pg_ctl", "-D", self.data, "-m", mode, "-t", "600", "-w", "stop", check=False)

    def database(self):
        """The address of a new, empty database."""
        return self._address(self._made("DATABASE"))

    def schema(self):
        """The address of a new, empty schema: as good as a database, and nothing has to be copied to make one."""
        return f"{self._address()}?options=-csearch_path%3D{self._made('SCHEMA')}"

    def _address(self, name="postgres"):
        return f"postgresql://ostinato@127.0.0.1:{self.port}/{name}"

    def _made(self, kind):
        import psycopg

        name = f"test_{next(self.numbers)}"
        with psycopg.connect(self._address(), autocommit=True) as connection:
            connection.execute(f"CREATE {kind} {name}")
        return name

    def remove(self):
        self.stop()
        with contextlib.suppress(OSError):
            shutil.rmtree(self.folder)
