"""Runs side by side, campaigns of builds, and what can be measured."""

import os
from typing import Annotated

from litestar import Response
from litestar.params import Parameter

from jobmeter.model import answers, report_answers
from jobmeter.service import campaign_show, catalogue, comparing
from jobmeter.web import answering
from jobmeter.web.answering import Asked, answer, reads, server_of


@reads("/api/v1/compare", "compareRuns", "Lay runs side by side", "runs")
def compare(
    request: Asked,
    runs: Annotated[str, Parameter(description="Ids of 2 to 20 runs, by comma.", max_length=4000)],
) -> Response[report_answers.Compared]:
    """Compare numbers, settings, surroundings, phases and losses of runs: as `jobmeter compare --json`."""
    found = comparing.compare_ids(server_of(request).home, answering.listed(runs))
    return answer(request, found.as_record())


@reads("/api/v1/campaigns", "getCampaign", "Tell how the regions of a build campaign do", "campaigns")
def get_campaign(request: Asked) -> Response[answers.CampaignTold]:
    """Tell how the regions of the home's campaign of builds do: as `jobmeter campaign show --json`."""
    return answer(request, campaign_show.told(server_of(request).home))


@reads("/api/v1/campaigns/{name:str}", "getRegion", "Tell how one region does", "campaigns")
def get_region(
    request: Asked, name: Annotated[str, Parameter(description="The region.")]
) -> Response[answers.RegionBuilds]:
    """Tell how one region does, with the builds that are kept of it, the latest first."""
    return answer(request, campaign_show.region_told(server_of(request).home, name))


@reads("/api/v1/measurements", "listMeasurements", "List what can be measured", "measurements")
def list_measurements(request: Asked) -> Response[answers.Catalogue]:
    """List every measurement, and whether the machine of this server can take it: as `jobmeter measurements --json`."""
    return answer(request, {"measurements": catalogue.records(os.uname().sysname)})


ROUTES = [compare, get_campaign, get_region, list_measurements]
