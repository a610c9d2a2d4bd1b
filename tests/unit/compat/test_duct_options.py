"""con-duct's command line: what is ours, what is the command's, and who wins."""

from pathlib import Path

import pytest

from jobmeter.compat import duct_options
from jobmeter.errors import UsageError

BARE = {"DUCT_CONFIG_PATHS": "/nonexistent/.env"}


def test_without_options_the_defaults_are_con_ducts() -> None:
    options, command = duct_options.parse(["echo", "hi"], BARE)
    assert command == ["echo", "hi"]
    assert options.output_prefix == ".duct/logs/{datetime}-{pid}_"
    assert (options.sample_interval, options.report_interval, options.fail_time) == (1.0, 60.0, 3.0)
    assert (options.capture_outputs, options.outputs, options.record_types) == ("all", "all", "all")
    assert (options.mode, options.log_level, options.message) == ("new-session", "INFO", "")
    assert not options.clobber
    assert not options.colors


def test_every_option_is_understood_long_and_short() -> None:
    argv = [
        "-p", "x_", "--summary-format", "{command}", "--colors", "--clobber", "--s-i", "0.5", "--r-i=2",
        "--f-t", "-1", "-c", "stdout", "-o", "none", "-t", "system-summary", "-m", "why not",
        "--mode", "current-session", "-l", "debug", "--", "-odd", "name",
    ]  # fmt: skip
    options, command = duct_options.parse(argv, BARE)
    assert command == ["-odd", "name"]
    assert options.output_prefix == "x_"
    assert options.summary_format == "{command}"
    assert options.colors
    assert options.clobber
    assert (options.sample_interval, options.report_interval, options.fail_time) == (0.5, 2.0, -1.0)
    assert (options.capture_outputs, options.outputs) == ("stdout", "none")
    assert (options.record_types, options.mode) == ("system-summary", "current-session")
    assert (options.message, options.log_level) == ("why not", "DEBUG")


def test_a_short_option_may_have_its_value_attached() -> None:
    assert duct_options.parse(["-px_", "true"], BARE)[0].output_prefix == "x_"


def test_what_follows_the_command_belongs_to_the_command() -> None:
    options, command = duct_options.parse(["sleep", "-q", "--fail-time", "9"], BARE)
    assert command == ["sleep", "-q", "--fail-time", "9"]
    assert options.log_level == "INFO"
    assert options.fail_time == 3.0


def test_quiet_is_the_log_level_none() -> None:
    assert duct_options.parse(["-q", "true"], BARE)[0].log_level == "NONE"


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--unknown", "true"], "unrecognized arguments: --unknown"),
        (["--sample", "1", "true"], "unrecognized arguments: --sample"),
        (["--mode", "sideways", "true"], "bad value for --mode: sideways"),
        (["--s-i", "soon", "true"], "bad value for --s-i: soon"),
        (["-p"], "-p needs a value"),
        (["--clobber=yes", "true"], "--clobber takes no value"),
        (["--s-i", "2", "--r-i", "1", "true"], "--report-interval must be greater"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(argv: list[str], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as caught:
        duct_options.parse(argv, BARE)
    assert caught.value.exit_code == 2
    assert caught.value.hint


def test_a_variable_that_is_no_number_is_named() -> None:
    with pytest.raises(UsageError, match="bad value for DUCT_SAMPLE_INTERVAL: fast"):
        duct_options.parse(["true"], BARE | {"DUCT_SAMPLE_INTERVAL": "fast"})


def test_the_command_line_beats_variables_and_these_beat_files(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("DUCT_MESSAGE=file\nDUCT_OUTPUT_PREFIX=file_\nDUCT_LOG_LEVEL=ERROR\nDUCT_COLORS=1\n")
    environ = {"DUCT_CONFIG_PATHS": str(file), "DUCT_OUTPUT_PREFIX": "variable_", "DUCT_LOG_LEVEL": "info"}
    options, _ = duct_options.parse(["-l", "DEBUG", "true"], environ)
    assert options.message == "file"
    assert options.output_prefix == "variable_"
    assert options.log_level == "DEBUG"
    assert options.colors


def test_the_help_names_every_option_and_variable() -> None:
    text = duct_options.help_text()
    for word in ("--output-prefix", "--s-i", "--f-t", "-t, --record-types", "DUCT_MESSAGE", "--mode"):
        assert word in text


def test_a_file_in_a_usual_place_is_found_without_being_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "duct" / ".env"
    file.parent.mkdir()
    file.write_text("DUCT_MESSAGE=from the user's file\n")
    assert (
        duct_options.parse(["true"], {"XDG_CONFIG_HOME": str(tmp_path)})[0].message == "from the user's file"
    )
    assert duct_options.parse(["true"], {"XDG_CONFIG_HOME": "/nonexistent"})[0].message == ""
