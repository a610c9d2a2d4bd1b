"""The index killed, raced, locked and damaged: the folders are the truth, and the answers stay theirs."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from jobmeter.service import index
from jobmeter.stores import migrate, sqlite
from support import folders
from support.homes import answers

LIVE = "20261117T000000Z-bbbbbb"


def fork(work: Callable[[], object]) -> int:
    """Do something in a child, which exits 1 if that raised; it must not return into the test."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def refresh(home: Path, path: Path) -> None:
    with index.open_index(home, path=path, warn=lambda _: None) as opened:
        opened.refresh()


def small_home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for number in range(12):
        folder = folders.write_run(
            home, run_id=f"202611{number + 10}T000000Z-00000{number % 10}", seconds=130, seed=number
        )
        folders.append(folder / "events.jsonl", {"timestamp": "2026-11-15T09:50:09Z", "type": "signal"})
    large = folders.write_run(home, seconds=2500, processes=3)
    for rank in (0, 1):
        folders.append(large / f"steps.{rank}.jsonl", *(step(number, rank) for number in range(9000)))
    for row in range(300):
        print_loss(large, row)
    return home


def step(number: int, rank: int) -> folders.Record:
    stamp = folders.iso(folders.STARTED + number / 4)
    metrics = {"loss": 1 / (number + 1), **({"eval_loss": number} if number % 50 == 0 else {})}
    return {"timestamp": stamp, "step": number, "rank": rank, "source": "sdk", "metrics": metrics}


def print_loss(folder: Path, row: int) -> None:
    """Let the job print a row of its training, as `output.index` would say it arrived."""
    with (folder / "stdout").open("ab") as file:
        file.write(b"{'loss': %.4f, 'learning_rate': 0.001, 'epoch': %.2f}\n" % (3 / (row + 1), row / 100))
        arrived = ["stdout", file.tell(), folders.iso(folders.STARTED + row)]
    folders.append(folder / "output.index", arrived)


def test_an_indexer_killed_anywhere_is_continued_to_the_same_rows(tmp_path: Path) -> None:
    home, path = small_home(tmp_path), tmp_path / "index.db"
    expected = answers(home, tmp_path / "undisturbed.db")
    draw = random.Random(7)
    killed = 0
    for _ in range(25):
        pid = fork(lambda: refresh(home, path))
        time.sleep(draw.uniform(0.0, 0.12))  # the moment of the kill is what is being varied
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        killed += os.WIFSIGNALED(status)
    assert killed >= 5
    assert answers(home, path) == expected
    assert apsw.Connection(str(path)).pragma("integrity_check") == "ok"


