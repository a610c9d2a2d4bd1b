"""What stands in the file of a build campaign."""

import json
from pathlib import Path


def read(path: Path) -> dict[str, object]:
    document = json.loads(path.read_text())
    assert isinstance(document, dict)
    return document


def region(path: Path, name: str = "us-west2") -> dict[str, object]:
    regions = read(path)["regions"]
    assert isinstance(regions, dict)
    found = regions[name]
    assert isinstance(found, dict)
    return found


def recent(path: Path) -> list[dict[str, object]]:
    found = region(path)["recent_builds"]
    assert isinstance(found, list)
    return found
