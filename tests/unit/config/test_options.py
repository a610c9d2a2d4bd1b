"""Options of `run`: every one by flag, variable and TOML, which wins, and what a bad value says."""

import re
from pathlib import Path

import pytest

from jobmeter.config import options as settings
from jobmeter.errors import RecordError

GOOD: dict[str, tuple[tuple[str, ...], str, str, object]] = {
    # option: words after the flag, value of the variable, line of TOML, what Options then holds
    "name": (("nightly",), "nightly", 'name = "nightly"', "nightly"),
    "project": (("app",), "app", 'project = "app"', "app"),
    "tag": (("k=v,lr=1e-3",), "k=v,lr=1e-3", 'tag = {k = "v", lr = "1e-3"}', {"k": "v", "lr": "1e-3"}),
    "message": (("why not",), "why not", 'message = "why not"', "why not"),
    "job_id": (("17",), "17", 'job_id = "17"', "17"),
    "sample_interval": (("500ms",), "0.5", "sample-interval = 0.5", 0.5),
    "report_interval": (("2m",), "120", "report_interval = 120", 120.0),
    "measurements": (("proc,-psi",), "proc,-psi", 'measurements = "proc,-psi"', "proc,-psi"),
    "gpus": (("all",), "all", 'gpus = "all"', "all"),
    "energy_price": (("0.31 EUR",), "0.31 EUR", 'energy_price = "0.31 EUR"', "0.31 EUR"),
    "own_cgroup": (("require",), "require", 'own-cgroup = "require"', "require"),
    "capture": (("stderr",), "stderr", 'capture = "stderr"', "stderr"),
    "pty": (("never",), "never", 'pty = "never"', "never"),
    "timeout": (("1.5h",), "5400", 'timeout = "90m"', 5400.0),
    "stall_seconds": (("5m",), "300", "stall_seconds = 300", 300.0),
    "on_memory": (
        ("95%", "signal:USR1"),
        "95% signal:USR1",
        'on_memory = "95% signal:USR1"',
        "95% signal:USR1",
    ),
    "server": (("https://jobs.example.org",), "https://jobs.example.org", "", "https://jobs.example.org"),
    "build_stats": ((), "yes", "build_stats = true", "/"),
    "build_stats_interval": (("2m",), "120", "build_stats_interval = 120", 120.0),
    "wait_for_children": ((), "yes", "wait_for_children = true", True),
    "summary": (("json",), "json", 'summary = "json"', "json"),
    "quiet": ((), "on", "quiet = true", True),
}
DEFAULTS: dict[str, object] = {
    "name": None,
    "project": None,
    "tags": {},
    "message": None,
    "job_id": None,
    "sample_interval": 1.0,
    "report_interval": 10.0,
    "measurements": None,
    "gpus": "job",
    "energy_price": None,
    "own_cgroup": "auto",
    "capture": "auto",
    "pty": "auto",
    "timeout": None,
    "stall_seconds": 60.0,
    "on_memory": None,
    "server": None,
    "follow": (),
    "build_stats": None,
    "build_stats_interval": 60.0,
    "wait_for_children": False,
    "summary": "text",
    "quiet": False,
}


@pytest.fixture
def clean(tmp_path: Path) -> dict[str, str]:
    """An environment in which no settings file of this machine counts."""
    return {"XDG_CONFIG_HOME": str(tmp_path / "none"), "XDG_DATA_HOME": str(tmp_path / "data")}


def parse(
    argv: list[str], environ: dict[str, str], cwd: Path = Path("/")
) -> tuple[settings.Options, list[str]]:
    return settings.parse(argv, environ, str(cwd))


def value_of(options: settings.Options, name: str) -> object:
    return getattr(options, "tags" if name == "tag" else name)


def refusal(argv: list[str], environ: dict[str, str]) -> tuple[str, str]:
    with pytest.raises(RecordError) as caught:
        parse(argv, environ)
    return str(caught.value), caught.value.hint


def test_the_table_here_names_every_option() -> None:
    assert set(GOOD) | {"home", "config"} == {option.name for option in settings.OPTIONS}


def test_without_any_setting_the_defaults_hold(clean: dict[str, str], tmp_path: Path) -> None:
    options, command = parse(["make", "-j4"], clean)
    assert {name: getattr(options, name) for name in DEFAULTS} == DEFAULTS
    assert options.runs_home == str(tmp_path / "data" / "jobmeter")
    assert command == ["make", "-j4"]


@pytest.mark.parametrize("name", GOOD)
def test_every_option_can_be_a_flag(name: str, clean: dict[str, str]) -> None:
    words, _, _, expected = GOOD[name]
    options, command = parse([f"--{name.replace('_', '-')}", *words, "true"], clean)
    assert value_of(options, name) == expected
    assert command == ["true"]


