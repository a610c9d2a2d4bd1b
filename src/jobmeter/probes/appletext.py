"""What `ioreg` and `powermetrics` say of the GPU of an Apple machine. Untested on hardware: by recorded captures.

`ioreg -r -d 1 -w 0 -c IOAccelerator` needs no privilege and knows no power; `powermetrics --samplers gpu_power` needs
root. Memory is a part of the machine's: there is no other. A legend in the same text repeats the names without values.
"""

_STATISTICS = '"PerformanceStatistics" = {'


def parse_ioreg(text: str) -> dict[str, int | str]:
    """Read utilisation in percent, bytes in use and the model of the first accelerator that has them."""
    found: dict[str, int | str] = {}
    for entry in text.split("+-o "):
        _, mark, rest = entry.partition(_STATISTICS)
        pairs = _pairs(rest.partition("}")[0]) if mark else {}
        util = pairs.get("Device Utilization %", pairs.get("Renderer Utilization %"))
        if util is None or util > 100:
            continue
        found["util"] = util
        if "In use system memory" in pairs:
            found["mem_used"] = pairs["In use system memory"]
        name = entry.partition('"model" = "')[2].partition('"')[0]
        return found | ({"name": name} if name else {})
    return found


def _pairs(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for pair in text.split(","):
        name, _, number = pair.rpartition("=")
        if number.strip().isdigit():
            found[name.strip().strip('"')] = int(number)
    return found


def parse_powermetrics(text: str) -> dict[str, float]:
    """Read power in watts, utilisation in percent and the clock in hertz of the last sample."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        if not colon or not words:
            continue
        number = _number(words[0].rstrip("%"))
        if number is None:
            continue
        if name == "GPU Power" and words[1:2] == ["mW"]:
            found["power"] = number / 1000
        elif name in ("GPU HW active residency", "GPU active residency"):
            found["util"] = number
        elif name in ("GPU HW active frequency", "GPU active frequency"):
            found["clock"] = number * 1e6
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
