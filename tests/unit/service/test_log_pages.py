"""A job's output served page by page: from an offset, from the end, by a search; never with its secrets."""

import dataclasses
import gzip
from datetime import datetime
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.model.log_page import LogPage
from jobmeter.model.run import Run, Status
from jobmeter.runfolder import reader
from jobmeter.service import log_marks, log_pages
from jobmeter.service.log_pages import Wanted
from support import folders

TOKEN = "ghp_" + "a1B2c3D4e5" * 4
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nq83vEjRWeJCrze\n-----END RSA PRIVATE KEY-----\n"


def make_run(tmp_path: Path, stdout: bytes, *, live: bool = False, **files: bytes) -> Run:
    outputs = [
        {"stream": stream, "mode": "captured", "path": stream, "offset": 0} for stream in ("stdout", "stderr")
    ]
    folder = folders.write_run(tmp_path, seconds=1, context={"outputs": outputs})
    (folder / "stdout").write_bytes(stdout)
    for name, data in files.items():
        (folder / name.replace("_", ".")).write_bytes(data)
    run = reader.read_run(folder)
    return dataclasses.replace(run, status=Status.RUNNING) if live else run


def texts(page: LogPage) -> list[str]:
    return [line.text for line in page.lines]


def walk(run: Run, **wanted: int) -> list[str]:
    """Read a stream by following `next`."""
    found: list[str] = []
    offset = 0
    for _ in range(1000):
        page = log_pages.page(run, Wanted(offset=offset, **wanted))
        found += texts(page)
        assert page.next > offset or page.complete
        offset = page.next
        if page.complete:
            return found
    raise AssertionError("a stream without an end")


def test_a_page_has_lines_with_their_number_and_offset(tmp_path: Path) -> None:
    page = log_pages.page(make_run(tmp_path, b"one\ntwo\nthree"), Wanted())
    assert [(line.number, line.offset, line.text) for line in page.lines] == [
        (1, 0, "one"),
        (2, 4, "two"),
        (3, 8, "three"),
    ]
    assert (page.stream, page.streams, page.next, page.size_bytes) == ("stdout", ("stdout",), 13, 13)
    assert page.complete
    assert page.reason is None


def test_pages_follow_one_another_without_a_gap(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(1000)]
    run = make_run(tmp_path, "\n".join(lines).encode() + b"\n")
    assert walk(run, limit=7) == lines


def test_an_offset_inside_a_line_shows_the_whole_line(tmp_path: Path) -> None:
    page = log_pages.page(make_run(tmp_path, b"first\nsecond\nthird\n"), Wanted(offset=9, limit=1))
    assert [(line.number, line.offset, line.text) for line in page.lines] == [(2, 6, "second")]


def test_an_offset_behind_the_end_shows_nothing(tmp_path: Path) -> None:
    page = log_pages.page(make_run(tmp_path, b"one\n"), Wanted(offset=10**15))
    assert (page.lines, page.begin, page.next, page.complete) == ((), 4, 4, True)


def test_the_last_lines_are_numbered_too(tmp_path: Path) -> None:
    page = log_pages.page(make_run(tmp_path, b"a\nb\nc\nd\n"), Wanted(tail=2))
    assert [(line.number, line.text) for line in page.lines] == [(3, "c"), (4, "d")]


@pytest.mark.parametrize("asked", [1, 2, 3, 9])
def test_the_last_lines_of_a_stream_without_a_last_newline(tmp_path: Path, asked: int) -> None:
    page = log_pages.page(make_run(tmp_path, b"a\nb\nc"), Wanted(tail=asked))
    assert texts(page) == ["a", "b", "c"][-asked:]


def test_the_last_of_many_long_lines_are_the_last(tmp_path: Path) -> None:
    body = b"".join(b"%06d " % number + b"x" * 1000 + b"\n" for number in range(3000))
    page = log_pages.page(make_run(tmp_path, body), Wanted(tail=3000))
    assert page.complete
    assert page.lines[-1].text.startswith("002999")
    # 1,040 lines of 1,008 bytes are the most that a page of a MiB holds
    assert page.lines[0].text.startswith("001960")


