"""Real ssh servers for tests: own host keys, own user key, own `known_hosts`, nothing of the machine's touched."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.recorder import children

_USUAL_PORT = 22


@dataclass(frozen=True, slots=True)
class Keys:
    """A user's key, and the file that knows the hosts."""

    folder: Path

    @property
    def user_key(self) -> Path:
        """The private key that every server here accepts."""
        return self.folder / "user"

    @property
    def known_hosts(self) -> Path:
        """The hosts that are trusted."""
        return self.folder / "known_hosts"

    def ssh_options(self) -> list[str]:
        """Give what ssh needs to use these and nothing of the machine's own settings."""
        pairs = (
            f"UserKnownHostsFile={self.known_hosts}",
            "GlobalKnownHostsFile=/dev/null",
            "IdentitiesOnly=yes",
            "StrictHostKeyChecking=yes",
        )
        words = ["-F", "/dev/null", "-i", str(self.user_key)]
        for pair in pairs:
            words += ["-o", pair]
        return words

    def trust(self, server: "Server") -> None:
        """Enter a server's host key."""
        kind, key, *_ = server.host_key.with_suffix(".pub").read_text().split()
        name = server.address if server.port == _USUAL_PORT else f"[{server.address}]:{server.port}"
        with self.known_hosts.open("a") as file:
            file.write(f"{name} {kind} {key}\n")


@dataclass(slots=True)
class Server:
    """One running sshd."""

    address: str
    port: int
    host_key: Path
    process: "subprocess.Popen[bytes]"

    def stop(self) -> None:
        """End it, and the sessions it serves."""
        self.process.terminate()
        self.process.wait()

    def kill_sessions(self) -> None:
        """Break the connections it serves."""
        for pid in children(self.process.pid):
            os.kill(pid, signal.SIGKILL)


def make_keys(folder: Path) -> Keys:
    """Make the user's key."""
    folder.mkdir(parents=True, exist_ok=True)
    _keygen(folder / "user")
    (folder / "known_hosts").touch()
    return Keys(folder)


def start(
    keys: Keys,
    name: str,
    address: str = "127.0.0.1",
    *,
    port: int = 0,
    before: Sequence[str] = (),
    search_path: str = "",
) -> Server:
    """Start a server that accepts the user's key; `before` stands in front of its command line.

    Sessions look for commands in `search_path` first.
    """
    host_key = keys.folder / f"host-{name}"
    _keygen(host_key)
    chosen = port or _free_port(address)
    config = keys.folder / f"sshd-{name}.conf"
    config.write_text(
        f"ListenAddress {address}:{chosen}\n"
        f"HostKey {host_key}\n"
        f"AuthorizedKeysFile {keys.user_key}.pub\n"
        "PidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n"
        "KbdInteractiveAuthentication no\nUseDNS no\nPrintMotd no\nLogLevel ERROR\n"
        + (f"SetEnv PATH={search_path}:/usr/bin:/bin\n" if search_path else "")
    )
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    log = (keys.folder / f"sshd-{name}.log").open("wb")
    process = subprocess.Popen(
        [*before, "/usr/sbin/sshd", "-D", "-e", "-f", str(config)],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    log.close()
    return Server(address, chosen, host_key, process)


def wait_until_up(server: Server, seconds: float = 10) -> None:
    """Wait until a server that this network reaches says hello."""
    deadline = time.monotonic() + seconds
    while True:
        assert server.process.poll() is None, "sshd ended"
        try:
            with socket.create_connection((server.address, server.port), timeout=1) as connection:
                if connection.recv(4) == b"SSH-":
                    return
        except OSError:
            assert time.monotonic() < deadline, f"no sshd within {seconds} s"
            time.sleep(0.02)


def _free_port(address: str) -> int:
    with socket.socket() as listener:
        listener.bind((address, 0))
        return int(listener.getsockname()[1])


def _keygen(path: Path) -> None:
    if path.exists():
        return
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "jobmeter-test", "-f", os.fspath(path)],
        check=True,
        stdin=subprocess.DEVNULL,
    )
