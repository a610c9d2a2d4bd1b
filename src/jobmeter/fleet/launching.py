"""Start one command per rank, here or over ssh; its output goes to the log that the collector reads.

A job outlives whoever started it: nothing here ends it but `stop`. Over ssh the connection only waits for the exit
code; when it breaks the code is lost (255), the command goes on.
"""

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jobmeter.errors import UsageError, reason_of
from jobmeter.fleet import ssh, targets
from jobmeter.fleet.settings import MetricsCollectorConfig
from jobmeter.fleet.targets import Place, Scheme, Target

_CONNECT_SECONDS = 10


@dataclass(slots=True)
class Launched:
    """The commands of one job."""

    processes: dict[int, "subprocess.Popen[bytes]"]
    targets: Mapping[int, Target]
    _pids: dict[int, str] = field(default_factory=dict)

    def running(self) -> list[int]:
        """List the ranks whose command has not ended."""
        return [rank for rank, process in self.processes.items() if process.poll() is None]

    def exit_codes(self) -> dict[int, int]:
        """Give how the ended ones ended."""
        codes = {rank: process.poll() for rank, process in self.processes.items()}
        return {rank: code for rank, code in codes.items() if code is not None}

    def stop(self) -> None:
        """Ask the commands that still run to end; blocks as long as hosts take to answer."""
        for rank in self.running():
            process, target = self.processes[rank], self.targets[rank]
            if target.scheme is Scheme.LOCAL:
                os.killpg(process.pid, signal.SIGTERM)
                continue
            pid = self._pid(rank)
            if pid.isdecimal():
                _kill_there(target, pid)

    def _pid(self, rank: int) -> str:
        """Read the pid that the host told when the command began."""
        out = self.processes[rank].stdout
        if rank not in self._pids and out is not None:
            self._pids[rank] = out.readline().decode("ascii", "replace").strip()
        return self._pids.get(rank, "")

    def close(self) -> None:
        """Give the pipes of ended commands back."""
        for process in self.processes.values():
            if process.stdout is not None:
                process.stdout.close()


def launch(
    job_id: str,
    command: Sequence[str],
    chosen: Mapping[int, Target],
    config: MetricsCollectorConfig,
    environment: Mapping[str, str],
) -> Launched:
    """Start the command once per rank; `{rank}` and `{job}` in it are filled in."""
    if not command:
        raise UsageError("no command to start")
    for rank, target in chosen.items():
        if target.scheme is Scheme.HTTP:
            raise UsageError(f"rank {rank} is behind http: no command can be started there")
    places = targets.places(chosen, config, job_id)
    launched = Launched({}, dict(chosen))
    for rank, target in sorted(chosen.items()):
        words = [targets.fill(word, job_id, rank) for word in command]
        more = {**environment, **_told(job_id, rank, chosen)}
        start = _start_here if target.scheme is Scheme.LOCAL else _start_there
        try:
            launched.processes[rank] = start(target, words, places[rank], more)
        except OSError as error:
            launched.stop()
            launched.close()
            raise UsageError(f"cannot start {words[0]} for rank {rank}: {reason_of(error)}") from None
    return launched


def _kill_there(target: Target, pid: str) -> None:
    try:
        subprocess.run(
            ssh.command(target, f"kill {pid}", _CONNECT_SECONDS),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2 * _CONNECT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return  # a host that does not answer keeps its command


def _told(job_id: str, rank: int, chosen: Mapping[int, Target]) -> dict[str, str]:
    """Tell a rank who it is, as launchers do."""
    neighbours = [other for other in sorted(chosen) if chosen[other].address == chosen[rank].address]
    return {
        "JOBMETER_JOB_ID": job_id,
        "RANK": str(rank),
        "WORLD_SIZE": str(len(chosen)),
        "LOCAL_RANK": str(neighbours.index(rank)),
        "LOCAL_WORLD_SIZE": str(len(neighbours)),
    }


def _start_here(
    _: Target, words: list[str], place: Place, more: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    os.makedirs(place.folder, exist_ok=True)
    os.makedirs(os.path.dirname(place.output), exist_ok=True)
    with open(place.output, "ab") as log:
        return subprocess.Popen(
            words,
            cwd=place.folder,
            env={**os.environ, **more},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _start_there(
    target: Target, words: list[str], place: Place, more: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    folder, output = shlex.quote(place.folder), shlex.quote(place.output)
    # the log's name is relative to where the login begins, as is the folder's
    script = (
        f"mkdir -p {folder} {shlex.quote(os.path.dirname(place.output) or '.')} || exit 126; "
        f"exec 3>>{output} || exit 126; cd {folder} || exit 126; "
        f"nohup env {shlex.join(f'{key}={value}' for key, value in more.items())} {shlex.join(words)} "
        "</dev/null >&3 2>&1 & exec 3>&-; echo $!; wait $!"
    )
    return subprocess.Popen(
        ssh.command(target, f"exec sh -c {shlex.quote(script)}", _CONNECT_SECONDS),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
