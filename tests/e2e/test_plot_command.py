"""`jobmeter plot` as people run it: real run folders, real files, real terminals, bad input."""

import fcntl
import io
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from PIL import Image
from tests.support import commands, corpus, folders

CONTEXT = {"limits": {"memory_bytes": 512 * folders.MIB, "cpus": 4.0, "memory_source": "cgroup"}}


def plot(home: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Plot in the home itself, so that a file that was not asked for would be seen there."""
    return subprocess.run(
        [*commands.COMMAND, "plot", *arguments],
        capture_output=True,
        encoding="utf-8",
        env=commands.environment(home, **environ),
        cwd=home,
        check=False,
    )


def on_terminal(home: Path, columns: int, rows: int, *arguments: str, **environ: str) -> str:
    """Run the command on a terminal of its own and return what it wrote."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    child = subprocess.Popen(
        [*commands.COMMAND, "plot", *arguments],
        stdout=theirs,
        env=commands.environment(home, **environ),
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            written += os.read(ours, 65536)
        except OSError:
            break  # the terminal's last writer is gone
    os.close(ours)
    assert child.wait(timeout=60) == 0
    return written.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep one run of two minutes, with processes that live through it."""
    folder = tmp_path_factory.mktemp("kept") / "home"
    folders.write_run(folder, seconds=120, context=CONTEXT, end={"by_command": []})
    return folder


def test_a_pipe_gets_text_without_colour(home: Path) -> None:
    done = plot(home, "last")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    lines = done.stdout.splitlines()
    assert lines[0] == "nightly"
    assert lines[1].startswith("20261115T095001Z-7f3a9c · completed, exit 0 · 2 min 00 s")
    assert any(line.startswith("memory   a unreclaimable (cgroup_mem_unreclaimable)") for line in lines)
    assert max(map(len, lines)) <= 80


def test_a_terminal_is_filled_but_not_overfilled_and_coloured(home: Path) -> None:
    text = on_terminal(home, 80, 24, "last")
    assert "\x1b[38;5;39m" in text
    assert 20 <= len(text.splitlines()) <= 23


def test_no_color_is_obeyed_on_a_terminal(home: Path) -> None:
    assert "\x1b" not in on_terminal(home, 120, 40, "last", NO_COLOR="1")


def test_an_encoding_without_braille_gets_ascii(home: Path) -> None:
    done = plot(home, "last", PYTHONIOENCODING="latin-1")
    assert done.returncode == 0
    assert done.stdout.isascii()


def test_a_run_can_be_named_by_prefix_and_by_folder(home: Path) -> None:
    folder = folders.folder_of(home, folders.RUN_ID)
    by_prefix, by_folder = plot(home, "20261115"), plot(home, str(folder))
    assert by_prefix.returncode == by_folder.returncode == 0
    assert by_prefix.stdout == by_folder.stdout


@pytest.mark.parametrize("suffix", ["png", "PNG", "svg", "pdf", "html"])
def test_a_file_is_written_in_the_kind_its_name_says(home: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"plot.{suffix}"
    done = plot(home, "last", "-o", str(target))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"wrote {target}\n")
    beginnings = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "html": b"<!doctype html>"}
    assert target.read_bytes().startswith(beginnings[suffix.lower()])
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_an_image_has_the_size_asked_for(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "plot.png"
    assert (
        plot(
            home, "last", "-o", str(target), "--width", "900", "--height", "700", "--theme", "dark"
        ).returncode
        == 0
    )
    assert Image.open(io.BytesIO(target.read_bytes())).size == (900, 700)


def test_the_description_is_printed_as_json(home: Path) -> None:
    done = plot(home, "last", "--json")
    chart = json.loads(done.stdout)
    assert chart["run_id"] == folders.RUN_ID
    assert [panel["name"] for panel in chart["panels"]] == [
        "cpu",
        "memory",
        "io",
        "processes",
        "pressure",
        "cpu_by_command",
        "memory_by_command",
    ]
    assert chart["panels"][1]["limits"] == [
        {"label": "limit", "value": 512.0 * folders.MIB, "source": "cgroup"}
    ]
    assert {line["label"] for line in chart["panels"][5]["lines"]} == {"cc1plus", "all"}


def test_any_recorded_key_can_be_plotted(home: Path) -> None:
    done = plot(home, "last", "--keys", "cgroup_mem_anon, host_net_receive")
    assert done.returncode == 0
    assert "cgroup_mem_anon" in done.stdout
    assert "host_net_receive" in done.stdout
    assert "CPU" not in done.stdout


def test_a_live_run_is_plotted_so_far(tmp_path: Path) -> None:
    folders.write_run(tmp_path, seconds=20, start=folders.this_recorder(), ended=False)
    done = plot(tmp_path, "last")
    assert "running, so far · 20 s" in done.stdout.splitlines()[1]


def test_a_lost_run_is_plotted_up_to_its_last_sample(tmp_path: Path) -> None:
    folders.write_run(tmp_path, seconds=20, start=folders.dead_recorder(), ended=False)
    done = plot(tmp_path, "last")
    assert "lost, shown up to the last sample · 20 s" in done.stdout.splitlines()[1]


@pytest.mark.parametrize(("seconds", "words"), [(0, "no sample was taken"), (1, "only 1 sample was taken")])
def test_a_run_too_short_to_plot_says_so(tmp_path: Path, seconds: int, words: str) -> None:
    folders.write_run(tmp_path, seconds=seconds, processes=0, end={"wall_seconds": 0.5})
    done = plot(tmp_path, "last")
    assert done.returncode == 0
    assert f"{words} in 500 ms, which is too little to plot" in done.stdout.replace("\n  ", " ")


def test_a_run_too_short_to_plot_still_gets_the_file_that_was_asked_for(tmp_path: Path) -> None:
    folders.write_run(tmp_path, seconds=1, processes=0, end={"wall_seconds": 0.5})
    done = plot(tmp_path, "last", "-o", str(tmp_path / "x.svg"))
    assert done.returncode == 0
    assert "only 1 sample was taken" in done.stderr
    assert "only 1 sample was taken" in (tmp_path / "x.svg").read_text()


def test_a_hostile_command_is_shown_harmless_everywhere(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>\x1b[2J$\\frac"
    folders.write_run(tmp_path, seconds=10, start={"command": ["sh", "-c", evil], "name": evil})
    assert "\x1b" not in plot(tmp_path, "last").stdout
    for suffix in ("html", "svg", "png"):
        assert plot(tmp_path, "last", "-o", str(tmp_path / f"x.{suffix}")).returncode == 0
    page = (tmp_path / "x.html").read_text()
    assert len(re.findall(r"<script", page)) == 1


def test_an_imported_run_of_con_duct_is_plotted_with_its_own_keys(tmp_path: Path) -> None:
    logs = corpus.folder("con-duct")
    imported = commands.jobmeter(tmp_path, "import", "duct", str(logs / "duct_demo_info.json"))
    assert imported.code == 0, imported.complaint
    drawn = plot(tmp_path, "last", "--width", "110").stdout
    assert "lifetime average, not a rate (ps_pcpu_total)" in drawn
    assert "sum of RSS (ps_rss_total)" in drawn
    assert "peak 1.41 GiB" in drawn
    assert "seen (ps_rss)" in drawn
    assert "no IO panel: no IO of the job was measured" in drawn
    chart = json.loads(plot(tmp_path, "last", "--json").stdout)
    who = chart["panels"][-1]
    assert who["name"] == "memory_by_command"
    assert who["lines"][0]["label"] == "python3 resource_consumer.py"


@pytest.mark.parametrize(
    ("arguments", "sentence", "hint"),
    [
        (["nosuchrun"], "nosuchrun", "hint: "),
        (
            ["last", "--keys", "cgroup_mem_curent"],
            "key not recorded in this run: cgroup_mem_curent",
            "did you mean",
        ),
        (["last", "--keys", "proc_cmd"], "proc_cmd is a label, not a number over time", "use one of"),
        (["last", "--keys", ","], "--keys names no key", "as in --keys"),
        (
            ["last", "-o", "plot.gif"],
            "cannot tell the kind of file from its name: plot.gif",
            "end it in one of .html",
        ),
        (
            ["last", "-o", "plot"],
            "cannot tell the kind of file from its name: plot",
            "end it in one of .html",
        ),
        (
            ["last", "-o", "absent/plot.html"],
            "cannot write absent/plot.html: no such file",
            "name a file in a folder",
        ),
        (["last", "-o", "/proc/plot.svg"], "cannot write /proc/plot.svg: ", "name a file in a folder"),
        (["last", "-o", "x.html", "--width", "900"], "a page fits its window", "leave them out"),
        (
            ["last", "-o", "x.png", "--json"],
            "--json prints to the terminal, -o writes a file",
            "use one of the two",
        ),
        (["last", "--width", "5"], "--width 5 is out of range", "use 20 to 1000"),
        (
            ["last", "-o", "x.png", "--height", "99999999"],
            "--height 99999999 is out of range",
            "use 200 to 20000",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_a_hint(
    home: Path, arguments: list[str], sentence: str, hint: str
) -> None:
    before = sorted(path.name for path in home.iterdir())
    done = plot(home, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    first, second = done.stderr.splitlines()
    assert first.startswith("jobmeter: ")
    assert sentence in first
    assert hint in second
    assert sorted(path.name for path in home.iterdir()) == before


def test_a_full_disk_leaves_an_older_plot_whole(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "plot.html"
    target.write_text("older")
    command = shlex.join(
        [*commands.COMMAND, "plot", str(folders.folder_of(home, folders.RUN_ID)), "-o", str(target)]
    )
    done = subprocess.run(
        # a file may not grow beyond one block: what a full disk does, without one
        ["sh", "-c", f"ulimit -f 1; trap '' XFSZ; exec {command}"],
        capture_output=True,
        text=True,
        env=commands.environment(home),
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "cannot write" in done.stderr
    assert target.read_text() == "older"
    assert [path.name for path in tmp_path.iterdir()] == ["plot.html"]