@pytest.mark.parametrize("name", [name for name, row in GOOD.items() if row[0]])
def test_every_option_can_be_joined_to_its_value(name: str, clean: dict[str, str]) -> None:
    words, _, _, expected = GOOD[name]
    options, command = parse([f"--{name.replace('_', '-')}={' '.join(words)}", "true"], clean)
    assert value_of(options, name) == expected
    assert command == ["true"]


@pytest.mark.parametrize("name", GOOD)
def test_every_option_can_be_a_variable(name: str, clean: dict[str, str]) -> None:
    _, variable, _, expected = GOOD[name]
    options, _ = parse(["true"], clean | {f"JOBMETER_{name.upper()}": variable})
    assert value_of(options, name) == expected


@pytest.mark.parametrize("name", [name for name, row in GOOD.items() if row[2]])
def test_every_option_can_be_a_line_of_toml(name: str, clean: dict[str, str], tmp_path: Path) -> None:
    _, _, line, expected = GOOD[name]
    file = tmp_path / "given.toml"
    file.write_text(line + "\n")
    options, _ = parse(["--config", str(file), "true"], clean)
    assert value_of(options, name) == expected


def test_the_users_file_may_name_a_server(clean: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "none" / "jobmeter"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[push]\nserver = "http://node1:8765"\nallow_plain_http = true\n')
    options, _ = parse(["true"], clean)
    assert (options.server, options.follow) == ("http://node1:8765", ("push",))
    options, _ = parse(["--server", "off", "true"], clean)
    assert (options.server, options.follow) == (None, ())


def test_a_projects_file_names_no_server(clean: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / ".jobmeter").mkdir()
    file = tmp_path / ".jobmeter" / "config.toml"
    file.write_text('server = "https://evil.example"\n[push]\nserver = "https://evil.example"\n')
    options, _ = parse(["--config", str(file), "true"], clean, tmp_path)
    assert (options.server, options.follow) == (None, ())


@pytest.mark.parametrize(
    "url",
    ["node1", "ftp://node1", "https://", "https://u:p@node1", "https://node1/\n"],
)
def test_what_is_no_address_of_a_server_is_refused(url: str, clean: dict[str, str]) -> None:
    assert refusal(["--server", url, "true"], clean)[0].startswith("bad value for --server")


@pytest.mark.parametrize(
    "url", ["http://node1:8765", "http://localhost.evil.example", "http://127.0.0.1.evil.example"]
)
def test_no_token_goes_over_the_network_unencrypted(url: str, clean: dict[str, str]) -> None:
    assert "unencrypted" in refusal(["--server", url, "true"], clean)[0]
    options, _ = parse(["--server", url, "true"], clean | {"JOBMETER_ALLOW_PLAIN_HTTP": "1"})
    assert options.server == url


@pytest.mark.parametrize("url", ["http://127.0.0.1:8765", "http://localhost/base", "http://[::1]:8765"])
def test_this_machine_needs_no_encryption(url: str, clean: dict[str, str]) -> None:
    assert parse(["--server", url, "true"], clean)[0].server == url


def test_short_flags_mean_the_same(clean: dict[str, str]) -> None:
    options, _ = parse(["-m", "why", "-q", "true"], clean)
    assert (options.message, options.quiet) == ("why", True)


def test_a_switch_can_be_switched_off_again(clean: dict[str, str]) -> None:
    options, _ = parse(["--quiet=false", "--wait-for-children=0", "true"], clean | {"JOBMETER_QUIET": "1"})
    assert (options.quiet, options.wait_for_children) == (False, False)


def test_tags_add_up_when_the_flag_is_repeated(clean: dict[str, str]) -> None:
    options, _ = parse(["--tag", "a=1", "--tag", "b=x=y", "--tag=a=2", "true"], clean)
    assert options.tags == {"a": "2", "b": "x=y"}


def test_a_list_in_toml_means_several(clean: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "given.toml"
    file.write_text(
        'tag = ["a=1", "b=2"]\nmeasurements = ["proc", "-psi"]\non_memory = ["90%", "signal:TERM"]\n'
    )
    options, _ = parse(["--config", str(file), "true"], clean)
    assert options.tags == {"a": "1", "b": "2"}
    assert options.measurements == "proc,-psi"
    assert options.on_memory == "90% signal:TERM"


def test_a_share_and_its_signal_may_be_one_quoted_word(clean: dict[str, str]) -> None:
    options, command = parse(["--on-memory", "95% signal:USR1", "python", "train.py"], clean)
    assert options.on_memory == "95% signal:USR1"
    assert command == ["python", "train.py"]


def test_reports_are_never_more_frequent_than_samples(clean: dict[str, str]) -> None:
    options, _ = parse(["--sample-interval", "30", "true"], clean)
    assert options.report_interval == 30.0


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["--name", "x", "--", "--name", "y"], ["--name", "y"]),
        (["--", "--"], ["--"]),
        (["make", "--name", "x"], ["make", "--name", "x"]),
        (["make", "--", "x"], ["make", "--", "x"]),
        (["-q", "-"], ["-"]),
        (["", "x"], ["", "x"]),
        ([], []),
        (["--"], []),
        (["-q"], []),
    ],
)
def test_everything_after_the_options_is_the_jobs(
    argv: list[str], command: list[str], clean: dict[str, str]
) -> None:
    assert parse(argv, clean)[1] == command


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_nearest_setting_wins(tmp_path: Path) -> None:
    write(
        tmp_path / "xdg/jobmeter/config.toml",
        "timeout = 1\nname = 'user'\nproject = 'user'\nmessage = 'user'\n",
    )
    write(
        tmp_path / "p/.jobmeter/config.toml", "name = 'project'\nproject = 'project'\nmessage = 'project'\n"
    )
    given = write(tmp_path / "given.toml", "project = 'given'\nmessage = 'given'\njob_id = 'given'\n")
    environ = {
        "XDG_CONFIG_HOME": str(tmp_path / "xdg"),
        "JOBMETER_MESSAGE": "variable",
        "JOBMETER_JOB_ID": "variable",
    }
    inside = tmp_path / "p/src/deep"
    inside.mkdir(parents=True)
    options, _ = parse(["--config", str(given), "--job-id", "flag", "true"], environ, inside)
    assert options.timeout == 1.0
    assert options.name == "project"
    assert options.project == "given"
    assert options.message == "variable"
    assert options.job_id == "flag"


