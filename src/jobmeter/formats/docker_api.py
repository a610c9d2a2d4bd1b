"""Answers of docker's statistics API, one after another, into containers."""

from collections.abc import Iterable, Mapping, Sequence

from jobmeter.formats import loose_json, monitorlog, quantity
from jobmeter.formats.docker_keys import Container
from jobmeter.model.run import Limits
from jobmeter.model.view import Window

Record = Mapping[str, object]
_NANOSECONDS = 1e-9
_FIRST_YEAR = -62_000_000_000
"""`preread` of a first answer lies in the year 1."""


def containers(records: Iterable[Record]) -> list[Container]:
    """Gather the answers of each container, in order of time."""
    by_id: dict[str, list[Record]] = {}
    for record in records:
        by_id.setdefault(_identity(record), []).append(record)
    return [_container(identity, answers) for identity, answers in by_id.items()]


def _identity(record: Record) -> str:
    return loose_json.text(record.get("id")) or loose_json.text(record.get("name")) or ""


def _container(identity: str, answers: Sequence[Record]) -> Container:
    ordered = sorted(answers, key=lambda answer: _moment(answer, "read") or 0.0)
    name = loose_json.text(ordered[-1].get("name"))
    memory = loose_json.mapping(ordered[-1].get("memory_stats"))
    limit = loose_json.whole(memory.get("limit"))
    found = Container(
        id=identity if identity != name else "",
        name=name.removeprefix("/") if name else None,
        limits=Limits(memory_bytes=limit),
        totals=dict(_counters(ordered[-1])),
    )
    if limit is not None:
        found.inexact["memory_limit"] = "docker says the host's memory where a container has no limit"
    if "usage" not in memory:
        found.missing["docker_mem_usage"] = "the answer does not hold it: the container was not running"
    before: tuple[float, dict[str, quantity.Number]] | None = None
    for number, answer in enumerate(ordered):
        at = _moment(answer, "read")
        if at is None:
            found.missing["started_at"] = monitorlog.NO_CLOCK
        moment = float(number) if at is None else at
        earlier = before or _before(answer)
        found.windows.append(_window(answer, moment, earlier))
        before = moment, _counters(answer)
    return found


def _before(answer: Record) -> tuple[float, dict[str, quantity.Number]] | None:
    """Take what an answer itself says of the one before it; a first answer says nothing."""
    at = _moment(answer, "preread")
    counted = loose_json.mapping(answer.get("precpu_stats"))
    if at is None or at < 0:
        return None
    burned = loose_json.number(loose_json.mapping(counted.get("cpu_usage")).get("total_usage"))
    return (at, {"docker_cputime": quantity.tidy(burned * _NANOSECONDS, 9)}) if burned is not None else None


def _window(answer: Record, at: float, before: tuple[float, dict[str, quantity.Number]] | None) -> Window:
    memory = loose_json.mapping(answer.get("memory_stats"))
    stats = loose_json.mapping(memory.get("stats"))
    usage = loose_json.whole(memory.get("usage"))
    inactive = loose_json.whole(stats.get("total_inactive_file", stats.get("inactive_file")))
    gauges = {
        "docker_mem_usage": usage,
        # as `docker stats` computes what it shows
        "docker_mem_used": usage - inactive if usage is not None and inactive is not None else None,
        "docker_mem_max_usage": loose_json.whole(memory.get("max_usage")),
        "docker_mem_inactive_file": inactive if usage is not None else None,
        "docker_pids": loose_json.whole(loose_json.mapping(answer.get("pids_stats")).get("current")),
    }
    values: monitorlog.Values = {(key, ""): value for key, value in gauges.items() if value is not None}
    if before is None:
        return Window(timestamp=at, num_samples=1, clock={}, values=values)
    since, counted = before
    for key, value in _counters(answer).items():
        if key in counted and value >= counted[key]:
            values[key, ""] = quantity.tidy(value - counted[key], 9)
    return Window(timestamp=at, num_samples=1, clock={"docker": (since, at)}, values=values)


def _counters(answer: Record) -> dict[str, quantity.Number]:
    cpu = loose_json.mapping(answer.get("cpu_stats"))
    networks = loose_json.mapping(answer.get("networks")).values() or [answer.get("network")]
    told = [loose_json.mapping(network) for network in networks if isinstance(network, dict)]
    burned = loose_json.number(loose_json.mapping(cpu.get("cpu_usage")).get("total_usage"))
    withheld = loose_json.number(loose_json.mapping(cpu.get("throttling_data")).get("throttled_time"))
    found: dict[str, quantity.Number | None] = {
        "docker_cputime": None if burned is None else quantity.tidy(burned * _NANOSECONDS, 9),
        "docker_throttled": None if withheld is None else quantity.tidy(withheld * _NANOSECONDS, 9),
        "docker_net_rx": _sum(network.get("rx_bytes") for network in told),
        "docker_net_tx": _sum(network.get("tx_bytes") for network in told),
        "docker_blk_read": _block(answer, "read"),
        "docker_blk_write": _block(answer, "write"),
    }
    return {key: value for key, value in found.items() if value is not None}


def _block(answer: Record, operation: str) -> int | None:
    rows = loose_json.mapping(answer.get("blkio_stats")).get("io_service_bytes_recursive")
    entries = [loose_json.mapping(row) for row in rows] if isinstance(rows, list) else []
    return _sum(row.get("value") for row in entries if str(row.get("op", "")).lower() == operation)


def _sum(values: Iterable[object]) -> int | None:
    known = [value for value in map(loose_json.whole, values) if value is not None]
    return sum(known) if known else None


def _moment(answer: Record, field: str) -> float | None:
    found = quantity.moment(loose_json.text(answer.get(field)) or "")
    return None if found is None or found.seconds < _FIRST_YEAR else found.seconds
