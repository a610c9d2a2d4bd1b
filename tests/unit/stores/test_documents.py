import dataclasses
from pathlib import Path

import pytest

from jobmeter.model.run import Headline, Run
from jobmeter.runfolder import reader
from jobmeter.stores import documents
from support import folders


@pytest.fixture
def run(tmp_path: Path) -> Run:
    figures = Headline(value=1.5, low=1.0, high=2.0, keys=("wait_cputime",), exact=True)
    return dataclasses.replace(
        reader.read_run(folders.write_run(tmp_path, seconds=2)), headline={"cpu_seconds": figures}
    )


def test_a_run_comes_back_whole(run: Run) -> None:
    brief, detail = documents.encode_brief(run), documents.encode_detail(run)
    assert documents.join(documents.decode_brief(brief), documents.decode_detail(detail)) == run


def test_the_brief_leaves_out_definitions_and_context(run: Run) -> None:
    brief = documents.decode_brief(documents.encode_brief(run))
    assert brief == dataclasses.replace(run, definitions={}, context={})
    assert documents.decode_summary(documents.encode_brief(run)) == run.summary


def test_arguments_that_are_no_text_come_back(run: Run) -> None:
    odd = dataclasses.replace(
        run, command=("cat", "caf\udce9"), context={"x": "\udc80"}, tags={"\udcff": "1"}
    )
    brief, detail = documents.encode_brief(odd), documents.encode_detail(odd)
    assert documents.join(documents.decode_brief(brief), documents.decode_detail(detail)) == odd
    assert documents.decode_summary(brief) == run.summary


def test_damage_is_found(run: Run) -> None:
    with pytest.raises(documents.DamagedDocumentError):
        documents.decode_brief(documents.encode_brief(run)[:-10])
    with pytest.raises(documents.DamagedDocumentError):
        documents.decode_detail(documents.encode_detail(run)[:-10])
    with pytest.raises(documents.DamagedDocumentError):
        documents.decode_brief(b'{"run_id": 5}')