def test_the_system_file_is_read_first_and_the_named_one_last(tmp_path: Path) -> None:
    write(tmp_path / "xdg/jobmeter/config.toml", "")
    write(tmp_path / ".jobmeter/config.toml", "")
    files = settings.config_files({"XDG_CONFIG_HOME": str(tmp_path / "xdg")}, str(tmp_path), "x.toml")
    assert [file for file in files if file != "/etc/jobmeter/config.toml"] == [
        f"{tmp_path}/xdg/jobmeter/config.toml",
        f"{tmp_path}/.jobmeter/config.toml",
        f"{tmp_path}/x.toml",
    ]


def test_without_xdg_the_users_file_is_below_their_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = write(tmp_path / ".config/jobmeter/config.toml", "")
    assert str(file) in settings.config_files({}, "/", None)


def test_the_file_may_be_named_by_a_variable(clean: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path / "x.toml", "name = 'from a file'\n")
    options, _ = parse(["true"], clean | {"JOBMETER_CONFIG": "x.toml"}, tmp_path)
    assert options.name == "from a file"


def test_home_follows_the_same_order(clean: dict[str, str], tmp_path: Path) -> None:
    file = write(tmp_path / "x.toml", "home = '/from/toml'\n")
    toml = clean | {"JOBMETER_CONFIG": str(file)}
    variable = toml | {"JOBMETER_HOME": "/from/variable"}
    assert parse(["true"], toml)[0].runs_home == "/from/toml"
    assert parse(["true"], variable)[0].runs_home == "/from/variable"
    assert parse(["--home", "/from/flag", "true"], variable)[0].runs_home == "/from/flag"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90", 90.0),
        ("1.5s", 1.5),
        ("200ms", 0.2),
        ("10m", 600.0),
        ("2h", 7200.0),
        ("1d", 86400.0),
        ("0.01", 0.01),
    ],
)
def test_a_duration_may_have_a_unit(text: str, expected: float) -> None:
    assert settings.seconds(text) == pytest.approx(expected, rel=1e-12)


DURATION = "use a duration such as 0.5, 200ms, 90s, 10m or 2h"
SHARE = "use a share of the limit and an action, such as: 95% signal:USR1"


