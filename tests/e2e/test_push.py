"""Runs reach a real server whole, once, and only from whom they belong to."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import zstandard

from support import commands, folders, pushing
from support.recorder import Home, wait_for
from support.server import Served, serving

HEADERS = {"content-type": pushing.CONTENT_TYPE}
START = b'{"type": "start", "run_id": "x"}\n'


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Give one server that no test stops."""
    home = tmp_path_factory.mktemp("served") / "home"
    home.mkdir(mode=0o700)
    with serving(home) as found:
        yield found


def pushing_to(served: Served, **more: str) -> dict[str, str]:
    return {
        "JOBMETER_SERVER": served.url,
        "JOBMETER_TOKEN": served.token,
        "JOBMETER_PUSH_INTERVAL": "0.5",
        **more,
    }


def shown(served: Served, run_id: str) -> dict[str, object]:
    """Ask the server what it knows of a run; empty while it knows nothing."""
    answer = served.client.get(f"/api/v1/runs/{run_id}")
    return dict(answer.json()) if answer.status_code == 200 else {}


def test_all_runs_are_pushed_once_and_look_the_same_there(served: Served, tmp_path: Path) -> None:
    home = tmp_path / "home"
    ids = folders.write_many(home, 3)
    first = commands.jobmeter(home, "push", env=pushing_to(served))
    assert (first.code, first.complaint) == (0, "")
    assert re.findall(r"^(\S+)  pushed \S+ KiB$", first.text, re.MULTILINE) == sorted(ids)
    assert first.text.endswith(f"3 pushed to {served.url}\n")
    again = commands.jobmeter(home, "push", env=pushing_to(served))
    assert (again.code, again.text) == (0, f"{served.url} has every run\n")
    for run_id in ids:
        here = json.loads(commands.jobmeter(home, "show", run_id, "--json").text)
        there = wait_for(lambda run_id=run_id: shown(served, run_id))  # type: ignore[misc]
        apart = ("disk_bytes", "folder")
        assert {key: there[key] for key in there if key not in apart} == {
            key: here[key] for key in here if key not in apart
        }


def test_what_a_server_lost_is_pushed_again(served: Served, tmp_path: Path) -> None:
    home = tmp_path / "home"
    ids = folders.write_many(home, 3)
    assert commands.jobmeter(home, "push", env=pushing_to(served)).code == 0
    for run_id in ids:
        (there,) = served.home.glob(f"runs/*/{run_id}")
        shutil.rmtree(there)
    again = commands.jobmeter(home, "push", env=pushing_to(served))
    assert again.code == 0
    assert len(list(served.home.glob("runs/*/*/run.jsonl"))) >= 3
    for run_id in ids:
        wait_for(lambda run_id=run_id: shown(served, run_id))  # type: ignore[misc]
    (there,) = served.home.glob(f"runs/*/{ids[0]}")
    shutil.rmtree(there)
    named = commands.jobmeter(home, "push", ids[0], env=pushing_to(served))
    assert (named.code, "pushed" in named.text) == (0, True)
    assert there.exists()


