"""Who is let in, and what is refused: every route, every role, and what attackers and broken programs send."""

import asyncio
import select
import socket
import threading
import time

import pytest
from msgspec.structs import replace

from ostinato.errors import InvalidSetting
from ostinato.service.configuration import Config, Limits
from ostinato.service.headers import HEADERS
from ostinato.service.serving import Place, check_place
from ostinato.service.tokens import Role, revoke_token
from service_lab import Lab, listening_at, wait_until

pytestmark = pytest.mark.filterwarnings("ignore::ostinato.errors.OstinatoWarning")
OPEN = {"/health", "/login", "/session"}
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD")
TELL = "/api/v1/studies/reaction/tell"


def routes(lab):
    """Every path and method that there is, with the role that it names."""
    for route in lab.app.litestar.routes:
        path = route.path.replace("{study:str}", "reaction").replace("{batch:int}", "0")
        for handler in route.route_handlers:
            for method in handler.http_methods:
                yield path, method, handler.opt.get("role")


def test_without_a_token_everything_but_health_is_denied(lab):
    async def walk():
        async with lab.client() as client:
            for path in {path for path, _, _ in routes(lab)} | {"/nowhere", "/api/v1/nowhere"}:
                for method in METHODS:
                    answer = await client.request(method, path)
                    if path == "/health" and method == "GET":
                        assert answer.status_code == 200
                    elif path in OPEN:
                        assert answer.status_code in (401, 405, 204), (method, path)  # 204 lists methods
                        assert "set-cookie" not in answer.headers
                    else:
                        assert answer.status_code == 401, (method, path)

    asyncio.run(walk())


@pytest.mark.parametrize("role", list(Role))
def test_every_route_takes_its_role_and_no_less(lab, role):
    async def walk():
        async with lab.client(role) as client:
            for path, method, needed in routes(lab):
                if path in OPEN or path.endswith("/events") or method == "OPTIONS":
                    continue
                answer = await client.request(method, path, json={} if method in ("POST", "PUT") else None)
                allowed = role.includes(Role(needed))
                assert (answer.status_code == 403) is not allowed, (method, path, role, answer.text)
                assert answer.status_code < 500

    asyncio.run(walk())


def test_every_route_names_a_role(lab):
    named = {role for path, method, role in routes(lab) if method != "OPTIONS"}
    assert named == {"public", *Role} - {Role.GATEWAY}  # which names workers on the routes of workers


def test_a_token_that_is_limited_sees_its_studies_alone(lab):
    lab.request("POST", "/api/v1/studies", json={"name": "secret", "rows": [{"a": 1}, {"a": 2}]})
    token = lab.token("admin", ["reaction"])
    listed = lab.request("GET", "/api/v1/studies", token=token).json()["studies"]
    assert [each["name"] for each in listed] == ["reaction"]
    for path in ("/api/v1/studies/secret", "/api/v1/studies/secret/best", "/api/v1/studies/secret/export"):
        answer = lab.request("GET", path, token=token)
        assert answer.status_code == 404
        assert str(lab.path) not in answer.text
    assert (
        lab.request("POST", "/api/v1/studies", token=token, json={"name": "new", "rows": [{"a": 1}]}).status_code == 404
    )


def test_a_token_is_known_as_soon_as_it_is_made(lab, monkeypatch):
    monkeypatch.setattr("ostinato.service.auth.PAUSE", 0.5)  # longer than the steps between two requests take
    for _ in range(2):
        assert lab.get(token=lab.token("read")).status_code == 200


def test_tokens_expire_and_are_revoked(lab):
    short = lab.token("read", expires=time.time() - 1)
    assert lab.get(token=short).status_code == 401
    token = lab.token("read")
    assert lab.get(token=token).status_code == 200
    revoke_token(lab.storage, token.split("_")[1], time.time())
    wait_until(lambda: lab.get(token=token).status_code == 401)


@pytest.mark.parametrize("token", ["", "ost_", "ost_1_2", "nonsense", "ost_" + "9" * 5000, "é"])
def test_other_tokens_are_unknown(lab, token):
    answer = lab.request("GET", "/api/v1/studies", headers={"authorization": f"Bearer {token}".encode()}, role=None)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_right_id_with_another_secret_is_refused_and_only_digests_are_stored(lab):
    prefix, number, secret = lab.tokens[Role.ADMIN].split("_", 2)
    assert lab.get(token=f"{prefix}_{number}_{secret[:-1]}x").status_code == 401
    assert secret.encode() not in lab.path.read_bytes()
    assert number.encode() in lab.path.read_bytes()  # it would be seen


