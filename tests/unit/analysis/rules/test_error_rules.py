"""Advice on what the job itself said: settings, names, exceptions, workers, and signals that nobody explained."""

import dataclasses

import pytest

from jobmeter.analysis.case import Case
from jobmeter.model.report import Cause, LogError, Severity
from jobmeter.model.run import Limits, Status
from support import cases
from support.cases import advised, only

TRACE = (
    'Traceback (most recent call last):\n  File "/home/u/train.py", line 51, in main\n    step()\n'
    '  File "/v/lib/python3.11/site-packages/torch/nn.py", line 9, in forward\n    raise\n{message}'
)
MIB = 1 << 20


def error(signature: str, message: str, **fields: object) -> LogError:
    return LogError(
        level="ERROR",
        type="Error",
        message=message,
        signature=signature,
        fields=fields,  # type: ignore[arg-type]
        traceback=TRACE.format(message=message),
    )


def failed(cause: Cause, *errors: LogError, **facts: object) -> Case:
    known: dict[str, object] = {"status": Status.FAILED, "exit_code": 1} | facts
    return cases.case(cause, told={"log_errors": errors}, **known)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("message", "title", "action"),
    [
        (
            (
                "ruamel.yaml.parser.ParserError: while parsing a flow sequence\n"
                "  in \"<unicode string>\", line 1, column 5:\nexpected ',' or ']', but got ':'\n"
                '  in "<unicode string>", line 2, column 6'
            ),
            "Correct the config",
            "Correct line 1, column 5 to line 2, column 6 of the config: expected ',' or ']', but got ':'",
        ),
        (
            'ParserError: while parsing x\n  in "a.yaml", line 4, column 2\nno y\n  in "a.yaml", line 4, column 9',
            "Correct a.yaml",
            "Correct line 4, column 2 to column 9 of a.yaml: no y",
        ),
        (
            "json.decoder.JSONDecodeError: Expecting ',' delimiter: line 3 column 5 (char 40)",
            "Correct the config",
            "Correct line 3, column 5 of the config: Expecting ',' delimiter",
        ),
        (
            "tomllib.TOMLDecodeError: Invalid value (at line 2, column 7)",
            "Correct the config",
            "Correct line 2, column 7 of the config: Invalid value",
        ),
        (
            "train.py: error: unrecognized arguments: --learning-rate 1",
            "Correct the options of the command",
            "Take --learning-rate 1 out, or correct its name: --help of the program lists what it takes",
        ),
        (
            "Error: No such option: --lr",
            "Correct the options of the command",
            "Take --lr out, or correct its name: --help of the program lists what it takes",
        ),
        (
            "a.py: error: the following arguments are required: --data",
            "Add --data",
            "Add --data to the command: --help of the program says what it takes",
        ),
        (
            "a.py: error: argument --lr: invalid float value: 'x'",
            "Correct the setting that was refused",
            "Correct what the job refused: argument --lr: invalid float value: 'x'",
        ),
    ],
)
def test_a_setting_is_corrected_where_it_stands(message: str, title: str, action: str) -> None:
    advice = only("refused_setting", failed(Cause.CONFIG_ERROR, error("config_error", message)))
    assert (advice.title, advice.action, advice.severity) == (title, action, Severity.CRITICAL)
    assert (advice.config_path, advice.evidence[0].source) == (None, "verdict")


def test_a_name_that_python_does_not_have_is_corrected_where_it_is_imported() -> None:
    told = error(
        "import_error", "ImportError: cannot import name 'x' from 'json' (/l/lib/python3.11/json/__init__.py)"
    )
    advice = only("import_name", failed(Cause.IMPORT_ERROR, told))
    assert advice.action == "json has no x: correct the name in the import at /home/u/train.py:51 in main"
    assert "another version of Python may have the name" in advice.impact
    assert (advice.title, advice.severity) == ("Correct the import of x", Severity.CRITICAL)


