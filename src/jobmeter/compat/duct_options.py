"""con-duct's `run` options: command line over DUCT_* variables over `.env` files over defaults.

Everything after the command belongs to the command, and nothing is abbreviated, as in con-duct. Parsed by
hand and without dataclasses: this runs before the job.
"""

import os

from jobmeter.config import options as settings
from jobmeter.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Setting = str | float | bool

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


class Row:
    """One option: its flags, its variable, how a text becomes its value; a switch takes no text."""

    __slots__ = ("convert", "default", "flags", "help", "name", "variable")

    def __init__(
        self,
        flags: str,
        variable: str | None,
        default: "Setting",
        convert: "Callable[[str], Setting] | None",
        help_text: str,
    ) -> None:
        self.flags = tuple(flags.split())
        self.name = next(flag for flag in self.flags if len(flag) > _SHORT_FLAG)[2:].replace("-", "_")
        self.variable = variable
        self.default = default
        self.convert = convert
        self.help = help_text


class DuctOptions:
    """What con-duct's command line asked for, by con-duct's names."""

    __slots__ = (
        "capture_outputs",
        "clobber",
        "colors",
        "fail_time",
        "log_level",
        "message",
        "mode",
        "output_prefix",
        "outputs",
        "record_types",
        "remarks",
        "report_interval",
        "sample_interval",
        "summary_format",
    )

    def __init__(self, values: "Mapping[str, Setting]", remarks: list[tuple[str, str]]) -> None:
        self.output_prefix = str(values["output_prefix"])
        self.summary_format = str(values["summary_format"])
        self.colors = bool(values["colors"])
        self.clobber = bool(values["clobber"])
        self.sample_interval = float(values["sample_interval"])
        self.report_interval = float(values["report_interval"])
        self.fail_time = float(values["fail_time"])
        self.capture_outputs = str(values["capture_outputs"])
        self.outputs = str(values["outputs"])
        self.record_types = str(values["record_types"])
        self.message = str(values["message"])
        self.mode = str(values["mode"])
        self.log_level = "NONE" if values["quiet"] else str(values["log_level"])
        self.remarks = remarks
        """What reading the `.env` files had to say, with its level."""

    def captures(self, stream: str) -> bool:
        """Say whether an output is kept in its file."""
        return self.capture_outputs in ("all", stream)

    def prints(self, stream: str) -> bool:
        """Say whether an output is passed on to ours."""
        return self.outputs in ("all", stream)


_SHORT_FLAG = 2


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("use a number of seconds") from None


def _level(text: str) -> "Setting":
    return settings.choice(*LEVELS)(text.upper())


ROWS = (
    Row("-p --output-prefix", "DUCT_OUTPUT_PREFIX", OUTPUT_PREFIX, str,
        "what the names of the four files begin with; knows {datetime} and {pid}"),
    Row("--summary-format", "DUCT_SUMMARY_FORMAT", SUMMARY_FORMAT, str,
        "template of the summary, with !S !E !X !N !P !T !D"),
    Row("--colors", "DUCT_COLORS", False, None, "colour the summary"),
    Row("--clobber", None, False, None, "replace files that are there already"),
    Row("--sample-interval --s-i", "DUCT_SAMPLE_INTERVAL", 1.0, _seconds, "seconds between samples"),
    Row("--report-interval --r-i", "DUCT_REPORT_INTERVAL", 60.0, _seconds, "seconds between usage lines"),
    Row("--fail-time --f-t", "DUCT_FAIL_TIME", 3.0, _seconds,
        "a command that fails sooner leaves no files; 0 keeps them, negative drops those of every failure"),
    Row("-c --capture-outputs", "DUCT_CAPTURE_OUTPUTS", "all", settings.choice(*STREAM_CHOICES),
        "which output to keep"),
    Row("-o --outputs", None, "all", settings.choice(*STREAM_CHOICES), "which output to print"),
    Row("-t --record-types", None, "all", settings.choice("all", "system-summary", "processes-samples"),
        "which files to fill"),
    Row("-m --message", "DUCT_MESSAGE", "", str, "why this run was made"),
    Row("--mode", None, "new-session", settings.choice("new-session", "current-session"),
        "measure the command, or everything in the caller's session"),
    Row("-l --log-level", "DUCT_LOG_LEVEL", "INFO", _level, "what to say on stderr"),
    Row("-q --quiet", None, False, None, "the same as --log-level NONE"),
)  # fmt: skip

_BY_FLAG = {flag: row for row in ROWS for flag in row.flags}


def parse(argv: list[str], environ: "Mapping[str, str]") -> tuple[DuctOptions, list[str]]:
    """Split con-duct's command line into options and the command."""
    given, command = _flags(argv)
    files, remarks = _dotenv(environ)
    values: dict[str, Setting] = {row.name: row.default for row in ROWS}
    for source in (files, environ):
        values.update(_variables(source))
    values.update(given)
    options = DuctOptions(values, remarks)
    if options.report_interval < options.sample_interval:
        raise UsageError(
            "--report-interval must be greater than or equal to --sample-interval",
            hint="raise --report-interval",
        )
    return options, command


def _dotenv(environ: "Mapping[str, str]") -> tuple[dict[str, str], list[tuple[str, str]]]:
    if "DUCT_CONFIG_PATHS" not in environ and not any(map(os.path.exists, _usual_files(environ))):
        return {}, []
    from jobmeter.compat import dotenv

    return dotenv.settings(environ)


def _usual_files(environ: "Mapping[str, str]") -> tuple[str, ...]:
    """Name the default places of `.env` files, before the reader of such files is imported."""
    user = environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return "/etc/duct/.env", os.path.join(user, "duct", ".env"), ".duct/.env"


def _variables(source: "Mapping[str, str]") -> "dict[str, Setting]":
    found: dict[str, Setting] = {}
    for row in ROWS:
        if row.variable is not None and row.variable in source:
            found[row.name] = _converted(row, source[row.variable], row.variable)
    return found


def _flags(argv: list[str]) -> "tuple[dict[str, Setting], list[str]]":
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
            raise UsageError(
                f"unrecognized arguments: {settings.printable(word)}", hint="see: jobmeter duct --help"
            )
        if row.convert is None:
            if equals:
                raise UsageError(f"{flag} takes no value", hint="see: jobmeter duct --help")
            given[row.name] = True
            continue
        if not equals and not words:
            raise UsageError(f"{flag} needs a value", hint="see: jobmeter duct --help")
        given[row.name] = _converted(row, attached if equals else words.pop(0), flag)
    return given, words


def _converted(row: Row, text: str, where: str) -> "Setting":
    if row.convert is None:
        return bool(text)
    try:
        return row.convert(text)
    except ValueError as error:
        raise UsageError(f"bad value for {where}: {settings.printable(text)}", hint=str(error)) from None


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
