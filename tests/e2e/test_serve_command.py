"""`jobmeter serve` as a process: where it listens, whom it answers, how it ends."""

import json
import os
import re
import signal
import sqlite3
import ssl
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from support import commands, folders, receivers
from support.recorder import wait_for
from support.server import Served, serving

OTHER_USER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Give one server that no test stops."""
    home = tmp_path_factory.mktemp("served") / "home"
    home.mkdir(mode=0o700)
    folders.write_run(home, seconds=5)
    with serving(home) as found:
        yield found


def listeners(pid: int) -> list[str]:
    """List what a process listens on, as the kernel tells it: address and port in hexadecimal."""
    held = {os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir() if path.is_symlink()}
    rows = [
        row.split()
        for table in ("tcp", "tcp6")
        for row in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()
    ]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in held]


def test_it_listens_on_loopback_alone(served: Served) -> None:
    port = int(served.url.rpartition(":")[2])
    assert listeners(served.process.pid) == [f"0100007F:{port:04X}"]


def test_what_it_leaves_in_the_home_is_this_users_alone(served: Served) -> None:
    modes = {path.name: path.stat().st_mode & 0o077 for path in served.home.iterdir() if path.is_file()}
    assert {"server.db", "server.json", "token"} <= modes.keys()
    assert set(modes.values()) == {0}


@pytest.mark.parametrize("path", ["/", "/health"])
def test_two_paths_need_no_token(served: Served, path: str) -> None:
    with served.stranger() as stranger:
        assert stranger.get(path).status_code == 200


@pytest.mark.parametrize("path", ["/", "/health", "/api/v1/runs", "/api/v1/stream", "/docs"])
def test_head_is_get_without_a_body(served: Served, path: str) -> None:
    answer = served.client.head(path)
    assert answer.status_code == 200
    assert answer.content == b""
    if path != "/api/v1/stream":
        assert answer.headers["content-length"] == served.client.get(path).headers["content-length"]


def test_head_is_refused_where_get_is(served: Served) -> None:
    with served.stranger() as stranger:
        assert [stranger.head(path).status_code for path in ("/health", "/docs", "/nowhere")] == [
            200,
            401,
            401,
        ]


def test_a_stranger_learns_nothing_but_that_it_lives(served: Served) -> None:
    with served.stranger() as stranger:
        assert stranger.get("/health").json().keys() == {"status", "version"}
        assert folders.RUN_ID not in stranger.get("/").text


@pytest.mark.parametrize(
    "path",
    [
        "/docs",
        "/openapi.json",
        "/openapi/openapi.json",
        "/api/v1/runs",
        "/nowhere",
        "/health/",
        "/metrics",
    ],
)
def test_everything_else_does_even_what_is_not_there(served: Served, path: str) -> None:
    with served.stranger() as stranger:
        answer = stranger.get(path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer wrong",
        "Basic TOKEN",
        "TOKEN",
        "bearer jm_00000000_x",
        "Bearer TOKEN TOKEN",
    ],
)
def test_what_is_no_token_is_refused(served: Served, header: str) -> None:
    with served.stranger(headers={"authorization": header.replace("TOKEN", served.token)}) as stranger:
        assert stranger.get("/docs").status_code == 401


def test_a_token_in_the_address_or_a_cookie_is_none(served: Served) -> None:
    with served.stranger(cookies={"token": served.token}) as stranger:
        assert stranger.get("/docs", params={"token": served.token}).status_code == 401


def test_every_answer_has_the_headers_that_keep_browsers_safe(served: Served) -> None:
    for path in ("/", "/docs", "/nowhere", "/api/v1/runs"):
        headers = served.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers
        assert "set-cookie" not in headers
        assert "server" not in headers


def test_the_pages_hold_no_inline_scripts_and_nothing_from_elsewhere(served: Served) -> None:
    for path in ("/", "/docs"):
        page = served.client.get(path).text
        scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
        assert all('src="/' in attributes and not body for attributes, body in scripts)
        assert page.count("<script") == len(scripts)
        assert not re.findall(r"""\b(?:src|href|action)=["'](?:\w+:)?//""", page)
        assert not re.findall(r"<[^>]*\son\w+=", page)


