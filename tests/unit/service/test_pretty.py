"""Files of jobmeter and con-duct as documents."""

import gzip
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import pretty
from support import corpus, folders


def test_lines_with_a_json_suffix_are_documents_each() -> None:
    documents = pretty.open_documents(corpus.folder("con-duct") / "duct_demo_usage.json")
    assert len(list(documents)) == 226
    assert documents.bad_lines == 0


def test_a_whole_document_is_one(tmp_path: Path) -> None:
    (tmp_path / "info.json").write_text('{\n  "a": 1\n}\n')
    assert list(pretty.open_documents(tmp_path / "info.json")) == [{"a": 1}]


def test_torn_and_garbled_lines_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "usage.jsonl"
    file.write_bytes(b'{"a": 1}\n\n\xff\xfe\n{"b": NaN}\n{"torn": ')
    documents = pretty.open_documents(file)
    assert len(list(documents)) == 2
    assert documents.bad_lines == 2


def test_a_compressed_file_is_read_as_far_as_it_is_sound(tmp_path: Path) -> None:
    packed = gzip.compress(b'{"a": 1}\n' * 50_000, compresslevel=0)
    (tmp_path / "usage.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    documents = pretty.open_documents(tmp_path / "usage.jsonl.gz")
    assert len(list(documents)) > 10_000
    assert documents.bad_lines == 1


def test_numbers_of_a_run_folder_have_its_units(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=1)
    known = pretty.open_documents(folder / "usage.jsonl").definitions
    assert pretty.humanised("proc_rss_total", 2048, known) == "2 KiB"
    assert pretty.humanised("proc_peak_rss_total", 2048, known) == "2 KiB"
    assert pretty.humanised("wait_cputime", 90, known) == "1 min 30 s"


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("peak_rss", 1048576, "1 MiB"),
        ("average_pcpu", 12.34, "12 %"),
        ("wall_clock_time", 4500.9, "1 h 15 min"),
        ("memory_total", 2**30, "1 GiB"),
        ("start_time", 1758834446.17, "2025-09-25T21:07:26.170Z"),
        ("num_samples", 3, None),
        ("exit_code", True, None),
        ("rss", "text", None),
        ("wall_clock_time", 10**400, None),
    ],
)
def test_words_of_con_duct_have_their_units(key: str, value: object, shown: str | None) -> None:
    assert pretty.humanised(key, value, {}) == shown


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory"):
        pretty.open_documents(tmp_path)
    with pytest.raises(UsageError, match="no such file or directory"):
        pretty.open_documents(tmp_path / "gone\udcff.json")
