"""The samples of a build, with a clock and a host of our own making."""

import json
from pathlib import Path

import pytest

from jobmeter.config import options
from jobmeter.recording.buildstats import BuildStats
from support.clocks import FakeClock


class Host:
    """The files of a host with disks."""

    def __init__(self, proc: Path) -> None:
        self.proc = proc
        self.set(busy=0, available_gb=60, written_mb=43758)

    def set(self, *, busy: int, available_gb: int, written_mb: int) -> None:
        (self.proc / "stat").write_text(f"cpu  {busy} 0 0 0 0 0 0 0 0 0\n")
        memory = f"MemTotal: {64 << 20} kB\nMemFree: 1 kB\nMemAvailable: {available_gb << 20} kB\n"
        (self.proc / "meminfo").write_text(memory)
        disk = f"   8       0 sda 1 0 {1386 * 2048} 0 1 0 {written_mb * 2048} 0 0 0 0\n"
        (self.proc / "diskstats").write_text(disk)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(wall=1763089814.0)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    proc = tmp_path / "proc"
    proc.mkdir()
    return Host(proc)


def samples(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "build-stats.jsonl").read_text().splitlines()]


def test_a_sample_has_the_fields_of_campaigns(
    tmp_path: Path, host: Host, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    stats = BuildStats(str(tmp_path), 60, str(host.proc), clock)
    clock.now += 1
    host.set(busy=200, available_gb=63, written_mb=43758)
    stats.look()
    assert (tmp_path / "build-stats.jsonl").read_text() == (
        '{"ts":"2025-11-14T03:10:15+00:00","cpu":50,"mem_used_gb":1,"mem_total_gb":64,'
        '"io_read_mb":1386,"io_write_mb":43758}\n'
    )


def test_samples_are_a_minute_apart_whenever_somebody_looks(
    tmp_path: Path, host: Host, clock: FakeClock
) -> None:
    stats = BuildStats(str(tmp_path), 60, str(host.proc), clock)
    stats.look()
    assert samples(tmp_path) == []
    for _ in range(125):
        clock.now += 1
        stats.look()
    assert [str(sample["ts"])[14:19] for sample in samples(tmp_path)] == ["10:15", "11:15", "12:15"]


def test_a_recorder_that_stood_still_makes_nothing_up(tmp_path: Path, host: Host, clock: FakeClock) -> None:
    stats = BuildStats(str(tmp_path), 60, str(host.proc), clock)
    clock.now += 601
    stats.look()
    clock.now += 1
    stats.look()
    assert len(samples(tmp_path)) == 1


def test_the_end_is_sampled_unless_the_last_sample_is_fresh(
    tmp_path: Path, host: Host, clock: FakeClock
) -> None:
    stats = BuildStats(str(tmp_path), 60, str(host.proc), clock)
    clock.now += 30
    stats.look()
    clock.now += 0.5
    stats.look(final=True)
    assert len(samples(tmp_path)) == 1
    clock.now += 20
    stats.look(final=True)
    assert len(samples(tmp_path)) == 2


def test_what_a_host_does_not_tell_is_absent(tmp_path: Path, clock: FakeClock) -> None:
    stats = BuildStats(str(tmp_path), 60, str(tmp_path / "no-proc"), clock)
    stats.look(final=True)
    assert samples(tmp_path) == [{"ts": "2025-11-14T03:10:14+00:00"}]


def test_an_older_file_is_begun_anew(tmp_path: Path, host: Host, clock: FakeClock) -> None:
    (tmp_path / "build-stats.jsonl").write_text("older\n")
    BuildStats(str(tmp_path), 60, str(host.proc), clock)
    assert (tmp_path / "build-stats.jsonl").read_text() == ""


def test_a_result_that_cannot_be_written_is_a_sentence(
    tmp_path: Path, host: Host, clock: FakeClock, capfd: pytest.CaptureFixture[str]
) -> None:
    stats = BuildStats(str(tmp_path), 60, str(host.proc), clock)
    (tmp_path / "build-stats.json").mkdir()
    stats.finish()
    told = capfd.readouterr()
    assert told.err == f"jobmeter: cannot write {tmp_path}/build-stats.json: Is a directory\n"
    assert list(tmp_path.glob("*.part")) == []


@pytest.mark.parametrize(
    ("given", "folder"), [("--build-stats", "/"), ("--build-stats=/tmp", "/tmp"), ("--build-stats=no", None)]
)
def test_the_option_is_a_switch_that_may_name_a_folder(given: str, folder: str | None) -> None:
    parsed, command = options.parse([given, "--", "true"], {}, "/")
    assert (parsed.build_stats, command) == (folder, ["true"])


def test_the_host_is_looked_at_as_often_as_samples_are_due() -> None:
    words = ["--build-stats", "--build-stats-interval", "2", "--sample-interval", "60", "true"]
    parsed, _ = options.parse(words, {}, "/")
    assert (parsed.sample_interval, parsed.build_stats_interval) == (2.0, 2.0)
