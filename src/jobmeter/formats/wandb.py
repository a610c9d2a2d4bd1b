"""A Weights & Biases run on disk: `run-<id>.wandb` with its folder `files/`, or what is left of it.

What misleads: the history is only in the `.wandb` file; `wandb-summary.json` has the last value of each metric,
of whichever step; W&B's figures of the machine are those of the training process alone unless told otherwise;
an offline run has no `wandb-metadata.json`, a synced one may have no `.wandb`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import (
    content,
    figures,
    gauge_series,
    leveldb_log,
    loose_json,
    training,
    wandb_file,
    yaml_text,
)
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Scope
from jobmeter.model.run import Status
from jobmeter.model.view import Step

FORMAT = "wandb"
METADATA, SUMMARY, CONFIG, OUTPUT = "wandb-metadata.json", "wandb-summary.json", "config.yaml", "output.log"
_NAMES = (METADATA, SUMMARY, CONFIG)
_CONFIG_MARK = re.compile(rb"^_wandb:", re.MULTILINE)
_METADATA_MARKS = (b'"startedAt"', b'"cpu_count"', b'"program"', b'"executable"', b'"python"')
_PLACES = frozenset(("gpu", "cpu", "disk", "tpu", "trn", "ipu", "network", "system"))

Record = dict[str, object]


def sniff(head: bytes, name: str) -> float:
    """Claim the log by its first bytes, metadata and summary by their names, a config by W&B's entry."""
    if head.startswith(leveldb_log.HEADER):
        return 1.0
    if name.endswith(SUMMARY) and head.lstrip().startswith(b"{"):
        return 1.0
    if head.lstrip().startswith(b"{") and sum(mark in head for mark in _METADATA_MARKS) >= 3:
        return 1.0 if name.endswith(METADATA) else 0.8
    return 0.8 if name.endswith(CONFIG) and _CONFIG_MARK.search(head) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    log: Path | None
    metadata: Path | None
    summary: Path | None
    config: Path | None
    output: Path | None

    @property
    def facts(self) -> tuple[Path, ...]:
        """What the run is: its log, or where there is none everything else that W&B wrote."""
        if self.log is not None:
            return (self.log,)
        return tuple(path for path in (self.metadata, self.summary, self.config) if path is not None)

    @property
    def existing(self) -> tuple[Path, ...]:
        found = (self.log, self.metadata, self.summary, self.config, self.output)
        return tuple(path for path in found if path is not None)


def parse(path: Path) -> Iterable[Imported]:
    """Read the run that a file belongs to, whichever of its files is named."""
    files = _find(path)
    metadata = _record(files.metadata)
    summary = _record(files.summary)
    story = wandb_file.read(files.log) if files.log is not None else wandb_file.Story()
    config = wandb_file.plain_config(yaml_text.mapping(files.config) if files.config is not None else {})
    config |= wandb_file.plain_config(story.config)
    if not (metadata or summary or config or story.facts or story.last_timestamp):
        raise UsageError(f"{path.name}: damaged or empty, no run in it", hint="give a run-<id>.wandb file")
    return (training.imported(_told(files, story, {**story.environment, **metadata}, summary, config)),)


def _told(
    files: _Files, story: wandb_file.Story, environment: Record, summary: Record, config: Record
) -> training.Told:
    log = files.log
    gauges = _gauges(story)
    last = story.summary | summary
    started_at = story.started_at or figures.moment(environment.get("startedAt"))
    runtime = story.runtime_seconds
    return training.Told(
        format=FORMAT,
        digest=content.digest(files.facts),
        sources=files.existing,
        steps=_last_values(last) if log is None else training.Again(lambda: wandb_file.steps(log, FORMAT)),
        events=story.alerts,
        windows=gauges.windows,
        definitions=gauges.definitions,
        summary=gauges.summary,
        outputs={} if files.output is None else {"stdout": files.output},
        name=story.facts.get("name"),
        project=story.facts.get("project"),
        group=story.facts.get("group"),
        message=story.facts.get("notes"),
        tags=dict.fromkeys(story.tags, ""),
        command=_command(environment),
        cwd=loose_json.text(environment.get("root")),
        host=loose_json.text(environment.get("host")) or story.facts.get("host"),
        user=loose_json.text(environment.get("username")),
        status=_status(story.exit_code),
        exit_code=story.exit_code,
        started_at=started_at,
        ended_at=None if started_at is None or runtime is None else started_at + runtime,
        wall_seconds=None if runtime is None else float(runtime),
        results={key: value for key, value in last.items() if not key.startswith("_")},
        context=_context(story, environment, config),
        missing={}
        if log is not None
        else {"history": "no .wandb file: only the last value of each metric is known"},
        dropped=story.damage.dropped,
        inexact=_inexact(files, runtime),
    )


