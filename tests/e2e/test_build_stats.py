"""`jobmeter run --build-stats`, as a step of a Dockerfile runs it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from jobmeter.formats import buildlog
from support.recorder import Home

FIELDS = ["ts", "cpu", "mem_used_gb", "mem_total_gb", "io_read_mb", "io_write_mb"]
DISKS = any(
    line.split()[2][:2] in ("sd", "vd", "nv", "xv", "mm")
    for line in Path("/proc/diskstats").read_text().splitlines()
)


def split(out: bytes) -> tuple[bytes, list[dict[str, object]]]:
    """Take what the job wrote apart from the block behind it."""
    own, found, block = out.partition(b"\nBUILD_STATS_JSON_START\n")
    assert found
    document, found, rest = block.partition(b"BUILD_STATS_JSON_END\n")
    assert (bool(found), rest) == (True, b"")
    return own, json.loads(document)["samples"]


def test_samples_go_to_the_log_and_to_both_files(home: Home, tmp_path: Path) -> None:
    done = home.run(
        f"--build-stats={tmp_path}",
        "--build-stats-interval",
        "0.3",
        "--",
        "sh",
        "-c",
        "echo hi; sleep 1.5; exit 7",
    )
    own, samples = split(done.stdout)
    assert (done.code, own) == (7, b"hi\n")
    assert 3 <= len(samples) <= 8
    assert json.loads((tmp_path / "build-stats.json").read_text()) == {"samples": samples}
    lines = (tmp_path / "build-stats.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == samples
    assert sorted(os.listdir(tmp_path)) == ["build-stats.json", "build-stats.jsonl", "home"]
    assert buildlog.find_samples(done.stdout.decode()) == samples


def test_a_sample_is_of_the_whole_host(home: Home, tmp_path: Path) -> None:
    done = home.run(f"--build-stats={tmp_path}", "--", "sleep", "0.2")
    _, (sample,) = split(done.stdout)
    assert list(sample) == (FIELDS if DISKS else FIELDS[:4])
    total = int(Path("/proc/meminfo").read_text().split()[1]) * 1024
    assert sample["mem_total_gb"] == pytest.approx(total / 2**30, abs=0.01)
    assert 0 < float(str(sample["mem_used_gb"])) < total / 2**30
    assert 0 <= float(str(sample["cpu"])) <= 100
    assert str(sample["ts"]).endswith("+00:00")


def test_a_busy_host_is_seen(home: Home, tmp_path: Path) -> None:
    burn = "for i in $(seq $(nproc)); do timeout 1 sh -c 'while :; do :; done' & done; wait"
    done = home.run(f"--build-stats={tmp_path}", "--", "sh", "-c", burn)
    _, samples = split(done.stdout)
    assert max(float(str(sample["cpu"])) for sample in samples) > 60


def test_a_job_too_short_for_a_sample_still_gets_one(home: Home, tmp_path: Path) -> None:
    own, samples = split(home.run(f"--build-stats={tmp_path}", "--", "echo", "quick").stdout)
    assert (own, len(samples)) == (b"quick\n", 1)


@pytest.mark.parametrize("job", ["printf 'no end of line'", "head -c 300000 /dev/zero"])
def test_the_bytes_before_the_block_are_the_jobs(home: Home, tmp_path: Path, job: str) -> None:
    plain = subprocess.run(["sh", "-c", job], capture_output=True, check=True).stdout
    own, _ = split(home.run(f"--build-stats={tmp_path}", "--", "sh", "-c", job).stdout)
    assert own == plain


def test_the_block_follows_in_a_file_too(home: Home, tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        assert home.run(f"--build-stats={tmp_path}", "--", "echo", "hi", stdout=out).code == 0
    own, _ = split((tmp_path / "out").read_bytes())
    assert own == b"hi\n"


@pytest.mark.parametrize(("ending", "code"), [("kill -9 $$", 137), ("exit 3", 3), ("kill $$", 143)])
def test_the_block_is_written_however_the_job_ends(
    home: Home, tmp_path: Path, ending: str, code: int
) -> None:
    done = home.run(f"--build-stats={tmp_path}", "--", "sh", "-c", ending)
    assert done.code == code
    assert len(split(done.stdout)[1]) == 1


def test_a_place_that_cannot_be_written_costs_one_sentence(home: Home) -> None:
    done = home.run("--build-stats=/proc/nowhere", "-q", "--", "sh", "-c", "echo hi; exit 4")
    own, samples = split(done.stdout)
    assert (done.code, own, len(samples)) == (4, b"hi\n", 1)
    assert done.stderr == (
        b"jobmeter: cannot write /proc/nowhere/build-stats.jsonl: No such file or directory: "
        b"the samples go to the log only\n"
    )


def test_a_full_disk_costs_the_files_never_the_job(home: Home, tmp_path: Path) -> None:
    (tmp_path / "build-stats.jsonl").symlink_to("/dev/full")
    done = home.run(f"--build-stats={tmp_path}", "-q", "--", "sh", "-c", "exit 5")
    assert done.code == 5
    assert len(split(done.stdout)[1]) == 1
    assert done.stderr == b"jobmeter: cannot write build-stats.jsonl: No space left on device\n"


def test_a_reader_that_left_harms_nobody(home: Home, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = home.run(f"--build-stats={tmp_path}", "-q", "--", "sh", "-c", "exit 6", stdout=writing)
    os.close(writing)
    assert (done.code, done.stderr) == (6, b"")


def test_a_closed_output_gets_no_block(home: Home, tmp_path: Path) -> None:
    done = home.run(
        f"--build-stats={tmp_path}", "-q", "--", "true", preexec_fn=lambda: os.close(1), stdout=None
    )
    assert (done.code, done.stderr) == (0, b"")
    assert len(json.loads((tmp_path / "build-stats.json").read_text())["samples"]) == 1


def test_without_the_option_there_is_no_block(home: Home) -> None:
    assert home.run("-q", "--", "echo", "hi").stdout == b"hi\n"


def test_a_variable_switches_it_on(home: Home, tmp_path: Path) -> None:
    done = home.run("--", "true", env=home.environ(JOBMETER_BUILD_STATS=str(tmp_path)))
    assert len(split(done.stdout)[1]) == 1
    off = home.run("--", "true", env=home.environ(JOBMETER_BUILD_STATS="no"))
    assert off.stdout == b""
