"""Where a server sends the samples of its runs by itself, each in a thread of its own: remote write, OTLP.

Only `[remote_write]` and `[otlp]` of the system's and the user's settings count; secrets may stand in files.
"""

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from jobmeter.config import options, tables
from jobmeter.delivery.otlp import Otlp, OtlpSettings
from jobmeter.delivery.positions import Positions
from jobmeter.delivery.pump import Outlet, Pump
from jobmeter.delivery.remotewrite import RemoteWrite, RemoteWriteSettings
from jobmeter.delivery.samples import Counts
from jobmeter.errors import UsageError, reason_of
from jobmeter.exporters import metric_names
from jobmeter.service import notices
from jobmeter.service.keeping import Changed
from jobmeter.service.scraping import Reading
from jobmeter.stores import Store

FOLDER = "outlets"
"""In the home: how far each outlet has come."""
_STOP_SECONDS = 10.0
_COMMON = ("bearer_token_file", "headers", "interval", "max_age", "url")
_OF_OTLP = (*_COMMON, "attributes", "metrics", "spans")
_OF_REMOTE_WRITE = (*_COMMON, "ca_file", "labels", "password_file", "username")


class Outlets:
    """The outlets of one server; none where none is set."""

    def __init__(
        self,
        home: str,
        reading: Reading,
        environ: Mapping[str, str],
        *,
        warn: notices.Warn = notices.to_stderr,
    ) -> None:
        self._running = [
            _Running(name, pump, interval, warn)
            for name, pump, interval in _made(Path(home), reading, environ)
        ]

    def observe(self, store: Store, changes: Sequence[Changed]) -> None:
        """Tell every outlet which runs changed."""
        del store
        for one in self._running:
            one.pump.note(change.run_id for change in changes)

    def counts(self) -> list[tuple[str, Counts]]:
        """Say what became of samples, by outlet."""
        return [(one.name, one.pump.counts) for one in self._running]

    def start(self) -> None:
        """Begin to send."""
        for one in self._running:
            one.start()

    def stop(self) -> None:
        """End after what is being sent; the rest waits in the store."""
        for one in self._running:
            one.stop()


class _Running:
    """One pump in a thread."""

    def __init__(self, name: str, pump: Pump, interval_seconds: float, warn: notices.Warn) -> None:
        self.name = name
        self.pump = pump
        self._interval_seconds = interval_seconds
        self._warn = warn
        self._told: str | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"jobmeter-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)
        self.pump.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                pause = self.pump.turn()
            except Exception as error:  # noqa: BLE001  # told and tried again: an outlet must not end silently
                self.pump.counts.trouble = str(error) or type(error).__name__
                pause = None
            self._tell()
            self._stopping.wait(self._interval_seconds if pause is None else pause)

    def _tell(self) -> None:
        """Say what is wrong once, not at every try."""
        trouble = self.pump.counts.trouble
        if trouble is not None and trouble != self._told:
            self._warn(f"{self.name}: {trouble}")
        self._told = trouble


def _made(home: Path, reading: Reading, environ: Mapping[str, str]) -> list[tuple[str, Pump, float]]:
    made: list[tuple[str, Pump, float]] = []
    for name, maker in _MAKERS.items():
        table = tables.read(name, environ)
        if not table:
            continue
        outlet, settings = maker(_Table(name, table))
        # another receiver has another past
        place = home / FOLDER / f"{name}-{hashlib.sha256(settings.url.encode()).hexdigest()[:12]}.json"
        pump = Pump(outlet, Positions(place), reading, max_age_seconds=settings.max_age_seconds)
        made.append((name, pump, settings.interval_seconds))
    return made


class _Table:
    """One table of settings, every value checked when it is asked for."""

    def __init__(self, name: str, values: Mapping[str, object]) -> None:
        self.name = name
        self._values = {key.replace("-", "_"): value for key, value in values.items()}

    def require_known(self, known: Sequence[str]) -> None:
        for key in self._values:
            if key not in known:
                raise UsageError(
                    f"unknown setting {options.printable(key)} in [{self.name}]",
                    hint=f"use one of {', '.join(known)}",
                )

    def text(self, key: str) -> str | None:
        value = self._values.get(key)
        if value is not None and not (isinstance(value, str) and value):
            raise self._bad(key, "a text")
        return value

    def url(self) -> str:
        found = self.text("url")
        parts = urlsplit(found or "")
        if found is None or parts.scheme not in ("http", "https") or not parts.hostname:
            raise self._bad("url", "an address such as https://metrics.example/api/v1/write")
        return found

    def seconds(self, key: str, default: float) -> float:
        value = self._values.get(key, default)
        try:
            return options.seconds(str(value))
        except ValueError as error:
            raise self._bad(key, str(error).removeprefix("use ")) from None

    def truth(self, key: str) -> bool:
        value = self._values.get(key, True)
        if not isinstance(value, bool):
            raise self._bad(key, "true or false")
        return value

    def texts(self, key: str) -> dict[str, str]:
        value = self._values.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
            raise self._bad(key, "a table of texts")
        return {str(name): one for name, one in value.items()}

    def secret(self, key: str) -> str | None:
        """Read the first line of a file that holds a secret."""
        path = self.text(key)
        if path is None:
            return None
        try:
            lines = Path(path).expanduser().read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise UsageError(
                f"cannot read {path}: {reason_of(error)}", hint=f"mend {key} in [{self.name}]"
            ) from None
        except UnicodeDecodeError:
            raise self._bad(key, "a text file with the secret on its first line") from None
        return lines[0].strip() if lines else ""

    def headers(self) -> dict[str, str]:
        """Put together what says who we are."""
        headers = self.texts("headers")
        token = self.secret("bearer_token_file")
        return headers | ({"Authorization": f"Bearer {token}"} if token is not None else {})

    def _bad(self, key: str, wanted: str) -> UsageError:
        return UsageError(f"bad value for {key} in [{self.name}]", hint=f"use {wanted}")


def _remote_write(table: _Table) -> tuple[Outlet, RemoteWriteSettings]:
    table.require_known(_OF_REMOTE_WRITE)
    headers = table.headers()
    username = table.text("username")
    if username is not None:
        from base64 import b64encode

        pair = f"{username}:{table.secret('password_file') or ''}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    settings = RemoteWriteSettings(
        url=table.url(),
        headers=headers,
        labels=metric_names.labels(table.texts("labels")),
        ca_file=table.text("ca_file"),
        interval_seconds=table.seconds("interval", 15.0),
        max_age_seconds=table.seconds("max_age", 3600.0),
    )
    return RemoteWrite(settings), settings


def _otlp(table: _Table) -> tuple[Outlet, OtlpSettings]:
    table.require_known(_OF_OTLP)
    settings = OtlpSettings(
        url=table.url(),
        headers=table.headers(),
        attributes=table.texts("attributes"),
        metrics=table.truth("metrics"),
        spans=table.truth("spans"),
        interval_seconds=table.seconds("interval", 15.0),
        max_age_seconds=table.seconds("max_age", 3600.0),
    )
    return Otlp(settings), settings


_MAKERS: dict[str, Callable[[_Table], tuple[Outlet, OtlpSettings | RemoteWriteSettings]]] = {
    "otlp": _otlp,
    "remote_write": _remote_write,
}
