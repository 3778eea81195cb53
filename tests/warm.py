"""Commands that start at once: in forks of a server that has imported everything they need.

A fork is a process of its own, in a session of its own. It has the arguments, the folder, the environment and the
streams of whoever asked for it, runs the real `main`, can be interrupted and killed, and ends as any other process
does. `-c CODE` as the first arguments runs code instead of `main`, as `python -c` does.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MODULES = ("alembic.command", "scipy.optimize", "scipy.stats", "sqlalchemy.dialects.sqlite")
NOT_FILES = (subprocess.PIPE, subprocess.DEVNULL)
FIRST = (["--help"], ["status", "nowhere.db"])  # what these need is imported by running them


def command():
    """What to start instead of `ostinato`."""
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name("warm_client.py")), server()]


def run(arguments, folder, environment, typed, patience):
    """Run `ostinato` in a fork, and wait for its end: as `subprocess.run`, without starting anything here."""
    its_input, ours = os.pipe()
    with os.fdopen(its_input), ThreadPoolExecutor(1) as threads:
        process = Started(arguments, folder, environment, (its_input, subprocess.PIPE, subprocess.PIPE))
        threads.submit(write_all, ours, typed or "")
        said = process.communicate(patience)
    return subprocess.CompletedProcess(arguments, process.returncode, *said)


class Started:
    """A command in a fork that was started, as `subprocess.Popen` is one.

    streams: its input, output and errors: numbers or files, PIPE, DEVNULL, or None for those of this process.
    """

    def __init__(self, arguments, folder, environment, streams=(None, None, None)):
        self.returncode, opened, given = None, [], []
        self.stdout = self.stderr = None
        for number, stream in enumerate(streams):
            if stream == subprocess.PIPE:
                ours, its = os.pipe()
                setattr(self, ("", "stdout", "stderr")[number], os.fdopen(ours))
                opened.append(its)
            elif stream == subprocess.DEVNULL:
                opened.append(os.open(os.devnull, os.O_RDWR))
            given.append(number if stream is None else opened[-1] if stream in NOT_FILES else stream)
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(server())
        socket.send_fds(self._connection, [b"."], [each if isinstance(each, int) else each.fileno() for each in given])
        for each in opened:
            os.close(each)
        request = json.dumps([[*map(str, arguments)], str(folder), environment])
        self._connection.sendall(request.encode() + b"\n")
        self._file = self._connection.makefile()
        self.pid = int(self._file.readline())

    def poll(self):
        return self._waited(0)

    def wait(self, timeout=None):
        if self._waited(timeout) is None:
            raise subprocess.TimeoutExpired("ostinato", timeout)
        return self.returncode

    def _waited(self, timeout):
        if self.returncode is None and select.select([self._connection], [], [], timeout)[0]:
            self.returncode = int(self._file.readline())
            self._file.close()
            self._connection.close()
        return self.returncode

    def communicate(self, timeout=None):
        """What it prints, until nobody of its session prints any more."""
        with ThreadPoolExecutor(2) as threads:
            said = [each and threads.submit(read_all, each) for each in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
                return tuple(each and each.result(timeout) for each in said)
            except (TimeoutError, subprocess.TimeoutExpired):
                os.killpg(self.pid, signal.SIGKILL)
                raise

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def write_all(number, text):
    with contextlib.suppress(BrokenPipeError), os.fdopen(number, "w") as file:
        file.write(text)


def read_all(file):
    with file:
        return file.read()


@functools.cache
def server():
    """The address of the server, which is started when it is first needed and ends with this process."""
    address = f"{tempfile.mkdtemp(prefix='ostinato-')}/server"
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(door.fileno())],
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            pass_fds=[door.fileno()],
            stdin=subprocess.PIPE,  # closed when this process ends, however it ends
            start_new_session=True,
        )
    atexit.register(process.communicate)
    return address


def prepare():
    """Import what commands need; returns what runs them."""
    import ostinato
    from ostinato.cli import main

    ours = [each.name for each in pkgutil.walk_packages(ostinato.__path__, "ostinato.") if "__" not in each.name]
    for name in (*MODULES, *(each for each in ours if not re.search(r"\.migrations|\.card|\.integrations", each))):
        importlib.import_module(name)
    for sys.argv[1:] in FIRST:
        unseen = io.StringIO()
        with contextlib.redirect_stdout(unseen), contextlib.redirect_stderr(unseen), contextlib.suppress(SystemExit):
            main()
    gc.freeze()  # memory that is never touched is never copied
    return main


def serve(door):
    """Fork for each command; returns in the forks. The server ends when its standard input is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who follow the commands
    while sys.stdin not in select.select([door, sys.stdin], [], [])[0]:
        connection, _ = door.accept()
        with connection:
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                streams = socket.recv_fds(connection, 1, 3)[1]
                request = json.loads(connection.makefile().readline())
                process = os.fork()
                if process == 0:
                    os.setsid()  # a signal to its group reaches its own children, and nobody else
                    return become(streams, *request)
                follow(process, streams, connection)
    address = Path(door.getsockname())
    address.unlink()
    address.parent.rmdir()
    sys.exit()


def become(streams, arguments, folder, environment):
    """Make this process the one that was asked for."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["ostinato", *arguments]


def run_code():
    """What `python -c` does."""
    code = sys.argv.pop(2)
    sys.argv.pop(0)
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})


def end_of(main):
    """Run a command to its end as the interpreter does, but for taking everything apart: that would copy all memory."""
    try:
        run_code() if sys.argv[1:2] == ["-c"] else main()
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    else:
        code = 0
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def follow(process, streams, connection):
    """Tell how a command ended; end it where nobody waits for it any more."""
    for stream in streams:
        os.close(stream)
    ended = os.pidfd_open(process)
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(b"%d\n" % process)
    if ended not in select.select([ended, connection], [], [])[0]:
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


if __name__ == "__main__":
    number = int(sys.argv[1])
    main = prepare()
    with socket.socket(fileno=number) as door:
        serve(door)
    end_of(main)