@pytest.mark.parametrize(
    ("source", "action"),
    [
        (
            "'models' (/u/models.py)",
            "models has no x: correct the name in the import, or add it to /u/models.py",
        ),
        (
            "'google.cloud' (unknown location)",
            "google.cloud is a folder without code: install what brings google.cloud.x, or correct the import",
        ),
        ("'random' (/u/random.py)", "Rename /u/random.py: it hides Python's own random, which may have x"),
        (
            "partially initialized module 'a' (most likely due to a circular import) (/u/a.py)",
            "Move the import of x from a into the function that needs it",
        ),
        (
            "'b' (consider renaming '/u/b.py' if it has the same name as a library you intended to import)",
            (
                "Move the import of x from b into the function that needs it, "
                "or rename /u/b.py if a library of that name was meant"
            ),
        ),
        (
            "'random' (consider renaming '/u/random.py' since it has the same name as the standard library module)",
            "Rename /u/random.py: it hides Python's own random, which may have x",
        ),
    ],
)
def test_a_name_of_ones_own_is_corrected_or_added(source: str, action: str) -> None:
    told = dataclasses.replace(
        error("import_error", f"ImportError: cannot import name 'x' from {source}"), traceback=None
    )
    assert only("import_name", failed(Cause.IMPORT_ERROR, told)).action == action


@pytest.mark.parametrize(
    "message", ["cannot import name 'x' from 'y' (/v/site-packages/y.py)", "No module named 'x'"]
)
def test_what_is_to_be_installed_is_no_wrong_name(message: str) -> None:
    assert advised("import_name", failed(Cause.IMPORT_ERROR, error("import_error", message))) == []


@pytest.mark.parametrize("signature", ["exception", "assertion"])
def test_an_exception_is_looked_for_in_the_jobs_own_code(signature: str) -> None:
    advice = only("exception_place", failed(Cause.EXCEPTION, error(signature, "ValueError: bad")))
    assert advice.title == "Look at train.py:51"
    assert advice.action == "Look at /home/u/train.py:51 in main: ValueError: bad"
    assert (advice.config_path, advice.severity) == (None, Severity.CRITICAL)


def test_an_exception_of_code_without_a_file_is_told_by_its_line() -> None:
    text = 'Traceback (most recent call last):\n  File "<string>", line 3, in <module>\nValueError: bad'
    told = dataclasses.replace(error("exception", "ValueError: bad"), traceback=text)
    advice = only("exception_place", failed(Cause.EXCEPTION, told))
    assert advice.title == "Look at line 3 of the code that was given with -c"


@pytest.mark.parametrize(
    "told",
    [
        error("gpu_fault", "RuntimeError: CUDA error: device-side assert triggered"),
        dataclasses.replace(error("exception", "ValueError: x"), traceback=None),
    ],
)
def test_what_is_told_elsewhere_than_it_happened_has_no_line(told: LogError) -> None:
    assert advised("exception_place", failed(Cause.EXCEPTION, told)) == []


@pytest.mark.parametrize(
    "rule", ["refused_setting", "import_name", "exception_place", "dead_worker", "sent_signal"]
)
def test_rules_on_errors_are_silent_without_one(rule: str) -> None:
    for cause in (
        Cause.CONFIG_ERROR,
        Cause.IMPORT_ERROR,
        Cause.EXCEPTION,
        Cause.WORKER_KILLED,
        Cause.KILLED_SIGNAL,
    ):
        assert advised(rule, failed(cause)) == []
    assert advised(rule, failed(Cause.UNKNOWN, error("exception", "x"), signal="SIGTERM")) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SIGTERM", "a scheduler's limit, a supervisor"),
        ("SIGHUP", "a terminal or a connection that was closed"),
        ("SIGKILL", "or the kernel for want of memory"),
    ],
)
def test_a_signal_has_a_sender_to_be_found(name: str, words: str) -> None:
    advice = only("sent_signal", failed(Cause.KILLED_SIGNAL, signal=name))
    assert (advice.title, advice.severity) == (f"Find what sent {name}", Severity.WARNING)
    assert words in advice.action
    assert "sacct" not in advice.action
    assert "nothing in the job itself has to change" in advice.impact


def test_the_sender_is_not_looked_for_where_it_cannot_be() -> None:
    counted = failed(Cause.KILLED_SIGNAL, signal="SIGKILL", summary={"cgroup_oom_kill": 0})
    assert "kernel" not in only("sent_signal", counted).action
    said = failed(Cause.KILLED_SIGNAL, error("exception", "ValueError: x"), signal="SIGTERM")
    assert "nothing in the job" not in only("sent_signal", said).impact
    assert advised("sent_signal", failed(Cause.KILLED_SIGNAL, signal="SIGSEGV")) == []


