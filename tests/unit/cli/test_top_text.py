"""What `jobmeter top` says: figures with their meaning, text of a job tamed, nothing that was not measured."""

from datetime import UTC, datetime

import pytest

from jobmeter.cli.render import table, top_text
from jobmeter.cli.render.screen import Style
from jobmeter.model.board import (
    Alert,
    Board,
    Close,
    Limits,
    Line,
    LiveJob,
    LiveRun,
    Living,
    Progress,
    Steps,
    Verdict,
)

GIB = float(1 << 30)
NOW = 1_800_000_000.0
RUN = LiveRun(
    run_id="20270115T080000Z-aaaaaa",
    status="running",
    name="lora\x1b[31m",
    host="n7",
    started_at=datetime.fromtimestamp(NOW - 3723, UTC),
    limits=Limits(memory_bytes=100 * GIB),
    steps=Steps(last_step=1200),
)
LINES = {
    "memory": Line(key="cgroup_mem_unreclaimable", unit="bytes", values=(50 * GIB, 98 * GIB), last=96 * GIB),
    "cpu": Line(key="wait_cputime", unit="cores", values=(0.5, 11.5), last=12.25),
    "loss": Line(key="loss", unit="", values=(2.0, 0.25, None), last=0.25),
}


def board(
    *, progress: Progress | None = None, alerts: tuple[Alert, ...] = (), stragglers: tuple[int, ...] = ()
) -> Board:
    job = LiveJob(job_id="j", runs=(RUN,), progress=progress, stragglers=stragglers)
    living = Living(jobs=(job,), runs=1, hosts=("n7",))
    return Board(living=living, lines={RUN.run_id: LINES}, alerts=alerts)


def cells(found: Board, width: int = 160) -> list[table.Cell]:
    ((run_id, row),) = top_text.rows(found, top_text.Look(width=width, now=NOW))
    assert run_id == RUN.run_id
    return row


def test_a_row_says_how_far_a_run_is_and_what_it_holds() -> None:
    row = cells(board(progress=Progress(percent=25.0, seconds_left=754.0, step=25, of=100)))
    assert [cell.text for cell in row] == [
        "lora\\x1b[31m",
        "running",
        "n7",
        "1:02:03",
        "━━━─────────  25 %",
        "12:34",
        "96 GiB 96 %",
        "▅█              ",
        "12.2",
        "▁█              ",
        "0.25",
        "█▁              ",
    ]
    assert row[6].style is Style.BAD


def test_what_is_not_known_is_left_empty() -> None:
    bare = LiveRun(run_id="r", status="queued", command=("make", "-j4"))
    living = Living(jobs=(LiveJob(job_id="r", runs=(bare,)),), runs=1)
    row = cells_of(Board(living=living, lines={}, alerts=()))
    assert [cell.text for cell in row] == ["make -j4", "queued", *[""] * 10]


def cells_of(found: Board) -> list[table.Cell]:
    return top_text.rows(found, top_text.Look(width=80, now=NOW))[0][1]


def test_a_job_that_takes_longer_than_usual_is_marked() -> None:
    late = Progress(percent=100.0, usual_seconds=60.0)
    assert cells(board(progress=late))[4].style is Style.WARN
    assert cells(board(progress=Progress(seconds_left=5.0)))[4].text == ""


@pytest.mark.parametrize(
    ("held", "words", "style"),
    [(10, "10 GiB", Style.PLAIN), (60, "60 GiB 60 %", Style.PLAIN), (90, "90 GiB 90 %", Style.WARN)],
)
def test_memory_says_its_share_once_that_matters(held: int, words: str, style: Style) -> None:
    line = Line(key="k", unit="bytes", values=(99 * GIB,), last=held * GIB)
    found = board()
    row = cells(Board(living=found.living, lines={RUN.run_id: {"memory": line}}, alerts=()))
    assert row[6] == table.Cell(words, style)


def test_alerts_and_stragglers_are_told_by_the_name_of_their_run() -> None:
    high = Alert(
        rule="memory-high", run_id=RUN.run_id, state="firing", severity="critical", sentence="96 GiB held"
    )
    many = Alert(rule="cost", run_id="@home", state="firing", severity="info", sentence="too much")
    told = top_text.alerts(board(alerts=(high, many), stragglers=(2, 5)))
    assert [line.text for line in told] == [
        "lora\\x1b[31m: memory-high: 96 GiB held",
        "cost: too much",
        "lora\\x1b[31m: behind the others: rank 2, 5",
    ]
    assert [line.style for line in told] == [Style.BAD, Style.PLAIN, Style.WARN]


