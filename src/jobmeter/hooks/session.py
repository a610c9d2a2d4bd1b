"""Begin a run, and know which one is active: what `jobmeter.init` and `jobmeter.log` are."""

import os

from jobmeter.config import home as homes
from jobmeter.config import options as settings
from jobmeter.errors import JobmeterError, RecordError
from jobmeter.hooks import identity, joining, provenance, standalone
from jobmeter.hooks.complaints import Complaints
from jobmeter.hooks.disabled import DisabledRun
from jobmeter.hooks.endings import Endings
from jobmeter.hooks.files import Files
from jobmeter.hooks.run import Run
from jobmeter.recording import guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jobmeter.hooks.resuming import Earlier

_MODES = ("online", "offline", "disabled")


class _Session:
    """The one thing of the SDK that changes: which run is active."""

    __slots__ = ("endings", "run", "told")

    def __init__(self) -> None:
        self.run: Run | None = None
        self.told = Complaints()
        self.endings = Endings(lambda: self.run)


_session = _Session()


def active_run() -> Run | None:
    """Give the run that `jobmeter.log` writes to; None before `init` and after `finish`."""
    run = _session.run
    return None if run is None or run.finished else run


def init(  # noqa: PLR0913  # the shape people know
    project: str | None = None,
    name: str | None = None,
    config: object = None,
    tags: "Mapping[str, object] | Iterable[str] | None" = None,
    *,
    group: str | None = None,
    job_type: str | None = None,
    notes: str | None = None,
    dir: str | os.PathLike[str] | None = None,  # noqa: A002  # as above
    mode: str | None = None,
    resume: str | bool | None = None,
    job_id: str | None = None,
    strict: bool = False,
) -> Run:
    """Begin a run, or join the one this process is part of; while one is active, give that one."""
    active = active_run()
    if active is not None:
        if config is not None:
            active.config.update(config)
        return active
    asked = _Asked(
        {"project": project, "name": name, "group": group, "job_type": job_type, "notes": notes},
        config=config,
        tags=tags,
        folder=dir,
        resume="allow" if resume is True else resume or None,
        job_id=job_id,
    )
    complaints = Complaints(strict=strict)
    run: Run | None = None
    if _mode(mode, complaints) != "disabled":
        run = complaints.attempt("jobmeter.init", _begin, asked, complaints)
    if run is None:
        run = DisabledRun(asked.named)
        run.adopt_config(config)
    _session.run = run
    return run


class _Asked:
    """What a script asked of `init`."""

    __slots__ = ("config", "folder", "job_id", "named", "resume", "tags")

    def __init__(
        self,
        named: dict[str, str | None],
        *,
        config: object,
        tags: "Mapping[str, object] | Iterable[str] | None",
        folder: str | os.PathLike[str] | None,
        resume: str | None,
        job_id: str | None,
    ) -> None:
        self.named = {key: _worded(value) for key, value in named.items()}
        self.config = config
        self.tags = tags
        self.folder = folder
        self.resume = resume
        self.job_id = _worded(job_id)


def _mode(given: str | None, complaints: Complaints) -> str:
    mode = given or os.environ.get("JOBMETER_MODE") or "online"
    if mode not in _MODES:
        complaints.say(f"mode {mode} is none of {', '.join(_MODES)}; online is taken")
        return "online"
    return mode


def _tags(given: "Mapping[str, object] | Iterable[str] | None") -> dict[str, str]:
    """Take tags as pairs, or as words: a word is a tag that is true."""
    if given is None:
        return {}
    if isinstance(given, str):
        return {given: "true"}
    if isinstance(given, dict):
        return {str(key): str(value) for key, value in given.items()}
    return {str(word): "true" for word in given}


def _begin(asked: _Asked, complaints: Complaints) -> Run | None:
    """Join a run or start one; None where no run can be kept, which was told then."""
    options = _options(asked, complaints)
    named = os.environ.get("JOBMETER_RUN")
    if named and not joining.usable(named):
        complaints.say(f"JOBMETER_RUN is no run folder that can be written to: {named}")
    folder = joining.find(os.environ, os.getpid())
    try:
        run = (
            _alone(asked, options, complaints)
            if folder is None
            else _joined(folder, asked, options, complaints)
        )
    except JobmeterError as error:
        complaints.failed(error)
        return None
    _session.endings.install()
    return run


def _options(asked: _Asked, complaints: Complaints) -> settings.Options:
    """Read the same settings as `jobmeter run`; what `init` was told comes first."""
    given = None if asked.folder is None else os.fspath(asked.folder)
    argv = [] if given is None else ["--home", given]
    try:
        options, _ = settings.parse(argv, os.environ, homes.working_directory())
    except JobmeterError as error:
        complaints.failed(error)
        plain = {option.name: option.default for option in settings.OPTIONS}
        runs_home = homes.find_home(homes.working_directory(), os.environ, given)
        options = settings.Options(plain, runs_home)
    options.project = asked.named["project"] or options.project
    options.name = asked.named["name"] or options.name
    options.message = asked.named["notes"] or options.message
    options.tags = {**options.tags, **(complaints.attempt("taking the tags", _tags, asked.tags) or {})}
    options.job_id = asked.job_id or options.job_id
    return options


