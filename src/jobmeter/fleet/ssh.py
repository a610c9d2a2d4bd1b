"""Ranks behind ssh: one connection per host for all its ranks, one round trip per look, nothing installed there.

The system's own `ssh` is used, so that keys, agents, jump hosts, certificates, Kerberos and `known_hosts` work as
they do at the prompt; BatchMode never asks. At the other end a plain POSIX `sh` reads small requests and answers
with `dd`. A host that does not answer is cut off and connected anew: half an answer is never used.
"""

import asyncio
import os
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence

from jobmeter.fleet import commands
from jobmeter.fleet.endpoint import GPU_COMMAND, NotConnectedError
from jobmeter.fleet.tail import BLOCK, Found, Got, TargetError, Wanted
from jobmeter.fleet.targets import Target

_ANSWER_BYTES = 64 << 20
_ALL_PIECES = 32 << 20
_COMPLAINT_BYTES = 4096

# r TOKEN NUMBER SKIP COUNT PATH...: a piece of the first path that is a file. Tests are built into the shell;
# `dd` is the only process a file costs.
_PRELUDE = """\
LC_ALL=C; export LC_ALL
r() { t=$1; n=$2; s=$3; c=$4; shift 4; i=0
for p in "$@"; do
if [ -f "$p" ]; then
if [ -r "$p" ]; then printf '\\n%s %s %s F\\n' "$t" "$n" "$i"
dd if="$p" bs=4096 skip="$s" count="$c" 2>/dev/null
else printf '\\n%s %s %s U\\n' "$t" "$n" "$i"; fi
return
fi
i=$((i+1))
done
printf '\\n%s %s 0 M\\n' "$t" "$n"; }
"""