@pytest.mark.parametrize(
    ("flag", "words", "hint"),
    [
        ("--sample-interval", ["soon"], DURATION),
        ("--sample-interval", [""], DURATION),
        ("--sample-interval", ["0"], "use a duration between 0.01 s and 30 years"),
        ("--sample-interval", ["-1"], "use a duration between 0.01 s and 30 years"),
        ("--report-interval", ["nan"], "use a duration between 0.01 s and 30 years"),
        ("--timeout", ["inf"], "use a duration between 0.01 s and 30 years"),
        ("--timeout", ["5x"], DURATION),
        ("--tag", ["novalue"], "use KEY=VALUE"),
        ("--tag", ["=v"], "use KEY=VALUE"),
        ("--own-cgroup", ["maybe"], "use one of auto, never, require"),
        ("--capture", ["both"], "use one of auto, none, stdout, stderr, all"),
        ("--pty", ["yes"], "use one of auto, always, never"),
        ("--summary", ["xml"], "use one of text, json, none"),
        ("--quiet=perhaps", [], "use true or false"),
        ("--wait-for-children=2", [], "use true or false"),
        ("--on-memory", ["95", "signal:USR1"], SHARE),
        ("--on-memory", ["95%", "USR1"], SHARE),
        ("--on-memory", ["x%", "signal:USR1"], SHARE),
        ("--on-memory", ["²%", "signal:USR1"], SHARE),
        ("--on-memory", [".%", "signal:USR1"], SHARE),
        ("--on-memory", ["0%", "signal:USR1"], "use a share between 0% and 100%"),
        ("--on-memory", ["101%", "signal:USR1"], "use a share between 0% and 100%"),
        ("--on-memory", ["95%", "signal:NOPE"], "unknown signal NOPE; use a name such as USR1 or TERM"),
        ("--on-memory", ["95%", "signal:_DFL"], "unknown signal _DFL; use a name such as USR1 or TERM"),
    ],
)
def test_a_bad_value_is_refused_with_what_to_use(
    flag: str, words: list[str], hint: str, clean: dict[str, str]
) -> None:
    sentence, told = refusal([flag, *words, "true"], clean)
    name, _, attached = flag.partition("=")
    assert sentence == f"bad value for {name}: {attached or ' '.join(words)}"
    assert told == hint


@pytest.mark.parametrize("flag", ["--name", "-m", "--on-memory", "--tag"])
def test_a_flag_without_its_value_is_refused(flag: str, clean: dict[str, str]) -> None:
    metavar = {"--name": "NAME", "-m": "TEXT", "--on-memory": "SHARE signal:NAME", "--tag": "K=V"}[flag]
    assert refusal([flag], clean) == (f"{flag} needs {metavar}", "see: jobmeter run --help")


@pytest.mark.parametrize(
    ("argument", "shown"),
    [("--nmae", "--nmae"), ("-x", "-x"), ("--n\udcff=1", "--n\\udcff"), ("-mwhy", "-mwhy")],
)
def test_an_unknown_flag_is_refused(argument: str, shown: str, clean: dict[str, str]) -> None:
    assert refusal([argument, "true"], clean) == (f"unknown option: {shown}", "see: jobmeter run --help")


def test_a_bad_variable_is_named(clean: dict[str, str]) -> None:
    sentence, hint = refusal(["true"], clean | {"JOBMETER_TIMEOUT": "soon"})
    assert (sentence, hint) == ("bad value for JOBMETER_TIMEOUT: soon", DURATION)


@pytest.mark.parametrize(
    ("text", "sentence", "hint"),
    [
        ("timeout = 'soon'", "bad value for timeout in {file}: soon", DURATION),
        ("timeout = true", "bad value for timeout in {file}: true", DURATION),
        ("name = {a = 1}", "bad value for name in {file}: a table", "use a plain value"),
        (
            "colour = 1",
            "unknown setting colour in {file}",
            "use one of build_stats, build_stats_interval, capture, config, energy_price, gpus, home, job_id, ",
        ),
        ("= 1", "{file} is not valid TOML: Invalid statement (at line 1, column 1)", "mend that line"),
    ],
)
def test_a_bad_file_is_named_with_its_fault(
    text: str, sentence: str, hint: str, clean: dict[str, str], tmp_path: Path
) -> None:
    file = write(tmp_path / "x.toml", text)
    said, told = refusal(["--config", str(file), "true"], clean)
    assert said == sentence.format(file=file)
    assert told.startswith(hint)


def test_bytes_that_are_not_text_are_not_toml(clean: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(b"name = '\xff'\n")
    sentence, hint = refusal(["--config", str(file), "true"], clean)
    assert sentence.startswith(f"{file} is not valid TOML: ")
    assert hint == "mend that line"


def test_a_file_that_is_not_there_is_refused(clean: dict[str, str], tmp_path: Path) -> None:
    assert refusal(["--config", str(tmp_path / "gone.toml"), "true"], clean) == (
        f"cannot read {tmp_path}/gone.toml: No such file or directory",
        "check --config",
    )


def test_the_help_lists_every_flag_once() -> None:
    text = settings.help_text()
    for option in settings.OPTIONS:
        named = re.findall(rf"^  {', '.join(option.flags)}(?![\w-])", text, re.MULTILINE)
        assert len(named) == 1, option.name
        assert option.help in text
    assert max(len(line) for line in text.splitlines()) <= 118
    assert text.splitlines()[0] == "usage: jobmeter run [options] [--] COMMAND [ARGUMENT ...]"
