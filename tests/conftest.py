"""Rules for every suite: what is needed must be there, so a skipped test is a failed run."""

import signal

import hypothesis
import pytest

# a busy machine is no failure of what is tested
hypothesis.settings.register_profile("jobmeter", deadline=None)
hypothesis.settings.load_profile("jobmeter")

# a shell that runs the suite in the background, or nohup, ignores these for everything that is started from here
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.write_line(
            f"{len(skipped)} skipped: install what they need; a skip is a failure", red=True
        )


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if isinstance(reporter, pytest.TerminalReporter) and reporter.stats.get("skipped") and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
