"""Options of `jobmeter run`: one table serves the command line, `JOBMETER_*`, TOML files and the help text.

Parsed by hand, because argparse alone costs half of what recording `true` does.
"""

import os

from jobmeter.config import home as homes
from jobmeter.errors import RecordError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmeter.config.aitk import Wishes

    Setting = str | float | bool | dict[str, str] | tuple[str, ...] | None


class Options:
    """What one recording was asked to do, every value checked."""

    __slots__ = (
        "aitk",
        "build_stats",
        "build_stats_interval",
        "capture",
        "energy_price",
        "follow",
        "gpus",
        "job_id",
        "measurements",
        "message",
        "name",
        "on_memory",
        "own_cgroup",
        "project",
        "pty",
        "quiet",
        "report_interval",
        "runs_home",
        "sample_interval",
        "server",
        "stall_seconds",
        "summary",
        "tags",
        "timeout",
        "wait_for_children",
    )

    def __init__(self, values: "Mapping[str, Setting]", runs_home: str, aitk: "Wishes | None" = None) -> None:
        self.runs_home = runs_home
        self.aitk = aitk
        self.name: str | None = _text(values["name"])
        self.project: str | None = _text(values["project"])
        self.message: str | None = _text(values["message"])
        self.job_id: str | None = _text(values["job_id"])
        self.measurements: str | None = _text(values["measurements"])
        self.on_memory: str | None = _text(values["on_memory"])
        self.energy_price: str | None = _text(values["energy_price"])
        self.gpus = str(values["gpus"])
        self.own_cgroup = str(values["own_cgroup"])
        self.capture = str(values["capture"])
        self.pty = str(values["pty"])
        self.summary = str(values["summary"])
        self.quiet = bool(values["quiet"])
        self.wait_for_children = bool(values["wait_for_children"])
        self.timeout: float | None = _number(values["timeout"])
        self.build_stats: str | None = _text(values["build_stats"])
        self.build_stats_interval: float = _number(values["build_stats_interval"]) or 60.0
        self.sample_interval: float = _number(values["sample_interval"]) or 1.0
        if self.build_stats is not None:
            self.sample_interval = min(self.sample_interval, self.build_stats_interval)
        self.report_interval: float = max(_number(values["report_interval"]) or 10.0, self.sample_interval)
        self.stall_seconds: float = _number(values["stall_seconds"]) or 60.0
        self.server: str | None = _text(values["server"])
        told = os.path.exists(os.path.join(runs_home, "alerts.toml")) or bool(values.get("follow"))
        self.follow: tuple[str, ...] = ("alerts",) * told + ("push",) * (self.server is not None)
        """What a process of its own does for the run while it lasts; none is started where that is nothing."""
        tags = values["tag"]
        self.tags: dict[str, str] = tags if isinstance(tags, dict) else {}


def _text(value: "Setting") -> str | None:
    return value if isinstance(value, str) else None


def _number(value: "Setting") -> float | None:
    return float(value) if isinstance(value, int | float) else None


class Option:
    """One row of the table."""

    __slots__ = ("convert", "default", "flags", "help", "metavar", "name")

    def __init__(
        self,
        flags: str,
        metavar: str,
        convert: "Callable[[str], Setting]",
        default: "Setting",
        help_text: str,
    ) -> None:
        self.flags = tuple(flags.split())
        self.name = self.flags[-1].lstrip("-").replace("-", "_")
        self.metavar = metavar
        self.convert = convert
        self.default = default
        self.help = help_text

    @property
    def switch(self) -> bool:
        return not self.metavar

    @property
    def words(self) -> int:
        """How many arguments follow the flag."""
        return len(self.metavar.split())


def choice(*words: str) -> "Callable[[str], str]":
    """Accept one of some words."""

    def convert(text: str) -> str:
        if text not in words:
            raise ValueError(f"use one of {', '.join(words)}")
        return text

    return convert