def test_a_browser_signs_in_with_a_code_once(lab):
    code = lab.app.service.authentication.new_code()
    first = lab.request("GET", f"/login?code={code}", role=None)
    assert (first.status_code, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"]
    for word in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert word in cookie
    assert lab.request("GET", f"/login?code={code}", role=None).status_code == 401
    seen = lab.request("GET", f"/login?code={code}", role=None, headers={"accept": "text/html"})
    assert (seen.status_code, seen.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert "was used already" in seen.text
    assert "<form" in seen.text  # by which to sign in with a token
    own = {"cookie": cookie.partition(";")[0]}
    assert lab.request("GET", "/api/v1/me", role=None, headers=own).json()["role"] == "admin"
    again = lab.request("GET", f"/login?code={code}", role=None, headers=own)  # the browser that it made known
    assert (again.status_code, again.headers["location"]) == (303, "/")
    change = {"json": {"budget": 70}, "role": None}
    path = "/api/v1/studies/reaction/budget"
    assert lab.request("PUT", path, headers=own, **change).status_code == 403  # no page said that it wants it
    assert lab.request("PUT", path, headers=own | {"origin": "http://evil.example"}, **change).status_code == 403
    assert lab.request("PUT", path, headers=own | {"origin": "http://localhost"}, **change).status_code == 200
    lab.request("POST", "/sign-out", role=None, headers=own | {"origin": "http://localhost"})
    assert lab.request("GET", "/api/v1/me", role=None, headers=own).status_code == 401


def test_a_browser_signs_in_with_a_token_as_long_as_that_is_valid(lab):
    token = lab.token("read")
    form = {"content": f"token={token}", "headers": {"content-type": "application/x-www-form-urlencoded"}}
    own = {"cookie": lab.request("POST", "/session", role=None, **form).headers["set-cookie"].partition(";")[0]}
    assert lab.request("GET", "/api/v1/me", role=None, headers=own).json()["role"] == "read"
    revoke_token(lab.storage, token.split("_")[1], time.time())
    wait_until(lambda: lab.request("GET", "/api/v1/me", role=None, headers=own).status_code == 401)


def test_a_person_who_is_not_known_is_shown_where_to_sign_in(lab):
    answer = lab.request("GET", "/", role=None, headers={"accept": "text/html"})
    assert answer.status_code == 401
    assert "<form" in answer.text
    assert "<script" not in answer.text


def test_other_hosts_and_origins_are_refused(lab):
    assert lab.get(headers={"host": "evil.example"}).status_code == 400  # DNS rebinding
    for origin in ("http://evil.example", "null", "http://localhost:1", "https://localhost.evil.example"):
        answer = lab.post("tell", {"batch": 0, "values": [1.0]}, headers={"origin": origin})
        assert answer.status_code == 403, origin
        assert "access-control-allow-origin" not in answer.headers
    assert lab.get(headers={"origin": "http://evil.example"}).status_code == 200  # which it cannot read


def test_every_answer_has_the_headers_that_keep_browsers_safe(lab):
    for path in ("/health", "/", "/nowhere", "/api/v1/studies"):
        headers = lab.request("GET", path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b'{"batch": 0, "values": [NaN]}', 400, "NaN is not JSON"),
        (b'{"batch": 0, "values": [Infinity]}', 400, "Infinity is not JSON"),
        (b'{"batch": 0, "values": [1e999]}', 422, "out of range"),
        (b'{"batch": 0, "values": ["3.5"]}', 422, r"got `str` - at `$.values[0]`"),
        (b'{"batch": "0", "values": [3.5]}', 422, "Expected `int"),
        (b'{"batch": 0.5, "values": [3.5]}', 422, "Expected `int"),
        (b'{"batch": 0, "batch": 1, "values": [3.5]}', 400, "'batch' comes twice"),
        (b'{"batch": 0, "values": [3.5], "pickle": 1}', 422, "unknown field `pickle`"),
        (b'{"batch": 0, "values": [true]}', 422, "got `bool`"),
        (b'{"batch": 0, "values": []}', 422, "length >= 1"),
        (b'{"batch": 0}', 422, "without values"),
        (b'{"batch": 99999999999999999999, "values": [1]}', 422, "int"),
        (b'{"batch": 0, "values": [1]', 400, "JSON"),
        (b"", 422, "empty"),
        (b"\xff\xfe", 400, "JSON"),
        (b"[" * 100_000, 400, "JSON"),
    ],
)
def test_bodies_that_cannot_be_true_are_refused_with_the_reason(lab, body, status, words):
    answer = lab.request("POST", TELL, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    assert words in answer.json()["detail"]
    assert answer.json()["status"] == status


def test_only_json_is_read(lab):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/x-msgpack", "application/x-yaml"):
        answer = lab.request("POST", TELL, content=b'{"batch":0,"values":[1]}', headers={"content-type": kind})
        assert answer.status_code == 415, kind


@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": "Custom(print)"},
        {"kernel": "__import__('os').system('true')"},
        {"policy": "open('/etc/passwd')"},
        {"kernel": "'a' * 9999999999"},
        {"stop": ["lambda: 0"]},
    ],
)
def test_settings_that_carry_code_are_refused(lab, settings):
    body = {"name": "code", "rows": [{"a": 1}, {"a": 2}], "settings": settings}
    assert lab.request("POST", "/api/v1/studies", json=body).status_code == 422
    assert "code" not in lab.storage.names()


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", ".."])
def test_names_are_not_paths(lab, name):
    answer = lab.request("POST", "/api/v1/studies", json={"name": name, "rows": [{"a": 1}, {"a": 2}]})
    assert answer.status_code == 422


