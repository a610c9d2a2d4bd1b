"""Accelerate: `register()`, then `Accelerator(log_with="jobmeter")`; or `log_with=JobmeterTracker("project")`.

As with Accelerate's own trackers, the main process alone logs.
"""

from typing import TYPE_CHECKING, Any

from accelerate import tracking

from jobmeter import errors
from jobmeter.hooks import framework

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmeter.hooks.run import Run

NAME = "jobmeter"


class JobmeterTracker(tracking.GeneralTracker):
    """Log to the active run, or to one of its own that ends with `end_training()`."""

    name = NAME
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, run_name: str, run: "Run | None" = None, **init: Any) -> None:
        super().__init__()
        self._init = {"project": run_name} | init
        self._given = run
        self._run: Run | None = None
        self._ends_run = False

    @tracking.on_main_process
    def start(self) -> None:
        """Open the run, once the processes know their ranks."""
        if self._run is None:
            self._ends_run = not framework.has_run(self._given)
            self._run = framework.open_run(self._given, **self._init)

    @property
    def tracker(self) -> "Run | None":
        """Give the run; the main process alone has one."""
        return self._run

    @tracking.on_main_process
    def store_init_configuration(self, values: "Mapping[str, Any]") -> None:
        """Add hyperparameters to the run's configuration."""
        self.start()
        if self._run is not None:
            self._run.config.update(values)

    @tracking.on_main_process
    def log(self, values: "Mapping[str, Any]", step: int | None = None, **more: Any) -> None:
        """Record values under the step Accelerate was given."""
        self.start()
        if self._run is not None:
            self._run.log(values, step=step)

    @tracking.on_main_process
    def finish(self) -> None:
        """End the run, unless the script opened it and may go on."""
        if self._run is not None and self._ends_run:
            self._run.finish()


def register() -> None:
    """Make `Accelerator(log_with="jobmeter")` known to Accelerate."""
    if NAME in tracking.LOGGER_TYPE_TO_CLASS:
        return
    if not hasattr(tracking, "register_tracker_class"):
        raise errors.UsageError(
            "this accelerate cannot register trackers",
            hint='pass one: Accelerator(log_with=JobmeterTracker("project"))',
        )
    tracking.register_tracker_class(JobmeterTracker)
