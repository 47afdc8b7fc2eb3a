"""The REST API as one application: who is let in, what it offers, how it tells of errors."""

from __future__ import annotations

from typing import Any

from anyio import CancelScope
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag import SCOPES, Workspace
from rag.api import problems
from rag.api.admission import Admission
from rag.api.reference import add_examples, reference
from rag.api.resources.bases import bases, links, members, tours
from rag.api.resources.compatible import compatible
from rag.api.resources.documents import builds, documents, examination, store_imports, uploads
from rag.api.resources.jobs import jobs
from rag.api.resources.question_sets import labels, question_files, question_sets
from rag.api.resources.recipes import recipes, systems
from rag.api.resources.runs import decisions, diagnoses, runs
from rag.api.resources.search import answers, search

VERSION = "1"
LARGEST_BODY = 1 << 20  # bytes of JSON: reading it holds up everybody else
LARGEST_TEXT = 16 << 20  # the same with a text that becomes a document
_FORM = 1 << 20  # what the parts of a form may come to beside the file
_RESOURCES = (
    *(bases, members, links, recipes, documents, jobs, search, answers),
    *(builds, question_sets, labels, runs, systems, decisions, diagnoses, tours, compatible),
    *(examination, store_imports),
)


def application(workspace: Workspace) -> ASGIApp:
    """Return the ASGI application for ``/api``."""
    app = FastAPI(
        title="Touchstone",
        version=VERSION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        max_body_size=LARGEST_BODY,
    )
    app.state.workspace = workspace
    problems.handle_errors(app)
    for router in _RESOURCES:
        largest = LARGEST_TEXT if router is documents else LARGEST_BODY
        app.include_router(router, prefix="/v1", max_body_size=largest)
    largest = (workspace.settings.max_upload_mb << 20) + _FORM
    for router in (uploads, question_files):
        app.include_router(router, prefix="/v1", max_body_size=largest)
    app.router.routes.extend(reference(lambda: described(app)))
    return Admission(Heads(app), workspace)


def described(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document: addresses as a client sees them, and the scopes of tokens."""
    openapi = get_openapi(
        title=app.title,
        version=app.version,
        summary="Retrieval over your documents, with evidence.",
        routes=app.routes,
        servers=[{"url": "/api"}],
    )
    scope_list = "; ".join(f"`{name}`: {what}" for name, what in SCOPES.items())
    openapi.setdefault("components", {})["securitySchemes"] = {
        "bearer": {
            "type": "http",
            "scheme": "bearer",
            "description": f"A token that is made in Settings, with scopes: {scope_list}.",
        }
    }
    problems.share_responses(openapi)
    add_examples(openapi)
    return openapi


# HEAD: the answer of GET without its body.


class Heads:
    """Middleware that answers HEAD wherever GET is answered; a stream ends where it begins."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        sent = False
        with CancelScope() as answering:

            async def without_body(message: Message) -> None:
                nonlocal sent
                if message["type"] == "http.response.body":
                    if sent:
                        return
                    sent = True
                    if message.get("more_body"):
                        answering.cancel()
                    message = {"type": "http.response.body", "body": b""}
                    with CancelScope(shield=True):
                        await send(message)
                    return
                await send(message)

            await self._app({**scope, "method": "GET"}, receive, without_body)