def limited(tmp_path, **limits):
    return Lab(tmp_path / "limited.db", Config(limits=replace(Limits(), **limits)))


def test_huge_bodies(tmp_path):
    lab = limited(tmp_path, body=1_000)

    async def endless():
        while True:
            yield b" " * 300

    async def send(content):
        async with lab.client("worker") as client:
            return await client.post(TELL, content=content, headers={"content-type": "application/json"})

    assert asyncio.run(send(b" " * 2_000)).status_code == 413
    assert asyncio.run(send(endless())).status_code == 413
    lab.app.service.close()


def head_of_tell(token, length):
    """Of a request whose body is to come."""
    return (
        f"POST {TELL} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def test_slow_bodies(tmp_path):
    lab = limited(tmp_path, body_seconds=0.2)
    with listening_at(lab.app) as port, socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head_of_tell(lab.tokens["worker"], 100) + b'{"batch": 0,')
        said = connection.makefile("rb").read().decode()  # until the server closes it
        assert said.startswith("HTTP/1.1 408 ")
        assert "urn:ostinato:slow-body" in said


def test_a_refused_request_does_not_hold_its_connection(tmp_path):
    """It was answered before its body came, which is not waited for longer than others are."""
    lab = limited(tmp_path, body_seconds=0.2)
    with listening_at(lab.app) as port, socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head_of_tell("ost_1_wrong", 100) + b"{")
        said = connection.makefile("rb").read().decode()
        assert said.startswith("HTTP/1.1 401 ")
        assert said.count("HTTP/1.1 ") == 1


def test_requests_that_come_together_are_answered_in_order(tmp_path):
    """With the headers that every answer has, also where it is written in one piece."""
    lab = Lab(tmp_path / "lab.db")
    with listening_at(lab.app) as port, socket.create_connection(("127.0.0.1", port)) as connection:
        body = b'{"worker": "robot"}'
        head = head_of_tell(lab.tokens["worker"], len(body)).replace(b"/tell", b"/heartbeat")
        last = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        connection.sendall(head + body + head + body + last)
        said = connection.makefile("rb").read().decode().split("HTTP/1.1 ")[1:]
        assert [each[:3] for each in said] == ["200", "200", "200"]
        assert [each.endswith('{"changed":0}') for each in said] == [True, True, False]
        for name in (*HEADERS, "cache-control", "date", "content-type"):
            assert all(f"\r\n{name}: " in each for each in said), name


@pytest.mark.parametrize(
    ("limits", "sent", "status"),
    [
        ({"header_seconds": 0.2}, b"", 408),
        ({"header_seconds": 0.2}, b"GET /health HTTP/1.1\r\nHost: local", 408),
        ({"headers": 1_000}, b"GET /health HTTP/1.1\r\nX-Long: " + b"x" * 2_000, 431),
    ],
)
def test_slow_and_large_headers(tmp_path, limits, sent, status):
    lab = limited(tmp_path, **limits)
    with listening_at(lab.app) as port, socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(sent)
        said = connection.makefile("rb").read().decode()  # until the server closes it
        assert said.startswith(f"HTTP/1.1 {status} ")
        assert "application/problem+json" in said


def test_headers_one_byte_at_a_time(tmp_path):
    """Whoever goes on sending is not waited for either."""
    lab = limited(tmp_path, header_seconds=0.5)
    with listening_at(lab.app) as port, socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nX-Slow: ")
        while not select.select([connection], [], [], 0.05)[0]:
            connection.sendall(b"x")
        assert connection.recv(100).startswith(b"HTTP/1.1 408 ")


def test_too_many_requests_and_too_many_wrong_tokens(tmp_path):
    lab = limited(tmp_path, rate=0.001, burst=3, failures=3)
    answers = [lab.get("leases").status_code for _ in range(4)]
    assert answers == [200, 200, 200, 429]
    assert [lab.get(token="ost_1_wrong").status_code for _ in range(4)] == [401, 401, 401, 429]
    lab.app.service.close()


