"""`jobmeter.init` and `run.log` in real processes, alone and under `jobmeter run`."""

import json
import signal
import subprocess

import pytest

from support.recorder import JOBMETER, Home, merged, wait_for
from support.training import script, steps, told, train, whole_lines

EXACT = """
run = jobmeter.init(project="p", name="n", config={"lr": 0.1}, tags=["fast"], group="g", notes="why")
run.log({"loss": 0.1, "tokens": 9007199254740993})
run.log({"loss": float("nan"), "up": float("inf"), "down": float("-inf")}, step=7)
run.log({"loss": 1e308, "ok": True, "eval": {"acc": 0.5}, "note": "text"})
run.log({"loss": -1.5, "note": "text"}, step=3)
run.summary["best"] = 0.1
run.event("batch_size_changed", {"from": 8, "to": 16})
run.alert("loss is high", "look", level="ERROR")
"""


def test_a_run_of_its_own_keeps_what_it_was_told(home: Home) -> None:
    done = train(home, EXACT + "run.finish()\nprint(run.id, run.step)")
    folder = done.folder
    assert done.out == f"{folder.name} 4\n"
    found = steps(folder)
    assert [(record["step"], record["metrics"]) for record in found] == [
        (0, {"loss": 0.1, "tokens": 9007199254740993}),
        (7, {"loss": "NaN", "up": "Infinity", "down": "-Infinity"}),
        (8, {"loss": 1e308, "ok": 1, "eval/acc": 0.5}),
        (3, {"loss": -1.5}),
    ]
    assert {(record["rank"], record["source"]) for record in found} == {(0, "sdk")}
    assert done.err == "jobmeter: metric note refused: the text 'text' is not a number\n"
    (init,) = told(folder, "init")
    assert {
        key: init[key] for key in ("project", "name", "group", "notes", "config", "rank", "world_size")
    } == {
        "project": "p",
        "name": "n",
        "group": "g",
        "notes": "why",
        "config": {"lr": 0.1},
        "rank": 0,
        "world_size": 1,
    }
    assert init["packages"]["msgspec"] == __import__("msgspec").__version__
    assert told(folder, "summary")[0]["summary"] == {"best": 0.1}
    (finish,) = told(folder, "finish")
    assert (finish["exit_code"], finish["status"]) == (0, "completed")
    changed, alert = whole_lines(folder / "events.sdk.jsonl")
    assert (changed["type"], changed["details"]) == ("batch_size_changed", {"from": 8, "to": 16})
    assert changed["config"] == {"lr": 0.1}
    assert alert["details"] == {"title": "loss is high", "text": "look", "level": "ERROR"}


def test_finish_leaves_the_end_written(home: Home) -> None:
    """Not waited for: the record is there when `finish` returns."""
    done = train(home, "run = jobmeter.init(name='n', project='p', tags={'k': 'v'})\nrun.finish()\n")
    run = merged(done.folder)
    assert (run["type"], run["status"], run["exit_code"]) == ("end", "completed", 0)
    assert (run["name"], run["project"], run["tags"], run["attached"]) == ("n", "p", {"k": "v"}, True)
    assert run["job_id"] == run["run_id"] == done.folder.name
    assert run["samples"] >= 1
    assert run["wall_seconds"] > 0


@pytest.mark.parametrize(
    ("ending", "code", "status", "signal_name"),
    [
        ("", 0, "completed", None),
        ("sys.exit(3)", 3, "failed", None),
        ("raise SystemExit(4)", 4, "failed", None),
        ("sys.exit('no')", 1, "failed", None),
        ("raise ValueError('boom')", 1, "failed", None),
        ("raise KeyboardInterrupt", -signal.SIGINT, "cancelled", "SIGINT"),
        ("os._exit(5)", 5, "failed", None),
        ("os.kill(os.getpid(), 15)", -signal.SIGTERM, "killed", "SIGTERM"),
        ("os.kill(os.getpid(), 9)", -signal.SIGKILL, "killed", "SIGKILL"),
    ],
)
def test_how_the_training_ended_is_known(
    ending: str, code: int, status: str, signal_name: str | None, home: Home
) -> None:
    text = f"import os, sys\nrun = jobmeter.init()\nrun.log({{'loss': 1.0}})\n{ending}\n"
    done = train(home, text, code=code)
    run = done.run
    exit_code = 128 - code if code < 0 else code
    assert (run["status"], run["exit_code"], run["signal"]) == (status, exit_code, signal_name)
    assert [record["metrics"] for record in steps(done.folder)] == [{"loss": 1.0}]


