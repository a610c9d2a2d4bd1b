"""The service over HTTP: one file per group of routes, each a thin call of the service.

Who may ask is decided in `guards.py` alone; handlers never look at tokens. A route says what it needs by
`opt={"needs": "read"}` (or `ingest`, `admin`); one that says nothing needs `admin`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler

ROUTES: dict[str, str] = {
    "alerts": "jobmeter.web.api_alerts",
    "context": "jobmeter.web.api_context",
    "lists": "jobmeter.web.api_lists",
    "live": "jobmeter.web.api_live",
    "logs": "jobmeter.web.api_logs",
    "metrics": "jobmeter.web.api_metrics",
    "misc": "jobmeter.web.api_misc",
    "page": "jobmeter.web.page",
    "pages": "jobmeter.web.pages",
    "runs": "jobmeter.web.api_runs",
    "seeds": "jobmeter.web.api_seeds",
    "series": "jobmeter.web.api_series",
    "sizing": "jobmeter.web.api_sizing",
    "stream": "jobmeter.web.api_stream",
    "sync": "jobmeter.web.api_sync",
}
"""Modules with a list `ROUTES` of handlers or routers."""


def load() -> "list[ControllerRouterHandler]":
    """Import every group and gather its routes."""
    from litestar import Router

    found: list[ControllerRouterHandler] = []
    for module in ROUTES.values():
        found += import_module(module).ROUTES
    # at once: the framework wraps a handler again each time another of its path is registered, and then waits for one
    return [Router(path="/", route_handlers=found)]