class SshEndpoint:
    """One host."""

    def __init__(self, target: Target, connect_seconds: float) -> None:
        self._target = target
        self._connect_seconds = connect_seconds
        self._process: asyncio.subprocess.Process | None = None
        self._ended: list[asyncio.subprocess.Process] = []
        """Commands that were ended and may not have been reaped yet."""
        self._complaints: asyncio.Task[bytes] | None = None
        self._folder = ""
        self._socket = ""
        self.connections = 0
        """How often a connection was made."""

    @property
    def name(self) -> str:
        """Name the host as its targets do."""
        return self._target.address

    async def read(self, wanted: Sequence[Wanted]) -> list[Got]:
        """Send all requests, read all answers."""
        process = await self._connected()
        token = secrets.token_hex(8)
        whole = False
        try:
            answer = await _ask(process, _script(token, wanted), f"\n{token} done\n".encode())
            whole = True
        except (OSError, EOFError):
            raise TargetError(await self._complaint()) from None
        except asyncio.LimitOverrunError:
            raise TargetError(f"{self.name} answered more than it was asked") from None
        finally:
            if not whole:
                self._cut()
        return _answers(answer, token, wanted)

    async def _connected(self) -> asyncio.subprocess.Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        self._cut()
        if not self._folder:
            self._folder = tempfile.mkdtemp(prefix="jobmeter-")
        self.connections += 1
        # a name of its own for every connection: a killed one leaves its socket behind
        self._socket = os.path.join(self._folder, str(self.connections))
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command("exec sh", master=True),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=_ANSWER_BYTES,
                start_new_session=True,  # Ctrl-C is for us: there is a last look to take
            )
        except FileNotFoundError:
            raise TargetError("no ssh command here: install openssh-client") from None
        self._process = process
        if process.stderr is not None:
            self._complaints = asyncio.create_task(_last_words(process.stderr))
        if process.stdin is not None:
            process.stdin.write(_PRELUDE.encode())
        return process

    def _command(self, remote: str, *, master: bool) -> list[str]:
        sharing = {"ControlMaster": "yes" if master else "no", "ControlPath": self._socket}
        return command(self._target, remote, self._connect_seconds, sharing)

    async def gpus(self) -> str:
        """Ask the host's `nvidia-smi` over the connection there is; a driver that hangs delays no look."""
        own_socket = not any("ControlPath" in word for word in self._target.ssh_options)
        connected = self._process is not None and self._process.returncode is None
        if not connected or (own_socket and not os.path.exists(self._socket)):
            raise NotConnectedError(f"{self.name} is not connected")
        process = await asyncio.create_subprocess_exec(
            *self._command(shlex.join(GPU_COMMAND), master=False),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            return await commands.gpu_answer(process)
        finally:
            self._await_later(process)

    async def _complaint(self) -> str:
        """Say why ssh ended, in its own last words."""
        if self._complaints is None or self._process is None:
            return f"{self.name} hung up"
        if self._process.stdin is not None:
            self._process.stdin.close()
        said = (await self._complaints).decode("utf-8", "replace").strip().splitlines()
        words = [line.strip() for line in said if line.strip() and not line.startswith("**")]
        return f"{self.name}: {words[-1]}" if words else f"{self.name} hung up"

    def _cut(self) -> None:
        """End the connection, whatever state it is in."""
        process, self._process = self._process, None
        if self._complaints is not None:
            self._complaints.cancel()
            self._complaints = None
        if process is not None:
            commands.end(process)
            self._await_later(process)

    def _await_later(self, ended: asyncio.subprocess.Process) -> None:
        """Remember a command that was ended: the last look is the time to wait for it."""
        self._ended = [one for one in (*self._ended, ended) if one.returncode is None]

    async def close(self) -> None:
        """End the connection and remove what it left here."""
        self._cut()
        for process in self._ended:
            await process.wait()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""


def command(
    target: Target, remote: str, connect_seconds: float, more: Mapping[str, str] | None = None
) -> list[str]:
    """Build the command line that runs something on a target's host and never asks a question."""
    seconds = max(1, round(connect_seconds))
    settings = {
        "BatchMode": "yes",
        "ConnectTimeout": str(seconds),
        "ServerAliveInterval": str(seconds),
        "ServerAliveCountMax": "2",
        "ControlPersist": "no",
        "ClearAllForwardings": "yes",
        "PermitLocalCommand": "no",
        **(more or {"ControlPath": "none"}),
    }
    # ssh takes the first value it meets: a target's own options go before ours
    words = ["ssh", "-T", "-e", "none", *target.ssh_options]
    for key, value in settings.items():
        words += ["-o", f"{key}={value}"]
    words += ["-l", target.user] if target.user else []
    words += ["-p", str(target.port)] if target.port else []
    return [*words, "--", target.host, remote]


async def _ask(process: asyncio.subprocess.Process, script: str, end: bytes) -> bytes:
    if process.stdin is None or process.stdout is None:
        raise EOFError
    process.stdin.write(script.encode("utf-8", "surrogateescape"))
    await process.stdin.drain()
    return (await process.stdout.readuntil(end)).removesuffix(end)


async def _last_words(stream: asyncio.StreamReader) -> bytes:
    """Read what ssh complains about, so that it never blocks, and keep the end."""
    kept = b""
    while part := await stream.read(_COMPLAINT_BYTES):
        kept = (kept + part)[-_COMPLAINT_BYTES:]
    return kept


def _script(token: str, wanted: Sequence[Wanted]) -> str:
    # many files share what one answer may hold
    most = max(_ALL_PIECES // max(len(wanted), 1) // BLOCK, 20)
    lines = []
    for number, one in enumerate(wanted):
        count = min(-(-one.length // BLOCK), most)
        paths = " ".join(shlex.quote(path) for path in one.paths)
        lines.append(f"r {token} {number} {one.offset // BLOCK} {count} {paths}")
    return "\n".join([*lines, f"printf '\\n%s done\\n' {token}", ""])


def _answers(answer: bytes, token: str, wanted: Sequence[Wanted]) -> list[Got]:
    """Take the answer apart; what stands before the first mark is the login's chatter."""
    found: dict[int, Got] = {}
    for part in answer.split(b"\n%s " % token.encode())[1:]:
        head, _, data = part.partition(b"\n")
        words = head.split()
        if len(words) != _HEAD_WORDS:
            raise TargetError("the shell at the other end answers in an unknown way")
        number, which = int(words[0]), int(words[1])
        path = wanted[number].paths[which]
        match words[2]:
            case b"F":
                found[number] = Got(Found.HERE, path, data)
            case b"U":
                found[number] = Got(Found.UNREADABLE, path, reason="permission denied")
            case _:
                found[number] = Got(Found.MISSING)
    if len(found) != len(wanted):
        raise TargetError("the shell at the other end left answers out")
    return [found[number] for number in range(len(wanted))]


_HEAD_WORDS = 3
