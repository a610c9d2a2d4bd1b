"""What people ask of a build campaign: record a build, complete it, show how the regions do, bring old builds in."""

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.analysis import buildsamples
from jobmeter.errors import UsageError, reason_of
from jobmeter.formats import buildfacts, content, loose_json
from jobmeter.model.view import RunView
from jobmeter.service import (
    campaign_book,
    campaign_builds,
    campaign_file,
    campaign_text,
    gcloud,
    notices,
    runs,
)
from jobmeter.service.campaign_book import Record
from jobmeter.service.campaign_builds import Told
from jobmeter.service.campaign_text import Debug, silent

Fetch = Callable[[str, str], str | None]
"""Gives the log of a build by its id and region."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A build as it is written down now, and how its region does."""

    region: str
    build: Record
    totals: Record

    @property
    def total_builds(self) -> int:
        """How many builds the region ever had."""
        return int(campaign_book.amount(self.totals, "total_builds"))

    @property
    def success_rate(self) -> float:
        """Percent of the region's builds that ended well."""
        return campaign_book.amount(self.totals, "success_rate")


@dataclass(slots=True)
class Brought:
    """What one import did."""

    builds: list[tuple[str, str]] = field(default_factory=list)
    """Region and id."""
    skipped: dict[str, str] = field(default_factory=dict)


def file_of(home: str) -> Path:
    """Name the campaign of a home."""
    return Path(home, campaign_file.NAME)


def settle(
    path: Path, told: Told, *, may_be_pending: bool = False, warn: notices.Warn = notices.to_stderr
) -> Answer:
    """Write down what is told of one build."""
    now, region = time.time(), told.region or campaign_builds.LOCAL

    def act(document: Record) -> Answer:
        build = campaign_book.settle(document, region, told.fields, now, may_be_pending=may_be_pending)
        totals = {key: value for key, value in _region(document, region).items() if key != "recent_builds"}
        return Answer(region, dict(build), totals)

    return campaign_file.change(path, act, now, warn=warn)


def _region(document: Record, name: str) -> Record:
    return campaign_book.region_of(document, name)


def note_fatigue(path: Path, region: str, reason: str, reason_code: str) -> None:
    """Write down that a region would not take a build."""
    now = time.time()
    campaign_file.change(
        path, lambda document: campaign_book.note_fatigue(document, region, reason, reason_code, now), now
    )


def load(path: Path) -> Record:
    """Read the whole campaign; one that has not begun is empty."""
    now = time.time()
    return campaign_file.read(path, now) or campaign_book.fresh(now)


def regions_with(path: Path, build_id: str) -> list[str]:
    """Name the regions in which a build of this id was recorded."""
    known = campaign_book.each_build(load(path))
    return list(dict.fromkeys(region for region, build in known if build.get("build_id") == build_id))


def gathered(
    *,
    build_id: str | None = None,
    region: str | None = None,
    log: str | None = None,
    description: Mapping[str, object] | None = None,
    debug: Debug = silent,
) -> Told:
    """Put together what a log and a description say of one build; the description knows better."""
    told = Told(region=region, fields={} if build_id is None else {"build_id": build_id})
    if description is not None:
        described = campaign_builds.from_description(description)
        told = told.laid_over(described)
        campaign_text.say_fetching(debug, told.build_id or "", told.region or "")
        campaign_text.say_fetched(debug, described.fields)
    if log is not None:
        told = told.laid_over(campaign_builds.around_log(log))
        metrics = campaign_builds.metrics_of_log(log, told.build_id or "", debug)
        if metrics["sample_count"]:  # a log without samples does not unsay those that are known
            told = Told(region=told.region, fields=told.fields | metrics)
    return told


def fetched(build_id: str, region: str, debug: Debug = silent) -> Told:
    """Ask Google's own tool for log and description of a build."""
    description = gcloud.describe(build_id, region)
    log = gcloud.read_log(build_id, region)
    if description is None and log is None:
        raise UsageError(
            f"gcloud told nothing of build {build_id} in {region}",
            hint=f"try: gcloud builds describe {build_id} --region={region}",
        )
    return gathered(build_id=build_id, region=region, log=log, description=description, debug=debug)