def test_a_live_run_shows_its_unfinished_line_apart(tmp_path: Path) -> None:
    page = log_pages.page(make_run(tmp_path, b"done\n 10%\r 20%\r 30%", live=True), Wanted())
    assert (texts(page), page.tail, page.next, page.complete) == (["done"], " 30%", 5, False)


@pytest.mark.parametrize("wanted", [Wanted(offset=6), Wanted(offset=3_200_006), Wanted(tail=5)])
def test_a_bar_of_megabytes_shows_what_it_shows_now(tmp_path: Path, wanted: Wanted) -> None:
    bar = b"".join(b"\r%8d/200000" % number for number in range(200_000))
    page = log_pages.page(make_run(tmp_path, b"begin\n" + bar, live=True), wanted)
    assert (texts(page), page.tail, page.complete) == ([], "  199999/200000", False)


def test_an_unfinished_line_of_megabytes_is_not_shown_from_its_middle(tmp_path: Path) -> None:
    body = b"y" * (2 << 20) + b" --password hunter2secret"
    run = make_run(tmp_path, body, live=True)
    for wanted in (Wanted(offset=len(body) - 6), Wanted(offset=len(body)), Wanted(tail=1)):
        page = log_pages.page(run, wanted)
        assert (texts(page), page.tail) == ([], None)


def test_what_a_carriage_return_overwrote_is_left_out(tmp_path: Path) -> None:
    page = log_pages.page(make_run(tmp_path, b"10%\r20%\r100%\r\nwindows\r\n"), Wanted())
    assert texts(page) == ["100%", "windows"]


def test_a_line_longer_than_a_page_is_cut_and_passed(tmp_path: Path) -> None:
    run = make_run(tmp_path, b"y" * (3 << 20) + b"\nshort\n")
    page = log_pages.page(run, Wanted())
    (line,) = page.lines
    assert (len(line.text), line.cut, page.next) == (log_pages.LONGEST_LINE, True, (3 << 20) + 1)
    assert texts(log_pages.page(run, Wanted(offset=page.next))) == ["short"]


def test_a_line_of_a_hundred_megabytes_does_not_stop_the_walk(tmp_path: Path) -> None:
    run = make_run(tmp_path, b"z" * (100 << 20) + b"\nend\n")
    assert walk(run)[-1] == "end"


def test_bytes_that_are_no_text_are_escaped(tmp_path: Path) -> None:
    page = log_pages.page(make_run(tmp_path, bytes(range(32, 256)) + b"\n\x00\xff\xfe\n"), Wanted())
    assert texts(page)[1] == "\x00\\xff\\xfe"


def test_secrets_are_not_served(tmp_path: Path) -> None:
    page = log_pages.page(make_run(tmp_path, f"export TOKEN={TOKEN}\nfine\n".encode()), Wanted())
    assert texts(page) == ["export TOKEN=[redacted]", "fine"]


def test_no_offset_shows_the_second_half_of_a_secret(tmp_path: Path) -> None:
    body = f"login with --password {'hunter2secret'} now\n".encode()
    run = make_run(tmp_path, body)
    for offset in range(len(body)):
        assert "secret" not in " ".join(texts(log_pages.page(run, Wanted(offset=offset))))


def test_the_last_of_a_private_key_is_not_served_with_its_end(tmp_path: Path) -> None:
    body = (
        b"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nq83vEjRWeJCrze-----END RSA PRIVATE KEY----- ok\n"
    )
    page = log_pages.page(make_run(tmp_path, body), Wanted(offset=60))
    assert texts(page) == ["[redacted]-----END RSA PRIVATE KEY----- ok"]
    assert texts(log_pages.page(make_run(tmp_path / "b", body), Wanted(search="q83v"))) == []


