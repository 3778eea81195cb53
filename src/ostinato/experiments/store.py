"""Finished runs in a file, a line each, so that an interrupted experiment goes on where it stopped."""

from collections.abc import Iterator
from os import fsync
from pathlib import Path

import msgspec

from ostinato.errors import InvalidInput
from ostinato.experiments.records import Run


class Store:
    """The file of finished runs. A line cut short by a crash is dropped, and its run made again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.runs = {run.key: run for run in self._read()}

    def add(self, run: Run) -> None:
        """Keep a finished run, safely on disk before this returns."""
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(run) + b"\n")
            file.flush()
            fsync(file.fileno())
        self.runs[run.key] = run

    def _read(self) -> Iterator[Run]:
        if not self._path.exists():
            return
        lines = self._path.read_bytes().split(b"\n")
        whole, rest = lines[:-1], lines[-1]
        for number, line in enumerate(whole, start=1):
            try:
                yield msgspec.json.decode(line, type=Run)
            except msgspec.DecodeError as error:
                raise InvalidInput(
                    f"Line {number} of {self._path} is not a finished run ({error}): delete that line to make its run "
                    "again, or the file to start afresh."
                ) from None
        if rest:  # cut short: what was written of it goes, so that the next line starts where it should
            with self._path.open("r+b") as file:
                file.truncate(sum(len(line) + 1 for line in whole))
