"""Runs of jobmeter's as builds of a campaign, and gcloud as it is asked for a build."""

import json
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.exporters import WHOLE
from jobmeter.exporters import campaign as exporter
from jobmeter.model.run import Provenance, Status
from jobmeter.service import campaign, campaign_builds, gcloud
from support import builds, views

HOST = {"host": {"cpus": 2, "memory_bytes": 8 << 30}}


def told(**facts: object) -> campaign_builds.Told:
    return campaign_builds.from_run(views.build_run(**({"context": HOST} | facts)))


def test_a_run_is_a_build_with_samples_of_its_own() -> None:
    found = told(name="nightly", project="app", wall_seconds=4.2, ended_at=views.STARTED + 4)
    fields = found.fields
    assert found.region == "app"
    assert (fields["build_id"], fields["run_id"]) == ("20261115T095001Z-7f3a9c", "20261115T095001Z-7f3a9c")
    assert (fields["status"], fields["success"], fields["build_type"]) == ("SUCCESS", True, "nightly")
    assert (fields["duration_seconds"], fields["working_seconds"]) == (4, 4)
    assert (fields["sample_count"], fields["sample_scope"]) == (4, "job")
    assert fields["cpu_utilization_peak"] == 100
    assert "error" not in fields


TIMED_OUT = {"ended_by": "timeout", "options": {"timeout": 600.0}}


@pytest.mark.parametrize(
    ("facts", "status", "success", "error"),
    [
        ({"status": Status.FAILED, "exit_code": 3}, "FAILURE", False, "exit code 3"),
        (
            {"status": Status.KILLED, "exit_code": 137, "signal": "SIGKILL"},
            "FAILURE",
            False,
            "ended by SIGKILL",
        ),
        ({"status": Status.CANCELLED, "exit_code": 124}, "TIMEOUT", False, "exit code 124"),
        (
            {"status": Status.CANCELLED, "exit_code": 124, "signal": "SIGTERM", "context": TIMED_OUT},
            "TIMEOUT",
            False,
            "ended at its time limit of 10 min 00 s, by SIGTERM",
        ),
        ({"status": Status.CANCELLED, "exit_code": None}, "CANCELLED", False, None),
        ({"status": Status.RUNNING, "exit_code": None}, "WORKING", None, None),
        ({"status": Status.LOST, "exit_code": None}, "STATUS_UNKNOWN", None, None),
    ],
)
def test_how_a_run_ended_is_how_the_build_did(
    facts: dict[str, object], status: str, success: bool | None, error: str | None
) -> None:
    fields = told(**facts).fields
    assert (fields["status"], fields.get("success"), fields.get("error")) == (status, success, error)


def test_an_imported_build_keeps_its_own_id_and_region() -> None:
    found = told(
        name="84f",
        results={"build_id": "84f", "region": "us-west2", "queue_wait_seconds": 645},
        provenance=Provenance(origin="cloudbuild"),
        host="runner",
    )
    assert found.region == "us-west2"
    assert (found.fields["build_id"], found.fields["queue_wait_seconds"]) == ("84f", 645)
    assert "build_type" not in found.fields


def test_a_region_is_a_tag_a_project_or_a_host() -> None:
    assert told(tags={"region": "eu"}, project="app").region == "eu"
    assert told(host="node7").region == "node7"
    assert told().region is None


def test_a_run_can_be_written_as_a_campaign() -> None:
    document = campaign.document_of(views.build_run(context=HOST, ended_at=views.STARTED + 4))
    written = json.loads(b"".join(exporter.render(document)[WHOLE]))
    region = written["regions"]["local"]
    assert (written["total_builds_all_regions"], region["success_rate"]) == (1, 100.0)
    assert region["recent_builds"][0]["sample_count"] == 4
    assert written["campaign_start"] == views.STARTED + 4


def gcloud_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a tool called gcloud first on the path."""
    tool = folder / "gcloud"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_gcloud_is_asked_by_id_and_region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builds.written(tmp_path, builds.cloud_build_log(), "log")
    builds.written(tmp_path, json.dumps(builds.description()), "describe")
    gcloud_in(tmp_path, monkeypatch, f'echo "$@" >> {tmp_path}/asked; cat {tmp_path}/$2')
    found = campaign.fetched(builds.BUILD_ID, "us-west2")
    assert (found.fields["sample_count"], found.fields["queue_wait_seconds"]) == (21, 645)
    assert (tmp_path / "asked").read_text().splitlines() == [
        f"builds describe {builds.BUILD_ID} --region=us-west2 --format=json",
        f"builds log {builds.BUILD_ID} --region=us-west2",
    ]


def test_a_tool_that_fails_or_is_absent_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gcloud_in(tmp_path, monkeypatch, "exit 1")
    with pytest.raises(UsageError, match="gcloud told nothing"):
        campaign.fetched("abc", "eu")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert gcloud.read_log("abc", "eu") is None


@pytest.mark.parametrize("build_id", ["", "--help", "a b", "$(reboot)", "a;b"])
def test_only_ids_are_passed_on(build_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gcloud_in(tmp_path, monkeypatch, f"touch {tmp_path}/asked")
    assert gcloud.read_log(build_id, "eu") is None
    assert gcloud.describe(build_id, "eu") is None
    assert not (tmp_path / "asked").exists()


def test_the_region_of_a_known_build_is_found(tmp_path: Path) -> None:
    path = tmp_path / "stats.json"
    campaign.settle(path, campaign_builds.Told(region="eu", fields={"build_id": "a"}))
    assert campaign.regions_with(path, "a") == ["eu"]
    assert campaign.regions_with(path, "b") == []


def test_an_exported_campaign_is_strict_json_whatever_a_name_held() -> None:
    document = campaign.document_of(views.build_run(context=HOST, name="caf\udce9"))
    rendered = b"".join(exporter.render(document)[WHOLE])
    assert b'"build_type": "caf?"' in rendered