def read_log(path: str) -> str:
    """Read the log of a build, whatever its encoding did to it."""
    try:
        return content.text(Path(path))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason_of(error)}", hint="name the log of a build") from None


def read_description(path: str) -> dict[str, object]:
    """Read what `gcloud builds describe --format=json` printed."""
    try:
        document = loose_json.parse(read_log(path))
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}", hint="use --format=json") from None
    if not isinstance(document, dict) or not buildfacts.is_build(document):
        raise UsageError(
            f"{path} describes no build", hint="give what `gcloud builds describe ID --format=json` printed"
        )
    return document


def of_run(home: str, ref: str) -> Told:
    """Take a run of jobmeter's as a build."""
    return campaign_builds.from_run(view(home, ref))


def view(home: str, ref: str) -> RunView:
    """Gather what a campaign looks at in a run."""
    return runs.view(home, ref, buildsamples.KEYS)


def document_of(view: RunView) -> Record:
    """Make a campaign of one build of a run."""
    told = campaign_builds.from_run(view)
    moment = campaign_book.amount(told.fields, "timestamp")
    document = campaign_book.fresh(moment)
    campaign_book.settle(document, told.region or campaign_builds.LOCAL, told.fields, moment)
    return document


def import_files(path: Path, files: Iterable[str], region: str | None = None) -> Brought:
    """Bring in builds from logs, descriptions, lists of them, and the files of older campaigns."""
    brought = Brought()
    builds: dict[str, Told] = {}
    for file in files:
        try:
            found = list(_builds_in(path, file, brought))
        except UsageError as error:
            brought.skipped[file] = str(error)
            continue
        for told in found:
            key = told.build_id or file
            known = builds.get(key, told)
            # a description knows better than a log, whichever comes first
            builds[key] = told.laid_over(known) if "log_url" in told.fields else known.laid_over(told)
    for told in sorted(builds.values(), key=lambda one: campaign_book.amount(one.fields, "timestamp")):
        answer = settle(path, Told(region=region or told.region, fields=told.fields))
        brought.builds.append((answer.region, str(answer.build["build_id"])))
    return brought


def _builds_in(path: Path, file: str, brought: Brought) -> Iterable[Told]:
    text = read_log(file)
    try:
        document = loose_json.parse(text) if text.lstrip()[:1] in ("{", "[") else None
    except ValueError:
        document = None
    listed = document if isinstance(document, list) else [document]
    if listed and all(buildfacts.is_build(one) for one in listed):
        return [campaign_builds.from_description(one) for one in listed if isinstance(one, dict)]
    if isinstance(document, dict) and isinstance(document.get("regions"), dict):
        return _merged(path, document, file, brought)
    told = campaign_builds.from_log(text)
    if not told.fields:
        raise UsageError("no build in it: neither its id, nor how it ended, nor samples")
    if told.build_id is None:
        # by what it says, so that the same log counts once however often it is imported
        print_of_text = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]
        told = Told(
            region=told.region, fields=told.fields | {"build_id": f"{Path(file).name}-{print_of_text}"}
        )
    return [told]


def _merged(path: Path, document: Record, file: str, brought: Brought) -> Iterable[Told]:
    """Take regions that are new here whole, with their sums; of the others, the builds."""
    now = time.time()
    try:
        older = campaign_book.migrated(document, now)
    except TypeError as error:
        raise UsageError(f"{file} holds no campaign: {error}") from None

    def act(ours: Record) -> list[str]:
        new = [name for name in campaign_book.regions(older) if name not in campaign_book.regions(ours)]
        for name in new:
            campaign_book.adopt(ours, name, campaign_book.regions(older)[name], now)
        return new

    new = campaign_file.change(path, act, now)
    known = list(campaign_book.each_build(older))
    brought.builds += [(name, str(build.get("build_id"))) for name, build in known if name in new]
    return [Told(region=name, fields=build) for name, build in known if name not in new]