def test_an_exception_is_an_event_with_its_text(home: Home) -> None:
    text = """
    jobmeter.init()
    def main():
        raise ValueError("cannot use token=hf_abcdefghijklmnopqrstuvwxyz0123")
    main()
    """
    done = train(home, text, code=1)
    assert "ValueError: cannot use token" in done.err  # the traceback is printed as ever
    (event,) = whole_lines(done.folder / "events.sdk.jsonl")
    assert event["type"] == "exception"
    assert event["details"] == {
        "type": "ValueError",
        "text": "cannot use token=[redacted]",
        "where": "<string>:5 in main",
    }
    assert told(done.folder, "finish")[0]["exit_code"] == 1


def test_a_context_manager_ends_the_run(home: Home) -> None:
    text = """
    try:
        with jobmeter.init() as run:
            run.log({"loss": 1})
            raise RuntimeError("out")
    except RuntimeError:
        print(jobmeter.run, run.finished)
    """
    done = train(home, text)
    assert done.out == "None True\n"
    run = merged(done.folder)
    assert (run["type"], run["status"], run["exit_code"]) == ("end", "failed", 1)
    assert whole_lines(done.folder / "events.sdk.jsonl")[0]["details"]["text"] == "out"


def test_an_exception_that_leaves_a_with_block_is_told_once_and_of_nothing_else(home: Home) -> None:
    done = train(home, "with jobmeter.init() as run:\n    run.log({'loss': 1})\n    1 / 0\n", code=1)
    assert "jobmeter" not in done.err.replace("jobmeter.init()", "")
    assert len(told(done.folder, "exception", "events.sdk.jsonl")) == 1


def test_names_are_taken_whatever_they_are(home: Home) -> None:
    odd = "class Odd:\n    def __str__(self): raise ValueError('no words')\n"
    done = train(home, f"{odd}jobmeter.init(project=5, name=b'x', job_id=7, group=Odd()).finish()")
    assert (done.code, done.err) == (0, "")
    assert (done.run["project"], done.run["name"], done.run["job_id"]) == ("5", "x", "7")


def test_the_job_of_jobmeter_run_is_joined(home: Home) -> None:
    done = home.run("-q", "--name", "nightly", *script(EXACT))
    assert done.code == 0
    assert home.folders() == [done.folder]
    assert len(steps(done.folder)) == 4
    assert done.run["name"] == "nightly"
    assert "attached" not in done.run
    (finish,) = told(done.folder, "finish")
    assert finish["status"] == "completed"


def test_threads_do_not_tear_each_others_lines(home: Home) -> None:
    text = """
    import sys, threading
    sys.setswitchinterval(1e-5)
    run = jobmeter.init()
    def work(number):
        for count in range(3000):
            run.log({"who": number, "count": count, "pad" * number: 0.5})
    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    """
    done = train(home, text)
    found = steps(done.folder)
    assert [record["step"] for record in found] == list(range(12_000))
    for number in range(1, 5):
        counts = [r["metrics"]["count"] for r in found if r["metrics"]["who"] == number]
        assert counts == list(range(3000))


def test_a_signal_handler_may_log_at_any_moment(home: Home) -> None:
    text = """
    import signal
    run = jobmeter.init()
    heard = 0
    def on_alarm(*_):
        global heard
        heard += 1
        run.log({"alarm": heard})
    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    logged = 0
    while heard < 200:
        run.log({"loss": 0.5})
        logged += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(heard, logged)
    """
    done = train(home, text)
    heard, logged = map(int, done.out.split())
    found = steps(done.folder)
    assert len([r for r in found if "loss" in r["metrics"]]) == logged
    assert sorted(r["metrics"]["alarm"] for r in found if "alarm" in r["metrics"]) == list(
        range(1, heard + 1)
    )
    assert [record["step"] for record in found] == list(range(heard + logged))


def test_a_second_init_gives_the_same_run_until_it_is_finished(home: Home) -> None:
    """As when a cell of a notebook is run again."""
    text = """
    first = jobmeter.init(config={"a": 1})
    second = jobmeter.init(config={"b": 2})
    print(first is second, jobmeter.run is first)
    first.finish()
    first.finish()
    third = jobmeter.init()
    print(third is first, first.id, third.id)
    """
    said, again = train(home, text).out.splitlines()
    assert said == "True True"
    assert again.startswith("False ")
    first, second = (home.folders()[0].parent / name for name in again.split()[1:])
    assert told(first, "config")[0]["config"] == {"b": 2}
    assert merged(first)["status"] == "completed"
    wait_for(lambda: merged(second).get("type") == "end")