def _joined(folder: str, asked: _Asked, options: settings.Options, complaints: Complaints) -> Run:
    """Write into the folder of the run that this process is part of."""
    from jobmeter.hooks import resuming

    here = identity.place(os.environ)
    known = resuming.start_of(folder)
    named = {key: _text(known.get(key)) for key in ("project", "name")}
    named.update({key: value for key, value in asked.named.items() if value})
    who = identity.Identity(
        os.path.basename(folder),
        asked.job_id or _text(known.get("job_id")) or os.path.basename(folder),
        here,
        named=named,
    )
    run = _opened(who, folder, complaints, None)
    _introduce(run, asked, options, None)
    return run


def _alone(asked: _Asked, options: settings.Options, complaints: Complaints) -> Run:
    """Make a run folder and start a recorder that watches this process."""
    import time

    from jobmeter.runfolder import writer

    here = identity.place(os.environ)
    earlier = _earlier(asked, options, complaints)
    _check_measurements(options, complaints)
    folder = writer.create(options.runs_home, time.time())
    if folder.path is None:
        raise RecordError("the disk is full: the training goes on, but nothing of it can be kept")
    options.job_id = options.job_id or (None if earlier is None else earlier.job_id)
    options.job_id = options.job_id or identity.launched_job_id(os.environ, here)
    standalone.begin(folder, options)
    named = {**asked.named, "project": options.project, "name": options.name}
    first_step = 0 if earlier is None else earlier.next_step
    who = identity.Identity(
        folder.run_id, options.job_id or folder.run_id, here, named=named, first_step=first_step
    )
    recorder = standalone.start_recorder(folder.path)
    if recorder is None:
        complaints.say("no recorder could be started: steps are kept, what the training uses is not measured")
    run = _opened(who, folder.path, complaints, recorder)
    _introduce(run, asked, options, earlier)
    return run


def _check_measurements(options: settings.Options, complaints: Complaints) -> None:
    """Say what is wrong with the keys asked for: the recorder, which takes all instead, has nobody to tell."""
    from jobmeter.probes.paths import Paths
    from jobmeter.recording import setup

    try:
        setup.select(options, Paths())
    except JobmeterError as error:
        complaints.failed(error)


def _opened(
    who: identity.Identity, folder: str, complaints: Complaints, recorder: standalone.Recorder | None
) -> Run:
    return Run(who, Files(folder, identity.label(who.place), complaints.not_kept), complaints, recorder)


def _earlier(asked: _Asked, options: settings.Options, complaints: Complaints) -> "Earlier | None":
    """Find the run to go on from, where that was asked for."""
    if asked.resume is None or asked.resume in ("never", "none"):
        return None
    from jobmeter.hooks import resuming

    found = resuming.find(options.runs_home, asked.resume, {"project": options.project, "name": options.name})
    if found is None and asked.resume != "allow":
        what = (
            "no earlier run of this project and name" if asked.resume == "must" else f"no run {asked.resume}"
        )
        complaints.say(f"cannot resume: {what} in {options.runs_home}; a new run is begun")
    return found


def _introduce(run: Run, asked: _Asked, options: settings.Options, earlier: "Earlier | None") -> None:
    """Write the `init` record: who this process is, and where its code came from."""
    import time

    from jobmeter.runfolder import writer

    here = run.identity.place
    told: dict[str, object] = {
        "type": "init",
        "timestamp": writer.timestamp(time.time()),
        "job_id": run.job_id,
        "rank": here.rank,
        "local_rank": here.local_rank,
        "world_size": here.world_size,
        "node_rank": here.node_rank,
        **asked.named,
        "tags": options.tags or None,
        "config": run.adopt_config(asked.config),
        "resumed": None if earlier is None else earlier.run_id,
        **provenance.gather(),
    }
    run.introduce({key: value for key, value in told.items() if value is not None})


def _worded(given: object) -> str | None:
    """Take a name as text, whatever it was given as: a number, a path, bytes."""
    if given is None or isinstance(given, str):
        return given
    return guard.attempt(
        lambda: os.fsdecode(given) if isinstance(given, bytes) else str(given),
        lambda _: None,  # it cannot say what it is: the run goes without
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def log(metrics: "Mapping[str, object]", step: int | None = None, commit: bool = True) -> None:
    """Keep the metrics of one step in the active run."""
    run = _session.run
    if run is None:
        _nobody("log")
    else:
        run.log(metrics, step, commit)


def event(
    type: str,  # noqa: A002  # the word of the record
    details: "Mapping[str, object] | None" = None,
    config: "Mapping[str, object] | None" = None,
) -> None:
    """Keep that something happened in the active run."""
    run = _session.run
    if run is None:
        _nobody("event")
    else:
        run.event(type, details, config)


def alert(title: str, text: str = "", level: str = "WARN") -> None:
    """Keep something a person should see in the active run."""
    run = _session.run
    if run is None:
        _nobody("alert")
    else:
        run.alert(title, text, level)


def finish(exit_code: int = 0) -> None:
    """End the active run; without one there is nothing to end."""
    run = active_run()
    if run is not None:
        run.finish(exit_code)


def _nobody(called: str) -> None:
    _session.told.say(f"jobmeter.{called} without a run: call jobmeter.init() first", about="init")