def test_a_scope_that_is_missing_is_named(served: Served) -> None:
    made = commands.jobmeter(served.home, "token", "create", "agent-scope", "--scope", "ingest")
    headers = {"authorization": f"Bearer {made.text.strip()}"}
    with served.stranger(headers=headers) as agent:
        answer = agent.get("/api/v1/runs")
    assert answer.status_code == 403
    assert answer.json()["detail"] == "this token may not do that: it needs the scope read"


def test_a_route_that_says_nothing_of_scopes_needs_admin(served: Served) -> None:
    made = commands.jobmeter(
        served.home, "token", "create", "reader-scope", "--scope", "read", "--scope", "ingest"
    )
    with served.stranger(headers={"authorization": f"Bearer {made.text.strip()}"}) as reader:
        answer = reader.get("/openapi/openapi.json")  # the framework's own, which we gave no scope
    assert answer.json()["detail"] == "this token may not do that: it needs the scope admin"
    assert served.client.get("/openapi/openapi.json").status_code == 200


def test_a_token_works_from_when_it_is_made_until_it_is_revoked(served: Served) -> None:
    made = commands.jobmeter(served.home, "token", "create", "reader", "--json")
    token = json.loads(made.text)
    assert token["scopes"] == ["read"]
    with served.stranger(headers={"authorization": f"Bearer {token['token']}"}) as reader:
        assert reader.get("/docs").status_code == 200
        assert commands.jobmeter(served.home, "token", "revoke", "reader").text.startswith(
            f"revoked {token['id']}"
        )
        assert reader.get("/docs").status_code == 401
    listed = json.loads(commands.jobmeter(served.home, "token", "list", "--json").text)
    assert [row["revoked_at"] is None for row in listed if row["name"] == "reader"] == [False]
    assert all("token" not in row and "digest" not in row for row in listed)


def test_a_new_run_is_seen_and_then_its_end(served: Served) -> None:
    run_id = "20261115T095002Z-00000a"
    folder = folders.write_run(
        served.home, run_id=run_id, seconds=2, start=folders.this_recorder(), ended=False
    )

    def status() -> object:
        answer = served.client.get(f"/api/v1/runs/{run_id}")
        return answer.json().get("status") if answer.status_code == 200 else None

    wait_for(lambda: status() == "running")
    folders.append(folder / "run.jsonl", folders.end_record(2))
    wait_for(lambda: status() == "completed")