@pytest.mark.parametrize("search", [None, "secret"])
def test_no_offset_deep_in_a_very_long_line_shows_the_second_half_of_a_secret(
    tmp_path: Path, search: str | None
) -> None:
    head = b"y" * (2 << 20) + b" --password hunter2"
    run = make_run(tmp_path, head + b"secret" + b"y" * 99 + b"\nshort secret\n")
    page = log_pages.page(run, Wanted(offset=len(head), search=search))
    assert texts(page) == ["short secret"]
    assert page.begin == len(head) + 6 + 99 + 1
    assert page.complete


def test_a_very_long_line_is_shown_once_by_its_beginning(tmp_path: Path) -> None:
    run = make_run(tmp_path, b"z" * (100 << 20) + b"\nend\n")
    assert [len(text) for text in walk(run)] == [log_pages.LONGEST_LINE, 3]


@pytest.mark.parametrize("offset", [0, 40, 60])
def test_a_private_key_is_not_served_from_any_offset(tmp_path: Path, offset: int) -> None:
    page = log_pages.page(make_run(tmp_path, f"{KEY}after\n".encode()), Wanted(offset=offset))
    assert "MII" not in str(page)
    assert "q83v" not in str(page)
    assert texts(page)[-1] == "after"


def test_a_search_finds_lines_with_their_numbers(tmp_path: Path) -> None:
    body = b"".join(
        b"step %d\n" % number if number % 100 else b"ERROR at %d\n" % number for number in range(1000)
    )
    page = log_pages.page(make_run(tmp_path, body), Wanted(search="error", limit=3))
    assert [(line.number, line.text) for line in page.lines] == [
        (1, "ERROR at 0"),
        (101, "ERROR at 100"),
        (201, "ERROR at 200"),
    ]
    assert not page.complete


def test_a_search_goes_on_where_it_stopped(tmp_path: Path) -> None:
    run = make_run(tmp_path, b"hit 1\nno\nhit 2\nno\nhit 3")
    first = log_pages.page(run, Wanted(search="HIT", limit=2))
    second = log_pages.page(run, Wanted(search="HIT", limit=2, offset=first.next))
    assert (texts(first), texts(second), second.complete) == (["hit 1", "hit 2"], ["hit 3"], True)
    assert second.lines[0].number == 5


def test_a_search_looks_over_many_blocks(tmp_path: Path) -> None:
    body = b"nothing here\n" * 400_000 + "schlüssel gefunden\n".encode() + b"nothing here\n" * 10
    page = log_pages.page(make_run(tmp_path, body), Wanted(search="schlüssel"))
    assert [(line.number, line.text) for line in page.lines] == [(400_001, "schlüssel gefunden")]
    assert page.complete


def test_a_search_cannot_guess_what_is_hidden(tmp_path: Path) -> None:
    run = make_run(tmp_path, f"export TOKEN={TOKEN}\n{KEY}".encode())
    for guess in (TOKEN[:6], TOKEN, "MIIEp", "q83v"):
        page = log_pages.page(run, Wanted(search=guess))
        assert texts(page) == []
        assert page.complete
    assert texts(log_pages.page(run, Wanted(search="export"))) == ["export TOKEN=[redacted]"]


def test_lines_have_the_time_they_came(tmp_path: Path) -> None:
    index = (
        b'["stdout", 4, "2026-11-15T09:50:01.100Z"]\n["stderr", 4, "2026-11-15T09:50:01.200Z"]\n'
        b'garbage\n["stdout", 8, "2026-11-15T09:50:01.300Z"]\n'
    )
    page = log_pages.page(make_run(tmp_path, b"one\ntwo\nlate\n", output_index=index), Wanted())
    assert [line.timestamp for line in page.lines] == [
        "2026-11-15T09:50:01.100Z",
        "2026-11-15T09:50:01.300Z",
        None,
    ]