def _find(path: Path) -> _Files:
    """Find the files of a run: beside one another, or the log one folder above."""
    if path.suffix == ".wandb":
        return _files(path.parent / "files", "", path)
    prefix = next((path.name.removesuffix(end) for end in _NAMES if path.name.endswith(end)), None)
    if prefix is None:  # metadata under a name of its own
        return _Files(log=None, metadata=path, summary=None, config=None, output=None)
    in_place = path.parent.name == "files" and not prefix
    logs = sorted(path.parent.parent.glob("run-*.wandb")) if in_place else []
    return _files(path.parent, prefix, logs[0] if len(logs) == 1 else None)


def _files(folder: Path, prefix: str, log: Path | None) -> _Files:
    found = {name: content.if_file(folder / (prefix + name)) for name in _NAMES}
    output = content.if_file(folder / OUTPUT) if folder.name == "files" else None
    return _Files(
        log=log,
        metadata=found[METADATA],
        summary=found[SUMMARY],
        config=found[CONFIG],
        output=output if output is not None and output.stat().st_size else None,
    )


def _record(path: Path | None) -> Record:
    return {} if path is None else loose_json.parse_object(content.text(path)) or {}


def _status(exit_code: int | None) -> Status | None:
    if exit_code is None:
        return None
    return Status.COMPLETED if exit_code == 0 else Status.FAILED


def _command(environment: Record) -> tuple[str, ...]:
    program = loose_json.text(environment.get("program"))
    if program is None:
        return ()
    words = environment.get("args")
    executable = loose_json.text(environment.get("executable"))
    arguments = [str(loose_json.text(word) or "") for word in words] if isinstance(words, list) else []
    return (*([executable] if executable else []), program, *arguments)


def _last_values(summary: Record) -> list[Step]:
    number = figures.whole(summary.get("_step"))
    metrics = figures.metrics({key: value for key, value in summary.items() if not key.startswith("_")})
    if number is None or not metrics:
        return []
    moment = figures.moment(summary.get("_timestamp"))
    return [Step(timestamp=moment, step=number, rank=0, source=FORMAT, metrics=metrics)]


def _gauges(story: wandb_file.Story) -> gauge_series.Gauges:
    found = gauge_series.Gauges()
    for timestamp, row in story.stats:
        for name, value in row.items():
            found.add(timestamp, _gauge(name), value)
    return found


def _gauge(name: str) -> gauge_series.Gauge:
    """Part a name into words and the device it is about: `gpu.0.temp`, `disk./.usageGB`, `proc.memory.rssMB`."""
    parts = name.split(".")
    instance = ""
    if len(parts) > 2 and parts[0] in _PLACES:
        at = 2 if parts[1] == "process" else 1
        instance = parts.pop(at) if at < len(parts) - 1 else ""
    scope = Scope.DEVICE if instance else Scope.JOB if parts[0] == "proc" else Scope.HOST
    return gauge_series.gauge(FORMAT, name, parts, instance, scope)


def _context(story: wandb_file.Story, environment: Record, config: Record) -> Record:
    facts = {key: story.facts[key] for key in ("run_id", "entity", "job_type") if key in story.facts}
    host = {
        "hostname": environment.get("host"),
        "system": environment.get("os"),
        "cpus": environment.get("cpu_count_logical") or environment.get("cpu_count"),
        "memory_bytes": figures.whole(loose_json.mapping(environment.get("memory")).get("total")),
    }
    rest = {key: value for key, value in environment.items() if key not in ("email", "args", "host", "git")}
    return {
        "config": config,
        "git": training.plain(environment.get("git")),
        "host": {key: training.plain(value) for key, value in host.items() if value},
        "gpu": training.plain(environment.get("gpu_nvidia") or environment.get("gpu_amd")),
        FORMAT: facts | {str(key): training.plain(value) for key, value in rest.items()},
    }


def _inexact(files: _Files, runtime: int | None) -> dict[str, str]:
    found: dict[str, str] = {}
    if files.log is None and files.summary is not None:
        found["steps"] = "one row of last values: each may be of an earlier step"
    if runtime is not None:
        found["wall_seconds"] = found["ended_at"] = "whole seconds"
    return found
