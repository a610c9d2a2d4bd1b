"""Alerts: where they stand, what is watched for, and silences."""

import time
from typing import Annotated, Literal

from litestar import Response, delete, post
from litestar.params import Body, Parameter

from jobmeter.model import alert_answers
from jobmeter.model.alert import State
from jobmeter.service import alerting
from jobmeter.service.access import Principal
from jobmeter.web import answering
from jobmeter.web.answering import ADMIN, REFUSALS, Asked, answer, reads, server_of

TAG = "alerts"


@reads("/api/v1/alerts", "listAlerts", "List alerts and what became of them", TAG)
def list_alerts(
    request: Asked,
    wanted_state: Annotated[
        Literal["pending", "firing", "resolved"] | None,
        Parameter(query="state", description="Only alerts in this state."),
    ] = None,
    rule: Annotated[str | None, Parameter(description="Only alerts of this rule.", max_length=200)] = None,
    run: Annotated[str | None, Parameter(description="Only alerts of this run.", max_length=200)] = None,
    limit: Annotated[
        int, Parameter(description="How many of each list.", ge=1, le=alerting.MOST_LISTED)
    ] = 100,
) -> Response[alert_answers.AlertsTold]:
    """List where alerts stand, what fires first; what happened lately; and what could not be delivered yet."""
    states = frozenset() if wanted_state is None else frozenset((State(wanted_state),))
    wanted = alerting.Wanted(states=states, rule=rule, run_id=run, limit=limit)
    return answer(request, alerting.told_by(server_of(request).alerts, wanted, time.time()))


@reads("/api/v1/alerts/rules", "listAlertRules", "List what is watched for and whom is told", TAG)
def list_rules(request: Asked) -> Response[alert_answers.RulesTold]:
    """List the rules and the channels that hold; addresses and keys of channels are not shown."""
    return answer(request, alerting.rules_told(server_of(request).alerts.settings))


@reads("/api/v1/alerts/silences", "listSilences", "List silences", TAG)
def list_silences(request: Asked) -> Response[alert_answers.SilencesTold]:
    """List the silences that hold."""
    return answer(request, alerting.silences_told(server_of(request).home, time.time()))


@post(
    "/api/v1/alerts/silences",
    opt=ADMIN,
    operation_id="addSilence",
    summary="Keep alerts quiet for a while",
    tags=[TAG],
    status_code=201,
    sync_to_thread=True,
    before_request=answering.refuse_unknown,
    responses=REFUSALS,
)
def add_silence(
    request: Asked,
    data: Annotated[alerting.NewSilence, Body(description="Which runs and rules, and for how long.")],
) -> Response[alert_answers.SilenceTold]:
    """Note alerts of some runs but tell nobody, from now on for so many seconds.

    What fires meanwhile and still does afterwards is told then.
    """
    now = time.time()
    made = alerting.silence(server_of(request).home, data, by=_who(request), now=now)
    return answer(request, made.as_record(now), status=201)


@delete(
    "/api/v1/alerts/silences/{silence_id:str}",
    opt=ADMIN,
    operation_id="endSilence",
    summary="End a silence early",
    tags=[TAG],
    status_code=200,
    sync_to_thread=True,
    before_request=answering.refuse_unknown,
    responses=REFUSALS,
)
def end_silence(
    request: Asked, silence_id: Annotated[str, Parameter(description="Its id.")]
) -> Response[alert_answers.SilenceTold]:
    """End a silence; what fires is told from now on."""
    now = time.time()
    return answer(request, alerting.unsilence(server_of(request).home, silence_id, now=now).as_record(now))


def _who(request: Asked) -> str:
    principal = request.scope.get("jobmeter")
    return principal.name if isinstance(principal, Principal) else ""


ROUTES = [list_alerts, list_rules, list_silences, add_silence, end_silence]