def test_a_second_unix_user_gets_nothing(served: Served) -> None:
    script = (
        "import os, sys, urllib.request, urllib.error\n"
        "home, url = sys.argv[1:]\n"
        "for name in ('token', 'server.db', 'server.json', 'runs'):\n"
        "    try: os.listdir(f'{home}/{name}') if name == 'runs' else open(f'{home}/{name}').read()\n"
        "    except PermissionError: print('refused')\n"
        "try: urllib.request.urlopen(url + '/api/v1/runs')\n"
        "except urllib.error.HTTPError as error: print(error.code)\n"
    )
    done = subprocess.run(
        [*OTHER_USER, sys.executable, "-I", "-c", script, str(served.home), served.url],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert done.stdout.split() == ["refused"] * 4 + ["401"], done.stderr


def test_the_address_for_the_browser_is_told_to_the_owner(served: Served) -> None:
    told = commands.jobmeter(served.home, "ui", "--no-browser")
    assert told.text.strip() == f"{served.url}/#token={served.token}"


def test_no_token_is_told_at_the_start(served: Served) -> None:
    told = served.greeting + "".join(served.complaints)
    assert "a token is asked for" in told
    assert served.token not in told
    assert served.token.encode() not in Path(f"/proc/{served.process.pid}/cmdline").read_bytes()


def test_a_port_in_use_is_one_sentence_and_exit_2(served: Served, tmp_path: Path) -> None:
    port = served.url.rpartition(":")[2]
    answer = commands.jobmeter(tmp_path / "home", "serve", "--no-browser", "--port", port)
    assert answer.code == 2
    assert (
        answer.complaint.splitlines()[0]
        == f"jobmeter: cannot listen on 127.0.0.1:{port}: address already in use"
    )
    assert len(answer.complaint.splitlines()) == 2


def test_what_would_let_others_in_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("no certificate")
    no_pair = f"{tmp_path}/no.pem and {tmp_path}/no.pem are no certificate and its key, or the key has a pass phrase"
    refused = {
        "--host 0.0.0.0": "tokens would cross the network to 0.0.0.0 in plain text",
        "--host 0.0.0.0 --no-auth": "--no-auth on 0.0.0.0 would let the whole network in",
        "--tls-cert x": "--tls-cert and --tls-key go together",
        f"--tls-cert {tmp_path}/no.pem --tls-key {tmp_path}/no.pem": no_pair,
        "--port x": "--port needs a whole number, not 'x'",
        "--database mysql://x": "unknown kind of database: mysql",
    }
    lines = (("serve", "--no-browser", "--port", "0", *line.split()) for line in refused)
    answers = commands.several(tmp_path / "home", *lines)
    assert [answer.code for answer in answers] == [2] * len(refused)
    assert [answer.complaint.splitlines()[0] for answer in answers] == [
        f"jobmeter: {sentence}" for sentence in refused.values()
    ]


TOKEN = {"JOBMETER_TOKEN": "a-token-from-the-environment"}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Give a server of a project's home with everything set: address, TLS, token, names, rate."""
    folder = tmp_path_factory.mktemp("tuned")
    cert = receivers.certificate(folder)
    config = folder / "config" / "jobmeter"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[server]\nallowed_hosts = ["localhost", "meter.example"]\n')
    home = folder / "project" / ".jobmeter"
    home.mkdir(parents=True)
    (home / "config.toml").write_text('[server]\nallowed_hosts = ["project.example"]\nport = 1\n')
    arguments = ("--host", "0.0.0.0", "--tls-cert", str(cert), "--tls-key", str(cert))  # noqa: S104
    env = {**TOKEN, "XDG_CONFIG_HOME": str(folder / "config")}
    context = ssl.create_default_context(cafile=str(folder / "public.pem"))
    with serving(home, *arguments, "--requests-per-second", "10", env=env, verify=context) as found:
        found.url = found.url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        found.client.base_url = httpx.URL(found.url)
        yield found


def test_over_tls_it_listens_on_every_address(tuned: Served) -> None:
    assert tuned.url.startswith("https://")
    assert tuned.client.get("/docs").status_code == 200
    assert listeners(tuned.process.pid) == [f"00000000:{int(tuned.url.rpartition(':')[2]):04X}"]


def test_the_variable_is_the_token_on_both_sides(tuned: Served) -> None:
    assert not (tuned.home / "token").exists()
    assert tuned.client.get("/docs").status_code == 200
    told = commands.jobmeter(tuned.home, "ui", "--no-browser", env=TOKEN)
    assert told.text.strip().endswith("/#token=a-token-from-the-environment")


def test_settings_come_from_the_users_file_and_never_from_a_projects(tuned: Served) -> None:
    assert tuned.client.get("/docs", headers={"host": "meter.example"}).status_code == 200
    assert tuned.client.get("/docs", headers={"host": "project.example"}).status_code == 403
    # the same file does not disturb a recording
    env = {"XDG_CONFIG_HOME": str(tuned.home.parents[1] / "config")}
    done = commands.jobmeter(tuned.home, "run", "--", "true", env=env)
    assert done.code == 0, done.complaint


def flood(client: httpx.Client) -> list[httpx.Response]:
    """Ask from many sides at once: a busy machine that is asked by one alone may not reach ten a second."""
    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(lambda _: client.get("/docs"), range(400)))


