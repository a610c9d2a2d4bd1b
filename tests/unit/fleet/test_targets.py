"""Where ranks are: what can be written, what is refused, and which files are looked at."""

import json
import tomllib
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.fleet import hostsfile, targets
from jobmeter.fleet.settings import MetricsCollectorConfig
from jobmeter.fleet.targets import Scheme


@pytest.mark.parametrize(
    ("text", "scheme", "address", "folder"),
    [
        ("/data/job", Scheme.LOCAL, "/data/job", "/data/job"),
        ("file:///data/my%20job", Scheme.LOCAL, "/data/my job", "/data/my job"),
        ("ssh://node1/data/job", Scheme.SSH, "ssh://node1", "/data/job"),
        ("ssh://me@node1:2222/~/job", Scheme.SSH, "ssh://me@node1:2222", "job"),
        ("ssh://node1", Scheme.SSH, "ssh://node1", "."),
        ("ssh://[fe80::1]:22/d", Scheme.SSH, "ssh://[fe80::1]:22", "/d"),
        ("http://node1:8000/job", Scheme.HTTP, "http://node1:8000", "/job"),
        ("https://node1/m.json?t=1", Scheme.HTTP, "https://node1", "/m.json?t=1"),
    ],
)
def test_a_target_is_read(text: str, scheme: Scheme, address: str, folder: str) -> None:
    target = targets.parse(text)
    assert (target.scheme, target.address, target.folder) == (scheme, address, folder)


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        ("", "cannot read the target ''"),
        (7, "cannot read the target 7"),
        ("ftp://node1/x", "unknown kind of target: ftp"),
        ("ssh:///data", "a target needs a host: ssh:///data"),
        ("ssh://-oProxyCommand=evil/x", "a target needs a host: ssh://-oProxyCommand=evil/x"),
        ("ssh://me:secret@node1/x", "a target must not hold a password: ssh://node1"),
        ("http://me@node1/x", "a target must not hold a password: http://node1"),
        ("ssh://node1:99999/x", "cannot read the target ssh://node1:99999/x: Port out of range 0-65535"),
        ({"metrics_file": "x"}, "a rank's table needs a target"),
        ({"target": "/x", "colour": 1}, "unknown key of a target: colour"),
        ({"target": "/x", "gpu": True}, "cannot read gpu = True of a target"),
        ({"target": "/x", "log_file": 7}, "cannot read log_file = 7 of a target"),
        ({"target": "/x", "ssh_options": "-v"}, "ssh_options must be a list of words, not '-v'"),
    ],
)
def test_a_target_that_cannot_be_is_one_sentence(raw: object, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        targets.parse(raw)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("raw", "found"), [(3, [3]), ("3", [3]), ("0-3", [0, 1, 2, 3]), ("0,2, 4-5", [0, 2, 4, 5])]
)
def test_ranks_are_numbers_and_spans(raw: object, found: list[int]) -> None:
    assert targets.ranks(raw) == found


@pytest.mark.parametrize("raw", ["", "a", "-1", "3-1", "0,0", "1-", -1, True, 1.5, "0-99999999999999"])
def test_ranks_that_cannot_be_are_refused(raw: object) -> None:
    with pytest.raises(UsageError, match="cannot read the ranks"):
        targets.ranks(raw)


@pytest.mark.parametrize("raw", ["0-99999999999", "0-60000,60001-120000"])
def test_more_ranks_than_any_job_has_are_refused(raw: str) -> None:
    with pytest.raises(UsageError, match="too many ranks") as refused:
        targets.ranks(raw)
    assert refused.value.hint == "a job may have 100,000"


def test_a_rank_has_one_target() -> None:
    with pytest.raises(UsageError, match="rank 3 has two targets"):
        targets.cluster({"0-3": "/a", 3: "/b"})


def test_the_file_of_the_rank_comes_before_the_one_that_ranks_share() -> None:
    places = targets.places(targets.cluster({"0-1": "/data/{job}"}), MetricsCollectorConfig(), "j1")
    assert places[1].metrics == ("/data/j1/metrics_rank1.jsonl", "/data/j1/training_metrics.json")
    assert places[0].log == ("/data/j1/logs/rank_0.log", "/data/j1/training.log")
    # the log that both would read is read for the lower rank
    assert places[1].log == ("/data/j1/logs/rank_1.log",)
    assert places[1].shared == {"/data/j1/training_metrics.json"}


