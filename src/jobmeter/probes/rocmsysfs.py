"""AMD GPUs by the files of the amdgpu driver, read in the GPU helper process: a hung card blocks whoever reads them.

`gpu_busy_percent` is of an instant on older cards. Memory is the card's own (VRAM); an APU uses the host's. Processes
come from the compute driver (KFD), else from the descriptors of processes we may read. Untested on hardware: written
after the kernel's documentation and recorded trees.
"""

import os

from jobmeter.probes import drmfdinfo, procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Value = int | float | str
    Device = tuple[str, str, str, str, str]

_AMD = b"0x1002"
_FAST = (("gpu_busy_percent", "util"), ("mem_busy_percent", "mem_util"), ("mem_info_vram_used", "mem_used"),
         ("mem_info_vram_total", "mem_total"))  # fmt: skip
_TEMPERATURES = {"edge": "temp", "junction": "junction_temp", "mem": "mem_temp"}
_CLOCKS = {"sclk": "sm_clock", "mclk": "mem_clock"}


class Backend:
    """All AMD cards, by their unique id or their place on the bus."""

    __slots__ = ("_cards", "_devices", "_kfd", "_nodes", "_proc")

    def __init__(self, sys: str, proc: str) -> None:
        self._proc = proc
        self._kfd = f"{sys}/class/kfd/kfd"
        self._cards: dict[str, str] = {}
        self._devices: list[Device] = []
        for index, card in enumerate(cards(sys)):
            bus = os.path.basename(os.path.realpath(card))
            unique = _text(f"{card}/unique_id")
            uuid = f"GPU-{unique}" if unique else bus
            name = _text(f"{card}/product_name") or f"AMD {_text(f'{card}/device')}"
            self._cards[uuid] = card
            self._devices.append((uuid, str(index), bus, "", name))
        self._nodes = self._find_nodes()

    def devices(self) -> "list[Device]":
        """List the cards."""
        return self._devices

    def fast(self, uuid: str) -> "dict[str, Value]":
        """Read utilisation, memory, power and temperature."""
        card = self._cards[uuid]
        values: dict[str, Value] = {}
        for file, name in _FAST:
            number = _number(f"{card}/{file}")
            if number is not None:
                values[name] = number
        sensors = _sensors(card)
        power = _number(f"{sensors}/power1_average")
        power = _number(f"{sensors}/power1_input") if power is None else power
        if power is not None:
            values["power"] = power / 1e6
        for place, name in _TEMPERATURES.items():
            found = _labelled(sensors, "temp", place)
            if found is not None:
                values[name] = found / 1000
        return values

    def slow(self, uuid: str) -> "Iterator[dict[str, Value]]":
        """Read clocks, the power limit and the fan."""
        sensors = _sensors(self._cards[uuid])
        values: dict[str, Value] = {}
        for clock, name in _CLOCKS.items():
            found = _labelled(sensors, "freq", clock)
            if found is not None:
                values[name] = found
        limit, fan = _number(f"{sensors}/power1_cap"), _number(f"{sensors}/pwm1")
        if limit is not None:
            values["power_limit"] = limit / 1e6
        if fan is not None:
            values["fan"] = round(fan / 2.55, 1)
        yield values

    def processes(self, uuid: str) -> "dict[int, tuple[int | None, float | None]]":
        """Map the pids on a card to their memory there."""
        node = self._nodes.get(uuid)
        try:
            pids = [int(name) for name in os.listdir(f"{self._kfd}/proc") if name.isdigit()]
        except OSError:
            return self._by_descriptors(os.path.basename(os.path.realpath(self._cards[uuid])))
        used = {pid: _number(f"{self._kfd}/proc/{pid}/vram_{node}") for pid in pids}
        # a process of the compute driver is listed for every card, with 0 where it holds nothing
        return {pid: (held, None) for pid, held in used.items() if held}

    def _by_descriptors(self, bus: str) -> "dict[int, tuple[int | None, float | None]]":
        found: dict[int, tuple[int | None, float | None]] = {}
        for name in os.listdir(self._proc):
            clients = drmfdinfo.of_process(self._proc, int(name)) if name.isdigit() else []
            held = [client.vram_bytes for client in clients if client.device == bus and client.vram_bytes]
            if held:
                found[int(name)] = (sum(held), None)
        return found

    def events(self) -> "Iterator[tuple[str, str, int]]":
        """The driver tells faults in the kernel's log only."""
        return iter(())

    def _find_nodes(self) -> dict[str, str]:
        """Map cards to the numbers the compute driver gives them, by their place on the bus."""
        by_place = {bus: uuid for uuid, _, bus, _, _ in self._devices}
        found: dict[str, str] = {}
        try:
            nodes = os.listdir(f"{self._kfd}/topology/nodes")
        except OSError:
            return found
        for node in nodes:
            folder = f"{self._kfd}/topology/nodes/{node}"
            properties = dict(
                words
                for line in _text(f"{folder}/properties").splitlines()
                if len(words := line.split()) == 2
            )
            place = _place(properties)
            number = _text(f"{folder}/gpu_id")
            if place in by_place and number:
                found[by_place[place]] = number
        return found


def cards(sys: str) -> list[str]:
    """List the device folders of AMD cards in the order the driver found them."""
    try:
        names = os.listdir(f"{sys}/class/drm")
    except OSError:
        return []
    numbers = sorted(int(name[4:]) for name in names if name.startswith("card") and name[4:].isdigit())
    folders = [f"{sys}/class/drm/card{number}/device" for number in numbers]
    return [
        folder
        for folder in folders
        if (procfs.read_file(f"{folder}/vendor") or b"").strip() == _AMD
        and os.path.exists(f"{folder}/mem_info_vram_total")
    ]


def _place(properties: dict[str, str]) -> str:
    """Write a node's place as the bus does: location_id holds bus, device and function in 16 bits."""
    location, domain = properties.get("location_id", ""), properties.get("domain", "0")
    if not location.isdigit() or not domain.isdigit():
        return ""
    place = int(location)
    return f"{int(domain):04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"


def _sensors(card: str) -> str:
    try:
        names = sorted(os.listdir(f"{card}/hwmon"))
    except OSError:
        names = []
    return f"{card}/hwmon/{names[0]}" if names else f"{card}/hwmon"


def _labelled(sensors: str, kind: str, label: str) -> int | None:
    for number in range(1, 9):
        if _text(f"{sensors}/{kind}{number}_label") == label:
            return _number(f"{sensors}/{kind}{number}_input")
    return None


def _text(path: str) -> str:
    return (procfs.read_file(path) or b"").decode("utf-8", "replace").strip()


def _number(path: str) -> int | None:
    text = _text(path)
    return int(text) if text.isdigit() else None
