"""Errors as problem details (RFC 9457): one shape for all that goes wrong."""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from rag import (
    REQUEST_ID,
    AlreadyExists,
    BlockedAddress,
    InvalidInput,
    MissingDependency,
    NotAllowed,
    NotFound,
    ProviderError,
    ProviderUnavailable,
    StorageError,
    TouchstoneError,
    UnreadableDocument,
    validation_words,
    why_not_json,
)
from rag.api.scarcity import RETRY_SECONDS, scarcity

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

_STATUS: tuple[tuple[type[TouchstoneError], int], ...] = (
    (NotFound, 404),
    (NotAllowed, 403),
    (AlreadyExists, 409),
    (InvalidInput, 422),
    (UnreadableDocument, 422),
    (BlockedAddress, 422),
    (ProviderUnavailable, 503),
    (ProviderError, 502),
    (MissingDependency, 501),
    (StorageError, 503),
)
_DIFY = {401: 1002, 403: 1002, 404: 2001}  # its codes of authorization and unknown knowledge
_READER_STATUS = {"too_large": 413, "unsupported_type": 415}

_SCHEMA = {
    "title": "Problem",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "description": "what kind of problem it is"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "what happened, and why"},
        "hint": {"type": "string", "description": "what to do about it"},
        "request_id": {"type": "string", "description": "id of the request in the log"},
        "instance": {"type": "string", "description": "id of an unexpected error in the log"},
        "errors": {
            "type": "array",
            "description": "the parts of a request that are not valid",
            "items": {
                "type": "object",
                "properties": {"where": {"type": "string"}, "what": {"type": "string"}},
            },
        },
    },
}
_DESCRIPTIONS = {
    400: "The body is not JSON.",
    401: "There is no valid token.",
    403: "The token lacks the scope, or its owner the role.",
    404: "The resource does not exist.",
    405: "The address does not support this method.",
    409: "A name is taken, or the same request is still in progress.",
    412: "It was changed in the meantime: its ETag is not the one of If-Match.",
    413: "The body is too large.",
    415: "The body does not have the expected media type.",
    422: "The request is not valid.",
    429: "The token sends too many requests. Retry-After says when to continue.",
    500: "An unexpected error happened. The log has it under the id of the response.",
    502: "A model provider refused, or did not respond properly.",
    503: "The database or a model provider cannot be reached, or is busy. Retry-After, if there is "
    "one, says when to continue.",
}


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses of these statuses, and of those common to all addresses."""
    documented = (*statuses, 401, 403, 422, 429, 500, 503)
    return {status: _response(status) for status in sorted(set(documented))}


def share_responses(document: dict[str, Any]) -> None:
    """Name the responses of problems once in an OpenAPI document, and refer to them."""
    shared: dict[str, Any] = {}
    for path in document["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                if MEDIA_TYPE in response.get("content", {}):
                    name = f"Problem{status}"
                    shared[name] = response
                    operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}
    for response in shared.values():
        response["content"][MEDIA_TYPE]["schema"] = {"$ref": "#/components/schemas/Problem"}
    components = document.setdefault("components", {})
    components["responses"] = dict(sorted(shared.items()))
    components.setdefault("schemas", {})["Problem"] = _SCHEMA


def _response(status: int) -> dict[str, Any]:
    example = problem(status, _DESCRIPTIONS[status])
    return {
        "description": _DESCRIPTIONS[status],
        "content": {MEDIA_TYPE: {"schema": _SCHEMA, "example": example}},
    }


def problem(status: int, detail: str, hint: str = "", **more: Any) -> dict[str, Any]:
    """The body of an answer that tells of a problem."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    return body | ({"hint": hint} if hint else {}) | more


def answer(
    path: str, body: dict[str, Any], headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An answer that tells of a problem, to a request for an address."""
    request = REQUEST_ID.get()
    content = in_words_of(path, body) | ({"request_id": request} if request else {})
    return JSONResponse(content, body["status"], headers=dict(headers or {}), media_type=MEDIA_TYPE)


def refusal(path: str, error: Exception) -> JSONResponse:
    """The answer to a request for an address that an error ended."""
    seconds = error.retry_after if isinstance(error, TouchstoneError) else None
    if scarcity(error):
        seconds = RETRY_SECONDS
    return answer(path, of(error), None if seconds is None else retry_after(seconds))


def retry_after(seconds: float) -> dict[str, str]:
    """The header that says how long to wait before the same request."""
    return {"Retry-After": str(math.ceil(seconds))}


def in_words_of(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The same with the members that callers of a compatible address look for."""
    if path.endswith("/retrieval"):
        code = _DIFY.get(body["status"], body["status"])
        return body | {"error_code": code, "error_msg": body["detail"]}
    if "/vector_stores/" in path:
        error = {"message": body["detail"], "type": body["title"], "code": None, "param": None}
        return body | {"error": error}
    return body


def of(error: Exception) -> dict[str, Any]:
    """The problem that an error is; one that nobody expected is logged under an id."""
    if isinstance(error, TouchstoneError):
        return problem(_status(error), error.message, error.hint)
    if lack := scarcity(error):
        log.error("%s %r", lack[0], error)
        return problem(503, *lack)
    identity = uuid.uuid4().hex[:8]
    log.error("Unexpected error, id %s.", identity, exc_info=error)
    detail = f"Unexpected error, id {identity}."
    return problem(500, detail, "The log of the server has the details.", instance=identity)


def _status(error: TouchstoneError) -> int:
    if isinstance(error, UnreadableDocument):
        return _READER_STATUS.get(error.reason, 422)
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def allowed(request: Request) -> str:
    """The methods that an address supports: each is a route of its own."""
    routes, scope = request.app.routes, request.scope
    methods = [
        method
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
        if any(route.matches({**scope, "method": method})[0] == Match.FULL for route in routes)
    ]
    return ", ".join((["HEAD"] if "GET" in methods else []) + methods)


def handle_errors(app: FastAPI) -> None:
    """Let an application answer every error with problem details."""

    async def refused(request: Request, error: Exception) -> JSONResponse:
        return refusal(request.url.path, error)

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        faults = error.errors()
        if any(fault["type"] == "json_invalid" for fault in faults):
            why = str(faults[0].get("ctx", {}).get("error"))
            return answer(request.url.path, problem(400, _DESCRIPTIONS[400], why))
        errors = [
            {"where": ".".join(map(str, fault["loc"])), "what": validation_words(fault)}
            for fault in faults
        ]
        detail = "; ".join(f"{fault['where']}: {fault['what']}" for fault in errors)
        return answer(request.url.path, problem(422, detail, errors=errors))

    async def http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        if isinstance(error.__cause__, ValueError | RecursionError):
            why = why_not_json(error.__cause__)
            return answer(
                request.url.path, problem(400, _DESCRIPTIONS[400], f"{why[0].upper()}{why[1:]}.")
            )
        description = _DESCRIPTIONS.get(error.status_code, error.detail)
        detail = error.detail if error.status_code in (403, 415) else description
        headers = {"Allow": allowed(request)} if error.status_code == 405 else error.headers
        return answer(request.url.path, problem(error.status_code, detail), headers)

    app.add_exception_handler(TouchstoneError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, refused)
