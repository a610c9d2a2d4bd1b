"""Runs rendered for other tools and for the eye: values in, text or bytes out.

A document exporter is a module with the names of `Exporter`; it opens no file and asks no clock. Types
are imported for the checker only: `jobmeter duct` pays for this package after every job.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Protocol

    from jobmeter.model.view import RunView, Window

    class Exporter(Protocol):
        """What an exporter module must define."""

        def render(
            self, view: RunView, windows: Iterable[Window], *, prefix: str
        ) -> Mapping[str, Iterable[bytes]]:
            """Render a run as parts by name; `prefix` is what their names will begin with.

            The windows may be walked more than once.
            """


WHOLE = ""
"""The name of the only part of a format that is one document."""


ALL: dict[str, str] = {
    "csv": "jobmeter.exporters.csv",
    "duct": "jobmeter.exporters.duct",
    "json": "jobmeter.exporters.json",
    "parquet": "jobmeter.exporters.parquet",
}


def load(name: str) -> "Exporter":
    """Import an exporter by its registry name."""
    from importlib import import_module

    module: Exporter = import_module(ALL[name])
    return module
