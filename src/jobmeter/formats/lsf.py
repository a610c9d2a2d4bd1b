"""LSF's accounting (`lsb.acct`): quoted and bare fields, one JOB_FINISH line per ended job.

What misleads: the number of hosts decides where every later field stands; -1 is no value; `maxRMem` is in KiB and of
all hosts, `ru_maxrss` of the largest process; exit status 0 with state 32 is a job that was killed while pending.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from jobmeter.formats import jobrecord, monitorlog, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Unit
from jobmeter.model.run import Limits, Status, Value

ORIGIN = "lsf"
_KIB = 1024
DEFINITIONS = monitorlog.table(
    (
        jobrecord.total("lsf_cputime", Unit.SECONDS, "user and system time of the job"),
        jobrecord.total("lsf_utime", Unit.SECONDS, "the part of it in user mode"),
        jobrecord.total("lsf_stime", Unit.SECONDS, "the part of it in the kernel"),
        jobrecord.total("lsf_elapsed", Unit.SECONDS, "from start to end"),
        jobrecord.largest("lsf_maxrss", Unit.BYTES, "largest resident size of any one process (ru_maxrss)"),
        jobrecord.largest("lsf_max_mem", Unit.BYTES, "largest resident memory of the job (maxRMem)"),
        jobrecord.largest("lsf_max_swap", Unit.BYTES, "largest virtual memory of the job (maxRSwap)"),
        jobrecord.total("lsf_queued", Unit.SECONDS, "from submission to start"),
    )
)
_TOKEN = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
_FIXED = (
    "type version event_time job_id user_id options processors submit_time begin_time term_time start_time user queue "
    "resources depends pre_exec from_host cwd in_file out_file err_file job_file asked_hosts"
)
_BEFORE_HOSTS = tuple(_FIXED.split())
_MIDDLE = "status host_factor job_name command"
_USAGE = (
    "utime stime maxrss ixrss ismrss idrss isrss minflt majflt nswap inblock oublock ioch msgsnd msgrcv nsignals nvcsw "
    "nivcsw exutime"
)
_AFTER = "mail_user project exit_status max_processors login_shell time_event index max_mem max_swap"
_AFTER_HOSTS = tuple(f"{_MIDDLE} {_USAGE} {_AFTER}".split())
_DONE = 64


def sniff(head: bytes, _name: str) -> float:
    """Claim the first field of a finished job."""
    return 0.95 if re.match(rb'\s*"JOB_(?:FINISH|NEW|START)" "\d', head) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one run per finished job."""
    jobs = (_job(fields, hosts, line) for fields, hosts, line in _finished(path))
    return jobrecord.imported(path, jobs, format=ORIGIN, tool=ORIGIN, definitions=DEFINITIONS)


def _finished(path: Path) -> Iterator[tuple[dict[str, str], list[str], str]]:
    for line in monitorlog.text_lines(path):
        if not line.startswith('"JOB_FINISH"'):
            continue
        tokens = [bare or quoted.replace('""', '"') for quoted, bare in _TOKEN.findall(line)]
        found = _fields(tokens)
        if found is not None:
            yield *found, line


def _fields(tokens: Sequence[str]) -> tuple[dict[str, str], list[str]] | None:
    fields = dict(zip(_BEFORE_HOSTS, tokens, strict=False))
    asked = quantity.number(fields.get("asked_hosts", ""))
    place = len(_BEFORE_HOSTS) + int(asked or 0)
    count = quantity.number(tokens[place]) if place < len(tokens) else None
    if count is None or len(tokens) < place + 1 + int(count) + len(_MIDDLE.split()) + 3:
        return None  # cut off
    hosts = list(tokens[place + 1 : place + 1 + int(count)])
    rest = tokens[place + 1 + int(count) :]
    return fields | dict(zip(_AFTER_HOSTS, rest, strict=False)), hosts


def _job(fields: dict[str, str], hosts: list[str], text: str) -> jobrecord.Job:
    submitted, started = _moment(fields, "submit_time"), _moment(fields, "start_time")
    ended = _moment(fields, "event_time")
    wait_status = int(_number(fields, "exit_status") or 0)
    done = _number(fields, "status") == _DONE
    code, signal = (0, None) if done else jobrecord.ending(wait_status >> 8, wait_status & 0x7F)
    summary = _summary(fields)
    elapsed = quantity.tidy(ended - started) if started is not None and ended is not None else None
    if elapsed is not None:
        summary["lsf_elapsed"] = elapsed
    if started is not None and submitted is not None and started >= submitted:
        summary["lsf_queued"] = quantity.tidy(started - submitted)
    index, processors = (
        fields.get("index", "0"),
        _number(fields, "max_processors") or _number(fields, "processors"),
    )
    names = {host.rpartition("*")[2] for host in hosts}
    return jobrecord.Job(
        id=fields["job_id"] if index == "0" else f"{fields['job_id']}[{index}]",
        text=text,
        status=Status.COMPLETED if done else Status.CANCELLED if started is None else _failed(code, signal),
        name=fields.get("job_name") or None,
        command=(fields["command"],) if fields.get("command") else (),
        cwd=fields.get("cwd") or None,
        user=fields.get("user"),
        host=names.pop() if len(names) == 1 else None,
        exit_code=code if done or code or signal else None,
        signal=signal,
        submitted_at=submitted,
        started_at=started,
        ended_at=ended,
        wall_seconds=elapsed,
        limits=Limits(cpus=float(processors) if processors else None),
        summary=summary,
        details={"queue": fields.get("queue"), "hosts": hosts, "resources": fields.get("resources")},
        project=fields.get("project") or None,
        tags={"queue": fields.get("queue", "")},
    )


def _failed(code: int | None, signal: str | None) -> Status:
    status = jobrecord.outcome(code, signal)
    return Status.FAILED if status is Status.COMPLETED else status


def _summary(fields: dict[str, str]) -> dict[str, Value]:
    user, system = _number(fields, "utime"), _number(fields, "stime")
    found: dict[str, Value | None] = {
        "lsf_cputime": quantity.tidy(user + system) if user is not None and system is not None else None,
        "lsf_utime": user,
        "lsf_stime": system,
        "lsf_maxrss": _kib(fields, "maxrss"),
        "lsf_max_mem": _kib(fields, "max_mem"),
        "lsf_max_swap": _kib(fields, "max_swap"),
    }
    return {key: value for key, value in found.items() if value is not None}


def _number(fields: dict[str, str], name: str) -> quantity.Number | None:
    found = quantity.number(fields.get(name, ""))
    return None if found is None or found < 0 else found


def _kib(fields: dict[str, str], name: str) -> int | None:
    found = _number(fields, name)
    return round(found * _KIB) if found else None


def _moment(fields: dict[str, str], name: str) -> float | None:
    return float(found) if (found := _number(fields, name)) else None
