"""What the kernel lets us see: cgroups, subreaper, pidfd, perf, pressure, other processes, clocks."""

import os
import resource
import time

from jobmeter.errors import reason_of
from jobmeter.probes import cgroupfs, libc
from jobmeter.probes.cgroupfs import OwnCgroup
from jobmeter.service.doctor import Finding, Place, fail, ok, warn

LEAST_DESCRIPTORS = 1024
CLOCK_LOOK_SECONDS = 0.05
CLOCK_DRIFT_SECONDS = 0.005
BUILT_AFTER = 1_767_225_600.0  # 2026-01-01: an earlier wall clock was never set


def check_cgroup(place: Place) -> Finding:
    """Make a cgroup as a recording would, and remove it."""
    found = cgroupfs.locate(place.paths)
    if not found.every():
        return warn("no cgroup file system: no charged memory, no OOM counter, no memory limit is seen")
    name = cgroupfs.own_name("doctor", os.getpid())
    own, reason = cgroupfs.create_own(place.paths, name)
    kind = _kind(found)
    if own is None:
        return warn(
            f"{kind}, no own cgroup: {reason}", "systemd-run --user --scope -p Delegate=yes jobmeter run ..."
        )
    removed = own.remove()
    if not removed:
        return warn(f"{kind}, but a cgroup made there could not be removed: {own.directories[0]}")
    parts = _parts(own)
    return (
        ok(f"{kind}, own cgroup for {parts}")
        if not reason
        else warn(f"{kind}, own cgroup for {parts} only: {reason}")
    )


def _kind(found: cgroupfs.Places) -> str:
    versions = {place.version for place in found.every()}
    return "hybrid (v1 and v2)" if versions == {1, 2} else f"v{versions.pop()}"


def _parts(own: OwnCgroup) -> str:
    named = (
        ("memory", own.places.memory),
        ("CPU", own.places.cpuacct or own.places.unified),
        ("IO", own.places.io),
    )
    return " and ".join(word for word, place in named if place is not None)


def check_subreaper(_: Place) -> Finding:
    """Ask to inherit orphans; without it a daemonised child's CPU time is lost."""
    if libc.become_subreaper():
        return ok("orphaned descendants come to the recorder")
    return warn("the kernel refuses PR_SET_CHILD_SUBREAPER: what daemonised children use is only sampled")


def check_pidfd(_: Place) -> Finding:
    """Open a pidfd: signals and waits that cannot hit a reused pid."""
    if not hasattr(os, "pidfd_open"):
        return warn("no pidfd on this system")
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        return warn(f"pidfd_open fails: {reason_of(error)}")
    return ok("available")


def check_perf(place: Place) -> Finding:
    """Open an inherited task clock: it catches children that are reaped unseen."""
    fd = libc.open_task_clock()
    if fd is not None:
        os.close(fd)
        return ok("an inherited task clock cross-checks CPU time")
    level = _text(f"{place.paths.proc}/sys/kernel/perf_event_paranoid")
    return warn(
        f"no task clock (perf_event_paranoid is {level or 'not readable'}): "
        "a job that ignores SIGCHLD is measured by samples only",
        "as root: sysctl kernel.perf_event_paranoid=2",
    )


def check_pressure(place: Place) -> Finding:
    """Look for pressure stall information."""
    if _text(f"{place.paths.proc}/pressure/cpu") is not None:
        return ok("stall times of CPU, memory and IO are recorded")
    return warn("no /proc/pressure: stall times are not recorded", "boot with psi=1")


def check_proc(place: Place) -> Finding:
    """See whether processes of others are hidden."""
    mounts = _text(f"{place.paths.proc}/self/mounts") or ""
    options = [line.split()[3] for line in mounts.splitlines() if line.split()[1:3] == ["/proc", "proc"]]
    hidden = [option for option in ",".join(options).split(",") if option.startswith("hidepid=")]
    if hidden and hidden[-1] not in ("hidepid=0", "hidepid=off"):
        return warn(
            f"mounted with {hidden[-1]}: processes of other users are not seen, sudo inside a job neither"
        )
    return ok("all processes can be seen")


def check_descriptors(_: Place) -> Finding:
    """Compare the limit of open files with what many processes need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= LEAST_DESCRIPTORS:
        return ok(f"{soft} open files allowed")
    return warn(
        f"only {soft} open files allowed: jobs of many processes are read slower", f"ulimit -n {hard}"
    )


def check_clocks(_: Place) -> Finding:
    """Let both clocks run a moment and compare."""
    wall, steady = time.time(), time.monotonic()
    time.sleep(CLOCK_LOOK_SECONDS)
    drift = abs((time.time() - wall) - (time.monotonic() - steady))
    if wall < BUILT_AFTER:
        return fail("the wall clock was never set", "set the date; run ids and times come from it")
    if drift > CLOCK_DRIFT_SECONDS:
        return warn(
            f"wall and monotonic clock went apart by {1000 * drift:.1f} ms within {CLOCK_LOOK_SECONDS} s"
        )
    return ok(f"wall and monotonic clock agree within {1000 * drift:.2f} ms")


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None
