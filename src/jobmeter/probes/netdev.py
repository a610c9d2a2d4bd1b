"""`/proc/net/dev`: bytes received and sent per interface of this network namespace.

A packet of a container passes a veth pair, a bridge and the network card and is counted at each. Loopback
and interfaces whose traffic comes out of another one are left out, by name. RDMA bypasses these counters.
"""

_VIRTUAL = tuple(
    b"br- bond bridge cali cilium cni docker dummy erspan flannel gre ifb ip6tnl ip_vti kube- lxc podman"
    b" sit tap team tun veth virbr vnet vxlan wg".split()
)
"""Interfaces on top of others. `bond0` is the sum of its members, which are counted themselves."""


def parse(text: bytes) -> dict[str, tuple[int, int]]:
    """Map each interface that counts its bytes first to bytes received and sent."""
    columns: dict[bytes, bytes] = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(b":")
        if colon:  # the two header lines have none
            columns[name.strip()] = rest
    columns.pop(b"lo", None)
    # a rootless container has nothing but a `tap0`
    names = [name for name in columns if not _is_stacked(name)] or columns
    found: dict[str, tuple[int, int]] = {}
    for name in names:
        words = columns[name].split(None, 9)
        if len(words) > 8 and words[0].isdigit() and words[8].isdigit():
            found[name.decode("ascii", "replace")] = int(words[0]), int(words[8])
    return found


def _is_stacked(name: bytes) -> bool:
    # a VLAN `eth0.12` repeats its parent, a bridge `br0` its ports
    return name.startswith(_VIRTUAL) or b"." in name or (name.startswith(b"br") and name[2:].isdigit())
