"""Alerts reach people: from a real run alone, from a real server, and by hand."""

import hashlib
import hmac
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import commands, receivers, server
from support.recorder import Home, merged, wait_for

SECRET = "a-key-nobody-may-see"  # noqa: S105  # of a test
HUNGRY = """
import time
memory = bytearray(200 << 20)
memory[::4096] = b"x" * len(memory[::4096])
time.sleep(1)
del memory
time.sleep(0.8)
raise ValueError("no more")
"""
RULES = """
[rules.memory-high]
key = "memory"
value = "120MiB"
for = "0.3s"
clear_for = "0.3s"
[rules.failed]
kind = "verdict"
severity = "critical"
"""


@pytest.fixture
def receiver() -> Iterator[receivers.Receiver]:
    with receivers.receiver() as found:
        yield found


def settle(home: Path, receiver: receivers.Receiver, rules: str = RULES) -> None:
    home.mkdir(exist_ok=True, mode=0o700)
    (home / "alerts.toml").write_text(
        f"""[channels.hook]
        url = "{receiver.url}/T0/hidden-path"
        secret = "{SECRET}"
        allow = ["127.0.0.0/8"]
        group = "0.05s"
        {rules}"""
    )


def told(receiver: receivers.Receiver, **of: object) -> list[tuple[str, str]]:
    """List what a receiver was told, all or of some runs."""
    alerts = [one for posted in receiver.posted for one in json.loads(posted.body)["alerts"]]
    return [(one["state"], one["rule"]) for one in alerts if of.items() <= one.items()]


def test_a_run_that_crosses_its_memory_threshold_fires_once_and_resolves_once(
    home: Home, receiver: receivers.Receiver
) -> None:
    settle(home.path, receiver)
    done = home.run("-q", "--capture", "all", "--sample-interval", "0.1", "--", sys.executable, "-c", HUNGRY)
    assert done.code == 1
    wait_for(lambda: len(told(receiver)) >= 3, seconds=30)
    assert told(receiver) == [("firing", "memory-high"), ("resolved", "memory-high"), ("firing", "failed")]
    for posted in receiver.posted:
        signed = f"{posted.headers['X-Jobmeter-Timestamp']}.".encode() + posted.body
        expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
        assert posted.headers["X-Jobmeter-Signature"] == f"sha256={expected}"
    wait_for(lambda: not (done.folder / "alerts.lock").exists(), seconds=30)
    shown = json.loads(commands.jobmeter(home.path, "alerts", "--json").text)
    assert {(one["rule"], one["state"]) for one in shown["alerts"]} == {
        ("memory-high", "resolved"),
        ("failed", "firing"),
    }
    page = commands.jobmeter(home.path, "show", "last").text
    assert page.count("alert: ") == 3
    assert "alert: firing: failed: the job failed: ValueError: no more" in page
    assert SECRET not in page


def test_a_run_without_rules_has_no_follower(home: Home) -> None:
    done = home.run("-q", "--", "true")
    assert done.code == 0
    assert sorted(path.name for path in done.folder.iterdir() if "alert" in path.name) == []


def test_what_the_job_itself_says_reaches_people(home: Home, receiver: receivers.Receiver) -> None:
    settle(home.path, receiver, rules="")
    script = 'import jobmeter; jobmeter.init().alert("bad batch", "loss is 1e9", level="ERROR")'
    assert home.run("-q", "--", sys.executable, "-c", script).code == 0
    wait_for(lambda: told(receiver), seconds=30)
    (alert,) = json.loads(receiver.posted[0].body)["alerts"]
    assert (alert["rule"], alert["sentence"]) == ("told", "bad batch: loss is 1e9")


def test_the_user_s_own_settings_count_for_every_home(home: Home, receiver: receivers.Receiver) -> None:
    settings = home.path / "no-config" / "jobmeter" / "config.toml"  # where the home of a test looks
    settings.parent.mkdir(parents=True)
    settings.write_text(
        f'[alerts.channels.hook]\nurl = "{receiver.url}/"\nallow = ["127.0.0.0/8"]\ngroup = "0.05s"\n'
        '[alerts.rules.failed]\nkind = "verdict"\n'
    )
    assert home.run("-q", "--", "false").code == 1
    wait_for(lambda: told(receiver), seconds=30)
    assert told(receiver) == [("firing", "failed")]


def test_rules_that_cannot_be_never_touch_the_job(home: Home) -> None:
    home.path.mkdir()
    (home.path / "alerts.toml").write_text("[rules.r]\nkind = 'weather'\n")
    done = home.run("--", "true")
    assert done.code == 0
    wait_for(lambda: (done.folder / "alerts.json").exists(), seconds=30)
    listed = commands.jobmeter(home.path, "alerts")
    assert "not watched for: " in listed.text
    assert "rule r: kind is weather" in listed.text


