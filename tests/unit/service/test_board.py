"""What a terminal shows: of a home it is what a server of it would answer, whatever runs are called."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import pytest

from jobmeter.errors import JobmeterError
from jobmeter.model.board import Alerts
from jobmeter.service import board, glances
from support import folders

Document = TypeVar("Document")
NOW = folders.STARTED + 60
ODD = "20261115T095000Z-a+b@c"


def alive(home: Path, run_id: str, **context: object) -> Path:
    """Write a run that goes on."""
    started = folders.this_recorder()
    return folders.write_run(
        home, run_id=run_id, seconds=30, processes=0, start=started, context=context, ended=False
    )


def source(home: Path) -> board.OfHome:
    return board.OfHome(str(home), clock=lambda: NOW)


def test_a_run_whose_id_has_signs_in_it_is_shown_closely(tmp_path: Path) -> None:
    alive(tmp_path, ODD)
    close = board.look_closely(source(tmp_path), ODD, 80)
    assert close.run.run_id == ODD
    assert set(close.lines) == {"memory", "cpu"}
    assert len(close.lines["memory"].values) == 30
    assert close.lines["memory"].now == close.lines["memory"].values[-1]
    assert (close.output[-1], close.silence) == ("compiling", None)


class Asked(board.OfHome):
    """A home that notes what it is asked, and refuses what a server would."""

    def __init__(self, home: str) -> None:
        super().__init__(home)
        self.ids: list[list[str]] = []

    def get(self, path: str, query: Mapping[str, str | int], shape: type[Document]) -> Document:
        """Note it, and answer."""
        if path.endswith("/glances"):
            assert len(str(query["runs"])) <= glances.MOST_LETTERS
            self.ids.append(str(query["runs"]).split(","))
        return super().get(path, query, shape)


def test_runs_of_long_ids_are_asked_for_in_pieces(tmp_path: Path) -> None:
    ids = {f"20261115T0950{n:02}Z-" + "x" * 183 for n in range(21)}
    for run_id in ids:
        folders.write_run(
            tmp_path, run_id=run_id, seconds=2, processes=0, start=folders.this_recorder(), ended=False
        )
    asked = Asked(str(tmp_path))
    found = board.look(asked)
    assert found.lines.keys() == ids
    assert [len(piece) for piece in asked.ids] == [19, 2]


def test_where_nothing_runs_nothing_is_asked_of_it(tmp_path: Path) -> None:
    asked = Asked(str(tmp_path))
    assert (board.look(asked).lines, asked.ids) == ({}, [])


def test_what_is_not_understood_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        JobmeterError, match=r"holds what is not understood: .*missing required field `alerts`"
    ):
        source(tmp_path).get("/api/v1/live", {}, Alerts)


def test_a_job_that_is_silent_so_far_is_not_one_whose_output_was_not_captured(tmp_path: Path) -> None:
    (alive(tmp_path, ODD) / "stdout").write_bytes(b"")
    assert board.look_closely(source(tmp_path), ODD, 80).silence == "no output so far"
    other = "20261115T095001Z-000001"
    (alive(tmp_path, other, outputs=[]) / "stdout").unlink()
    assert board.look_closely(source(tmp_path), other, 80).silence == "no output of this run was captured"
    ended = "20261115T095002Z-000002"
    (folders.write_run(tmp_path, run_id=ended, seconds=2) / "stdout").write_bytes(b"")
    assert board.look_closely(source(tmp_path), ended, 80).silence == "no output"


def test_a_job_that_only_complains_is_heard(tmp_path: Path) -> None:
    streams = ("stdout", "stderr")
    outputs = [{"stream": name, "mode": "captured", "path": name, "offset": 0} for name in streams]
    folder = alive(tmp_path, ODD, outputs=outputs)
    (folder / "stdout").write_bytes(b"")
    (folder / "stderr").write_bytes(b"epoch 1\nepoch 2: 40 %")
    close = board.look_closely(source(tmp_path), ODD, 80)
    assert (close.output, close.silence) == (("epoch 1", "epoch 2: 40 %"), None)
