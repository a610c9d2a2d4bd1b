"""MLflow's file store: `mlruns/<experiment>/<run>/` with a file per metric, parameter and tag.

What misleads: a metric name with a slash is a folder; a line is `milliseconds value step`; each metric is written
for itself, so values of one step are joined by step and time; steps of `system/` metrics count samples of the
machine, not training steps. Runs that were deleted stay on disk until MLflow's gc; they are not imported.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import content, figures, mlflow_run, training, yaml_text
from jobmeter.formats.mlflow_run import Point
from jobmeter.model.imported import Imported

FORMAT = "mlflow"
META = "meta.yaml"
_LINE = re.compile(r"(\d{12,14}) (\S+)(?: (-?\d+))?(?: .*)?")
_RUN_MARK = re.compile(rb"^run_(?:uu)?id:", re.MULTILINE)
_EXPERIMENT_MARK = re.compile(rb"^artifact_location:", re.MULTILINE)
_STATUS_WORDS = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}


def sniff(head: bytes, name: str) -> float:
    """Claim the meta data of runs and experiments, and metric files by their lines."""
    if name == META or name.endswith(f"_{META}"):
        run = _RUN_MARK.search(head) and b"artifact_uri:" in head
        return 1.0 if run or (_EXPERIMENT_MARK.search(head) and b"experiment_id:" in head) else 0.0
    lines = content.whole_lines(head)
    return 0.9 if lines and all(_LINE.fullmatch(line) for line in lines) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read the run that a file belongs to; of an experiment, all of its runs."""
    folder = _run_folder(path)
    if folder is None:
        return (_lone_metric(path),)
    meta = yaml_text.mapping(folder / META)
    if "artifact_location" not in meta:
        return (_run(folder, meta),)
    runs = [(each.parent, yaml_text.mapping(each)) for each in sorted(folder.glob(f"*/{META}"))]
    found = [_run(each, facts) for each, facts in runs if _is_alive(facts)]
    if not found:
        raise training.nothing(f"no run in experiment {meta.get('name', folder.name)}")
    return found


def _run_folder(path: Path) -> Path | None:
    """Find the folder of the run: a metric's file lies any number of folders below `metrics`."""
    if path.name.endswith(META):
        return path.parent if path.name == META else None
    for parent in path.parents:
        if parent.name == "metrics" and (parent.parent / META).is_file():
            return parent.parent
    return None


def _is_alive(facts: dict[str, object]) -> bool:
    return ("run_id" in facts or "run_uuid" in facts) and facts.get("lifecycle_stage") != "deleted"


def _run(folder: Path, meta: dict[str, object]) -> Imported:
    if not meta.get("run_id") and not meta.get("run_uuid"):
        raise UsageError(f"{folder.name}: {META} is damaged, no run in it", hint="give a folder of mlruns")
    files = {kind: _files_below(folder / kind) for kind in ("metrics", "params", "tags")}
    experiment = yaml_text.mapping(folder.parent / META)
    status = meta.get("status")
    run = mlflow_run.Stored(
        run_id=str(meta.get("run_id") or meta.get("run_uuid")),
        name=str(meta.get("run_name") or meta.get("name") or ""),
        experiment=str(experiment.get("name") or ""),
        status=_STATUS_WORDS.get(status, "") if isinstance(status, int) else str(status or ""),
        user=str(meta.get("user_id") or ""),
        started_at=figures.moment(meta.get("start_time")),
        ended_at=figures.moment(meta.get("end_time")),
        params={name: content.text(file) for name, file in files["params"].items()},
        tags={name: content.text(file) for name, file in files["tags"].items()},
    )
    sources = (folder / META, *(file for kind in files.values() for file in kind.values()))
    reading = _Metrics(files["metrics"])
    return mlflow_run.imported(FORMAT, run, reading.points(), sources, reading)


def _files_below(folder: Path) -> dict[str, Path]:
    """List files by their place below a folder, which is their name; empty ones and links say nothing."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path for path in found}


class _Metrics:
    """The metric files of one run, read once; lines that are none are counted."""

    def __init__(self, files: dict[str, Path]) -> None:
        self._files = files
        self.bad_lines = 0

    def points(self) -> Iterator[Point]:
        for name, path in self._files.items():
            for line in content.lines(path):
                point = _point(name, line)
                if point is not None:
                    yield point
                elif line.strip():
                    self.bad_lines += 1


def _point(name: str, line: str) -> Point | None:
    found = _LINE.fullmatch(line.strip())
    if found is None:
        return None
    value, moment = figures.figure(found.group(2)), figures.moment(found.group(1))
    if value is None or moment is None:
        return None
    return Point(name=name, step=int(found.group(3) or 0), timestamp=moment, value=value)


def _lone_metric(path: Path) -> Imported:
    """Read a metric file that was taken out of its run."""
    if path.name.endswith(META):
        raise UsageError(f"{path.name}: not inside an mlruns folder", hint="give the folder of the run")
    reading = _Metrics({path.name: path})
    run = mlflow_run.Stored(run_id="", name="", experiment="", status="", user="")
    return mlflow_run.imported(FORMAT, run, reading.points(), (path,), reading)
