"""Real servers in processes of their own: TLS, PostgreSQL, and kill -9 under load."""

import signal
import socket
import subprocess
import time

import httpx
import pytest
from benchmarks.service import kill_under_load

from ostinato import Client, Study
from ostinato.candidates.files import read_csv_text
from ostinato.errors import Unavailable
from ostinato.service.tokens import Role, create_token
from ostinato.storage import open_storage
from ostinato.study import verify
from service_lab import CSV, Serving, wait_until

pytestmark = pytest.mark.filterwarnings("ignore::ostinato.errors.OstinatoWarning")


def laboratory(address):
    """A study at an address, and a token for it."""
    study = Study("reaction", address, read_csv_text(CSV), budget=20, seed=0, noise_std=0.5)
    token, _ = create_token(study.storage, "robot", Role.WORKER, (), time.time(), None)
    return token


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for localhost that nobody else knows, and its key."""
    cert, key = (str(tmp_path_factory.mktemp("tls") / name) for name in ("lab.pem", "lab.key"))
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    call = ["openssl", "req", "-x509", *kind, *names, "-keyout", key, "-out", cert]
    subprocess.run(call, check=True, capture_output=True)
    return cert, key


def test_tls(tmp_path, certificate, monkeypatch):
    cert, key = certificate
    token = laboratory(tmp_path / "lab.db")
    everywhere = ("--host", "0.0.0.0", "--certfile", cert, "--keyfile", key)
    with Serving(tmp_path / "lab.db", *everywhere) as server:
        assert server.url.startswith("https://")
        with Client(server.url, token, patience=0) as stranger, pytest.raises(Unavailable, match="CERTIFICATE"):
            stranger.studies()
        monkeypatch.setenv("SSL_CERT_FILE", cert)
        with Client(server.url, token) as client:
            task = client.study("reaction").ask(limit=1)
            assert client.study("reaction").tell(task, [1.0]) == 1
        signed_in = httpx.get(server.link, verify=_trusting(cert))
        assert "Secure" in signed_in.headers["set-cookie"]
        assert signed_in.headers["strict-transport-security"]
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http://127.0.0.1:{server.port}/health")


def _trusting(cert):
    import ssl

    return ssl.create_default_context(cafile=cert)


def test_postgresql(postgres):
    """A server on PostgreSQL, that is killed and comes back, while the database goes on."""
    address = postgres.schema()
    token = laboratory(address)
    with Serving(address) as server, Client(server.url, token) as client:
        study = client.study("reaction")
        task = study.ask(limit=2, worker="robot")
        assert study.tell(task, [1.0] * task.repeats) == task.repeats
        assert study.observe(0, 3.0, key="bench") == 1
        server.process.kill()
        server.process.communicate()
        with Serving(address, port=server.port):
            assert study.tell(task, [1.0] * task.repeats) == 0
            study.observe(0, 3.0, key="bench")
            assert study.status().measurements == task.repeats + 1
    assert verify(open_storage(address), "reaction") == []


PATIENT = """
from functools import partial
from ostinato.cli import main
from ostinato.service import serving
serving.GRACE = 3600
serving.Limits = partial(serving.Limits, body_seconds=3600)
main()
"""


def test_ctrl_c_again_ends_a_server_that_still_waits_for_a_request(tmp_path):
    """The first one waits for what is under way: here for a body that never comes."""
    token = laboratory(tmp_path / "lab.db")
    head = f"POST /api/v1/studies/reaction/tell HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    with Serving(tmp_path / "lab.db", program=("-c", PATIENT)) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n".encode())
            assert httpx.get(f"{server.url}/health").status_code == 200  # by then it has read the other's headers
            server.process.send_signal(signal.SIGINT)
            wait_until(lambda: not _listens(server.port))
            assert server.process.poll() is None
            server.end(signal.SIGINT)
        assert server.process.returncode in (0, 128 + signal.SIGINT)


def _listens(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def test_nothing_that_was_acknowledged_is_lost_when_the_server_is_killed_under_load():
    assert "none lost" in kill_under_load(count=400, after=0.3, clients=16)