@dataclass(frozen=True, slots=True)
class Watching:
    """A server with rules, and who is told of what it finds."""

    served: server.Served
    receiver: receivers.Receiver


@pytest.fixture(scope="module")
def watching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watching]:
    """Give one server that no test stops."""
    home = tmp_path_factory.mktemp("watching") / "home"
    with receivers.receiver() as receiver:
        settle(home, receiver)
        with server.serving(home, env={"XDG_CONFIG_HOME": str(home)}) as served:
            yield Watching(served, receiver)


def test_a_server_tells_of_runs_that_are_pushed_to_it(tmp_path: Path, watching: Watching) -> None:
    here, served = Home(tmp_path / "here"), watching.served
    environ = here.environ(
        JOBMETER_SERVER=served.url, JOBMETER_TOKEN=served.token, JOBMETER_PUSH_INTERVAL="0.5"
    )
    words = ("-q", "--capture", "all", "--sample-interval", "0.1", "--", sys.executable, "-c", HUNGRY)
    done = here.run(*words, env=environ)
    run_id = merged(done.folder)["run_id"]
    expected = [("firing", "memory-high"), ("resolved", "memory-high"), ("firing", "failed")]
    wait_for(lambda: len(told(watching.receiver, run_id=run_id)) >= 3, seconds=40)
    assert told(watching.receiver, run_id=run_id) == expected
    shown = served.client.get("/api/v1/alerts", params={"run": run_id}).json()
    assert {(one["rule"], one["state"]) for one in shown["alerts"]} == {
        ("memory-high", "resolved"),
        ("failed", "firing"),
    }
    assert [one["state"] for one in shown["history"]] == ["firing", "resolved", "firing"]

    def told_events() -> list[str]:
        events = served.client.get(f"/api/v1/runs/{run_id}/events").json()["events"]
        return [event["details"]["state"] for event in events if event["type"] == "alert"]

    wait_for(lambda: len(told_events()) == 3, seconds=20)
    everything = served.client.get("/api/v1/alerts").text + served.client.get("/api/v1/alerts/rules").text
    assert SECRET not in everything
    assert "hidden-path" not in everything


def test_silences_over_the_api(watching: Watching) -> None:
    served = watching.served
    made = served.client.post(
        "/api/v1/alerts/silences",
        json={"where": "project=quiet", "seconds": 3600, "rules": ["failed"], "comment": "moving disks"},
    )
    assert made.status_code == 201
    assert (made.json()["where"], made.json()["by"]) == ("project=quiet", "local")
    (listed,) = served.client.get("/api/v1/alerts/silences").json()["silences"]
    assert listed["id"] == made.json()["id"]
    for project in ("quiet", "loud"):
        assert commands.jobmeter(served.home, "run", "-q", "--project", project, "--", "false").code == 1

    # both are noted, one is told
    wait_for(lambda: told(watching.receiver, project="loud"), seconds=30)
    wait_for(lambda: len(silenced(served)) == 2, seconds=30)
    assert silenced(served) == [None, made.json()["id"]]
    assert told(watching.receiver, project="loud") == [("firing", "failed")]
    assert told(watching.receiver, project="quiet") == []
    ended = served.client.delete(f"/api/v1/alerts/silences/{made.json()['id']}")
    assert ended.status_code == 200
    assert served.client.get("/api/v1/alerts/silences").json() == {"silences": []}
    assert served.client.delete("/api/v1/alerts/silences/nope").status_code == 404


def silenced(served: server.Served) -> list[str | None]:
    """Say of the runs of `false`, the newest first, which silence kept them quiet."""
    shown = served.client.get("/api/v1/alerts", params={"rule": "failed"}).json()["history"]
    return [one.get("silenced_by") for one in shown if one["job"] == "false"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"seconds": 0},
        {"seconds": -1},
        {"seconds": 1e99},
        {"seconds": 60, "where": "nosuch=1"},
        {"seconds": 60, "webhook": "http://x"},
        {"seconds": "soon"},
    ],
)
def test_silences_that_cannot_be(watching: Watching, body: dict[str, object]) -> None:
    answer = watching.served.client.post("/api/v1/alerts/silences", json=body)
    assert answer.status_code == 400
    assert answer.json()["detail"]


@pytest.mark.parametrize("query", ["state=burning", "limit=0", "limit=1001", "limit=x", "q=1"])
def test_questions_that_cannot_be(watching: Watching, query: str) -> None:
    assert watching.served.client.get(f"/api/v1/alerts?{query}").status_code == 400


