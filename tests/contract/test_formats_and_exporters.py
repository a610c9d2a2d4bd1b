"""What every format and exporter promises, whoever wrote it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmeter import exporters, formats


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