def test_several_indexers_at_once_index_every_byte_once(tmp_path: Path) -> None:
    home, path = small_home(tmp_path), tmp_path / "index.db"
    live = folders.write_run(home, run_id=LIVE, seconds=0, ended=False, start=folders.this_recorder())
    pids = [fork(lambda: [refresh(home, path) for _ in range(8)]) for _ in range(4)]
    for number, line in enumerate(folders.usage(200, processes=1)):
        folders.append(live / "usage.jsonl", line)
        folders.append(live / "steps.jsonl", *(step(10 * number + more, 0) for more in range(10)))
        print_loss(live, number)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0, 0, 0]
    assert answers(home, path) == answers(home, tmp_path / "alone.db")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the database's write lock in another process, as a stray tool would."""
    script = (
        "import apsw, sys; c = apsw.Connection(sys.argv[1]); c.execute('BEGIN IMMEDIATE');"
        "print('locked', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"locked\n"
        yield
        holder.stdin.close()


def test_a_locked_index_shows_what_it_held(tmp_path: Path) -> None:
    home, path = tmp_path / "home", tmp_path / "index.db"
    folders.write_run(home)
    before = answers(home, path)
    folders.write_run(home, run_id=LIVE)
    warnings: list[str] = []
    with locked(path), index.open_index(home, path=path, warn=warnings.append) as opened:
        begun = time.monotonic()
        opened.refresh(wait_seconds=0.2)
        assert opened.ask(lambda store: store.briefs()) == before["briefs"]
        assert time.monotonic() - begun < 3
    assert len(warnings) == 1
    assert warnings[0].endswith("is locked by another process; showing what it holds")
    with index.open_index(home, path=path) as opened:
        assert opened.refresh().indexed == [LIVE]


def test_a_busy_indexer_does_not_keep_others_from_reading(tmp_path: Path) -> None:
    home, path = tmp_path / "home", tmp_path / "index.db"
    folders.write_run(home)
    before = answers(home, path)
    folders.write_run(home, run_id=LIVE)
    warnings: list[str] = []
    other = sqlite.open_store(path)
    with other.writing(1), index.open_index(home, path=path, warn=warnings.append) as opened:
        opened.refresh(wait_seconds=0.1)
        assert opened.ask(lambda store: store.briefs()) == before["briefs"]
    other.close()
    assert warnings == ["another process is updating the index; showing what it holds"]


def damage(draw: random.Random, content: bytes) -> bytes:
    """Break a file the way disks and people do."""
    text = bytearray(content)
    kind = draw.randrange(4)
    if kind == 0:
        return bytes(text[: draw.randrange(len(text))])
    if kind == 1:
        page = draw.randrange(len(text) // 4096)
        text[page * 4096 : (page + 1) * 4096] = bytes(4096)
    elif kind == 2:
        for _ in range(draw.randrange(1, 20)):
            text[draw.randrange(len(text))] ^= 1 << draw.randrange(8)
    else:
        begin = draw.randrange(len(text))
        garbage = draw.randbytes(draw.randrange(1, 9000))
        text[begin : begin + len(garbage)] = garbage
    return bytes(text)


def test_a_damaged_index_is_never_believed(tmp_path: Path) -> None:
    home, path = tmp_path / "home", tmp_path / "index.db"
    folders.write_run(home, seconds=70, processes=1)
    folders.write_run(home, run_id=LIVE, seconds=12)
    expected = answers(home, path)
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink()
    content = path.read_bytes()
    aside = 0
    for seed in range(100):
        broken = tmp_path / f"{seed}" / "index.db"
        broken.parent.mkdir()
        broken.write_bytes(damage(random.Random(seed), content))
        assert answers(home, broken) == expected, seed
        if seed % 10 == 0:  # and it stays healed
            assert answers(home, broken, refresh=False) == expected, seed
        aside += bool(list(broken.parent.glob("*.corrupt-*")))
    assert aside > 60


def test_a_migration_killed_midway_leaves_the_old_schema_or_the_new(tmp_path: Path) -> None:
    schema = tmp_path / "schema"
    schema.mkdir()
    rows = ", ".join(f"({number})" for number in range(400))
    (schema / "0001_init.sql").write_text("CREATE TABLE one (a INTEGER);")
    statements = [f"CREATE TABLE t{number} AS VALUES {rows};" for number in range(60)]
    (schema / "0002_more.sql").write_text("\n".join(statements))
    draw = random.Random(3)
    seen = set()
    for attempt in range(30):
        path = tmp_path / f"{attempt}.db"
        connection = apsw.Connection(str(path))
        connection.pragma("journal_mode", "wal")
        migrate.upgrade(connection, schema) if attempt == 0 else None
        connection.close()

        def work(path: Path = path) -> None:
            migrate.upgrade(apsw.Connection(str(path)), schema)

        pid = fork(work)
        time.sleep(draw.uniform(0.0, 0.03))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        connection = apsw.Connection(str(path))
        tables = connection.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'table'").fetchall()[0][
            0
        ]
        version = migrate.version(connection)
        assert tables == {0: 0, 1: 1, 2: 61}[version]
        seen.add(version)
        migrate.upgrade(connection, schema)
        assert migrate.version(connection) == 2
        connection.close()
    assert 2 in seen


def test_two_processes_may_create_the_index_at_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folders.write_run(home, seconds=3)
    for attempt in range(10):
        path = tmp_path / f"{attempt}.db"
        pids = [fork(lambda path=path: refresh(home, path)) for _ in range(3)]  # type: ignore[misc]
        assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0, 0]
        assert folders.RUN_ID in answers(home, path)


@pytest.mark.parametrize("blocks", [0, 2, 8, 40])
def test_a_full_disk_under_the_index_does_not_stop_reading(tmp_path: Path, blocks: int) -> None:
    home = tmp_path / "home"
    folders.write_run(home, seconds=700, processes=2)
    script = (
        "import sys; sys.path.insert(0, sys.argv[3]); from pathlib import Path; from support.homes import answers;"
        "print(sorted(answers(Path(sys.argv[1]), Path(sys.argv[2], 'index.db')))[0])"
    )
    small = tmp_path / "small"
    small.mkdir()
    mount = f'mount -t tmpfs -o size={4 * max(blocks, 1)}k none {small} && exec "$@"'
    here = Path(__file__).parent.parent
    command = [
        "unshare",
        "-m",
        "sh",
        "-c",
        mount,
        "sh",
        sys.executable,
        "-c",
        script,
        str(home),
        str(small),
        str(here),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, folders.RUN_ID), done.stderr
