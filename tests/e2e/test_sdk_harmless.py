"""Whatever a script hands to the SDK, the training goes on: said once, raised never unless it asked for that."""

import pytest

from support.recorder import Home
from support.training import steps, told, train, whole_lines


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
    run.log({"huge": 10**400, "large": 10**300})
    jobmeter.init(mode="sideways", config={"huge": 10**400})
    """
    done = train(home, text)
    assert done.err.splitlines() == [
        "jobmeter: metric text refused: the text '0.5' is not a number",
        "jobmeter: metric nothing refused: None is not a number",
        "jobmeter: metric many refused: a list is not a number",
        "jobmeter: log takes a dict of metrics, not a str",
        "jobmeter: step refused, the next one is taken: the text 'late' is not a number",
        "jobmeter: alert level LOUD is none of DEBUG, INFO, WARN, ERROR",
        "jobmeter: metric huge refused: it is larger than any float",
    ]
    assert [record["step"] for record in steps(done.folder)] == list(range(10))
    assert steps(done.folder)[-1]["metrics"] == {"large": 10**300}
    assert told(done.folder, "config")[0]["config"] == {"huge": 10**400}


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


def test_settings_that_are_broken_are_said_and_the_training_goes_on(home: Home) -> None:
    done = train(
        home, "run = jobmeter.init(); run.log({'a': 1}); run.finish()", JOBMETER_SAMPLE_INTERVAL="often"
    )
    assert done.err.startswith("jobmeter: bad value for JOBMETER_SAMPLE_INTERVAL: often; use a duration")
    assert done.run["status"] == "completed"
    assert done.run["sample_interval"] == 1.0


def test_keys_that_are_unknown_are_said_and_all_is_measured_instead(home: Home) -> None:
    done = train(home, "jobmeter.init().finish()", JOBMETER_MEASUREMENTS="no_such")
    assert done.err.startswith("jobmeter: unknown measurement: no_such")
    assert (done.run["status"], done.run["samples"] >= 1) == ("completed", True)


BROKEN = """
class Broken:
    def keys(self):
        return ["lr"]
    def __getitem__(self, name):
        raise KeyError("a value is missing")
"""


def test_a_config_that_cannot_be_read_costs_the_config_only(home: Home) -> None:
    text = """
    run = jobmeter.init(config=Broken(), tags=7)
    run.config.update(Broken())
    run.config |= {"lr": 0.5}
    jobmeter.init(config=Broken())
    run.log({"loss": 1.5})
    """
    done = train(home, "\n".join([BROKEN, *(line.strip() for line in text.splitlines())]))
    assert done.err.splitlines() == [
        "jobmeter: taking the tags failed: TypeError: 'int' object is not iterable",
        "jobmeter: the config failed: KeyError: 'a value is missing'",
    ]
    assert [record["metrics"] for record in steps(done.folder)] == [{"loss": 1.5}]
    assert [record["config"] for record in told(done.folder, "config")] == [{"lr": 0.5}]


def test_a_disabled_run_takes_a_config_that_cannot_be_read(home: Home) -> None:
    done = train(home, BROKEN + "print(jobmeter.init(config=Broken(), mode='disabled').id)")
    assert done.out == "disabled\n"


def test_an_exception_that_cannot_say_what_it_is_passes_through(home: Home) -> None:
    text = """
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no words")
    try:
        with jobmeter.init():
            raise Mute
    except Mute:
        print("passed through")
    """
    done = train(home, text)
    assert (done.out, done.err) == ("passed through\n", "")
    (event,) = whole_lines(done.folder / "events.sdk.jsonl")
    assert (event["details"]["type"], event["details"]["text"]) == ("Mute", "")


def test_a_thread_that_exits_does_not_end_the_training(home: Home) -> None:
    text = """
    import sys, threading
    run = jobmeter.init()
    thread = threading.Thread(target=lambda: sys.exit(3))
    thread.start()
    thread.join()
    """
    done = train(home, text)
    assert [(end["status"], end.get("exit_code")) for end in told(done.folder, "finish")] == [
        ("completed", None)
    ]


def test_names_that_change_with_every_step_are_not_complained_about_for_ever(home: Home) -> None:
    done = train(home, "run = jobmeter.init()\nfor step in range(300):\n    run.log({f'text {step}': 'x'})\n")
    said = done.err.splitlines()
    assert len(said) == 101
    assert said[99] == "jobmeter: metric text 99 refused: the text 'x' is not a number"
    assert said[100] == "jobmeter: so much was refused that no more of it is said"


def test_a_folder_to_join_that_is_none_is_said(home: Home) -> None:
    done = train(home, "jobmeter.init().log({'loss': 1})", JOBMETER_RUN="/nowhere")
    assert done.err == "jobmeter: JOBMETER_RUN is no run folder that can be written to: /nowhere\n"
    assert len(steps(done.folder)) == 1


def test_steps_whose_file_cannot_be_made_are_counted(home: Home) -> None:
    text = """
    import os
    run = jobmeter.init()
    blocked = [f"steps{label}.jsonl" for label in ("", f".pid{os.getpid()}")]
    blocked += [f"steps.pid{os.getpid()}-{number}.jsonl" for number in range(2, 100)]
    for name in blocked: os.mkdir(run.folder / name)
    run.log({"loss": 1.0})
    run.log({"loss": 2.0})
    for name in blocked: os.rmdir(run.folder / name)
    run.log({"loss": 3.0})
    """
    done = train(home, text)
    assert done.err == "jobmeter: what is logged is not kept for now: no name is left for a file\n"
    assert told(done.folder, "finish")[0]["dropped"] == {"steps": 2}
    assert [record["metrics"]["loss"] for record in steps(done.folder)] == [3.0]