def seconds(text: str) -> float:
    """Read a duration: `90`, `1.5s`, `200ms`, `10m`, `2h`."""
    scale = 1.0
    for suffix, factor in (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0)):
        if text.endswith(suffix):
            text, scale = text[: -len(suffix)], factor
            break
    try:
        value = float(text) * scale
    except ValueError:
        raise ValueError("use a duration such as 0.5, 200ms, 90s, 10m or 2h") from None
    if not 0.01 <= value < 1e9:
        raise ValueError("use a duration between 0.01 s and 30 years")
    return value


def _tags(text: str) -> dict[str, str]:
    tags: dict[str, str] = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ValueError("use KEY=VALUE")
        tags[key] = value
    return tags


def _truth(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off", ""):
        return False
    raise ValueError("use true or false")


def _folder(text: str) -> str | None:
    """Read a folder; as a mere switch it is the root, where the files of a build are looked for."""
    if text.lower() in ("0", "false", "no", "off", ""):
        return None
    return "/" if text.lower() in ("1", "true", "yes", "on") else text


def _on_memory(text: str) -> str:
    percent, _, action = text.partition(" ")
    signal_name = action.removeprefix("signal:")
    if not percent.endswith("%") or not percent[:-1].replace(".", "", 1).isdecimal() or signal_name == action:
        raise ValueError("use a share of the limit and an action, such as: 95% signal:USR1")
    if not 0 < float(percent[:-1]) <= 100:
        raise ValueError("use a share between 0% and 100%")
    from jobmeter.config import signals

    signals.number(signal_name)
    return text


def _price(text: str) -> str:
    """Read a price per kWh and what it is in: `0.31`, `0.31 EUR`."""
    number, _, currency = text.strip().partition(" ")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6 or len(currency) > 12 or not currency.strip().isprintable():
        raise ValueError("use a price per kWh, such as 0.31 or '0.31 EUR'")
    return f"{number} {currency.strip()}".strip()


def _server(text: str) -> str | None:
    """Read the address of a server; `off` takes one back that a file or a variable names."""
    if text.lower() in ("", "0", "false", "no", "none", "off"):
        return None
    host = text.partition("://")[2].partition("/")[0]
    if not text.startswith(("http://", "https://")) or not host or "@" in host or not text.isprintable():
        raise ValueError("use an address without a password, such as https://jobs.example.org:8765")
    return text


OPTIONS: tuple[Option, ...] = (
    Option("--name", "NAME", str, None, "a name for this run"),
    Option("--project", "NAME", str, None, "the project it belongs to"),
    Option("--tag", "K=V", _tags, None, "a tag; may be repeated"),
    Option("-m --message", "TEXT", str, None, "why this run was made"),
    Option("--job-id", "ID", str, None, "joins the recorders of one job (default: the run's own id)"),
    Option("--home", "DIR", str, None, "where runs are kept (default: JOBMETER_HOME, .jobmeter/ upwards, XDG data)"),
    Option("--config", "FILE", str, None, "read settings from this TOML file too"),
    Option("--sample-interval", "SECONDS", seconds, 1.0, "time between samples (default 1)"),
    Option("--report-interval", "SECONDS", seconds, 10.0, "time between reports of single processes (default 10)"),
    Option("--measurements", "KEYS", str, None, "keys, prefixes and -exclusions, such as proc,cgroup_mem_peak,-psi"),
    Option("--gpus", "job|all", choice("job", "all"), "job", "record the job's GPUs, or all of the machine's"),
    Option("--energy-price", "PRICE", _price, None, "what a kWh costs, such as '0.31 EUR'"),
    Option("--own-cgroup", "auto|never|require", choice("auto", "never", "require"), "auto", "a cgroup of its own"),
    Option("--capture", "auto|none|stdout|stderr|all", choice("auto", "none", "stdout", "stderr", "all"), "auto",
           "which output to keep"),
    Option("--pty", "auto|always|never", choice("auto", "always", "never"), "auto", "give the job a terminal"),
    Option("--timeout", "SECONDS", seconds, None, "end the job after this long (exit code 124)"),
    Option("--stall-seconds", "SECONDS", seconds, 60.0, "look at processes of a job idle for so long (default 60)"),
    Option("--on-memory", "SHARE signal:NAME", _on_memory, None, "signal the job when memory nears its limit"),
    Option("--server", "URL", _server, None, "push the run to a jobmeter server while it lasts"),
    Option("--build-stats", "", _folder, None, "sample the host for the log of a build (=DIR: files there, not in /)"),
    Option("--build-stats-interval", "SECONDS", seconds, 60.0, "time between these samples (default 60)"),
    Option("--wait-for-children", "", _truth, False, "keep measuring until background children end"),
    Option("--summary", "text|json|none", choice("text", "json", "none"), "text", "the summary on stderr at the end"),
    Option("-q --quiet", "", _truth, False, "print nothing of our own but errors"),
)  # fmt: skip

_OF_READERS = ("alerts", "database", "otlp", "push", "remote_write", "server", "upstream", "webhooks")
"""Settings of those who read and serve runs, in the same files; see `tables`."""
_BY_FLAG: dict[str, Option] = {flag: option for option in OPTIONS for flag in option.flags}


def parse(argv: list[str], environ: "Mapping[str, str]", cwd: str) -> tuple[Options, list[str]]:
    """Split `run`'s arguments into checked options and the job's untouched command."""
    given, command = _parse_flags(argv)
    explicit = given.get("config")
    files = config_files(environ, cwd, str(explicit) if explicit else environ.get("JOBMETER_CONFIG"))
    values: dict[str, Setting] = {option.name: option.default for option in OPTIONS}
    for path in files:
        table = _load_toml(path)
        values.update(_settings(path, table))
        values.update(_following(path, table, environ))
    wishes = _aitk(command, cwd)
    if wishes is not None:
        values.update(wishes.settings())
        values["job_id"] = environ.get("AITK_JOB_ID") or values["job_id"]
    values.update(_read_environment(environ))
    values.update(given)
    _require_private(values, environ)
    home = given.get("home") or environ.get("JOBMETER_HOME") or values["home"]
    runs_home = homes.find_home(cwd, environ, home if isinstance(home, str) else None)
    return Options(values, runs_home, wishes), command


def _aitk(command: list[str], cwd: str) -> "Wishes | None":
    """Read the config of an ai-toolkit job; every other command is told by a glance."""
    if not any(word.endswith("run.py") for word in command):
        return None
    from jobmeter.config import aitk

    return aitk.find(command, cwd)


def _parse_flags(argv: list[str]) -> "tuple[dict[str, Setting], list[str]]":
    given: dict[str, Setting] = {}
    tags: dict[str, str] = {}
    at = 0
    while at < len(argv) and argv[at].startswith("-") and argv[at] not in ("-", "--"):
        flag, equals, attached = argv[at].partition("=")
        at += 1
        option = _BY_FLAG.get(flag)
        if option is None:
            raise RecordError(f"unknown option: {printable(flag)}", hint="see: jobmeter run --help")
        if option.switch:
            given[option.name] = _convert(option, attached if equals else "true", flag)
            continue
        needed = 1 if " " in "".join(argv[at : at + 1]) else option.words  # two words may be quoted as one
        words = [attached] if equals else argv[at : at + needed]
        at += 0 if equals else needed
        if len(words) < needed and not equals:
            raise RecordError(f"{flag} needs {option.metavar}", hint="see: jobmeter run --help")
        value = _convert(option, " ".join(words), flag)
        if isinstance(value, dict):
            tags.update(value)
            value = tags
        given[option.name] = value
    return given, argv[at + 1 :] if argv[at : at + 1] == ["--"] else argv[at:]


def _convert(option: Option, text: str, where: str) -> "Setting":
    try:
        return option.convert(text)
    except ValueError as error:
        raise RecordError(f"bad value for {where}: {printable(text)}", hint=str(error)) from None


def _read_environment(environ: "Mapping[str, str]") -> "dict[str, Setting]":
    values: dict[str, Setting] = {}
    for option in OPTIONS:
        variable = f"JOBMETER_{option.name.upper()}"
        if variable in environ and option.name not in ("home", "config"):
            values[option.name] = _convert(option, environ[variable], variable)
    return values


def config_files(environ: "Mapping[str, str]", cwd: str, explicit: str | None) -> list[str]:
    """List the settings files that exist, farthest first: system, user, project, the one named."""
    user = environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    candidates = ["/etc/jobmeter/config.toml", os.path.join(user, "jobmeter", "config.toml")]
    project = homes.project_folder(cwd)
    if project is not None:
        candidates.append(os.path.join(project, "config.toml"))
    files = [path for path in candidates if os.path.exists(path)]
    if explicit:
        files.append(os.path.join(cwd, os.path.expanduser(explicit)))
    return files


def _load_toml(path: str) -> dict[str, object]:
    import tomllib

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise RecordError(f"cannot read {printable(path)}: {error.strerror}", hint="check --config") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"{printable(path)} is not valid TOML: {error}", hint="mend that line") from None


