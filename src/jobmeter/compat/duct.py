"""Record a command as con-duct does: its options, its summary, its four files, with honest numbers.

`jobmeter duct` stands for `duct` and `con-duct run`. The run is kept in jobmeter's home as well, also where
con-duct would delete its files (`--fail-time`) or leave them empty (killed). `pcpu` is the percentage over
the interval; `peak_rss` is the sum of resident sizes, as con-duct's readers expect.
"""

import os
import time

from jobmeter.compat import duct_logs, duct_options
from jobmeter.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmeter.compat.duct_options import DuctOptions
    from jobmeter.compat.duct_record import Recorded
    from jobmeter.compat.duct_session import Neighbours
    from jobmeter.exporters.duct_lines import Readings
    from jobmeter.recording.outcome import Outcome

SHORTEST_INTERVAL_SECONDS = 0.01


def main(argv: list[str]) -> int:
    """Record the command in `argv` and return its exit code."""
    words = argv[1:] if argv[:1] == ["run"] else argv
    if words[:1] in (["-h"], ["--help"]):
        print(duct_options.help_text())
        return 0
    if words[:1] == ["--version"]:
        import jobmeter

        print(f"jobmeter duct {jobmeter.__version__}")
        return 0
    options, command = duct_options.parse(words, os.environ)
    if not command:
        raise UsageError("no command to run", hint="jobmeter duct [options] COMMAND")
    return _record(options, command)


def _record(options: "DuctOptions", command: list[str]) -> int:
    say = _Voice(options.log_level)
    for level, remark in options.remarks:
        say(level, remark)
    logs = duct_logs.choose(options)
    logs.reserve(clobber=options.clobber)
    say("INFO", f"jobmeter is executing {' '.join(command)!r}...")
    say("INFO", f"Log files will be written to {logs.prefix}")
    neighbours = _neighbours(options)
    outcome = _run(options, command, logs)
    if not outcome.started:
        logs.remove()
        return outcome.exit_code
    if outcome.folder is None:
        say("ERROR", "the disk is full: nothing could be kept")
        return outcome.finish()
    run, windows = _measured(outcome.folder, neighbours)
    failed_soon = run.wall_seconds is not None and run.wall_seconds < options.fail_time
    if outcome.exit_code and (failed_soon or options.fail_time < 0):
        logs.remove()
        within = f" in less than {options.fail_time} seconds" if options.fail_time > 0 else ""
        say("INFO", f"Removing log files since command failed{within}.")
    else:
        _write(options, logs, run, windows, say)
    say("INFO", f"jobmeter keeps the run: jobmeter show {run.run_id}")
    return outcome.finish()


class _Voice:
    """Speaks on stderr as con-duct's log does."""

    def __init__(self, level: str) -> None:
        self._loudest = duct_options.LEVELS.index(level)

    def __call__(self, level: str, text: str) -> None:
        if duct_options.LEVELS.index(level) > self._loudest:
            return
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        line = f"{stamp} [{level:<8}] jobmeter: {text}\n"
        try:
            os.write(2, line.encode("utf-8", "backslashreplace"))
        except OSError:
            return  # nobody reads our stderr any more


def _neighbours(options: "DuctOptions") -> "Neighbours | None":
    if options.mode != "current-session":
        return None
    from jobmeter.compat import duct_session

    return duct_session.start(
        max(options.sample_interval, SHORTEST_INTERVAL_SECONDS), options.report_interval
    )


def _run(options: "DuctOptions", command: list[str], logs: duct_logs.Logs) -> "Outcome":
    from jobmeter.config import home
    from jobmeter.config import options as settings
    from jobmeter.recording import pipeline

    kept = logs.streams
    capture = "all" if len(kept) == len(duct_logs.STREAMS) else kept[0] if kept else "none"
    sample_seconds = max(options.sample_interval, SHORTEST_INTERVAL_SECONDS)
    flags = [f"--sample-interval={sample_seconds}", f"--capture={capture}", "--summary=none"]
    flags.append(f"--report-interval={max(options.report_interval, sample_seconds)}")
    if options.message:
        flags.append(f"--message={options.message}")
    recording, job = settings.parse([*flags, "--", *command], os.environ, home.working_directory())
    before = duct_logs.redirect(options, logs)
    try:
        return pipeline.record(recording, job)
    finally:
        duct_logs.restore(before)


def _write(
    options: "DuctOptions", logs: duct_logs.Logs, run: "Recorded", windows: "Iterable[Readings]", say: _Voice
) -> None:
    """Fill con-duct's files from the run folder and say its summary."""
    from jobmeter.compat import duct_system
    from jobmeter.exporters import duct as exporter

    logs.copy_outputs(run)
    summary = exporter.execution_summary(run, windows, prefix=logs.prefix)
    if options.record_types != "system-summary":
        logs.write(duct_logs.USAGE, exporter.encoded(exporter.usage(run, windows)))
    if options.record_types != "processes-samples":
        document = exporter.info(run, summary, prefix=logs.prefix) | {"system": duct_system.facts()}
        logs.write(duct_logs.INFO, exporter.encoded([document]))
    if options.log_level != "NONE":
        _say_summary(options, summary, say)


def _say_summary(options: "DuctOptions", summary: dict[str, object], say: _Voice) -> None:
    from jobmeter.compat import duct_summary

    try:
        say("INFO", duct_summary.render(options.summary_format, summary, colors=options.colors))
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        say("WARNING", f"cannot fill --summary-format: {error}")


def _measured(folder: str, neighbours: "Neighbours | None") -> "tuple[Recorded, Iterable[Readings]]":
    """Read the run; of a whole session only the neighbours' windows tell."""
    from jobmeter.compat import duct_record

    run = duct_record.Recorded(folder)
    if neighbours is None:
        return run, duct_record.Lines(folder)
    return run.without_summary(), neighbours.finish()
