"""The page of metrics tells of every metric that there is, as it is."""

import re
from importlib import import_module
from pathlib import Path

from jobmeter import collectors
from jobmeter.exporters import metric_families, metric_names

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
ROW = re.compile(r"^\| `(jobmeter_\w+)` \| (\w+) \|", re.MULTILINE)


def families() -> dict[str, str]:
    known = [one for path in collectors.ALL.values() for one in import_module(path).MEASUREMENTS]
    named = [family for one in known if (family := metric_names.family_of(one)) is not None]
    everything = (*named, *metric_families.OF_RUNS, *metric_families.OF_THE_SERVER)
    return {family.sample_name: family.type.value for family in everything}


def test_every_metric_has_one_row_with_its_type() -> None:
    rows = ROW.findall(PAGE.read_text())
    assert len(rows) == len(dict(rows))
    assert dict(rows) == families()
    assert len(rows) > 150


def test_every_key_that_is_exported_is_named_beside_its_metric() -> None:
    text = PAGE.read_text()
    missing = [
        one.key
        for path in collectors.ALL.values()
        for one in import_module(path).MEASUREMENTS
        if metric_names.family_of(one) is not None and f"`{one.key}`" not in text
    ]
    assert missing == []
