"""A run that keeps nothing: `mode="disabled"`, `JOBMETER_MODE=disabled`, or no place to keep it in."""

from jobmeter.hooks.complaints import Complaints
from jobmeter.hooks.files import Files
from jobmeter.hooks.identity import Identity
from jobmeter.hooks.run import Run
from jobmeter.model.ranks import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class NoFiles(Files):
    """Takes every line and keeps none."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("", "", lambda _error: None)

    def put(self, what: str, line: bytes) -> None:
        """Keep nothing."""


class DisabledRun(Run):
    """Has all that a run has and writes none of it."""

    __slots__ = ()

    def __init__(self, named: "Mapping[str, str | None]") -> None:
        nobody = Identity("disabled", "disabled", Place(0, 1), named=named)
        super().__init__(nobody, NoFiles(), Complaints())

    @property
    def folder(self) -> None:
        """It has none."""
        return

    def log(self, metrics: "Mapping[str, object]", step: int | None = None, commit: bool = True) -> None:
        """Keep nothing, and do not even look."""

    def event(
        self,
        type: str,  # noqa: A002  # as in Run
        details: "Mapping[str, object] | None" = None,
        config: "Mapping[str, object] | None" = None,
    ) -> None:
        """Keep nothing."""
