"""Verdicts in the words of one error: where a setting stands, whose name is missing, what a worker did not die of."""

import pytest

from jobmeter.model.report import Cause
from jobmeter.model.run import Limits
from support.verdicts import decide, told

MIB = 1 << 20
SPARE = {"cgroup_oom_kill": 0, "cgroup_mem_peak": 9 * MIB}


@pytest.mark.parametrize("counted", ["cgroup_oom_kill", "cgroup_outer_oom_kill"])
def test_memory_is_not_blamed_for_a_worker_where_it_was_not_short(counted: str) -> None:
    facts = {"summary": {counted: 0, "cgroup_mem_peak": 9 * MIB}, "limits": Limits(memory_bytes=1024 * MIB)}
    spare = "the job itself did not run short of memory (peak 9 MiB of 1 GiB, no OOM kill counted)"
    killed = decide(errors=(told("worker_killed", fields={"pid": 7, "signal": "Killed"}),), **facts)
    assert killed.cause is Cause.WORKER_KILLED
    assert killed.sentence == (
        f"a worker process (pid 7) was killed by SIGKILL; {spare}: something else sent the signal"
    )
    assert [one.source for one in killed.evidence] == ["log", counted, "memory_peak_bytes"]
    died = decide(errors=(told("worker_killed"),), **facts)
    assert died.sentence == f"a worker process died; {spare}"
    bus = decide(errors=(told("worker_killed", fields={"signal": "Bus error"}),), **facts)
    assert bus.sentence == "a worker process was killed (Bus error)"


@pytest.mark.parametrize(
    "facts",
    [
        {"summary": {"cgroup_mem_peak": 9 * MIB}},
        {"summary": SPARE, "limits": Limits()},
        {"summary": {"cgroup_oom_kill": 0}},
        {"summary": SPARE | {"cgroup_mem_peak": 512 * MIB}},
        {"summary": SPARE, "command": ("/usr/bin/docker", "run", "image")},
    ],
    ids=["not-counted", "no-limit", "not-measured", "half-of-it", "in-a-container"],
)
def test_memory_stays_the_likely_reason_where_it_is_not_excluded(facts: dict[str, object]) -> None:
    known: dict[str, object] = {"limits": Limits(memory_bytes=1024 * MIB)} | facts
    found = decide(errors=(told("worker_killed", fields={"signal": "Killed"}),), **known)
    assert found.sentence.endswith("most likely for want of memory, which nothing here proves")


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (
            "cannot import name 'x' from 'json' (/usr/lib/python3.11/json/__init__.py)",
            "json has no x to import",
        ),
        (
            (
                "cannot import name 'x' from partially initialized module 'a.b' "
                "(most likely due to a circular import) (/u/a/b.py)"
            ),
            "a.b has no x yet: most likely modules import one another",
        ),
        ("cannot import name 'x'", "there is no x, or not the right one"),
    ],
)
def test_a_name_is_told_with_the_module_it_was_looked_for_in(message: str, sentence: str) -> None:
    error = told("import_error", f"ImportError: {message}", fields={"missing": "x"})
    assert decide(errors=(error,)).sentence == sentence


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            (
                "ruamel.yaml.parser.ParserError: while parsing a flow sequence\n"
                "  in \"<unicode string>\", line 1, column 5:\nexpected ',' or ']', but got ':'\n"
                '  in "<unicode string>", line 2, column 6'
            ),
            "while parsing a flow sequence, line 1, column 5: expected ',' or ']', but got ':' at line 2, column 6",
        ),
        (
            'yaml.scanner.ScannerError: mapping values are not allowed here\n  in "a.yaml", line 3, column 8',
            "mapping values are not allowed here, a.yaml, line 3, column 8",
        ),
        (
            (
                "yaml.parser.ParserError: while parsing a block mapping\n"
                '  in "a.yaml", line 1, column 1\ndid not find expected key\n  in "a.yaml", line 5, column 3'
            ),
            "while parsing a block mapping, a.yaml, line 1, column 1: did not find expected key at line 5, column 3",
        ),
        (
            "json.decoder.JSONDecodeError: Expecting ',' delimiter: line 3 column 5 (char 40)",
            "Expecting ',' delimiter, line 3, column 5",
        ),
        ("tomllib.TOMLDecodeError: Invalid value (at line 2, column 7)", "Invalid value, line 2, column 7"),
        ("train.py: error: unrecognized arguments: --lr 1", "unrecognized arguments: --lr 1"),
        ("Error: No such option: --lr", "No such option: --lr"),
        ("MissingConfigException", "MissingConfigException"),
        (
            (
                "pydantic.ValidationError: 2 validation errors for S\nlr\n  Bad number [type=float, input=1]\n"
                "batch\n  field required (type=value_error.missing)"
            ),
            "2 validation errors for S: lr: Bad number; batch: field required",
        ),
    ],
)
def test_a_refused_setting_is_told_with_its_place(message: str, words: str) -> None:
    found = decide(errors=(told("config_error", message),))
    assert found.sentence == f"the job refused its settings: {words}"
    assert found.evidence[0].quote == " ".join(line.strip() for line in message.split("\n"))


def test_a_first_line_that_only_announces_is_told_with_the_next() -> None:
    error = told("exception", "RuntimeError: in loading Net:\n\tMissing keys\n\tmore")
    assert decide(exit_code=1, errors=(error,)).sentence == (
        "the job failed: RuntimeError: in loading Net: Missing keys"
    )