@pytest.mark.parametrize(
    ("moment", "text"),
    [("09:50:00.000", "one"), ("09:50:01.150", "one"), ("09:50:01.300", "two"), ("09:59:00.000", "two")],
)
def test_a_page_begins_with_the_last_line_of_a_moment(tmp_path: Path, moment: str, text: str) -> None:
    index = b'["stdout", 4, "2026-11-15T09:50:01.100Z"]\n["stdout", 8, "2026-11-15T09:50:01.300Z"]\n'
    run = make_run(tmp_path, b"one\ntwo\nlate\n", output_index=index)
    at = datetime.fromisoformat(f"2026-11-15T{moment}+00:00").timestamp()
    assert log_pages.page(run, Wanted(at=at)).lines[0].text == text


def test_output_whose_times_nobody_noted_begins_at_its_beginning(tmp_path: Path) -> None:
    assert log_pages.page(make_run(tmp_path, b"one\ntwo\n"), Wanted(at=1e9)).lines[0].text == "one"


def test_a_moment_and_the_end_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at and tail exclude each other"):
        log_pages.page(make_run(tmp_path, b"one\n"), Wanted(at=1.0, tail=3))


def test_a_moment_is_found_in_an_index_of_millions_of_marks(tmp_path: Path) -> None:
    rows = []
    for mark in range(200_000):
        rows.append(f'["stdout", {10 * (mark + 1)}, "{mark:06}"]')
        rows.append(f'["stderr", {7 * (mark + 1)}, "{mark:06}"]')
    (tmp_path / log_marks.FILE).write_text("\n".join(rows) + "\n")
    assert log_marks.reached(tmp_path, "stdout", "123456") == 1_234_570
    assert log_marks.reached(tmp_path, "stderr", "123456") == 864_199


def test_times_are_found_in_an_index_of_millions_of_marks(tmp_path: Path) -> None:
    rows = []
    for mark in range(200_000):
        rows.append(f'["stdout", {10 * (mark + 1)}, "moment {mark}"]')
        rows.append(f'["stderr", {7 * (mark + 1)}, "other {mark}"]')
    (tmp_path / log_marks.FILE).write_text("\n".join(rows) + "\n")
    marks = log_marks.between(tmp_path, "stdout", 1_000_000, 1_000_050)
    assert log_marks.moment(marks, 1_000_001) == "moment 100000"
    assert log_marks.moment(marks, 1_000_050) == "moment 100004"
    assert len(marks[0]) < 2_000


def silent_in_between(folder: Path) -> None:
    """Write an index of hours in which only stdout speaks, with a little of stderr before, in the midst and behind."""
    rows = [f'["stderr", {10 * (second + 1)}, "{second:06}"]' for second in range(300)]
    rows += [f'["stdout", {5 * (second - 299)}, "{second:06}"]' for second in range(300, 60_300)]
    rows.append('["stderr", 3500, "060300"]')
    rows += [f'["stdout", {5 * (second - 299)}, "{second:06}"]' for second in range(60_301, 100_300)]
    rows += [f'["stderr", {4000 + second - 100_300}, "{second:06}"]' for second in range(100_300, 100_310)]
    (folder / log_marks.FILE).write_text("\n".join(rows) + "\n")


@pytest.mark.parametrize(
    ("second", "offset"),
    [(0, 10), (299, 3000), (300, 3000), (60_299, 3000), (60_300, 3500), (100_299, 3500), (100_305, 4005)],
)
def test_a_moment_is_found_where_another_stream_fills_the_index(
    tmp_path: Path, second: int, offset: int
) -> None:
    silent_in_between(tmp_path)
    assert log_marks.reached(tmp_path, "stderr", f"{second:06}") == offset
    assert log_marks.reached(tmp_path, "stderr", "999999") == 4009
    assert log_marks.reached(tmp_path, "nothing", "999999") is None


