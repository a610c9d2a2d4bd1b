"""Which files belong to one con-duct run.

The names on disk count, not the ones stored inside: logs are moved and renamed, sometimes only one of
them. A file whose partner is not where its name says is paired by content, among those left alone too.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from jobmeter.formats import content, duct_usage, loose_json

INFO_SUFFIX = "info.json"
USAGE_SUFFIXES = ("usage.jsonl", "usage.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The files of one run that exist; a file of no bytes exists."""

    prefix: str
    info: Path | None
    usage: Path | None
    stdout: Path | None
    stderr: Path | None

    @property
    def existing(self) -> tuple[Path, ...]:
        return tuple(path for path in (self.info, self.usage, self.stdout, self.stderr) if path is not None)

    def digest(self) -> str:
        """Hash what was measured; the same run has the same hash under any name."""
        total = hashlib.sha256()
        for path in (self.info, self.usage):
            total.update(content.hash_of(path) if path is not None and path.stat().st_size else b"-")
        return total.hexdigest()


def is_info(path: Path) -> bool:
    """Tell an info file from a usage file: by name, else by content."""
    if path.name.endswith(USAGE_SUFFIXES):
        return False
    if path.name.endswith(INFO_SUFFIX):
        return True
    with path.open("rb") as file:
        return duct_usage.parse_line(file.readline()) is None


def find(path: Path) -> Files:
    """Find the files that belong to an info or usage file."""
    prefix = _prefix(path)
    info = path if is_info(path) else content.if_file(path.with_name(prefix + INFO_SUFFIX))
    usage = path if info != path else _first_existing(path, prefix)
    if info is None and usage is not None:
        info = next((lone for lone in _lone_infos(path.parent) if _agree(lone, usage)), None)
    elif usage is None and info is not None:
        usage = next((lone for lone in _lone_usages(path.parent) if _agree(info, lone)), None)
    return Files(
        prefix=prefix,
        info=info,
        usage=usage,
        stdout=content.if_file(path.with_name(prefix + "stdout")),
        stderr=content.if_file(path.with_name(prefix + "stderr")),
    )


def _prefix(path: Path) -> str:
    for suffix in (INFO_SUFFIX, *USAGE_SUFFIXES):
        if path.name.endswith(suffix):
            return path.name[: -len(suffix)]
    return path.stem


def _first_existing(beside: Path, prefix: str) -> Path | None:
    candidates = (beside.with_name(prefix + suffix) for suffix in USAGE_SUFFIXES)
    return next((path for path in candidates if path.is_file()), None)


def _lone_infos(folder: Path) -> list[Path]:
    found = sorted(folder.glob(f"*{INFO_SUFFIX}"))
    return [path for path in found if _first_existing(path, _prefix(path)) is None]


def _lone_usages(folder: Path) -> list[Path]:
    found = sorted(path for suffix in USAGE_SUFFIXES for path in folder.glob(f"*{suffix}"))
    return [path for path in found if content.if_file(path.with_name(_prefix(path) + INFO_SUFFIX)) is None]


def _agree(info: Path, usage: Path) -> bool:
    record = loose_json.parse_object(info.read_bytes())
    summary = loose_json.mapping((record or {}).get("execution_summary"))
    if not summary.get("num_samples"):
        return False
    seen = duct_usage.survey(usage)
    peak = summary.get("peak_rss", summary.get("peak_ps_rss_total"))
    return seen.samples == summary["num_samples"] and seen.peaks.get("ps_rss_total") == peak
