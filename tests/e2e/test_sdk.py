"""`jobmeter.init` and `run.log` in real processes, alone and under `jobmeter run`."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from jobmeter.runfolder import reader
from support.recorder import JOBMETER, Home, lines, merged, only_folder, wait_for
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


def test_the_job_of_jobmeter_run_is_joined(home: Home) -> None:
    done = home.run("-q", "--name", "nightly", *script(EXACT))
    assert done.code == 0
    assert home.folders() == [done.folder]
    assert len(steps(done.folder)) == 4
    assert done.run["name"] == "nightly"
    assert "attached" not in done.run
    (finish,) = told(done.folder, "finish")
    assert finish["status"] == "completed"


def test_joining_adds_nothing_to_the_environment_of_the_job(home: Home) -> None:
    env = home.environ()
    done = home.run("-q", "env", env=env)
    assert not [line for line in done.stdout.decode().splitlines() if line.startswith("JOBMETER_RUN")]


def test_the_ranks_of_one_launch_join_one_run(home: Home) -> None:
    one = ["env", "WORLD_SIZE=2", "LOCAL_RANK=1", "RANK=$rank", *script("jobmeter.init().log({'loss': 1.5})")]
    line = 'for rank in 0 1; do env WORLD_SIZE=2 LOCAL_RANK=$rank RANK=$rank "$@" & done; wait'
    done = home.run("-q", "sh", "-c", line, "sh", *one[4:])
    assert done.code == 0
    for rank in (0, 1):
        (record,) = steps(done.folder, f"steps.{rank}.jsonl")
        assert (record["rank"], record["metrics"]) == (rank, {"loss": 1.5})
        (init,) = told(done.folder, "init", f"sdk.{rank}.jsonl")
        assert (init["rank"], init["local_rank"], init["world_size"]) == (rank, rank, 2)
    assert not (done.folder / "steps.jsonl").exists()


def test_the_ranks_of_a_launch_alone_share_their_job(home: Home) -> None:
    launch = {"WORLD_SIZE": "2", "SLURM_JOB_ID": "17", "SLURM_STEP_ID": "0"}
    for rank in ("0", "1"):
        train(home, "jobmeter.init().finish()", RANK=rank, LOCAL_RANK=rank, **launch)
    assert [merged(folder)["job_id"] for folder in home.folders()] == ["slurm-17.0"] * 2


def test_two_scripts_of_one_run_do_not_meet(home: Home) -> None:
    text = "jobmeter.init().log({'who': int(__import__('sys').argv[1])})"
    line = '"$@" 1 && "$@" 2'
    done = home.run("-q", "sh", "-c", line, "sh", *script(text))
    assert done.code == 0
    files = sorted(path.name for path in done.folder.glob("steps*"))
    assert files[0] == "steps.jsonl" or files[1] == "steps.jsonl"
    assert len(files) == 2
    assert sorted(record["metrics"]["who"] for name in files for record in steps(done.folder, name)) == [1, 2]


def test_a_child_started_anew_joins_its_parents_run(home: Home) -> None:
    text = """
    import subprocess, sys
    run = jobmeter.init()
    run.log({"who": 0})
    child = "import jobmeter; jobmeter.init().log({'who': 1})"
    subprocess.run([sys.executable, "-c", child], check=True)
    """
    done = train(home, text)
    (other,) = [path.name for path in done.folder.glob("steps.pid*.jsonl")]
    assert steps(done.folder, other)[0]["metrics"] == {"who": 1}
    assert steps(done.folder)[0]["metrics"] == {"who": 0}
    assert done.run["status"] == "completed"


def test_a_named_run_is_joined_where_no_ancestor_shows_it(home: Home, tmp_path: Path) -> None:
    first = train(home, "jobmeter.init().finish()")
    train(home, "jobmeter.init().log({'loss': 2})", JOBMETER_RUN=str(first.folder))
    assert home.folders() == [first.folder]
    assert len(list(first.folder.glob("steps.jsonl"))) == 1


def test_forked_workers_log_into_files_of_their_own(home: Home) -> None:
    text = """
    import os
    run = jobmeter.init(config={"a": 1})
    for step in range(3):
        run.log({"who": 0})
    run.log({"held": 1}, commit=False)
    children = []
    for number in (1, 2):
        pid = os.fork()
        if not pid:
            for step in range(2):
                run.log({"who": number})
            if number == 1:
                os._exit(0)
            raise SystemExit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    run.log({"who": 0})
    """
    done = train(home, text)
    assert [record["metrics"].get("who") for record in steps(done.folder)] == [0, 0, 0, 0]
    assert steps(done.folder)[-1]["metrics"] == {"who": 0, "held": 1}
    forked = sorted(done.folder.glob("steps.pid*.jsonl"))
    assert sorted([r["metrics"]["who"] for r in steps(done.folder, path.name)] for path in forked) == [
        [1, 1],
        [2, 2],
    ]
    assert len(told(done.folder, "finish")) == 1
    assert done.run["status"] == "completed"


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


def test_after_finish_logging_is_refused_once_and_harmless(home: Home) -> None:
    text = """
    run = jobmeter.init()
    run.log({"loss": 1})
    run.finish()
    for step in range(3):
        run.log({"loss": 2}); run.event("x"); run.summary["a"] = 1; run.config.update(b=2)
        jobmeter.log({"loss": float("nan")})
    """
    done = train(home, text)
    assert done.err == "jobmeter: the run is finished: what is logged now is not kept\n"
    assert len(steps(done.folder)) == 1


def test_nothing_is_raised_for_what_cannot_be_kept_and_each_is_named_once(home: Home) -> None:
    text = """
    run = jobmeter.init()
    for step in range(3):
        run.log({"loss": 1.0, "text": "0.5", "nothing": None, "many": [1, 2]})
        run.log("not a dict")
        run.log({"loss": 2.0}, step="late")
        run.log({"loss": 3.0}, step=0.5)
    run.alert("t", level="LOUD")
    jobmeter.init(mode="sideways")
    """
    done = train(home, text)
    assert done.err.splitlines() == [
        "jobmeter: metric text refused: the text '0.5' is not a number",
        "jobmeter: metric nothing refused: None is not a number",
        "jobmeter: metric many refused: a list is not a number",
        "jobmeter: log takes a dict of metrics, not a str",
        "jobmeter: step refused, the next one is taken: the text 'late' is not a number",
        "jobmeter: alert level LOUD is none of DEBUG, INFO, WARN, ERROR",
    ]
    assert [record["step"] for record in steps(done.folder)] == list(range(9))


def test_strict_raises_what_would_be_a_warning(home: Home) -> None:
    text = """
    from jobmeter.errors import UsageError
    run = jobmeter.init(strict=True)
    for call in (lambda: run.log({"text": "x"}), lambda: run.log({"a": 1}, step="x"), lambda: run.log([])):
        try:
            call()
        except UsageError as error:
            print(error)
    """
    done = train(home, text)
    assert done.out.splitlines() == [
        "metric text refused: the text 'x' is not a number",
        "step refused, the next one is taken: the text 'x' is not a number",
        "log takes a dict of metrics, not a list",
    ]
    assert done.err == ""


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_a_disabled_run_keeps_nothing(how: str, home: Home) -> None:
    text = """
    import sys
    run = jobmeter.init(config={"a": 1}, mode=sys.argv[1] or None)
    run.log({"text": object()}); run.event("x"); run.alert("y"); run.summary["z"] = 1; run.config.update(b=2)
    print(dict(run.config), run.folder, run.rank, run.id)
    run.finish()
    """
    mode = "disabled" if how == "argument" else ""
    environ = {} if how == "argument" else {"JOBMETER_MODE": "disabled"}
    done = train(home, text, mode, **environ)
    assert (done.out, done.err) == ("{'a': 1, 'b': 2} None 0 disabled\n", "")
    assert home.folders() == []


def test_without_init_the_module_functions_say_so_once(home: Home) -> None:
    done = train(home, "jobmeter.log({'a': 1}); jobmeter.event('x'); jobmeter.alert('y'); jobmeter.finish()")
    assert done.err == "jobmeter: jobmeter.log without a run: call jobmeter.init() first\n"


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


def test_the_recorder_is_no_child_of_the_training_and_ends_with_it(home: Home) -> None:
    text = """
    import os, time
    run = jobmeter.init()
    try:
        print("child", os.waitpid(-1, os.WNOHANG))
    except ChildProcessError:
        print("none", flush=True)
    input()
    os._exit(0)
    """
    process = subprocess.Popen(
        script(text), env=home.environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "none\n"
    folder = only_folder(home.path)
    wait_for(lambda: len(lines(folder / "run.jsonl")) >= 3)
    recorder = merged(folder)["recorder"]["pid"]
    assert recorder != process.pid
    assert os.getsid(recorder) != os.getsid(process.pid)
    assert {os.readlink(f"/proc/{recorder}/fd/{fd}") for fd in (0, 1, 2)} == {"/dev/null"}
    os.kill(recorder, signal.SIGTERM)  # a batch system tells everybody: the recorder stays for the training
    process.communicate("\n")
    wait_for(lambda: merged(folder).get("type") == "end")
    assert merged(folder)["status"] == "completed"
    wait_for(lambda: not Path(f"/proc/{recorder}").exists())


def test_a_training_whose_recorder_was_killed_still_runs(home: Home) -> None:
    text = """
    import os
    run = jobmeter.init()
    run.log({"loss": 1.0})
    print("ready", flush=True)
    input()
    run.log({"loss": 2.0})
    """
    process = subprocess.Popen(
        script(text), env=home.environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    folder = only_folder(home.path)
    wait_for(lambda: len(lines(folder / "run.jsonl")) >= 3)
    recorder = merged(folder)["recorder"]["pid"]
    os.kill(recorder, signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{recorder}").exists())
    assert reader.read_run_and_finality(folder)[0].status.value == "running"
    assert not reader.read_run_and_finality(folder)[1]
    process.communicate("\n")
    run, final = reader.read_run_and_finality(folder)
    assert (process.returncode, run.status.value, final) == (0, "completed", True)
    assert len(steps(folder)) == 2


def test_settings_that_are_broken_are_said_and_the_training_goes_on(home: Home) -> None:
    done = train(
        home, "run = jobmeter.init(); run.log({'a': 1}); run.finish()", JOBMETER_SAMPLE_INTERVAL="often"
    )
    assert done.err.startswith("jobmeter: bad value for JOBMETER_SAMPLE_INTERVAL: often; use a duration")
    assert done.run["status"] == "completed"
    assert done.run["sample_interval"] == 1.0


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
