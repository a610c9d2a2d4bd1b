"""`jobmeter collect` keeps what ranks tell in a run folder that the reading commands understand."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from support import commands
from support.recorder import JOBMETER, Home, events, lines, merged, records, series, usage, wait_for


def hosts(folder: Path, ranks: str, collect: str = "") -> str:
    path = folder / "hosts.toml"
    path.write_text(f'[collect]\ncollection_interval = "50ms"\n{collect}\n[ranks]\n{ranks}\n')
    return str(path)


def collect(home: Home, *words: str, **more: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*JOBMETER, "collect", "--job", "J", *words],
        env=home.environ(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def write(folder: Path, rank: int, step: int, **more: object) -> None:
    record = {"timestamp": 1768910730.5 + step, "job_id": "j", "rank": rank, "step": step, **more}
    (folder / ".part").write_text(json.dumps(record) + "\n")
    (folder / ".part").rename(folder / f"metrics_rank{rank}.jsonl")


def recorded(home: Home, count: int) -> Path | None:
    found = list(home.path.glob("runs/*/*/steps.jsonl"))
    return found[0].parent if found and found[0].read_bytes().count(b"\n") >= count else None


def test_ctrl_c_ends_it_cleanly_and_the_run_can_be_read(home: Home, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    write(data, 0, 1, training_loss=float("nan"), learning_rate=2e-7, gpu_util=80, gpu_mem_used_gb=1.5)
    write(data, 1, 1, training_loss=-0.5)
    process = collect(home, "--ranks", hosts(tmp_path, f'"0-2" = "{data}"'))
    wait_for(lambda: recorded(home, 2))
    write(data, 0, 2, training_loss=99.0, learning_rate=2e-7)
    wait_for(lambda: recorded(home, 3))
    folder = wait_for(lambda: recorded(home, 3))
    wait_for(lambda: events(folder, "rank_missing"))
    process.send_signal(signal.SIGINT)
    done = home.finish(process)
    assert done.code == 0
    assert b"Traceback" not in done.stderr
    summary, seen = done.stdout.decode().splitlines()
    assert summary.startswith(f"{folder.name}  3 steps, ")
    assert seen == "ranks 0-1 of 3; never seen: 2"

    assert lines(folder / "steps.jsonl") == [
        {
            "timestamp": "2026-01-20T12:05:31.500000Z",
            "step": 1,
            "rank": 0,
            "source": "file",
            "metrics": {"training_loss": "NaN", "learning_rate": 2e-7},
        },
        {
            "timestamp": "2026-01-20T12:05:31.500000Z",
            "step": 1,
            "rank": 1,
            "source": "file",
            "metrics": {"training_loss": -0.5},
        },
        {
            "timestamp": "2026-01-20T12:05:32.500000Z",
            "step": 2,
            "rank": 0,
            "source": "file",
            "metrics": {"training_loss": 99.0, "learning_rate": 2e-7},
        },
    ]
    assert list(series(folder, "fleet_util")) == [("0", 80)]
    assert list(series(folder, "fleet_mem_used")) == [("0", 1.5 * 2**30)]
    (alert,) = events(folder, "alert")
    assert alert["details"] == {"rank": 0, "kind": "high_loss", "text": "rank 0: loss 99 is above 10"}
    (missing,) = events(folder, "rank_missing")
    assert missing["details"]["rank"] == 2
    run = merged(folder)
    assert (run["status"], run["exit_code"], run["job_id"], run["samples"]) == ("completed", 0, "J", 3)
    assert run["fleet"] == {"targets": {str(data): [0, 1, 2]}, "interval": 0.05}

    shown = json.loads(commands.jobmeter(home.path, "show", "last", "--json").text)
    assert (shown["job_id"], shown["status"], shown["ranks"]) == ("J", "completed", [0, 1])
    assert shown["world_size"] == 3
    assert "0-1 of 3; never seen: 2" in commands.jobmeter(home.path, "ranks", "J").text
    assert (shown["steps"]["count"], shown["steps"]["last_step"]) == (2, 2)
    assert shown["steps"]["metrics"]["loss"]["last"] == 99.0
    assert shown["headline"]["gpu_util_percent"]["value"] == 80
    assert shown["headline"]["gpu_memory_peak_bytes"]["keys"] == ["fleet_peak_mem_used"]
    (listed,) = json.loads(commands.jobmeter(home.path, "ls", "--json").text)
    assert listed["run_id"] == folder.name


def test_under_nohup_a_hangup_does_not_end_it(home: Home, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    write(data, 0, 1, training_loss=1.0)
    process = subprocess.Popen(
        ["nohup", *JOBMETER, "collect", "--job", "J", "--ranks", hosts(tmp_path, f'0 = "{data}"')],
        env=home.environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for(lambda: recorded(home, 1))
    process.send_signal(signal.SIGHUP)
    write(data, 0, 2, training_loss=1.0)
    wait_for(lambda: recorded(home, 2))
    process.send_signal(signal.SIGINT)
    assert home.finish(process).code == 0


def test_nobody_who_listens_is_no_reason_to_stop(home: Home, tmp_path: Path) -> None:
    with collect(home, "--ranks", hosts(tmp_path, f'0 = "{tmp_path}/nothing"')) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        process.stderr.close()
        folder = wait_for(lambda: next(iter(home.folders()), None))
        wait_for(lambda: events(folder, "rank_missing"))
        process.send_signal(signal.SIGINT)
        told = f"{folder.name}  0 steps, 1 rank_missing\nno rank of 1; never seen: 0\n"
        assert process.stdout.read().decode() == told
    assert process.returncode == 0


def test_a_duration_ends_it_and_json_says_how_it_went(home: Home, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "metrics_rank0.jsonl").write_text('{"training_loss": 1}\n')
    process = collect(home, "--ranks", hosts(tmp_path, f'0 = "{data}"'), "--duration", "300ms", "--json")
    done = home.finish(process)
    assert (done.code, done.stderr) == (0, b"")
    answer = json.loads(done.stdout)
    assert (answer["steps"], answer["events"], answer["ranks"], answer["never_seen"]) == (1, {}, [0], [])
    assert answer["folder"] == str(done.folder)
    (endpoint,) = answer["status"]["endpoints"]
    assert endpoint["target"] == str(data)
    assert endpoint["looks"] >= 2
    assert answer["status"]["ranks"]["0"]["breaker"] == "closed"
    # the file counts no steps: its records are numbered as they come, and that is said
    (step,) = lines(done.folder / "steps.jsonl")
    assert (step["step"], step["source"], "timestamp" in step) == (1, "file:counted", False)


def test_a_log_without_a_clock_makes_no_straggler(home: Home, tmp_path: Path) -> None:
    """Its steps are dated by the looks that found them: the beat of the collector is not the pace of the rank."""
    data = tmp_path / "data"
    (data / "logs").mkdir(parents=True)
    log = data / "logs" / "rank_1.log"
    log.write_text("")
    process = collect(home, "--ranks", hosts(tmp_path, f'"0-1" = "{data}"'))
    for step in range(1, 13):
        write(data, 0, step, training_loss=1.0)
        with log.open("a") as file:
            file.write(f"step: {step}/12 loss: {3 / step:.4f}\n")
        wait_for(lambda count=2 * step: recorded(home, count))  # type: ignore[misc]  # the step of this turn
    process.send_signal(signal.SIGINT)
    folder = home.finish(process).folder
    sources = {(line["rank"], line["source"]) for line in lines(folder / "steps.jsonl")}
    assert [rank for rank, _ in sorted(sources)] == [0, 1]
    assert [source.endswith(":seen") for _, source in sorted(sources)] == [False, True]
    job = json.loads(commands.jobmeter(home.path, "ranks", "J", "--json").text)
    first, second = job["ranks"]
    assert first["step_seconds"] == 1.0
    assert second["last_step"] == 12
    assert not {"step_seconds", "relative"} & second.keys()


def test_figures_of_gpus_are_windows_by_uuid(home: Home, tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho '0, GPU-aaaa, 87, 40, 10035, 81559, 301.5, [N/A]'\n")
    tool.chmod(0o755)
    (tmp_path / "data").mkdir()
    process = collect(
        home,
        "--ranks",
        hosts(tmp_path, f'3 = "{tmp_path}/data"'),
        PATH=f"{tool.parent}:{os.environ['PATH']}",
    )
    wait_for(lambda: any((path / "usage.jsonl").exists() and seen_gpus(path) >= 2 for path in home.folders()))
    process.send_signal(signal.SIGTERM)
    done = home.finish(process)
    assert done.code == 0
    first = next(line for line in usage(done.folder) if "nvsmi_util" in line["measurements"])
    assert first["measurements"] == {
        "nvsmi_util": {"GPU-aaaa": 87},
        "nvsmi_mem_util": {"GPU-aaaa": 40},
        "nvsmi_mem_used": {"GPU-aaaa": 10035 * 2**20},
        "nvsmi_mem_total": {"GPU-aaaa": 81559 * 2**20},
        "nvsmi_power": {"GPU-aaaa": 301.5},
        "fleet_host": {"GPU-aaaa": f"{tmp_path}/data"},
        "fleet_rank": {"GPU-aaaa": "3"},
    }
    begun, ended = first["clock"]["nvsmi"]
    assert begun < ended
    assert not (done.folder / "steps.jsonl").exists()
    assert "nvsmi_temp" not in records(done.folder)["end"]["provenance"]["selected"]
    shown = json.loads(commands.jobmeter(home.path, "show", "last", "--json").text)
    assert shown["summary"]["nvsmi_peak_mem_used"] == 10035 * 2**20


def seen_gpus(folder: Path) -> int:
    return (folder / "usage.jsonl").read_bytes().count(b"nvsmi_util")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--ranks", "/no/such.toml"], "cannot read /no/such.toml: no such file or directory"),
        (["--ranks", "EMPTY"], "no ranks"),
        (["--ranks", "GOOD", "--interval", "soon"], "--interval soon: use a duration such as"),
        (["--ranks", "GOOD", "--duration", "-1"], "--duration"),
    ],
)
def test_bad_input_is_one_sentence(home: Home, tmp_path: Path, words: list[str], sentence: str) -> None:
    (tmp_path / "empty.toml").write_text("")
    good = hosts(tmp_path, '0 = "/nowhere"')
    given = [{"EMPTY": str(tmp_path / "empty.toml"), "GOOD": good}.get(word, word) for word in words]
    done = home.finish(collect(home, *given))
    assert done.code == 2
    assert sentence in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    assert home.folders() == []


def test_a_collection_that_is_killed_leaves_a_readable_run(home: Home, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    write(data, 0, 1, training_loss=1.0)
    process = collect(home, "--ranks", hosts(tmp_path, f'0 = "{data}"'))
    folder = wait_for(lambda: recorded(home, 1))
    process.kill()
    home.finish(process)
    shown = json.loads(commands.jobmeter(home.path, "show", folder.name, "--json").text)
    assert (shown["status"], shown["job_id"]) == ("lost", "J")