def test_a_reader_may_not_silence(watching: Watching) -> None:
    made = commands.jobmeter(watching.served.home, "token", "create", "dash", "--scope", "read")
    assert made.code == 0, made.complaint
    headers = {"authorization": f"Bearer {made.text.strip().splitlines()[-1]}"}
    with watching.served.stranger(headers=headers) as reader:
        assert reader.get("/api/v1/alerts").status_code == 200
        assert reader.post("/api/v1/alerts/silences", json={"seconds": 60}).status_code == 403


def test_rules_over_the_api(watching: Watching) -> None:
    told_rules = watching.served.client.get("/api/v1/alerts/rules").json()
    assert {one["name"] for one in told_rules["rules"]} == {
        "low_throughput",
        "high_loss",
        "low_gpu_util",
        "told",
        "memory-high",
        "failed",
    }
    assert [(one["name"], one["target"], one["signed"]) for one in told_rules["channels"]] == [
        ("hook", "http://127.0.0.1", True)
    ]


def test_a_server_with_rules_that_cannot_be_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "alerts.toml").write_text("[rules.r]\nkind = 'weather'\n")
    answer = commands.jobmeter(tmp_path / "home", "serve", "--no-browser", "--port", "0")
    assert answer.code == 2
    assert "rule r: kind is weather" in answer.complaint


def test_the_test_of_channels_says_what_happened_to_each(
    tmp_path: Path, receiver: receivers.Receiver
) -> None:
    settle(tmp_path, receiver, rules='[channels.mirror]\nurl = "http://127.0.0.1:9/"\n')
    answer = commands.jobmeter(tmp_path, "alerts", "test")
    assert answer.code == 1
    assert answer.text == (
        "hook (http://127.0.0.1): delivered, accepted with 204\n"
        "mirror (http://127.0.0.1): failed, the address is not on the open Internet:"
        " name its range in allow, where that is meant\n"
    )
    (alert,) = json.loads(receiver.posted[0].body)["alerts"]
    assert alert["sentence"] == "this is a test: alerts of jobmeter reach you here"
    one = commands.jobmeter(tmp_path, "alerts", "test", "hook", "--json")
    assert one.code == 0
    assert json.loads(one.text)["channels"][0]["delivered"] is True
    assert SECRET not in one.text + answer.text


def test_rules_and_silences_on_the_command_line(tmp_path: Path, receiver: receivers.Receiver) -> None:
    settle(tmp_path, receiver)
    asked = ("silence", "project=llm", "--for", "2h", "--rule", "failed", "--comment", "disks", "--json")
    rules, none, made, listed = commands.several(
        tmp_path, ("alerts", "rules"), ("alerts",), ("alerts", *asked), ("alerts", "silences")
    )
    assert rules.code == 0
    for line in (
        "memory > 125,829,120 for 300 ms",
        "channel hook: webhook to http://127.0.0.1, signed",
        "high_loss",
    ):
        assert line in rules.text
    assert SECRET not in rules.text
    assert none.text == "no alerts\n"
    record = json.loads(made.text)
    assert (record["where"], record["rules"], record["comment"]) == ("project=llm", ["failed"], "disks")
    assert listed.text == f"{record['id']}: project=llm, failed, until {record['until']} (disks)\n"
    ended, left = commands.several(tmp_path, ("alerts", "unsilence", record["id"]), ("alerts", "silences"))
    assert ended.text.startswith(f"ended: {record['id']}: ")
    assert left.text == "no silence holds\n"


def test_a_list_says_that_the_rules_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "alerts.toml").write_text("[rules\n")
    listed = commands.jobmeter(tmp_path, "alerts")
    assert listed.code == 0
    assert listed.text.startswith("no alerts\nnot watched for: ")
    assert "alerts.toml is not valid TOML" in listed.text


def test_what_cannot_be_asked_for(tmp_path: Path) -> None:
    refused = {
        "test": "no channel is set up",
        "silence project=x": "a silence needs to know how long",
        "silence project=x --for long": "long is no span of time",
        "silence nosuch=x --for 2h": "cannot read the filter",
        "unsilence": "unsilence takes the id of a silence",
        "unsilence x": "no silence x holds",
        "list x": "list takes no names",
        "dance": "action cannot be 'dance'",
    }
    answers = commands.several(tmp_path, *(("alerts", *line.split()) for line in refused))
    assert [answer.code for answer in answers] == [2] * len(refused)
    for answer, sentence in zip(answers, refused.values(), strict=True):
        assert sentence in answer.complaint
