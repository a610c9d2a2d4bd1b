"""Which GPUs a process may use, by `CUDA_VISIBLE_DEVICES` and its kin in its environment.

CUDA counts devices by speed unless `CUDA_DEVICE_ORDER=PCI_BUS_ID` is set, NVML by bus: where the GPUs of a machine
differ, a plain index may mean another one. The kernel shows the environment a process was started with, not what
it changed since.
"""

from jobmeter.probes import procfs

_MOST_BYTES = 1 << 18


def of_process(proc: str, pid: int, names: tuple[str, ...]) -> dict[str, str] | None:
    """Read some variables of a process; None if it is gone or not ours to read."""
    text = procfs.read_file(f"{proc}/{pid}/environ", _MOST_BYTES)
    return None if text is None else parse(text, names)


def parse(environ: bytes, names: tuple[str, ...]) -> dict[str, str]:
    """Find some variables of `/proc/PID/environ`; those that are not set are left out."""
    found: dict[str, str] = {}
    for name in names:
        head = name.encode() + b"="
        at = 0 if environ.startswith(head) else environ.find(b"\0" + head) + 1
        if at or environ.startswith(head):
            found[name] = environ[at + len(head) :].partition(b"\0")[0].decode("utf-8", "replace")
    return found


def chosen(text: str, devices: list[tuple[str, str]]) -> list[str]:
    """Give the UUIDs a list of devices means; `devices` are UUID and index in the order they are counted.

    As CUDA does it, the first word that means no device ends the list: `0,-1,1` is device 0.
    """
    found: list[str] = []
    for word in text.split(","):
        uuid = _meant(word.strip(), devices)
        if uuid is None:
            break
        if uuid not in found:
            found.append(uuid)
    return found


def _meant(word: str, devices: list[tuple[str, str]]) -> str | None:
    if word.isdecimal():
        return next((uuid for uuid, index in devices if index == str(int(word))), None)
    if not word.startswith(("GPU-", "MIG-")):
        return None
    # a UUID may be cut as long as it means one device only
    matches = [uuid for uuid, _ in devices if uuid.lower().startswith(word.lower())]
    return matches[0] if len(matches) == 1 else None