def test_metrics_that_come_in_parts_are_one_step(home: Home) -> None:
    text = """
    run = jobmeter.init()
    run.log({"a": 1}, commit=False)
    run.log({"b": float("nan")}, commit=False)
    run.log({"c": 3})
    run.log({"d": 4}, step=10, commit=False)
    run.log({"e": 5}, step=11)
    run.log({"f": 6}, commit=False)
    """
    found = steps(train(home, text).folder)
    assert [(record["step"], record["metrics"]) for record in found] == [
        (0, {"a": 1, "b": "NaN", "c": 3}),
        (10, {"d": 4}),
        (11, {"e": 5}),
        (12, {"f": 6}),
    ]


def test_a_resumed_run_counts_on_and_names_the_earlier_one(home: Home) -> None:
    text = """
    import sys
    run = jobmeter.init(project="p", name="n", resume=sys.argv[1] or None)
    run.log({"loss": 1}); run.log({"loss": 2})
    print(run.id, run.job_id)
    """
    earlier, job = train(home, text, "").out.split()
    (first,) = home.folders()
    assert "resumed" not in told(first, "init")[0]
    later, again = train(home, text, earlier).out.split()
    assert again == job
    folder = first.parent / later
    assert [record["step"] for record in steps(folder)] == [2, 3]
    assert told(folder, "init")[0]["resumed"] == earlier
    for resume in ("allow", "must"):
        newest, again = train(home, text, resume).out.split()
        assert again == job
        assert told(first.parent / newest, "init")[0]["resumed"] in [folder.name for folder in home.folders()]
    done = train(home, text.replace('"n"', '"other"'), "must")
    assert done.err.startswith("jobmeter: cannot resume: no earlier run of this project and name in ")


def test_importing_jobmeter_imports_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import jobmeter; new = set(sys.modules) - before\n"
        "print(sorted(new), 'init' in dir(jobmeter), jobmeter.init.__module__)"
    )
    done = subprocess.run([*script("")[:2], code], capture_output=True, text=True, check=True)
    assert done.stdout == "['jobmeter'] True jobmeter.hooks.session\n"
    with pytest.raises(AttributeError):
        _ = __import__("jobmeter").nothing


def test_jobmeter_run_pays_nothing_for_the_hooks(home: Home) -> None:
    line = [*JOBMETER[:1], "-X", "importtime", "-m", "jobmeter", "run", "-q", "true"]
    done = subprocess.run(line, env=home.environ(), capture_output=True, text=True, check=True)
    assert "jobmeter.recording.pipeline" in done.stderr
    assert "jobmeter.hooks" not in done.stderr
    assert "msgspec" not in done.stderr


def test_what_is_written_is_strict_json(home: Home) -> None:
    text = """
    run = jobmeter.init(config={"odd": float("nan"), "name\\ud800": "\\ud800"})
    run.log({"null": 1.0, "\\u00e9\\ud800": 2.0, 'quote"': 3, 5: 4.0})
    run.event("e", {"x": float("inf"), "y": {1: object}})
    """
    done = train(home, text)
    assert steps(done.folder)[0]["metrics"] == {"null": 1.0, "\u00e9\\ud800": 2.0, 'quote"': 3, "5": 4.0}
    assert told(done.folder, "init")[0]["config"] == {"odd": "NaN", "name\\ud800": "\\ud800"}
    assert json.loads((done.folder / "events.sdk.jsonl").read_text())["details"]["x"] == "Infinity"


@pytest.mark.parametrize(
    ("line", "cause", "sentence"),
    [
        ("raise ValueError('bad value')", "exception", "the job failed: ValueError: bad value"),
        (
            "import nothing_of_the_kind",
            "import_error",
            "there is no nothing_of_the_kind, or not the right one",
        ),
        ("raise MemoryError('Unable to allocate 5 TiB')", "oom_host", "the job asked for 5 TiB at once"),
    ],
)
def test_why_a_training_of_its_own_failed_is_known_without_its_output(
    line: str, cause: str, sentence: str, home: Home
) -> None:
    done = train(home, f"jobmeter.init()\n{line}", code=1)
    assert done.run["type"] == "end"
    words = [*JOBMETER, "analyze", "last", "--json"]
    said = json.loads(subprocess.run(words, env=home.environ(), capture_output=True, check=True).stdout)
    assert said["verdict"]["cause"] == cause
    assert said["verdict"]["sentence"].startswith(sentence)
    assert said["verdict"]["evidence"][0]["source"] == "event exception"