def test_what_is_reached_from_elsewhere_takes_a_token_and_tls(lab, tmp_path):
    from ostinato.storage import open_storage

    empty = open_storage(tmp_path / "empty.db")
    check_place(Place(), empty)
    for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8"):
        check_place(Place(host=host), empty)
    for host in ("0.0.0.0", "::", "192.168.1.5", "lab.example.org"):
        with pytest.raises(InvalidSetting, match="without TLS"):
            check_place(Place(host=host), lab.storage)
        with pytest.raises(InvalidSetting, match="no token"):
            check_place(Place(host=host, certfile="a", keyfile="b"), empty)
        check_place(Place(host=host, certfile="a", keyfile="b"), lab.storage)
        check_place(Place(host=host, behind_proxy=True), lab.storage)
    with pytest.raises(InvalidSetting, match="belong together"):
        check_place(Place(certfile="a"), lab.storage)
    assert Place(host="0.0.0.0", certfile="a", keyfile="b").config.secure


def test_nothing_of_a_token_is_logged(lab, caplog):
    secret = lab.tokens[Role.ADMIN]
    with caplog.at_level("DEBUG"):
        lab.get()
        lab.get(token=secret + "x")
        lab.request("GET", "/login?code=abc", role=None)
    assert secret[8:] not in caplog.text


def test_websockets_are_refused(lab):
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message["type"])

    asyncio.run(lab.app({"type": "websocket", "path": "/", "headers": []}, receive, send))
    assert sent == ["websocket.close"]


def test_keys_that_come_twice_and_long_conditions_are_refused_at_once(lab):
    began = time.process_time()
    body = b"{" + b",".join(b'"k%d":1' % i for i in range(20_000)) + b',"k19999":1}'
    answer = lab.request("POST", TELL, content=body, headers={"content-type": "application/json"})
    assert "'k19999' comes twice" in answer.json()["detail"]
    for condition in ("a" + " " * 20_000 + "b", "temp" + " " * 900 + ">"):
        assert lab.get("candidates", params={"where": condition}).status_code == 422
    assert time.process_time() - began < 2


def test_wrong_codes_lock_nobody_out_who_has_a_right_one(tmp_path):
    lab = limited(tmp_path, failures=3)
    foreign = {"sec-fetch-site": "cross-site"}
    for _ in range(5):
        answer = lab.request("GET", "/login?code=x", role=None, headers=foreign)
        assert answer.status_code == 401  # a page elsewhere does not use up the tries
    codes = [lab.request("GET", "/login?code=x", role=None).status_code for _ in range(4)]
    assert codes == [401, 401, 401, 429]
    assert lab.get(token="ost_1_wrong").status_code == 429
    assert lab.get().status_code == 200
    code = lab.app.service.authentication.new_code()
    assert lab.request("GET", f"/login?code={code}", role=None).status_code == 303
    lab.app.service.close()


def test_what_is_told_while_the_server_ends_is_refused(lab):
    (task,) = lab.post("ask", {"limit": 1}).json()["tasks"]
    told = {"batch": task["batch"], "start": task["start"], "values": [1.0]}
    assert lab.post("tell", told).status_code == 200
    lab.app.service.writer.close()

    async def tell():
        async with asyncio.timeout(60), lab.client("worker") as client:
            return await client.post(TELL, json=told)

    answer = asyncio.run(tell())
    assert answer.status_code == 503


def test_a_worker_puts_right_its_own_values_alone(lab):
    lab.post("observe", {"observations": [{"row": 0, "value": 1.0}]}, role="worker")
    lab.post("observe", {"observations": [{"row": 1, "value": 2.0}]})
    own, others = {"number": 1, "value": 1.5}, {"number": 2, "value": 2.5}
    assert lab.post("correct", own, role="worker").status_code == 200
    assert lab.post("correct", others, role="worker").status_code == 403
    for which in ({"numbers": [1, 2]}, {"batch": 0}, {"failures": True}):
        assert lab.post("retract", which, role="worker").status_code == 403
    assert lab.post("retract", {"numbers": [1]}, role="worker").json() == {"changed": 1}
    assert lab.post("correct", others).status_code == 200


def test_a_model_that_is_being_fitted_does_not_hold_up_the_end(tmp_path):
    lab, begun, free = limited(tmp_path), threading.Event(), threading.Event()

    def fit():
        begun.set()
        free.wait()

    async def end():
        fitting = asyncio.create_task(lab.app.service.think(fit))
        await asyncio.to_thread(begun.wait)
        closing = threading.Thread(target=lab.app.service.close, daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, 30)
        ended = not closing.is_alive()
        free.set()
        await fitting
        return ended

    assert asyncio.run(end())
