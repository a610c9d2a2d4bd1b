"""Every native route over a real server: what it answers about runs of every kind, and what it refuses."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import commands, folders, served_homes, server
from support.recorder import wait_for
from support.served_homes import BARE, BUILD, FAILED, KINDS, LIVE, STRANGE, TRAINED
from support.server import Served

SPARE = 6


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = served_homes.write(tmp_path_factory.mktemp("routes") / "home", spare=SPARE)
    booked = commands.jobmeter(
        home, "campaign", "record", "--region", "us-central1", "--success", "--duration", "60"
    )
    assert booked.code == 0, booked.complaint
    with server.serving(home) as running:
        yield running


def ask(served: Served, path: str, **params: object) -> dict[str, Any]:
    answer = served.client.get(f"/api/v1{path}", params=params or None)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def refused(served: Served, path: str, status: int = 400, **params: object) -> str:
    answer = served.client.get(f"/api/v1{path}", params=params or None)  # type: ignore[arg-type]
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    detail: str = problem["detail"]
    return detail


def ids(page: dict[str, Any]) -> list[str]:
    return [run["run_id"] for run in page["runs"]]


def test_runs_are_listed_as_the_command_line_lists_them(served: Served) -> None:
    page = ask(served, "/runs", limit=1000, q=f"id={BUILD} or id={TRAINED} or id={FAILED}")
    shown = json.loads(commands.jobmeter(served.home, "ls", "--json", "-f", "id!=none", "-n", "0").text)
    known = {run["run_id"]: run for run in shown}
    assert {run["run_id"]: run for run in page["runs"]} == {
        run_id: known[run_id] for run_id in (BUILD, TRAINED, FAILED)
    }
    assert page["total"] == 3


def test_pages_follow_one_another(served: Served) -> None:
    found: list[str] = []
    cursor: dict[str, object] = {}
    while True:
        page = ask(served, "/runs", limit=4, sort="name", fields="run_id", **cursor)
        found += ids(page)
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert sorted(found) == sorted(ids(ask(served, "/runs", limit=1000)))
    assert len(found) == page["total"] == len(KINDS) + SPARE


def test_a_run_that_begins_meanwhile_does_not_shift_pages(served: Served) -> None:
    everything = ids(ask(served, "/runs", limit=1000))
    first = ask(served, "/runs", limit=3)
    new = "20270101T000000Z-999999"
    folders.write_run(served.home, run_id=new, seconds=1, started=folders.STARTED + 10**7)
    wait_for(lambda: new in ids(ask(served, "/runs", limit=1)))
    second = ask(served, "/runs", limit=3, cursor=first["next"])
    assert ids(first) + ids(second) == everything[:6]
    served.client.delete(f"/api/v1/runs/{new}", params={"purge": True})
    wait_for(lambda: new not in ids(ask(served, "/runs", limit=1)))


def test_order_and_filter_are_obeyed(served: Served) -> None:
    largest = ask(served, "/runs", sort="wall", limit=2, fields="run_id,wall_seconds")
    assert [run["wall_seconds"] for run in largest["runs"]] == [120.0, 60.0]
    assert ids(ask(served, "/runs", q="status=failed and name=fails")) == [FAILED]
    assert ids(ask(served, "/runs", q="loss<1")) == [TRAINED]
    assert STRANGE in ids(ask(served, "/runs", sort="wall", order="asc", limit=20))


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"q": "wall>"}, "a value is missing after >"),
        ({"q": "nonsense=1"}, "unknown field nonsense"),
        ({"sort": "nonsense"}, "there is no such field to sort by"),
        ({"fields": "run_id,nonsense"}, "there is no such key to select"),
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"order": "up"}, "order"),
        ({"cursor": "abc"}, "the cursor is not of this question"),
        ({"filter": "status=failed"}, "there is no parameter filter"),
    ],
)
def test_a_question_that_cannot_be_read_is_refused_in_a_sentence(
    served: Served, params: dict[str, object], sentence: str
) -> None:
    assert sentence in refused(served, "/runs", **params)


def test_a_cursor_belongs_to_one_question(served: Served) -> None:
    cursor = ask(served, "/runs", limit=2)["next"]
    assert (
        refused(served, "/runs", limit=2, sort="wall", cursor=cursor) == "the cursor is not of this question"
    )


def test_runs_are_counted_by_what_they_have_in_common(served: Served) -> None:
    found = ask(served, "/runs/facets", names="status,tag,project")["facets"]
    counts = {one["value"]: one["count"] for one in found["status"]}
    assert counts == {"completed": 2 + SPARE, "failed": 2, "killed": 1, "running": 1, "lost": 1}
    assert {"value": "k=v", "count": 4 + SPARE} in found["tag"]
    assert found["project"][0] == {"value": "app", "count": 5 + SPARE}
    narrowed = ask(served, "/runs/facets", names="host", q="status=failed")["facets"]
    assert narrowed == {"host": [{"value": "node7", "count": 2}]}


@pytest.mark.parametrize("run_id", KINDS)
def test_a_run_is_shown_as_the_command_line_shows_it(served: Served, run_id: str) -> None:
    shown = json.loads(commands.jobmeter(served.home, "show", run_id, "--json").text)
    found = ask(served, f"/runs/{run_id}")
    moving = ("verdict",) if run_id != LIVE else ("verdict", "disk_bytes")
    assert {key: found[key] for key in found if key not in moving} == {
        key: shown[key] for key in shown if key not in moving
    }


def test_an_answer_that_did_not_change_is_not_sent_again(served: Served) -> None:
    first = served.client.get(f"/api/v1/runs/{BUILD}/series")
    again = served.client.get(
        f"/api/v1/runs/{BUILD}/series", headers={"if-none-match": first.headers["etag"]}
    )
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    assert first.headers["cache-control"] == "private, no-cache"


def test_series_keep_their_extremes_however_coarse(served: Served) -> None:
    (fine,) = ask(served, f"/runs/{BUILD}/series", keys="cgroup_mem_current", points=1000)["series"]
    coarse = ask(served, f"/runs/{BUILD}/series", keys="cgroup_mem_current", points=5)
    (line,) = coarse["series"]
    assert len(fine["t"]) == 60
    assert fine["n"] == [1] * 60
    assert len(line["t"]) <= 5
    assert sum(line["n"]) == 60
    assert (min(line["min"]), max(line["max"])) == (min(fine["min"]), max(fine["max"]))
    assert (coarse["coarse"], line["unit"], line["kind"], line["rate"]) == (True, "bytes", "gauge", False)


def test_counters_come_as_rates(served: Served) -> None:
    (line,) = ask(served, f"/runs/{BUILD}/series", keys="cgroup_cputime")["series"]
    assert (line["rate"], line["unit"]) == (True, "seconds")
    assert 2 < max(line["max"]) < 5


def test_a_part_of_a_series_can_be_asked_for(served: Served) -> None:
    begin, end = folders.STARTED + 10, folders.STARTED + 20
    (line,) = ask(
        served, f"/runs/{BUILD}/series", keys="cgroup_pids", **{"from": begin, "to": folders.iso(end)}
    )["series"]
    assert begin <= min(line["t"])
    assert max(line["t"]) <= end
    assert len(line["t"]) in (9, 10, 11)


def test_processes_have_series_of_their_own(served: Served) -> None:
    lines = ask(served, f"/runs/{TRAINED}/series", keys="proc_rss")["series"]
    assert [line["instance"] for line in lines] == [
        "4712@98123",
        *(line["instance"] for line in lines[1:3]),
        "rest",
    ]
    one = lines[0]["instance"]
    assert [
        line["instance"]
        for line in ask(served, f"/runs/{TRAINED}/series", keys="proc_rss", instances=one)["series"]
    ] == [one]


def test_steps_come_by_rank_and_say_what_is_not_finite(served: Served) -> None:
    found = ask(served, f"/runs/{TRAINED}/steps", metrics="loss", points=1000)
    assert [(line["metric"], line["rank"], line["source"]) for line in found["series"]] == [
        ("loss", 0, "sdk"),
        ("loss", 1, "sdk"),
    ]
    line = found["series"][0]
    assert line["step"] == list(range(100))
    assert (line["last"][50], line["min"][50], line["finite"][50]) == ("NaN", None, 0)
    assert line["last"][0] == 2.0
    assert found["metrics"] == ["batch_size", "loss", "lr"]


def test_a_clock_lays_the_steps_of_every_rank_over_time(served: Served) -> None:
    first, second = ask(served, f"/runs/{TRAINED}/clock", points=10)["clocks"]
    assert (first["rank"], second["rank"], first["source"]) == (0, 1, "sdk")
    assert (first["step"][0], first["step"][-1], len(first["t"])) == (0, 99, 10)
    assert first["t"] == sorted(first["t"])
    assert first["steps_per_second"][0] is None
    assert first["steps_per_second"][1] == pytest.approx(
        (first["step"][1] - first["step"][0]) / (first["t"][1] - first["t"][0])
    )
    assert ask(served, f"/runs/{BUILD}/clock")["clocks"] == []


@pytest.mark.parametrize(("part", "points"), [({"from": "-1s"}, 0), ({"to": "2026-11-15"}, None)])
def test_a_part_is_named_by_an_age_or_a_day(served: Served, part: dict[str, str], points: int | None) -> None:
    path = f"/runs/{BUILD}/series"
    whole = [line["n"] for line in ask(served, path, keys="cgroup_mem_current")["series"]]
    found = ask(served, path, keys="cgroup_mem_current", **part)["series"]
    assert sum(len(line["n"]) for line in found) == (len(whole[0]) if points is None else points)


def test_steps_can_be_coarse_and_of_one_rank(served: Served) -> None:
    found = ask(
        served, f"/runs/{TRAINED}/steps", metrics="loss", points=4, ranks="1", **{"from": 10, "to": 49}
    )
    (line,) = found["series"]
    assert (line["rank"], found["coarse"], sum(line["n"])) == (1, True, 40)
    assert (min(line["min"]), max(line["max"])) == (2.0 / 50, 2.0 / 11)


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/series?keys=nonsense", 404, f"run {BUILD} has no series nonsense"),
        ("/series?points=1", 400, "points"),
        ("/series?from=never", 400, "there is a moment that is none"),
        ("/series?from=20&to=10", 400, "the part ends before it begins"),
        ("/series?from=nan", 400, "there is a moment that is none"),
        ("/steps?metrics=loss", 404, f"run {BUILD} has no metric loss"),
        ("/steps?ranks=one", 400, "ranks"),
        ("/logs?stream=secret", 400, "stream"),
        ("/logs?offset=-1", 400, "offset"),
        ("/logs?tail=0", 400, "tail"),
        ("/logs?tail=null", 400, "tail cannot be null"),
        ("/logs?stream=NULL", 400, "stream cannot be null"),
        ("/steps?from=null", 400, "from cannot be null"),
        ("/logs?tail=3&search=x", 400, "search and tail exclude each other"),
    ],
)
def test_what_a_run_does_not_have_is_said(served: Served, path: str, status: int, sentence: str) -> None:
    assert sentence in refused(served, f"/runs/{BUILD}{path}", status)


def test_events_processes_and_ranks_are_listed(served: Served) -> None:
    events = ask(served, f"/runs/{TRAINED}/events")["events"]
    assert [(event["type"], event["details"]["step"]) for event in events] == [("checkpoint", 30)]
    found = ask(served, f"/runs/{BUILD}/processes")
    assert found["total"] == len(found["processes"]) == 3
    assert found["by_command"][0] == {
        "command": "cc1plus",
        "cpu_seconds": 36.9,
        "peak_rss_bytes": 402653184,
        "processes": 118,
    }
    assert ask(served, f"/runs/{TRAINED}/ranks")["ranks_seen"] == [0, 1]


def test_a_report_says_why_a_run_failed(served: Served) -> None:
    found = ask(served, f"/runs/{FAILED}/report")
    shown = json.loads(commands.jobmeter(served.home, "analyze", FAILED, "--json").text)
    assert found == shown
    assert found["verdict"]["cause"] == "oom_cuda"


def test_a_run_that_goes_on_is_analysed_as_it_stands(served: Served) -> None:
    found = ask(served, f"/runs/{LIVE}/report")
    assert set(found) >= {"verdict", "health", "findings", "recommendations", "log_errors"}


def test_output_is_served_without_its_secrets(served: Served) -> None:
    answer = served.client.get(f"/api/v1/runs/{FAILED}/logs")
    assert served_homes.SECRET not in answer.text
    lines = answer.json()["lines"]
    assert (lines[0]["number"], lines[0]["text"]) == (1, "export TOKEN=[redacted]")
    found = ask(served, f"/runs/{FAILED}/logs", search="out of memory")["lines"]
    assert [(line["number"], line["text"][:22]) for line in found] == [(4, "torch.OutOfMemoryError")]
    assert ask(served, f"/runs/{FAILED}/logs", search=served_homes.SECRET[:8])["lines"] == []


def test_output_can_be_followed(served: Served) -> None:
    page = ask(served, f"/runs/{LIVE}/logs", tail=1)
    assert (page["lines"][0]["text"], page["complete"]) == ("compiling", False)
    with (folders.folder_of(served.home, LIVE) / "stdout").open("ab") as file:
        file.write(b"linking\n 50%\r 75%")
    more = ask(served, f"/runs/{LIVE}/logs", offset=page["next"])
    assert ([line["text"] for line in more["lines"]], more["tail"]) == (["linking"], " 75%")


def test_output_that_is_no_text_is_text_in_the_answer(served: Served) -> None:
    page = ask(served, f"/runs/{STRANGE}/logs")
    assert any(line["cut"] for line in page["lines"])
    assert "\\xff" in "".join(line["text"] for line in page["lines"])


def test_a_run_tells_what_it_was(served: Served) -> None:
    found = ask(served, f"/runs/{TRAINED}/context")
    assert found["config"]["train"]["batch_size"] == 8
    assert ask(served, f"/runs/{BUILD}/context")["again"].endswith("-- make -j4")
    assert refused(served, "/runs/nobody/context", 404) == "unknown run: nobody"


def test_runs_are_compared(served: Served) -> None:
    found = ask(served, "/compare", runs=f"{BUILD},{TRAINED}")
    shown = json.loads(commands.jobmeter(served.home, "compare", BUILD, TRAINED, "--json").text)
    assert found == shown
    assert refused(served, "/compare", runs=BUILD) == "1 runs cannot be compared"
    assert (
        refused(served, "/compare", 404, runs=f"{BUILD},../../etc/passwd") == "unknown run: ../../etc/passwd"
    )


def test_what_runs_now_is_told_by_job(served: Served) -> None:
    found = ask(served, "/live")
    assert found["runs"] == len([run for job in found["jobs"] for run in job["runs"]])
    assert LIVE in [run["run_id"] for job in found["jobs"] for run in job["runs"]]


def test_campaigns_tell_their_regions(served: Served) -> None:
    found = ask(served, "/campaigns")
    assert (found["total_builds_all_regions"], found["regions"][0]["region"]) == (1, "us-central1")
    region = ask(served, "/campaigns/us-central1")
    assert (region["region"]["successes"], len(region["builds"])) == (1, 1)
    assert [one["outcome"] for one in region["history"]] == ["success"]
    assert refused(served, "/campaigns/mars", 404) == "there is no such region"


def test_jobs_are_advised_on_what_to_ask_for(served: Served) -> None:
    found = ask(served, "/sizing", target="slurm")
    assert found["jobs"] == json.loads(
        commands.jobmeter(served.home, "size", "--for", "slurm", "--json").text
    )
    assert ask(served, "/sizing", job=BUILD)["jobs"][0]["runs"] >= 1
    assert "is no time" in refused(served, "/sizing", since="yesterweek")


def test_measurements_are_listed(served: Served) -> None:
    shown = json.loads(commands.jobmeter(served.home, "measurements", "--json").text)
    assert ask(served, "/measurements")["measurements"] == shown


def test_a_run_gets_a_name_tags_and_a_note(served: Served) -> None:
    change = {
        "name": "best",
        "tags": {"team": "vision", "k": None},
        "note": "the one to beat",
        "project": "lab",
    }
    answer = served.client.patch(f"/api/v1/runs/{BARE}", json=change)
    assert answer.status_code == 200, answer.text
    changed = answer.json()
    assert (changed["name"], changed["project"], changed["notes"]) == ("best", "lab", ["the one to beat"])
    assert changed["tags"] == {"team": "vision"}
    wait_for(lambda: ask(served, f"/runs/{BARE}").get("name") == "best")
    assert json.loads(commands.jobmeter(served.home, "show", BARE, "--json").text)["tags"] == {
        "team": "vision"
    }


def test_a_note_is_written_anew_and_taken_away(served: Served) -> None:
    address = f"/api/v1/runs/{BUILD}"
    assert served.client.patch(address, json={"note": "teh one"}).json()["notes"] == ["teh one"]
    changed = served.client.patch(address, json={"notes": {"teh one": "the one"}})
    assert changed.json()["notes"] == ["the one"]
    wait_for(lambda: ask(served, f"/runs/{BUILD}").get("notes") == ["the one"])
    refused = served.client.patch(address, json={"notes": {"teh one": None}})
    assert (refused.status_code, refused.json()["detail"]) == (400, "no note says that")
    assert "notes" not in served.client.patch(address, json={"notes": {"the one": None}}).json()
    wait_for(lambda: "notes" not in ask(served, f"/runs/{BUILD}"))


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"status": "completed"},
        {"name": ""},
        {"name": "a\nb"},
        {"name": 7},
        {"tags": {"a=b": "c"}},
        {"tags": {"a": 1}},
        {"note": " "},
        {"notes": {"never said": "something"}},
        {"notes": ["a"]},
        {"name": "x" * 501},
        [],
    ],
)
def test_what_is_no_change_is_refused(served: Served, change: object) -> None:
    answer = served.client.patch(f"/api/v1/runs/{BUILD}", json=change)
    assert answer.status_code == 400, answer.text
    assert answer.json()["detail"]


def test_a_deleted_run_can_be_taken_back(served: Served) -> None:
    run_id = served_homes.spares(SPARE)[0]
    answer = served.client.delete(f"/api/v1/runs/{run_id}")
    assert answer.json() == {"run_id": run_id, "purged": False, "freed_bytes": 0}
    wait_for(lambda: served.client.get(f"/api/v1/runs/{run_id}").status_code == 404)
    assert [one["run_id"] for one in ask(served, "/bin")["runs"]] == [run_id]
    assert served.client.post(f"/api/v1/runs/{run_id}/restore").json() == {"run_id": run_id}
    wait_for(lambda: served.client.get(f"/api/v1/runs/{run_id}").status_code == 200)
    assert ask(served, "/bin") == {"runs": []}
    assert served.client.post(f"/api/v1/runs/{run_id}/restore").status_code == 404


def test_what_the_command_line_threw_away_is_in_the_same_bin(served: Served) -> None:
    run_id = served_homes.spares(SPARE)[1]
    assert commands.jobmeter(served.home, "rm", run_id).code == 0
    assert run_id in [one["run_id"] for one in ask(served, "/bin")["runs"]]
    assert served.client.post(f"/api/v1/runs/{run_id}/restore").status_code == 200


def test_a_purged_run_is_gone_for_good(served: Served) -> None:
    run_id = served_homes.spares(SPARE)[2]
    folder = folders.folder_of(served.home, run_id)
    freed = served.client.delete(f"/api/v1/runs/{run_id}", params={"purge": True}).json()["freed_bytes"]
    assert freed > 1000
    assert not folder.exists()
    assert run_id not in json.dumps(ask(served, "/bin"))
    assert served.client.delete(f"/api/v1/runs/{run_id}", params={"purge": True}).status_code == 404


def test_a_run_that_goes_on_is_not_deleted(served: Served) -> None:
    for params in ({}, {"purge": "true"}):
        answer = served.client.delete(f"/api/v1/runs/{LIVE}", params=params)
        assert (answer.status_code, answer.json()["detail"]) == (400, f"run {LIVE} is running")


def test_a_token_that_may_read_may_not_change(served: Served) -> None:
    made = commands.jobmeter(served.home, "token", "create", "reader", "--scope", "read", "--json")
    assert made.code == 0, made.complaint
    reader = {"authorization": f"Bearer {json.loads(made.text)['token']}"}
    with served.stranger(headers=reader) as client:
        assert client.get(f"/api/v1/runs/{BUILD}").status_code == 200
        assert client.post("/api/jobs/aitk-7/apply").status_code == 200
        for method, path in (
            ("PATCH", f"/api/v1/runs/{BUILD}"),
            ("DELETE", f"/api/v1/runs/{BUILD}"),
            ("POST", f"/api/v1/runs/{BUILD}/restore"),
        ):
            assert client.request(method, path, json={"name": "x"}).status_code == 403


@pytest.mark.parametrize(
    "name", ["last", "2026", "nightly", "..%2f..%2fetc%2fpasswd", "%2e%2e", "a" * 300, "%00"]
)
def test_only_a_whole_id_names_a_run(served: Served, name: str) -> None:
    for path in ("", "/logs", "/series", "/report"):
        assert served.client.get(f"/api/v1/runs/{name}{path}").status_code in (400, 404)


def test_a_folder_where_the_server_stands_is_no_run(served: Served, tmp_path: Path) -> None:
    other = folders.write_run(tmp_path, run_id="20260101T000000Z-abcdef", seconds=1)
    assert refused(served, f"/runs/{other.name}", 404) == f"unknown run: {other.name}"
    answer = served.client.get(f"/api/jobs/{str(other).replace('/', '%2F')}/analysis")
    assert answer.status_code == 404


def test_rows_of_a_table_are_looked_at_together(served: Served) -> None:
    found = ask(served, "/runs/glances", runs=f"{FAILED},{LIVE},{TRAINED}", lines="memory,loss")
    assert [one["run_id"] for one in found["runs"]] == [FAILED, LIVE, TRAINED]
    assert found["runs"][2]["lines"]["loss"]["values"][-1] == pytest.approx(0.02)
    assert "bytes" in {one["lines"]["memory"]["unit"] for one in found["runs"] if "memory" in one["lines"]}
    assert refused(served, "/runs/glances", runs=BUILD, lines="noise") == "there is no such line"
    assert "runs" in refused(served, "/runs/glances")


def test_fields_to_filter_by_are_told(served: Served) -> None:
    told = {one["name"]: one for one in ask(served, "/runs/fields")["fields"]}
    assert "lost" in told["status"]["values"]
    for name, field in told.items():
        value = field.get("values", [field.get("example", "3")])[0]
        quoted = json.dumps(name.replace("\n", " "), ensure_ascii=False)
        for operator in field["operators"]:
            ask(served, "/runs", q=f"{quoted}{operator}{value}", limit=1)