def test_a_flood_is_answered_with_how_long_to_wait(tuned: Served) -> None:
    made = commands.jobmeter(tuned.home, "token", "create", "flood").text.strip()
    with httpx.Client(
        base_url=tuned.url, transport=tuned.client._transport, trust_env=False
    ) as client:  # it has the certificate
        client.headers["authorization"] = f"Bearer {made}"
        # forty at once, then ten a second
        assert [client.get("/docs").status_code for _ in range(40)] == [200] * 40
        refused = [answer for answer in flood(client) if answer.status_code == 429]
        assert refused
        assert int(refused[0].headers["retry-after"]) == 1
        # those without a token cannot use up what those with one may
        del client.headers["authorization"]
        assert 429 in [answer.status_code for answer in flood(client)]
        assert client.get("/docs", headers={"authorization": f"Bearer {tuned.token}"}).status_code == 200


def test_a_unix_socket_is_this_users_alone_and_may_need_no_token(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(tmp_path / "home", "--unix-socket", str(path), "--no-auth") as served:
        assert path.stat().st_mode & 0o777 == 0o600
        assert listeners(served.process.pid) == []
        del served.client.headers["authorization"]
        assert served.client.get("/docs").status_code == 200
        assert served.client.get("/docs", headers={"host": "attacker.example"}).status_code == 403
        # without a token the origin still counts
        assert (
            served.client.post("/nowhere", headers={"origin": "http://attacker.example"}).status_code == 403
        )
        script = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
        tmp_path.chmod(0o755)
        other = [*OTHER_USER, sys.executable, "-I", "-c", script, str(path)]
        done = subprocess.run(other, capture_output=True, text=True, check=False, cwd="/")
        assert "PermissionError" in done.stderr
        assert ends_streams(served, signal.SIGTERM) == 0
        assert not path.exists()


def ends_streams(served: Served, number: int) -> int:
    """Stop a server that somebody listens to, and give its exit code."""
    with served.client.stream("GET", "/api/v1/stream") as stream:
        lines = stream.iter_lines()
        next(lines)
        code = served.stop(number)
        assert not [line for line in lines if "Traceback" in line]
    assert not (served.home / "server.json").exists()
    assert "Traceback" not in "".join(served.complaints)
    return code


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    script = "import sys; sys.modules['uvicorn'] = None; from jobmeter.__main__ import main; sys.exit(main(['serve']))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=commands.environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "jobmeter: the package uvicorn is missing",
        "hint: install it: pip install 'jobmeter[server]'",
    ]


def test_a_server_that_was_killed_is_followed_by_one_that_goes_on(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folders.write_run(home, seconds=2)
    made = commands.jobmeter(home, "token", "create", "reader").text.strip()
    with serving(home) as killed:
        token = killed.token
        killed.process.kill()
        killed.process.wait()
    assert (home / "server.json").exists()  # nobody could take it away
    told = commands.jobmeter(home, "ui", "--no-browser")
    assert told.complaint.startswith("jobmeter: no server answers at http://127.0.0.1:")
    with serving(home) as served, served.stranger(headers={"authorization": f"Bearer {made}"}) as reader:
        assert served.token == token
        assert reader.get(f"/api/v1/runs/{folders.RUN_ID}").json()["status"] == "completed"
        # what nobody can ask whether a token holds is unavailable, no fault of who asks
        with sqlite3.connect(home / "server.db") as db:
            db.execute("ALTER TABLE token RENAME TO lost")
        assert reader.get("/api/v1/runs").status_code == 503
        assert ends_streams(served, signal.SIGINT) == 0
