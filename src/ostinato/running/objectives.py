"""What is measured, given on the command line: a program in any language, a Python function, or a person."""

import errno
import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import isfinite, nan
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any, TypeAlias

import msgspec

from ostinato.checks import from_truth, number
from ostinato.errors import Failed, ImpossibleValue, InvalidSetting, Outage, notify
from ostinato.measurements.outcomes import REAL, Outcome
from ostinato.measurements.tally import LARGEST
from ostinato.running.program import Program, program_of_command
from ostinato.running.template import Template

Process: TypeAlias = "subprocess.Popen[bytes]"
OUTPUT_READ = 100_000  # bytes of what a program printed that are looked at
ERROR_SHOWN = 300  # characters of an error that are shown


class ProgramStopped(Exception):
    """A program was stopped because nobody waits for it any more: that is not a failed measurement."""


class ImpossibleNumber(Failed):
    """What a program printed is a number, and not one that is measured."""


@dataclass
class FailureCount:
    """How many measurements failed, and what the last one said."""

    count: int = 0
    last: str = ""
    impossible: bool = False  # whether it was said that a value was not of its kind
    lock: Lock = field(default_factory=Lock, repr=False)

    def add(self, words: str) -> None:
        with self.lock:
            self.count, self.last = self.count + 1, words[-ERROR_SHOWN:]

    def first_impossible(self) -> bool:
        """Whether no value was of another kind before."""
        with self.lock:
            before, self.impossible = self.impossible, True
        return not before


class RunningPrograms:
    """The programs that run, so that they can be stopped together."""

    def __init__(self) -> None:
        self._processes: set[Process] = set()
        self._stopped = False
        self._lock = Lock()

    @contextmanager
    def started(
        self, arguments: list[str], environment: dict[str, str], out: IO[bytes], errors: IO[bytes]
    ) -> "Generator[Process, None, None]":
        """A program, in a group of its own; when the block is left, neither it nor what it started runs any more."""
        with self._lock:
            if self._stopped:
                raise ProgramStopped
            process = _begun(arguments, environment, out, errors)
            self._processes.add(process)
        try:
            yield process
        finally:
            with self._lock:
                self._processes.discard(process)
            if process.returncode is None:
                _kill(process)
        if self._stopped and process.returncode:
            raise ProgramStopped

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._processes:
                _signal(process)