@pytest.mark.parametrize(
    ("begin", "end", "moments"),
    [
        (2980, 3005, ["000298", "000299", "060300"]),
        (3000, 3500, ["060300"]),
        (3200, 4003, ["060300", "100300", "100301", "100302", "100303"]),
        (4008, 5000, ["100309"]),
    ],
)
def test_times_are_found_where_another_stream_fills_the_index(
    tmp_path: Path, begin: int, end: int, moments: list[str]
) -> None:
    silent_in_between(tmp_path)
    found = log_marks.between(tmp_path, "stderr", begin, end)
    assert [moment for offset, moment in zip(*found, strict=True) if offset > begin] == moments


def test_a_row_of_garbage_longer_than_any_block_hides_nothing(tmp_path: Path) -> None:
    garbage = "x" * (3 * log_marks.READ_BYTES)
    rows = ['["stderr", 4, "000001"]', garbage, '["stderr", 8, "000002"]', '["stderr", 2, "000003"]', garbage]
    (tmp_path / log_marks.FILE).write_text("\n".join(rows))
    assert log_marks.reached(tmp_path, "stderr", "000001") == 4
    assert log_marks.reached(tmp_path, "stderr", "000002") == 8
    assert log_marks.between(tmp_path, "stderr", 0, 20) == ([4, 8], ["000001", "000002"])


def test_a_compressed_stream_reads_like_a_plain_one(tmp_path: Path) -> None:
    body = b"".join(b"line %d\n" % number for number in range(50_000))
    run = make_run(tmp_path, body)
    plain = [
        log_pages.page(run, wanted)
        for wanted in (Wanted(offset=300_000), Wanted(tail=3), Wanted(search="49999"))
    ]
    path = Path(run.folder or "", "stdout")
    path.with_name("stdout.gz").write_bytes(gzip.compress(body))
    path.unlink()
    packed = [
        log_pages.page(run, wanted)
        for wanted in (Wanted(offset=300_000), Wanted(tail=3), Wanted(search="49999"))
    ]
    assert packed == plain
    assert texts(packed[1]) == ["line 49997", "line 49998", "line 49999"]


@pytest.mark.parametrize("search", [None, "line"])
def test_a_compressed_stream_that_is_damaged_says_so_and_ends(tmp_path: Path, search: str | None) -> None:
    run = make_run(tmp_path, b"")
    folder = Path(run.folder or "")
    packed = gzip.compress(b"line\n" * 1000)
    (folder / "stdout").unlink()
    (folder / "stdout.gz").write_bytes(packed[:12] + b"\xff" * 8 + packed[20:])
    page = log_pages.page(run, Wanted(search=search))
    assert (page.lines, page.complete, page.reason) == ((), True, "its file is damaged from here on")


def test_a_stream_that_was_not_captured_says_so(tmp_path: Path) -> None:
    page = log_pages.page(make_run(tmp_path, b"one\n"), Wanted(stream="stderr"))
    assert (page.lines, page.reason) == ((), "no stderr was captured; there is stdout")


def test_a_file_of_the_users_own_that_is_gone_says_so(tmp_path: Path) -> None:
    outputs = [{"stream": "stdout", "mode": "inherited", "path": "/nonexistent/train.log", "offset": 0}]
    run = reader.read_run(folders.write_run(tmp_path, seconds=1, context={"outputs": outputs}))
    page = log_pages.page(run, Wanted())
    assert (page.lines, page.reason) == ((), "its file is gone or cannot be read")


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (Wanted(stream="../run.jsonl"), "there is no such stream"),
        (Wanted(offset=-1), "an offset counts from 0, not -1"),
        (Wanted(limit=0), "limit is a number of lines, not 0"),
        (Wanted(tail=10_001), "tail is a number of lines, not 10001"),
        (Wanted(search=""), "a search needs some text, but not a book"),
        (Wanted(search="x", tail=3), "search and tail exclude each other"),
    ],
)
def test_what_cannot_be_asked_is_told(tmp_path: Path, wanted: Wanted, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        log_pages.page(make_run(tmp_path, b"one\n"), wanted)
    assert str(caught.value) == sentence
    assert caught.value.hint
