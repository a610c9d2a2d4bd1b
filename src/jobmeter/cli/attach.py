"""Record a job that already runs, by its pid; the job itself is left alone."""

import os

from jobmeter.errors import JobmeterError, UsageError

_CONTROL_FD, _PROCESS_FD = 3, 4
"""What the SDK hands over: a socket to it, and a descriptor of its process where the kernel has those."""


def main(argv: list[str]) -> int:
    """Attach to the pid at the end of `argv` until it ends or Ctrl-C."""
    from jobmeter.config import home
    from jobmeter.config import options as settings
    from jobmeter.recording import attach

    if argv[:1] in (["-h"], ["--help"]):
        print(settings.help_text("attach [options] PID", __doc__ or ""))
        return 0
    if len(argv) == 3 and argv[0] == "--into":
        return _serve(argv[1], int(argv[2]))
    options, words = settings.parse(argv, os.environ, home.working_directory())
    if len(words) != 1 or not words[0].isdecimal():
        raise UsageError("attach needs one pid", hint="jobmeter attach [options] PID")
    outcome = attach.attach(options, int(words[0]))
    outcome.show("none" if options.quiet else options.summary)
    return 0


def _serve(folder: str, pid: int) -> int:
    """Record for the SDK, which started us and left nobody to complain to."""
    from jobmeter.config import home
    from jobmeter.config import options as settings
    from jobmeter.recording import attach, target

    _close_strangers()
    try:
        options, _ = settings.parse([], os.environ, home.working_directory())
    except JobmeterError:
        # the SDK has read the same settings and said what is wrong with them
        options = settings.Options({option.name: option.default for option in settings.OPTIONS}, folder)
    os.chdir("/")
    fd = _PROCESS_FD if os.path.exists(f"/proc/self/fd/{_PROCESS_FD}") else None
    attach.serve(options, target.Target(pid, "/proc", fd), folder, target.Told(_CONTROL_FD))
    return 0


def _close_strangers() -> None:
    """Let go of what leaked through the training's exec: a driver's device must not stay open because of us."""
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        if fd <= _PROCESS_FD:
            continue
        try:
            os.close(fd)
        except OSError:
            continue  # the listing itself
