"""`jobmeter report`: one file with the page and all that it asks for, harmless whatever the job was called."""

import base64
import gzip
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import report_page
from support import commands, folders, served_homes, server
from support.server import Served

EVIL = "</title></style></script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&@@answers@@"
SECRET = "ghp_" + "a1B2c3D4e5" * 4
TRAINING = f"""
import sys
import jobmeter
run = jobmeter.init(config={{"train": {{"batch_size": 8}}}})
for step in range(30):
    run.log({{"loss": 1 / (step + 1)}}, step=step)
run.event("checkpoint_saved", {{"path": {EVIL!r}}})
run.finish()
print({EVIL!r}, "export TOKEN={SECRET}")
print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of"
      " 23.65 GiB of which 1.20 GiB is free.", file=sys.stderr)
for number in range(3000):
    print("line", number, file=sys.stderr)
sys.exit(1)
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Record a training that fails far before the end of its output, and serve it beside runs of every kind."""
    home = served_homes.write(tmp_path_factory.mktemp("report") / "home")
    script = home.parent / "train.py"
    script.write_text(TRAINING)
    quick = ("--sample-interval", "0.1s", "--report-interval", "0.2s")
    done = commands.jobmeter(
        home, "run", "-q", "--name", EVIL, "--tag", f"said={EVIL}", "--capture", "all", *quick,
        "--", sys.executable, str(script)
    )  # fmt: skip
    assert done.code == 1, done
    with server.serving(home) as found:
        yield found


