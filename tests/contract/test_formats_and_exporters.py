"""What every format and exporter promises, whoever wrote it."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmeter import exporters, formats
from jobmeter.errors import JobmeterError

NO_FILES: dict[str, bytes] = {
    "empty": b"",
    "one line end": b"\n",
    "blank lines": b"\n \n\t\r\n",
    "zeros": bytes(3000),
    "noise": random.Random(1).randbytes(50_000),
    "a list without end": b"[" * 100_000,
    "an object without end": b'{"a":' * 100_000,
    "brackets below a line": b"x\n" + b"[" * 100_000 + b"\n",
    "a number of 400 digits": b'{"a": 1' + b"0" * 400 + b"}\n",
    "no numbers": b'{"step": NaN, "loss": Infinity, "timestamp": -Infinity}\n' * 3,
    "half a character": b'{"\\ud800": "\\udfff"}\n',
    "other types": b'{"samples": 5, "jobs": {}, "gpu": [1], "processes": null, "state": {"a": 1}}\n',
    "SQLite's first words": b"SQLite format 3\0" + b"\xff" * 5000,
    "gzip's first words": b"\x1f\x8b\x08\0\0\0\0\0garbage",
}
"""What no tool ever wrote."""


@pytest.mark.parametrize("name", formats.ALL)
def test_a_format_has_the_names_of_one_and_lives_under_its_own(name: str) -> None:
    module = formats.load(name)
    assert formats.ALL[name] == f"jobmeter.formats.{name}"
    assert callable(module.sniff)
    assert callable(module.parse)


@pytest.mark.parametrize("name", exporters.ALL)
def test_an_exporter_has_the_names_of_one_and_lives_under_its_own(name: str) -> None:
    assert exporters.ALL[name] == f"jobmeter.exporters.{name}"
    assert callable(exporters.load(name).render)


def test_both_registries_are_in_alphabetical_order() -> None:
    assert list(formats.ALL) == sorted(formats.ALL)
    assert list(exporters.ALL) == sorted(exporters.ALL)


@given(head=st.binary(max_size=200), name=st.text(max_size=30))
def test_any_bytes_under_any_name_can_be_sniffed(head: bytes, name: str) -> None:
    for known in formats.ALL:
        assert 0 <= formats.load(known).sniff(head, name) <= 1


@pytest.mark.parametrize("content", NO_FILES.values(), ids=NO_FILES)
@pytest.mark.parametrize("name", formats.ALL)
def test_a_file_that_nobody_wrote_is_refused_or_read_and_never_a_crash(
    name: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    try:
        found = list(formats.read(path, name, is_named=True))
    except JobmeterError:
        return  # refused with a sentence
    assert all(imported.format == name for imported in found)
