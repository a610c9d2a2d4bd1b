"""What ai-toolkit's own config wishes: the `monitoring:` section of the file that `run.py` is started with.

`jobmeter run -- python run.py config.yml` takes it over unasked, as settings nearer to the job than any
file of ours. A file that is not such a config, or that cannot be read, changes nothing: the job will say
so itself.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.config.options import Setting

    Table = dict[str, object]

SCRIPT = "run.py"

DEFAULTS: "dict[str, bool | float]" = {
    "enabled": True,
    "sample_interval_seconds": 5.0,
    "track_per_process": True,
    "analyze_on_complete": True,
    "memory_warning_threshold": 0.85,
    "memory_critical_threshold": 0.95,
}

_SUFFIXES = (".yml", ".yaml", ".json")
_LARGEST_BYTES = 1 << 16
"""Ten times the longest example; the job waits 16 ms for every KB of YAML that is read here."""
_MARKS = (b"config", b"process")
"""What a file must hold to be such a config."""
_SHORTEST_SECONDS = 0.01
_NAME_FLAGS = ("-n", "--name")
_NAME_MARK = "[name]"


class Wishes:
    """A config with what it asks of monitoring, every value checked."""

    __slots__ = ("config", "folder", "monitoring", "name", "path")

    def __init__(self, path: str, config: "Table", process: "Table", given_name: str | None) -> None:
        self.path = path
        self.config = config
        self.monitoring = _monitoring(process.get("monitoring"))
        name = _table(config.get("config")).get("name")
        self.name: str | None = name.replace(_NAME_MARK, given_name or "") if isinstance(name, str) else None
        folder = process.get("training_folder")
        self.folder: str | None = folder if isinstance(folder, str) else None

    def settings(self) -> "dict[str, Setting]":
        """Give the wishes as values of our own options."""
        found: dict[str, Setting] = {} if self.name is None else {"name": self.name}
        if self.monitoring["enabled"]:
            seconds = float(self.monitoring["sample_interval_seconds"])
            found |= {"sample_interval": seconds, "report_interval": seconds}
        return found

    @property
    def log(self) -> str | None:
        """Where ai-toolkit's UI has the job's output written."""
        if self.folder is None or self.name is None:
            return None
        return os.path.join(self.folder, self.name, "log.txt")


def find(command: list[str], cwd: str) -> Wishes | None:
    """Look whether a command starts ai-toolkit; None for every other command."""
    if not any(os.path.basename(word) == SCRIPT for word in command):
        return None
    for word in command:
        if not word.endswith(_SUFFIXES):
            continue
        path = os.path.join(cwd, word)
        config = _table(_load(path))
        processes = _table(config.get("config")).get("process")
        if isinstance(processes, list) and processes and isinstance(processes[0], dict):
            return Wishes(path, config, _table(processes[0]), _given_name(command))
    return None


def _given_name(command: list[str]) -> str | None:
    from itertools import pairwise

    for flag, value in pairwise(command):
        if flag in _NAME_FLAGS:
            return value
    return None


def _monitoring(raw: object) -> "dict[str, bool | float]":
    """Check the section value by value; what makes no sense is left at its default."""
    given = _table(raw)
    found = dict(DEFAULTS)
    for name, default in DEFAULTS.items():
        value = given.get(name)
        if isinstance(default, bool):
            found[name] = value if isinstance(value, bool) else default
        elif isinstance(value, int | float) and not isinstance(value, bool) and _sensible(name, value):
            found[name] = float(value)
    return found


def _sensible(name: str, value: float) -> bool:
    return value >= _SHORTEST_SECONDS if name.endswith("_seconds") else 0 < value <= 1


def _table(raw: object) -> "Table":
    return raw if isinstance(raw, dict) else {}


def _load(path: str) -> object:
    try:
        with open(path, "rb") as file:
            text = file.read(_LARGEST_BYTES + 1)
    except OSError:
        return None  # the job will say that its config is not there
    if len(text) > _LARGEST_BYTES or not all(mark in text for mark in _MARKS):
        return None
    return load_json(text) if path.endswith(".json") else load_yaml(text)


def load_json(text: bytes) -> object:
    """Read a JSON document; None where it is none."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def load_yaml(text: bytes) -> object:
    """Read a YAML document; None where it is none."""
    import sys

    if sys.flags.no_site:
        import site

        site.main()  # recording goes without installed packages until one is needed
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
    except ImportError:
        return None  # a job must not depend on what is only read on its way

    try:
        return YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError):
        return None
