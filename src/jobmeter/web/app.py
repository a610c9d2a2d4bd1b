"""The application: every route, behind one gate, with errors as problem documents."""

from typing import Any

from litestar import Litestar, MediaType, Response
from litestar.datastructures import State
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, Reference, SecurityScheme
from litestar.types import Serializer

import jobmeter
from jobmeter import web
from jobmeter.service.server_settings import ServerSettings
from jobmeter.service.serving import Server
from jobmeter.web import encoding, guards, problems

_SECURITY: dict[str, SecurityScheme | Reference] = {"token": SecurityScheme(type="http", scheme="bearer")}


class StrictResponse(Response[Any]):
    """An answer whose JSON every client can read."""

    def render(self, content: Any, media_type: str, enc_hook: Serializer | None = None) -> bytes:
        """Encode what a handler returned."""
        if media_type.startswith(MediaType.JSON) and not isinstance(content, bytes):
            return encoding.encode(content)
        return super().render(content, media_type, *([] if enc_hook is None else [enc_hook]))


def create(settings: ServerSettings) -> Litestar:
    """Build the application of a server that was not started; starting it starts the server."""
    return build(Server(settings))


def build(server: Server) -> Litestar:
    """Put every route before a server."""
    app = Litestar(
        web.load(),
        debug=False,
        exception_handlers=problems.HANDLERS,
        guards=[guards.require_scope],
        logging_config=None,
        on_shutdown=[server.stop],
        on_startup=[server.start],
        openapi_config=_openapi(),
        request_max_body_size=server.settings.limits.body_bytes,
        response_class=StrictResponse,
        state=State({"server": server}),
    )
    # around the router itself: what no route answers to is refused as well
    app.asgi_handler = guards.Gate(app.asgi_handler, server)
    return app


def _openapi() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="jobmeter",
        version=jobmeter.__version__,
        path="/openapi",
        render_plugins=[JsonRenderPlugin()],
        components=Components(security_schemes=_SECURITY),
        security=[{"token": []}],
        use_handler_docstrings=True,
    )