def test_a_run_arrives_while_it_lasts_and_whole_when_it_ended(served: Served, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    script = "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo password=hunter2secret; exit 3"
    process = home.start(
        "-q", "--server", served.url, "--", "sh", "-c", script,
        cwd=tmp_path, env=home.environ(**pushing_to(served)),
    )  # fmt: skip
    (folder,) = wait_for(home.folders)
    copy = served.home / "runs" / folder.parent.name / folder.name
    wait_for(lambda: (copy / "stdout").exists() and (copy / "stdout").read_bytes() == b"begun\n")
    wait_for(lambda: shown(served, folder.name).get("status") == "running")
    (tmp_path / "go").touch()
    finished = home.finish(process)
    assert (finished.code, finished.stdout) == (3, b"begun\npassword=hunter2secret\n")
    wait_for(lambda: not pushing.followers(home.path))
    pairs = pushing.copied(folder, served.home)
    assert pairs.pop("stdout")[1] == b"begun\npassword=[redacted]   \n"
    assert {"run.jsonl", "usage.jsonl", "output.index"} <= pairs.keys()
    assert [name for name, (here, there) in pairs.items() if here != there] == []
    wait_for(lambda: shown(served, folder.name).get("status") == "failed")


def test_as_the_first_process_of_a_container_it_stays_for_the_last_push(
    served: Served, tmp_path: Path
) -> None:
    """There the follower is its child, and everything is killed as soon as it ends."""
    home = Home(tmp_path / "home")
    ran = home.run(
        "-q", "--wait-for-children", "--server", served.url, "--", "sh", "-c", "echo one; sleep 0.3; exit 5",
        before=["unshare", "--pid", "--fork", "--mount-proc"], env=home.environ(**pushing_to(served)),
    )  # fmt: skip
    assert (ran.code, ran.stdout) == (5, b"one\n")
    assert "processes_left" not in ran.run
    assert ran.run["summary"]["wait_cputime"] < 0.05
    assert [
        name for name, (here, there) in pushing.copied(ran.folder, served.home).items() if here != there
    ] == []


def test_output_in_a_file_of_ones_own_arrives_from_the_jobs_first_byte_on(
    served: Served, tmp_path: Path
) -> None:
    home = Home(tmp_path / "home")
    log = tmp_path / "slurm-17.out"
    log.write_bytes(b"of an earlier job\n")
    with log.open("ab") as file:
        process = home.start(
            "-q", "--", "sh", "-c", "echo one; sleep 1.2; echo two",
            stdout=file, env=home.environ(**pushing_to(served)),
        )  # fmt: skip
    home.finish(process)
    (folder,) = home.folders()
    wait_for(lambda: not pushing.followers(home.path))
    log.write_bytes(log.read_bytes() + b"of a later job\n")
    copy = served.home / "runs" / folder.parent.name / folder.name
    assert (copy / "stdout").read_bytes() == b"one\ntwo\n"
    offsets = [json.loads(line)[1] for line in (copy / "output.index").read_text().splitlines()]
    assert offsets[-1] == 8
    logs = commands.jobmeter(served.home, "logs", folder.name)
    assert logs.out == b"one\ntwo\n"
    again = commands.jobmeter(home.path, "push", folder.name, env=pushing_to(served))
    assert again.text.startswith(f"{folder.name}  the server has all of it")


def test_what_people_add_later_is_pushed_later(served: Served, tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = folders.write_run(home, run_id="20261115T110000Z-00beef", seconds=5)
    env = pushing_to(served)
    assert commands.jobmeter(home, "push", env=env).code == 0
    wait_for(lambda: shown(served, folder.name))
    assert commands.jobmeter(home, "tag", folder.name, "team=vision").code == 0
    assert commands.jobmeter(served.home, "tag", folder.name, "seen=yes").code == 0
    assert commands.jobmeter(home, "push", env=env).code == 0

    def tags() -> object:
        return shown(served, folder.name).get("tags")

    wait_for(lambda: tags() == {"k": "v", "seen": "yes", "team": "vision"})


@pytest.mark.parametrize("encoding", ["identity", "gzip", "zstd"])
def test_bodies_may_be_compressed(served: Served, encoding: str) -> None:
    packed = {"identity": bytes, "gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress}[encoding]
    run_id = f"20261115T120000Z-{encoding}"
    sent = packed(pushing.body(("run.jsonl", 0, b"", START)))  # type: ignore[operator]  # each takes bytes
    answer = post(served.client, run_id, sent, **{"content-encoding": encoding})
    assert (answer.status_code, answer.json()) == (200, {"files": {"run.jsonl": len(START)}})


def post(client: httpx.Client, run_id: str, content: bytes, **headers: str) -> httpx.Response:
    return client.post(f"/api/v1/runs/{run_id}/sync", content=content, headers=HEADERS | headers)


def test_a_gap_is_answered_with_what_is_there(served: Served) -> None:
    run_id = "20261115T120000Z-gap000"
    post(served.client, run_id, pushing.body(("stdout", 0, b"", b"one")))
    answer = post(served.client, run_id, pushing.body(("stdout", 9, b"?", b"two")))
    assert answer.status_code == 409
    assert answer.json()["files"] == {"stdout": {"size": 3, "crc32": 2053932785}}


@pytest.mark.parametrize("packed", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_a_body_that_unpacks_to_a_gigabyte_is_refused_in_little_memory(
    served: Served, packed: object
) -> None:
    bomb = packed(pushing.body(("stdout", 0, b"", bytes(1 << 28))))  # type: ignore[operator]  # each takes bytes
    encoding = "gzip" if bomb[:2] == b"\x1f\x8b" else "zstd"
    before = resident_mb(served)
    answer = post(served.client, "20261115T120000Z-bomb00", bomb, **{"content-encoding": encoding})
    assert answer.status_code == 413
    assert resident_mb(served) - before < 100


def resident_mb(served: Served) -> float:
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"", {}, 400),
        (b"garbage", {}, 400),
        (b"garbage", {"content-encoding": "gzip"}, 400),
        (b"garbage", {"content-encoding": "zstd"}, 400),
        (b"garbage", {"content-encoding": "br"}, 415),
        (b"{}", {"content-type": "application/json"}, 415),
        (pushing.body(("../../etc/passwd", 0, b"", b"x\n")), {}, 400),
        (pushing.body(("synced.json", 0, b"", b"x\n")), {}, 400),
    ],
)
def test_what_is_no_body_of_a_push_is_refused_in_a_sentence(
    served: Served, content: bytes, headers: dict[str, str], status: int
) -> None:
    answer = post(served.client, "20261115T120000Z-bad000", content, **headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"]


@pytest.mark.parametrize("run_id", ["..%2f..%2fx", "%2e%2e", "abc", "20269915T1", ".x", "a%00b"])
def test_an_id_that_is_none_becomes_no_path(served: Served, run_id: str) -> None:
    before = sorted(os.listdir(served.home))
    answer = post(served.client, run_id, pushing.body(("stdout", 0, b"", b"x")))
    assert answer.status_code in (400, 404, 405)
    assert sorted(os.listdir(served.home)) == before


def test_tokens_push_their_own_runs_and_nothing_else(served: Served) -> None:
    def made(name: str, scope: str) -> httpx.Client:
        answer = commands.jobmeter(served.home, "token", "create", name, "--scope", scope, "--json")
        token = json.loads(answer.text)["token"]
        client = served.stranger()
        client.headers["authorization"] = f"Bearer {token}"
        return client

    run_id = "20261115T120000Z-owned0"
    one, other, reader = made("agent-1", "ingest"), made("agent-2", "ingest"), made("people", "read")
    request = pushing.body(("run.jsonl", 0, b"", START))
    with one, other, reader, served.stranger() as stranger:
        assert post(one, run_id, request).status_code == 200
        statuses = [post(client, run_id, request).status_code for client in (other, reader, stranger)]
        assert statuses == [403, 403, 401]
        assert post(one, run_id, request).status_code == 200
        assert one.get("/api/v1/runs").status_code in (403, 404)


def test_a_pushed_run_that_names_files_of_the_server_gets_none_of_them(served: Served) -> None:
    run_id = "20261115T120000Z-thief0"
    outputs = [{"stream": "stdout", "mode": "inherited", "path": "/etc/passwd", "offset": 0}]
    records = folders.dump(folders.start_record(run_id)) + folders.dump(
        folders.context_record(outputs=outputs)
    )
    assert post(served.client, run_id, pushing.body(("run.jsonl", 0, b"", records))).status_code == 200
    wait_for(lambda: shown(served, run_id))
    assert b"root:" not in commands.jobmeter(served.home, "logs", run_id).out
    for path in (f"/api/v1/runs/{run_id}/logs", f"/api/v1/runs/{run_id}/report"):
        assert "root:" not in served.client.get(path).text


def test_a_server_passes_runs_on_to_another(served: Served, tmp_path: Path) -> None:
    config = tmp_path / "config" / "jobmeter"
    config.mkdir(parents=True)
    token = tmp_path / "upstream-token"
    token.write_text(served.token)
    token.chmod(0o600)
    (config / "config.toml").write_text(
        f'[upstream]\nserver = "{served.url}"\ntoken_file = "{token}"\ninterval = 0.2\n'
    )
    home = tmp_path / "cluster"
    home.mkdir(mode=0o700)
    own = folders.write_run(home, run_id="20261115T130000Z-0000aa", seconds=5)
    with serving(home, env={"XDG_CONFIG_HOME": str(tmp_path / "config")}) as cluster:
        node = tmp_path / "node"
        sent = folders.write_run(node, run_id="20261115T130000Z-0000bb", seconds=5)
        assert commands.jobmeter(node, "push", env=pushing_to(cluster)).code == 0
        for folder in (own, sent):
            wait_for(lambda folder=folder: shown(served, folder.name).get("status") == "completed")  # type: ignore[misc]
            pairs = pushing.copied(folder, served.home)
            assert [name for name, (here, there) in pairs.items() if here != there] == []


@pytest.mark.parametrize(
    ("words", "env", "code", "sentence"),
    [
        ((), {}, 2, "no server to push to"),
        (("--server", "ftp://x"), {}, 2, "not a server's address"),
        (("--server", "http://192.0.2.1"), {}, 2, "unencrypted"),
        (("nosuchrun", "--server", "http://127.0.0.1:1"), {}, 2, "nosuchrun"),
        (("--server", "http://127.0.0.1:1"), {}, 1, "connection refused"),
    ],
)
def test_what_cannot_be_pushed_is_said_with_its_exit_code(
    tmp_path: Path, words: tuple[str, ...], env: dict[str, str], code: int, sentence: str
) -> None:
    home = tmp_path / "home"
    folders.write_run(home, seconds=5)
    answer = commands.jobmeter(home, "push", *words, env={"XDG_CONFIG_HOME": str(tmp_path / "none"), **env})
    assert answer.code == code
    assert sentence in answer.text + answer.complaint
    assert "Traceback" not in answer.complaint


def test_a_wrong_token_is_refused_and_told(served: Served, tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = folders.write_run(home, seconds=5)
    answer = commands.jobmeter(
        home, "push", "--json", env=pushing_to(served, JOBMETER_TOKEN="jm_wrong_" + "x" * 40)
    )
    assert answer.code == 1
    (run,) = json.loads(answer.text)["runs"]
    assert (run["run_id"], run["became"]) == (folder.name, "refused")
    assert "token" in run["reason"]


def test_the_sdk_pushes_by_the_same_settings(served: Served, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    script = [
        "import jobmeter",
        "run = jobmeter.init()",
        "for step in range(5):",
        "    run.log({'loss': 0.5})",
    ]
    (tmp_path / "train.py").write_text("\n".join([*script, "run.finish()", ""]))
    subprocess.run(
        [sys.executable, tmp_path / "train.py"],
        env=home.environ(**pushing_to(served)),
        check=True,
        timeout=60,
    )
    (folder,) = home.folders()
    copy = served.home / "runs" / folder.parent.name / folder.name
    wait_for(
        lambda: (copy / "steps.jsonl").exists() and (copy / "steps.jsonl").read_bytes().count(b"\n") == 5
    )
    wait_for(lambda: shown(served, folder.name).get("status") == "completed")