@pytest.mark.parametrize(
    ("environment", "command"),
    [({"SLURM_JOB_ID": "77"}, "sacct -j 77 says"), ({"SLURM_JOB_ID": "7;x"}, "sacct says")],
)
def test_slurm_is_asked_by_the_jobs_own_number(environment: dict[str, str], command: str) -> None:
    told = failed(Cause.KILLED_SIGNAL, signal="SIGTERM", context={"environment": environment})
    assert command in only("sent_signal", told).action


def test_a_worker_is_made_to_speak() -> None:
    died = only("dead_worker", failed(Cause.WORKER_KILLED, error("worker_killed", "it died")))
    assert died.action == "Run its work in the main process once (num_workers: 0, or without the pool)"
    crashed = error("worker_killed", "it died", signal="Segmentation fault")
    assert "faulthandler" in only("dead_worker", failed(Cause.WORKER_KILLED, crashed)).action
    killed = error("worker_killed", "it died", signal="Killed")
    assert (
        "mostly the kernel for want of memory"
        in only("dead_worker", failed(Cause.WORKER_KILLED, killed)).action
    )


def test_a_worker_is_not_said_to_lack_memory_that_it_had() -> None:
    told = failed(
        Cause.WORKER_KILLED,
        error("worker_killed", "it died", signal="Killed"),
        summary={"cgroup_oom_kill": 0, "cgroup_mem_peak": 9 * MIB},
        limits=Limits(memory_bytes=1024 * MIB),
    )
    assert only("dead_worker", told).action.endswith(
        "a supervisor (systemd-oomd and earlyoom are such) or a user"
    )


@pytest.mark.parametrize("fields", [{"shared_memory": 1}, {"signal": "Bus error"}])
def test_shared_memory_is_another_rules_matter(fields: dict[str, object]) -> None:
    told = failed(Cause.WORKER_KILLED, error("worker_killed", "it died", **fields))
    assert advised("dead_worker", told) == []


OPEN_FILES = error("resource_limit", "OSError: [Errno 24] Too many open files", limit="open_files")


def test_a_limit_that_the_command_sets_is_raised_there() -> None:
    command = ("sh", "-c", "ulimit -n 256; exec python train.py")
    advice = only("open_files", failed(Cause.RESOURCE_LIMIT, OPEN_FILES, command=command))
    assert (advice.config_path, advice.current_value, advice.recommended_value) == ("ulimit -n", 256, 65536)
    assert advice.action == (
        "Raise ulimit -n 256 to 65536 in the job's own command (set before the job, it would be undone), "
        "or close files: a leak is likely when the number of open ones keeps growing"
    )
    assert (advice.evidence[1].source, advice.evidence[1].value) == ("command", 256)


def test_a_limit_that_nobody_told_is_not_called_unset() -> None:
    advice = only("open_files", failed(Cause.RESOURCE_LIMIT, OPEN_FILES))
    assert (advice.config_path, advice.current_value, advice.recommended_value) == (None, None, None)
    assert advice.action.startswith("Run ulimit -n 65536 before the job, or close files: a leak is likely")
    assert len(advice.evidence) == 1


@pytest.mark.parametrize(
    ("words", "wanted"), [("ulimit -Sn 1024", 65536), ("ulimit -S -n 100000 && x", 200000)]
)
def test_a_limit_is_never_lowered(words: str, wanted: int) -> None:
    told = failed(Cause.RESOURCE_LIMIT, OPEN_FILES, command=("bash", "-c", words))
    assert only("open_files", told).recommended_value == wanted


def test_a_sender_that_is_known_is_not_sought() -> None:
    cancelled = error("cancelled", "slurmstepd: error: *** JOB 17 ON n1 CANCELLED ***")
    assert advised("sent_signal", failed(Cause.KILLED_SIGNAL, cancelled, signal="SIGTERM")) == []


def test_what_runs_in_a_container_may_be_killed_by_the_kernel_uncounted() -> None:
    counted: dict[str, object] = {"signal": "SIGKILL", "summary": {"cgroup_oom_kill": 0}}
    assert "the kernel" not in only("sent_signal", failed(Cause.KILLED_SIGNAL, **counted)).action
    inside = failed(Cause.KILLED_SIGNAL, **counted, command=("sh", "-c", "/usr/bin/docker run image train"))
    assert "or the kernel for want of memory" in only("sent_signal", inside).action