def _following(path: str, table: dict[str, object], environ: "Mapping[str, str]") -> "dict[str, Setting]":
    """Take what decides whether the run is followed, and who receives it."""
    from jobmeter.config import receivers

    values: dict[str, Setting] = {"follow": True} if "alerts" in table else {}
    server, plain = receivers.from_table(path, table, environ)
    if server is not None:
        values["server"] = _convert(_BY_FLAG["--server"], server, f"server in {path}")
    return {**values, "allow_plain_http": True} if plain else values


def _require_private(values: "Mapping[str, Setting]", environ: "Mapping[str, str]") -> None:
    if isinstance(values["server"], str):
        from jobmeter.config import receivers

        receivers.require_private(values["server"], environ, allowed=bool(values.get("allow_plain_http")))


def _settings(path: str, table: dict[str, object]) -> "dict[str, Setting]":
    values: dict[str, Setting] = {}
    by_name = {option.name: option for option in OPTIONS}
    for key, value in table.items():
        if key in _OF_READERS:
            continue
        option = by_name.get(key.replace("-", "_"))
        if option is None:
            known = ", ".join(sorted(by_name))
            raise RecordError(
                f"unknown setting {printable(key)} in {printable(path)}", hint=f"use one of {known}"
            )
        values[option.name] = _from_toml(option, value, f"{key} in {path}")
    return values


def _from_toml(option: Option, value: object, where: str) -> "Setting":
    if isinstance(value, dict):
        if option.convert is not _tags:
            raise RecordError(f"bad value for {printable(where)}: a table", hint="use a plain value")
        return {str(key): str(word) for key, word in value.items()}
    if isinstance(value, list):
        return _convert(option, (" " if option.words > 1 else ",").join(str(word) for word in value), where)
    return _convert(option, str(value).lower() if isinstance(value, bool) else str(value), where)


def printable(text: str) -> str:
    """Show what somebody typed in an error, whatever its bytes and length."""
    return text.encode("utf-8", "backslashreplace").decode()[:200]


_RUN_USAGE = "run [options] [--] COMMAND [ARGUMENT ...]"
_RUN_ABOUT = (
    "Record what a command really used. Options come before the command; everything after it belongs to it."
)


def help_text(usage: str = _RUN_USAGE, about: str = _RUN_ABOUT) -> str:
    """Render the help of a recording command from the table."""
    from jobmeter.config import helptext

    return helptext.render(usage, about, OPTIONS)
