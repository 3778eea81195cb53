"""Commands that start at once: in forks of a server that has imported everything they need.

A fork is a process of its own. It has the arguments, the folder, the environment and the streams of whoever asked for
it, runs the real `main`, and ends as any other process does. Only signals do not reach it: a command that is to be
interrupted is started in the ordinary way.
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
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

MODULES = ("alembic.command", "scipy.optimize", "scipy.stats", "sqlalchemy.dialects.sqlite")
FIRST = (["--help"], ["status", "nowhere.db"])  # what these need is imported by running them


def command():
    """What to start instead of `ostinato`."""
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name("warm_client.py")), server()]


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
    for name in (*MODULES, *(each for each in ours if ".migrations" not in each)):
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


def follow(process, streams, connection):
    """Tell how a command ended; end it where nobody waits for it any more."""
    for stream in streams:
        os.close(stream)
    ended = os.pidfd_open(process)
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
    main()