def test_one_run_is_told_closely_and_fits() -> None:
    close = Close(run=RUN, lines=LINES, output=tuple(f"line {number} \x1b]0;x\x07" for number in range(90)))
    look = top_text.Look(width=60, now=NOW)
    page = top_text.close_up(close, Progress(of=5000, seconds_left=60.0), look, 24)
    words = [line.text for line in page]
    assert words[1].startswith("running · 1:02:03 · n7 · step 1,200 of 5,000 · 1:00 left")
    assert "memory  96 GiB now, 50 GiB to 98 GiB, of 100 GiB" in words[3]
    assert "cores   12.2 now, 0.50 to 12.2  wait_cputime" in words
    assert words[-1] == "line 89 \\x1b]0;x\\x07"
    assert len(words) <= 24
    assert max(map(len, words)) <= 60


def test_a_run_that_ended_says_why_and_one_without_output_says_so() -> None:
    ended = LiveRun(
        run_id="r", status="failed", wall_seconds=90_061.0, verdict=Verdict(sentence="it ran out of memory")
    )
    silent = {"loss": Line(key="loss", unit="", values=(None,), last="nothing")}
    words = [
        line.text
        for line in top_text.close_up(
            Close(run=ended, lines=silent, output=(), silence="no output so far"),
            None,
            top_text.Look(width=60, now=NOW),
            50,
        )
    ]
    assert words == ["r", "failed · 1 d 01 h · r", "it ran out of memory", "", "", "no output so far"]


def test_the_first_line_says_how_much_runs_where() -> None:
    assert top_text.summary(board(), "/home/me/.jobmeter") == "1 running · /home/me/.jobmeter"
    statuses = ("queued", "running", "paused", "queued", "\x1b[2J")
    jobs = tuple(LiveJob(job_id=str(n), runs=(told(status),)) for n, status in enumerate(statuses))
    many = Board(living=Living(jobs=jobs, runs=7, hosts=("a", "b")), lines={}, alerts=())
    assert top_text.summary(many, "https://jobs") == (
        "1 running, 1 \\x1b[2J, 1 paused, 2 queued, 2 more on 2 hosts · https://jobs"
    )
    none = Board(living=Living(jobs=(), runs=0), lines={}, alerts=())
    assert top_text.summary(none, "/h") == "0 running · /h"


def told(status: str) -> LiveRun:
    return LiveRun(run_id="r", status=status)


def test_what_a_server_says_of_itself_is_tamed_too() -> None:
    strange = {"gpu\x1b[2J": Line(key="k\x07", unit="furlongs", values=(1.0, 2.0), last=2.0)}
    run = told("\x1b[31mrunning")
    living = Living(jobs=(LiveJob(job_id="r", runs=(run,)),), runs=1)
    assert cells_of(Board(living=living, lines={"r": strange}, alerts=()))[1].text == "\\x1b[31mrunning"
    page = top_text.close_up(
        Close(run=run, lines=strange, output=("x",)), None, top_text.Look(width=60, now=NOW), 24
    )
    assert page[3].text == "gpu\\x1b[2J  2 now, 1 to 2  k\\x07"
    assert not any("\x1b" in line.text or "\x07" in line.text for line in page)


def test_a_loss_that_became_nan_is_told_as_that_and_not_as_it_was_before() -> None:
    lost = {"loss": Line(key="loss", unit="", values=(2.0, 0.5, None), last="NaN")}
    found = board()
    row = cells(Board(living=found.living, lines={RUN.run_id: lost}, alerts=()))
    assert [cell.text for cell in row[-2:]] == ["nan", "█▁              "]
    never = Line(key="loss", unit="", values=(None,), last="NaN")
    close = Close(run=RUN, lines={"loss": never}, output=("x",))
    page = top_text.close_up(close, None, top_text.Look(width=60, now=NOW), 24)
    assert page[3].text == "loss    nan now  loss"