def test_a_name_somebody_chose_is_the_only_one() -> None:
    config = MetricsCollectorConfig(metrics_file="m{rank}.json", log_file="out/{rank}.txt")
    place = targets.places(targets.cluster({5: "ssh://n/d"}), config, "j")[5]
    assert (place.metrics, place.log, place.shared) == (("/d/m5.json",), ("/d/out/5.txt",), frozenset())
    table = {"target": "http://n/d", "metrics_file": "a b.json"}
    place = targets.places(targets.cluster({5: table}), config, "j")[5]
    assert place.metrics == ("/d/a%20b.json",)


def test_a_target_may_be_the_metrics_file_itself() -> None:
    place = targets.places(targets.cluster({0: "/d/x.jsonl"}), MetricsCollectorConfig(), "j")[0]
    assert (place.metrics, place.log, place.folder) == (("/d/x.jsonl",), (), "/d")
    table = {"target": "/d/x.json", "log_file": "run.log"}
    assert targets.places(targets.cluster({0: table}), MetricsCollectorConfig(), "j")[0].log == (
        "/d/run.log",
    )


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "hosts.toml"
    path.write_text(text)
    return str(path)


def test_a_hosts_file_is_read(tmp_path: Path) -> None:
    hosts = hostsfile.read(
        write(
            tmp_path,
            """
            [collect]
            collection_interval = "500ms"
            collection_timeout = 3
            high_loss_threshold = 5
            breaker_failures = 2
            breaker_seconds = 7
            ssh_options = ["-i", "/k"]
            [ranks]
            "0-1" = "ssh://n1/d"
            2 = { target = "/here", gpu = 3 }
            """,
        )
    )
    assert sorted(hosts.cluster) == [0, 1, 2]
    assert hosts.cluster[0].ssh_options == ("-i", "/k")
    assert hosts.cluster[2].gpu == 3
    assert (hosts.config.collection_interval, hosts.config.high_loss_threshold) == (0.5, 5)
    assert (hosts.policy.failures, hosts.policy.open_seconds) == (2, 7)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ranks = 3", "PATH: no ranks"),
        ("[ranks]", "PATH: no ranks"),
        ("[hosts]\n0 = '/x'", "PATH: unknown table: hosts"),
        ("[ranks]\n0 = 7", "PATH: cannot read the target 7"),
        ("[ranks]\nx = '/a'", "PATH: cannot read the ranks 'x'"),
        ("[collect]\ninterval = 1\n[ranks]\n0 = '/a'", "PATH: unknown setting: interval"),
        (
            "[collect]\nbreaker_failures = 0\n[ranks]\n0 = '/a'",
            "PATH: breaker_failures must be a whole number above 0, not 0",
        ),
        (
            "[collect]\ncollection_interval = 'soon'\n[ranks]\n0 = '/a'",
            "collection_interval: use a duration such as 0.5, 200ms, 90s, 10m or 2h",
        ),
    ],
)
def test_a_hosts_file_that_cannot_be_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UsageError) as refused:
        hostsfile.read(path)
    assert str(refused.value) == sentence.replace("PATH", path)


def test_what_is_no_toml_and_what_is_not_there(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps({"ranks": {}}))
    with pytest.raises(UsageError, match="is not TOML: "):
        hostsfile.read(path)
    with pytest.raises(UsageError, match="cannot read /no/such: no such file or directory"):
        hostsfile.read("/no/such")


def test_the_documented_hosts_file_is_read() -> None:
    page = (Path(__file__).parents[3] / "docs" / "fleet.md").read_text()
    block = page.partition("```toml\n")[2].partition("```")[0]
    hosts = hostsfile.interpret(tomllib.loads(block), "docs/fleet.md")
    assert sorted(hosts.cluster) == list(range(19))
    assert hosts.cluster[16].gpu == 0
    assert hosts.config.collection_interval == 2.0
