"""Hosts in network namespaces on one bridge: real links that can be cut, real processes that can be stopped."""

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass


def ip(*words: str) -> None:
    """Run `ip`."""
    subprocess.run(["ip", *words], check=True, stdin=subprocess.DEVNULL)


@dataclass(frozen=True, slots=True)
class Network:
    """A hub with a bridge, and hosts on it."""

    prefix: str
    hosts: int

    @property
    def hub(self) -> str:
        """The namespace that looks at the hosts."""
        return f"{self.prefix}-hub"

    def host(self, number: int) -> str:
        """The namespace of a host, from 1 on."""
        return f"{self.prefix}-{number}"

    def address(self, number: int) -> str:
        """The address of a host."""
        return f"10.77.0.{number}"

    def make(self) -> None:
        """Set everything up."""
        ip("netns", "add", self.hub)
        commands = [
            "link add br0 type bridge",
            "addr add 10.77.0.254/24 dev br0",
            "link set br0 up",
            "link set lo up",
        ]
        for number in range(1, self.hosts + 1):
            ip("netns", "add", self.host(number))
            commands += [
                f"link add v{number} type veth peer name eth0 netns {self.host(number)}",
                f"link set v{number} master br0 up",
            ]
        self._batch(self.hub, commands)
        for number in range(1, self.hosts + 1):
            inside = [f"addr add {self.address(number)}/24 dev eth0", "link set eth0 up", "link set lo up"]
            self._batch(self.host(number), inside)

    def _batch(self, namespace: str, commands: Sequence[str]) -> None:
        text = "\n".join(commands) + "\n"
        subprocess.run(["ip", "-n", namespace, "-batch", "-"], input=text.encode(), check=True)

    def remove(self) -> None:
        """Take everything down; what still runs there is killed."""
        for namespace in (*map(self.host, range(1, self.hosts + 1)), self.hub):
            send(namespace, signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", namespace], check=False, stderr=subprocess.DEVNULL)

    def cut(self, number: int) -> None:
        """Pull a host's cable."""
        ip("-n", self.hub, "link", "set", f"v{number}", "down")

    def mend(self, number: int) -> None:
        """Plug it in again."""
        ip("-n", self.hub, "link", "set", f"v{number}", "up")


def inside(namespace: str) -> list[str]:
    """Give what stands in front of a command that shall run in a namespace."""
    return ["nsenter", f"--net=/run/netns/{namespace}"]


def processes(namespace: str) -> list[int]:
    """List who lives in a namespace."""
    try:
        wanted = os.stat(f"/run/netns/{namespace}").st_ino
    except FileNotFoundError:
        return []
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}/ns/net").st_ino == wanted:
                found.append(int(name))
        except OSError:
            continue  # ended while we looked
    return found


def send(namespace: str, number: signal.Signals) -> None:
    """Send a signal to all of them."""
    for pid in processes(namespace):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue  # ended meanwhile