@pytest.fixture(scope="module")
def page(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the report of that training."""
    file = tmp_path_factory.mktemp("written") / "plugin.html"
    done = commands.jobmeter(served.home, "report", "last", "-o", str(file))
    assert done.code == 0, done.complaint
    return file


def kept(page: str) -> dict[str, Any]:
    """Unpack what a report carries."""
    (packed,) = re.findall(r'<script type="text/plain" id="answers">([\w+/=]+)</script>', page)
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return found


class Reader(HTMLParser):
    """Collect what a browser would act on."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.policy = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if ("http-equiv", "Content-Security-Policy") in attrs:
            self.policy = dict(attrs)["content"] or ""


def test_a_report_is_one_small_file_that_asks_nobody(page: Path) -> None:
    found = Reader(page.read_text())
    assert page.stat().st_size < 300_000
    assert not found.attributes & {"src", "href", "style", "srcset", "action"}
    assert not set(found.tags) & {"img", "link", "iframe", "object", "embed", "form", "base"}
    assert re.fullmatch(
        r"default-src 'none'; base-uri 'none'; form-action 'none'; "
        r"script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'",
        found.policy,
    )


def test_hostile_names_and_output_stay_text(page: Path) -> None:
    text = page.read_text()
    found = Reader(text)
    assert found.tags.count("script") == 3  # the answers, the page, the licences
    assert found.tags.count("style") == 1
    assert not {name for name in found.attributes if name.startswith("on")}
    assert "alert(1)" not in text.replace("&lt;script&gt;alert(1)&lt;/script&gt;", "")
    (shown,) = (
        answer for name, answer in kept(text)["answers"].items() if name.endswith(kept(text)["run_id"])
    )
    assert shown["name"] == EVIL


def test_secrets_do_not_leave_with_the_page(page: Path) -> None:
    told = json.dumps(kept(page.read_text()))
    assert "export TOKEN=" in told
    assert SECRET not in told


@pytest.mark.parametrize("part", ["", "/context", "/events", "/processes", "/report"])
def test_a_report_carries_what_the_server_answers(served: Served, page: Path, part: str) -> None:
    found = kept(page.read_text())
    address = f"/api/v1/runs/{found['run_id']}{part}"
    assert found["answers"][address] == served.client.get(address).json()


def test_a_report_carries_the_lines_of_its_charts(served: Served, page: Path) -> None:
    found = kept(page.read_text())
    for part in ("clock", "series", "steps"):
        address = f"/api/v1/runs/{found['run_id']}/{part}"
        assert found["answers"][address] == served.client.get(address, params={"points": 800}).json()


def test_a_report_carries_the_config_with_the_advice_in_it(served: Served, page: Path) -> None:
    found = kept(page.read_text())
    address = f"/api/jobs/{found['run_id']}/apply"
    told = served.client.post(address, json={}).json()
    assert found["answers"][f"POST {address}"] == told
    assert told["config"]["train"]["batch_size"] == 4


def test_an_error_far_before_the_end_of_the_output_is_kept_with_what_stands_around_it(page: Path) -> None:
    found = kept(page.read_text())
    output = found["answers"][f"/api/v1/runs/{found['run_id']}/logs?stream=stderr"]
    texts = [line["text"] for line in output["lines"]]
    assert texts[0].startswith("torch.OutOfMemoryError")
    assert texts[-1] == "line 2999"
    assert "line 1000" not in texts
    assert len(texts) == len(set(texts))


def test_those_without_a_script_are_told_why_it_ended(page: Path) -> None:
    verdict = next(
        answer for name, answer in kept(page.read_text())["answers"].items() if name.endswith("/report")
    )["verdict"]
    assert f"<noscript><p>{verdict['sentence']}" in page.read_text()


@pytest.mark.parametrize("report", [None, {}, {"verdict": None}, {"verdict": {"sentence": None}}])
def test_those_without_a_script_are_told_nothing_where_nobody_knows_why_it_ended(report: object) -> None:
    assert report_page._plain(report) == "<p>The rest of this report needs JavaScript.</p>"


@pytest.mark.parametrize("run_id", served_homes.KINDS)
def test_a_run_of_any_kind_has_a_report(served: Served, run_id: str) -> None:
    found = kept(report_page.render(str(served.home), run_id))
    assert found["run_id"] == run_id
    assert found["answers"][f"/api/v1/runs/{run_id}"]["run_id"] == run_id


def test_a_day_of_samples_is_a_small_page(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = folders.write_run(home, seconds=10, processes=1)
    started = folders.STARTED
    keys = (
        "cgroup_mem_current",
        "cgroup_mem_anon",
        "cgroup_mem_file",
        "host_mem_available",
        "proc_rss_total",
    )
    with (folder / "usage.jsonl").open("ab") as file:
        for second in range(10, 86_400, 10):
            measured = {key: (second * (7 + place)) % 977 * 1_000_003 for place, key in enumerate(keys)}
            line = {"timestamp": folders.iso(started + second), "num_samples": 1, "measurements": measured}
            file.write(folders.dump(line))
    page = report_page.render(str(home), "last")
    (series,) = (one for name, one in kept(page)["answers"].items() if name.endswith("/series"))
    (held,) = (line for line in series["series"] if line["key"] == "cgroup_mem_current")
    assert 100 < len(held["t"]) <= 800
    assert sum(held["n"]) > 8_600
    assert len(page.encode()) < 450_000


def test_a_report_says_how_many_lines_it_leaves_out(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = folders.write_run(home, seconds=2)
    metrics = {f"m{number}": 1.0 for number in range(50)}
    rows = [
        {
            "timestamp": folders.iso(folders.STARTED + 1),
            "step": 1,
            "rank": rank,
            "source": "sdk",
            "metrics": metrics,
        }
        for rank in range(101)
    ]
    (folder / "steps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = kept(report_page.render(str(home), "last"))
    assert found["lines_left_out"] == 4850
    steps = found["answers"][f"/api/v1/runs/{found['run_id']}/steps"]["series"]
    assert {line["rank"] for line in steps} == {0, 1, 2, 3}


def test_the_thresholds_of_the_job_s_own_config_come_along(tmp_path: Path) -> None:
    home = tmp_path / "home"
    monitoring = {"memory_warning_threshold": 0.7, "memory_critical_threshold": 0.9}
    folders.write_run(home, seconds=2, context={"monitoring": monitoring})
    found = kept(report_page.render(str(home), "last"))
    shown = found["answers"][f"/api/v1/runs/{found['run_id']}"]
    assert shown["memory_zones"] == {"warning": 0.7, "critical": 0.9}


def test_where_the_page_was_not_built_the_command_says_how(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folders.write_run(home, seconds=2)
    with pytest.raises(UsageError, match="the page was not built") as told:
        report_page.render(str(home), "last", frame=tmp_path / "report.html")
    assert "scripts/page builds it" in str(told.value.hint)