@dataclass(frozen=True)
class Command:
    """A program, run once a measurement. The value is the last line that it prints: a number, or JSON with a "value".

    Values of the candidate take the place of {column} within the program's arguments. They are passed as they are,
    never through a shell; where the program is itself a shell (sh -c "…"), they are quoted. The whole candidate is in
    the environment too, as JSON in OSTINATO_CANDIDATE.
    """

    template: str
    columns: tuple[str, ...]
    timeout: float | None = None
    retries: int = 0
    outcome: Outcome = REAL  # what kind of number a value is: others are measurements that failed
    failures: FailureCount = field(default_factory=FailureCount)
    running: RunningPrograms = field(default_factory=RunningPrograms, repr=False)

    def __post_init__(self) -> None:
        self._template.check()

    @property
    def _template(self) -> Template:
        return Template(self.template, self.columns, "--command")

    @property
    def left_out(self) -> tuple[str, ...]:
        """The columns that its arguments leave out, where they have others."""
        return self._template.left_out

    def __call__(self, candidate: Mapping[str, Any]) -> float:
        for again in range(self.retries, -1, -1):
            try:
                return self._once(candidate)
            except Failed as error:
                if isinstance(error, ImpossibleNumber) and self.failures.first_impossible():
                    said = str(error).removeprefix("it ")
                    notify(
                        f"The program {said}: that and others like it are measurements that failed.", ImpossibleValue
                    )
                if again == 0:
                    self.failures.add(str(error))
                    return nan
            except Outage as error:
                self.failures.add(str(error))
                raise
        return nan

    @property
    def complaint(self) -> str:
        """What the last failure said."""
        return self.failures.last

    @property
    def program(self) -> Program:
        """The command and its version, as they are now."""
        return program_of_command(self.template, self._template.words)

    def arguments(self, candidate: Mapping[str, Any]) -> list[str]:
        """The program and its arguments for a candidate."""
        return self._template.filled(candidate)

    def stop(self) -> None:
        """Stop the programs that run, and begin no more."""
        self.running.stop()

    def _once(self, candidate: Mapping[str, Any]) -> float:
        try:
            return self._value(candidate)
        except (OSError, ValueError) as error:
            words = f"it could not be started: {error}"
            for_any = isinstance(error, OSError) and error.errno != errno.E2BIG and self._template.same_program
            raise Outage(words) if for_any else Failed(words) from None

    def _value(self, candidate: Mapping[str, Any]) -> float:
        environment = os.environ | {"OSTINATO_CANDIDATE": msgspec.json.encode(dict(candidate)).decode()}
        with TemporaryFile() as out, TemporaryFile() as errors:  # files: what it leaves behind cannot keep them open
            with self.running.started(self.arguments(candidate), environment, out, errors) as process:
                try:
                    code = process.wait(timeout=self.timeout)
                except subprocess.TimeoutExpired:
                    raise Failed(f"it took more than {self.timeout:g} seconds, for {dict(candidate)}") from None
            printed, complaint = _read(out), _read(errors).strip()
        if code:
            how = f"it ended with code {code}" if code > 0 else f"signal {-code} ended it"
            said = complaint or printed.strip()
            raise Failed(f"{how}, for {dict(candidate)}" + (f": {said}" if said else ""))
        try:
            value = value_of(printed, truths=self.outcome.binary)
        except Failed as error:
            raise Failed(f"{error}, for {dict(candidate)}") from None
        if not self.outcome.has(value):
            words = f"it printed {value:g}, which is not a measurement of outcome={self.outcome.name!r}"
            raise ImpossibleNumber(f"{words} ({self.outcome.words}), for {dict(candidate)}")
        return value


def _begun(arguments: list[str], environment: dict[str, str], out: IO[bytes], errors: IO[bytes]) -> "Process":
    return subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, env=environment, start_new_session=True
    )


def _read(file: IO[bytes]) -> str:
    """The end of what was printed, which is what counts."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - OUTPUT_READ))
    return file.read().decode(errors="replace")


def value_of(printed: str, *, truths: bool = False) -> float:
    """The number in the last line that says anything: itself, or JSON's "value"; null and nan are failures.

    truths: whether true and false are 1 and 0.
    """
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    if not lines:
        raise Failed('it printed nothing: the last line must be a number, or JSON such as {"value": 1.5}')
    line = lines[-1]
    try:
        read: Any = msgspec.json.decode(line)
    except msgspec.DecodeError:
        read = line
    if isinstance(read, dict):
        read = read.get("value", line)  # type: ignore[reportUnknownMemberType]
    if truths:
        read = from_truth({"true": True, "false": False}.get(line.lower(), read))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(read, str):
        try:
            read = float(read.replace("_", "?"))
        except ValueError:
            raise Failed(f"its last line is {line!r}, which is not a number") from None
    if isinstance(read, bool):
        raise Failed(f"its last line is {line!r}, which is not a number")
    value = number(read)
    if not isfinite(value) or abs(value) > LARGEST:
        raise Failed(f"its last line is {line!r}, which is not a finite number below {LARGEST:g}")
    return value


def function(named: str) -> Callable[..., Any]:
    """The function that `module:function` names; modules are looked for here first."""
    module, _, name = named.partition(":")
    if not (module and name):
        raise InvalidSetting(f"--function {named!r} names none: give module:function, as in --function lab:measure.")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise InvalidSetting(f"--function {named!r} cannot be imported: {type(error).__name__}: {error}") from None
    if not callable(found):
        raise InvalidSetting(f"--function {named!r} is {found!r}, which cannot be called.")
    return found


def _kill(process: "Process") -> None:
    """The program and all that it started."""
    _signal(process)
    process.wait()


def _signal(process: "Process") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
