"""`ostinato serve` and `ostinato token`."""

import json
import signal
import socket

import httpx
import pytest

from ostinato import Study
from ostinato.candidates.files import read_csv_text
from service_lab import CSV, Serving
from terminal import ostinato


@pytest.fixture
def lab(tmp_path):
    for name in ("reaction", "secret"):
        Study(name, tmp_path / "lab.db", read_csv_text(CSV), budget=20, seed=0, noise_std=0.5)
    return tmp_path


def token(lab, *options):
    done = ostinato("token", "create", "lab.db", *options, cwd=lab)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ost_")
    return done.stdout.strip()


def test_tokens_are_created_listed_and_revoked(lab):
    made = token(lab, "--role", "worker", "--name", "robot-3", "--study", "reaction", "--expires", "30d")
    token(lab, "--role", "read")
    again = ostinato("token", "create", "lab.db", "--name", "robot-3", cwd=lab)
    assert again.returncode == 2
    assert "There is a token of the name 'robot-3' already" in " ".join(again.stderr.split())
    listed = json.loads(ostinato("token", "list", "lab.db", "--json", cwd=lab).stdout)
    assert [(each["name"], each["role"], each["studies"]) for each in listed] == [
        ("robot-3", "worker", ["reaction"]),
        ("read", "read", []),
    ]
    assert listed[0]["expires"] - listed[0]["created"] == pytest.approx(30 * 86_400)
    assert "digest" not in listed[0]
    shown = ostinato("token", "list", "lab.db", cwd=lab).stdout
    assert "robot-3" in shown
    assert "valid until" in shown
    assert made.split("_", 2)[2] not in shown
    assert "revoked 1 token" in ostinato("token", "revoke", "lab.db", "robot-3", cwd=lab).stderr
    assert "revoked 2" in ostinato("token", "list", "lab.db", cwd=lab).stdout  # revoked 2026-…


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["create", "lab.db", "--study", "nowhere"], "There is no study 'nowhere'"),
        (["create", "lab.db", "--name", "a|b"], "is not a name"),
        (["create", "lab.db", "--expires", "soon"], "expires"),
        (["create", "lab.db", "robot"], "see --help"),
        (["revoke", "lab.db"], "see --help"),
        (["revoke", "lab.db", "nobody"], "There is no token 'nobody'"),
        (["list", "none.db"], "none.db"),
    ],
)
def test_what_is_refused_of_tokens(lab, arguments, words):
    done = ostinato("token", *arguments, cwd=lab)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert not (lab / "none.db").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "0.0.0.0"], "without TLS anybody between could read tokens"),
        (["--host", "192.0.2.1"], "--behind-proxy where a proxy encrypts"),
        (["--host", "0.0.0.0", "--certfile", "a.pem"], "belong together"),
        (["--host", "0.0.0.0", "--certfile", "a.pem", "--keyfile", "a.key"], "no token is there"),
        (["--host", "192.0.2.1", "--behind-proxy"], "Nothing can listen at 192.0.2.1"),  # not an address of ours
    ],
)
def test_addresses_that_others_reach_are_refused(lab, options, words):
    done = ostinato("serve", "lab.db", "--port", "0", "--no-browser", *options, cwd=lab)
    assert done.returncode == 2, done.stdout
    assert words in " ".join(done.stderr.split())
    assert done.stdout == ""


def test_a_server_is_started_reached_and_stopped(lab):
    limited = token(lab, "--role", "read", "--study", "reaction")
    with Serving(lab / "lab.db") as server:
        assert server.url == f"http://127.0.0.1:{server.port}"
        with httpx.Client(base_url=server.url) as browser:
            assert browser.get("/api/v1/studies").status_code == 401
            first = browser.get(server.link)  # the link that was printed signs in, once
            assert (first.status_code, first.headers["location"]) == (303, "/")
            assert len(browser.get("/api/v1/studies").json()["studies"]) == 2
        assert httpx.get(server.link).status_code == 401
        own = {"authorization": f"Bearer {limited}"}
        listed = httpx.get(f"{server.url}/api/v1/studies", headers=own).json()["studies"]
        assert [each["name"] for each in listed] == ["reaction"]
        late = token(lab, "--role", "read")  # made while it runs
        assert httpx.get(f"{server.url}/api/v1/me", headers={"authorization": f"Bearer {late}"}).status_code == 200
        said = server.end(signal.SIGINT)
    assert server.process.returncode == 0
    assert f"serving {lab / 'lab.db'} at {server.url}" in said
    assert said.endswith("stopped\n")
    assert limited[10:] not in said


def test_behind_a_proxy_it_is_called_by_its_name(lab):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with Serving(lab / "lab.db", "--behind-proxy", "--host-name", "lab.example.org", port=port) as server:
        assert server.link.startswith("https://lab.example.org/login?code=")
        for host, status in (("lab.example.org", 200), ("evil.example.org", 400)):
            assert httpx.get(f"http://127.0.0.1:{port}/health", headers={"host": host}).status_code == status
