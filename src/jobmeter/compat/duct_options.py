"""con-duct's `run` options: command line over DUCT_* variables over `.env` files over defaults.

Everything after the command belongs to the command, and nothing is abbreviated, as in con-duct.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jobmeter.errors import UsageError

SUMMARY_FORMAT = (
    "Summary:\n"
    "Exit Code: {exit_code!E}\n"
    "Command: {command}\n"
    "Log files location: {logs_prefix}\n"
    "Wall Clock Time: {wall_clock_time:.3f} sec\n"
    "Memory Peak Usage (RSS): {peak_rss!S}\n"
    "Memory Average Usage (RSS): {average_rss!S}\n"
    "Virtual Memory Peak Usage (VSZ): {peak_vsz!S}\n"
    "Virtual Memory Average Usage (VSZ): {average_vsz!S}\n"
    "Memory Peak Percentage: {peak_pmem:.2f!N}%\n"
    "Memory Average Percentage: {average_pmem:.2f!N}%\n"
    "CPU Peak Usage: {peak_pcpu:.2f!N}%\n"
    "Average CPU Usage: {average_pcpu:.2f!N}%\n"
)
OUTPUT_PREFIX = ".duct/logs/{datetime}-{pid}_"
LEVELS = ("NONE", "CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")
STREAM_CHOICES = ("all", "none", "stdout", "stderr")

Setting = str | float | bool


@dataclass(frozen=True, slots=True)
class Row:
    """One option: its flags, its variable, how a text becomes its value."""

    flags: tuple[str, ...]
    name: str
    variable: str | None
    default: Setting
    convert: Callable[[str], Setting] | None
    """None for a switch."""
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DuctOptions:
    """What con-duct's command line asked for."""

    output_prefix: str
    summary_format: str
    colors: bool
    clobber: bool
    sample_interval: float
    report_interval: float
    fail_time: float
    capture_outputs: str
    outputs: str
    record_types: str
    message: str
    mode: str
    log_level: str
    remarks: tuple[tuple[str, str], ...]
    """What reading the `.env` files had to say, with its level."""

    def captures(self, stream: str) -> bool:
        return self.capture_outputs in ("all", stream)

    def prints(self, stream: str) -> bool:
        return self.outputs in ("all", stream)


def _choice(*words: str) -> Callable[[str], Setting]:
    def convert(text: str) -> str:
        if text not in words:
            raise ValueError(f"use one of {', '.join(words)}")
        return text

    return convert


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("use a number of seconds") from None


def _level(text: str) -> Setting:
    return _choice(*LEVELS)(text.upper())


ROWS = (
    Row(("-p", "--output-prefix"), "output_prefix", "DUCT_OUTPUT_PREFIX", OUTPUT_PREFIX, str,
        "what the names of the four files begin with; knows {datetime} and {pid}"),
    Row(("--summary-format",), "summary_format", "DUCT_SUMMARY_FORMAT", SUMMARY_FORMAT, str,
        "template of the summary, with !S !E !X !N !P !T !D"),
    Row(("--colors",), "colors", "DUCT_COLORS", False, None, "colour the summary"),
    Row(("--clobber",), "clobber", None, False, None, "replace files that are there already"),
    Row(("--sample-interval", "--s-i"), "sample_interval", "DUCT_SAMPLE_INTERVAL", 1.0, _seconds,
        "seconds between samples"),
    Row(("--report-interval", "--r-i"), "report_interval", "DUCT_REPORT_INTERVAL", 60.0, _seconds,
        "seconds between usage lines"),
    Row(("--fail-time", "--f-t"), "fail_time", "DUCT_FAIL_TIME", 3.0, _seconds,
        "a command that fails sooner leaves no files; 0 keeps them, negative drops those of every failure"),
    Row(("-c", "--capture-outputs"), "capture_outputs", "DUCT_CAPTURE_OUTPUTS", "all", _choice(*STREAM_CHOICES),
        "which output to keep"),
    Row(("-o", "--outputs"), "outputs", None, "all", _choice(*STREAM_CHOICES), "which output to print"),
    Row(("-t", "--record-types"), "record_types", None, "all",
        _choice("all", "system-summary", "processes-samples"), "which files to fill"),
    Row(("-m", "--message"), "message", "DUCT_MESSAGE", "", str, "why this run was made"),
    Row(("--mode",), "mode", None, "new-session", _choice("new-session", "current-session"),
        "measure the command, or everything in the caller's session"),
    Row(("-l", "--log-level"), "log_level", "DUCT_LOG_LEVEL", "INFO", _level, "what to say on stderr"),
    Row(("-q", "--quiet"), "quiet", None, False, None, "the same as --log-level NONE"),
)  # fmt: skip

_BY_FLAG = {flag: row for row in ROWS for flag in row.flags}


def parse(argv: list[str], environ: Mapping[str, str]) -> tuple[DuctOptions, list[str]]:
    """Split con-duct's command line into options and the command."""
    given, command = _flags(argv)
    files, remarks = _dotenv(environ)
    values: dict[str, Setting] = {row.name: row.default for row in ROWS}
    for source in (files, environ):
        values.update(_variables(source))
    values.update(given)
    if values.pop("quiet"):
        values["log_level"] = "NONE"
    options = DuctOptions(**values, remarks=tuple(remarks))  # type: ignore[arg-type]  # ROWS has each field's type
    if options.report_interval < options.sample_interval:
        raise UsageError(
            "--report-interval must be greater than or equal to --sample-interval",
            hint="raise --report-interval",
        )
    return options, command


def _dotenv(environ: Mapping[str, str]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    from jobmeter.compat import dotenv

    return dotenv.settings(environ)


def _variables(source: Mapping[str, str]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for row in ROWS:
        if row.variable is not None and row.variable in source:
            found[row.name] = _converted(row, source[row.variable], row.variable)
    return found


def _flags(argv: list[str]) -> tuple[dict[str, Setting], list[str]]:
    given: dict[str, Setting] = {}
    words = list(argv)
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        flag, equals, attached = (
            word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        )
        row = _BY_FLAG.get(flag)
        if row is None:
            raise UsageError(f"unrecognized arguments: {_shown(word)}", hint="see: jobmeter duct --help")
        if row.convert is None:
            if equals:
                raise UsageError(f"{flag} takes no value", hint="see: jobmeter duct --help")
            given[row.name] = True
            continue
        if not equals and not words:
            raise UsageError(f"{flag} needs a value", hint="see: jobmeter duct --help")
        given[row.name] = _converted(row, attached if equals else words.pop(0), flag)
    return given, words


def _converted(row: Row, text: str, where: str) -> Setting:
    if row.convert is None:
        return bool(text)
    try:
        return row.convert(text)
    except ValueError as error:
        raise UsageError(f"bad value for {where}: {_shown(text)}", hint=str(error)) from None


def _shown(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()[:200]


def help_text() -> str:
    """Render the help of `jobmeter duct`."""
    rows = []
    for row in ROWS:
        flags = ", ".join(row.flags) + ("" if row.convert is None else " VALUE")
        variable = f" [{row.variable}]" if row.variable else ""
        rows.append(f"  {flags:<34} {row.help}{variable}")
    return os.linesep.join(
        [
            "usage: jobmeter duct [options] COMMAND [ARGUMENT ...]",
            "",
            "Record a command as con-duct's `duct` or `con-duct run` would: its options, its summary, its four files.",
            "The run is kept in jobmeter's home too. Everything after the command belongs to the command.",
            "",
            *rows,
        ]
    )
