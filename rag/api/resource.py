"""Base of all resources: a scope for each address, threads and pagination of lists."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from email.message import Message
from inspect import iscoroutinefunction
from types import MappingProxyType
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, HTTPException, Path, Query, Request, Response
from fastapi.params import Form
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rag import (
    LONGEST_NAME,
    InvalidInput,
    KnowledgeBase,
    Made,
    NotFound,
    Schema,
    ScopedWorkspace,
    find_fault,
)
from rag.api import problems
from rag.api.admission import busy, holder, principal_of, require
from rag.api.threads import READS, WRITES, in_thread, is_dear

MOST = 200  # of a list at once
MOST_ID = 2**31 - 1
_KB = "the id of a knowledge base, or its name"
_KEY = "for 24 hours, the same request with the same key creates nothing new"

Row = TypeVar("Row")
Item = TypeVar("Item")
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Scoped(APIRoute):
    """An address that asks for a scope, and for the media type, before it reads a body."""

    def get_route_handler(self) -> Handler:
        """Return the handler of a request, which checks the scope and media type first."""
        handle = super().get_route_handler()
        scope = scope_of(self)
        field = self.body_field
        form = field is not None and isinstance(field.field_info, Form)

        async def admitted(request: Request) -> Response:
            require(request, scope)
            if field is not None:
                wanted = "multipart/form-data" if form else "application/json"
                message = Message()
                message["content-type"] = request.headers.get("content-type", "")
                if message.get_content_type() != wanted:
                    raise HTTPException(415, f"Send the body as {wanted}.")
            given = [*request.path_params.values(), *request.query_params.values()]
            _refuse(given)
            if any(isinstance(value, str) and len(value) > LONGEST_NAME for value in given):
                raise InvalidInput(
                    f"A name in the address has more than {LONGEST_NAME} characters."
                )
            if form:  # read once: the address gets what was read here
                sent = (await request.form()).multi_items()
                _refuse([getattr(value, "filename", value) for _, value in sent])
            if not is_dear(self.endpoint):
                return await handle(request)
            with request.app.state.workspace.access.dear_requests.one(holder(request).id) as first:
                return await handle(request) if first else busy(request.url.path)

        return admitted


def scope_of(route: APIRoute) -> str:
    """The scope that an address needs, as its OpenAPI document has it."""
    needed: str = (route.openapi_extra or {})["security"][0]["bearer"][0]
    return needed


def _refuse(given: Any) -> None:
    if fault := find_fault(given):
        raise InvalidInput(f"{fault}.")


class Resource(APIRouter):
    """The addresses of one kind of thing. What blocks runs in a thread, so many at a time."""

    def __init__(self, title: str) -> None:
        super().__init__(tags=[title], route_class=Scoped)

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Add an address."""
        if not iscoroutinefunction(endpoint):
            scope = options["openapi_extra"]["security"][0]["bearer"][0]
            endpoint = in_thread(endpoint, READS if scope in ("read", "ask") else WRITES)
        options |= {"operation_id": endpoint.__name__}  # the name of a method of generated clients
        super().add_api_route(path, endpoint, **options)


def needs(
    scope: str,
    *statuses: int,
    content_by_status: Mapping[int | str, dict[str, Any]] = MappingProxyType({}),
    **more: Any,
) -> dict[str, Any]:
    """The options of an address: the scope it needs, problems it may have, what it answers.

    The model of the answer is what the function returns, or ``response_model`` where that is a
    response. ``content_by_status`` says what it answers by status, where that is no JSON.
    """
    described = problems.responses(*statuses) | dict(content_by_status)
    extra = {"security": [{"bearer": [scope]}]}
    return {"openapi_extra": extra, "responses": described, **more}


async def _workspace(request: Request) -> ScopedWorkspace:
    return ScopedWorkspace(request.app.state.workspace, principal_of(holder(request), "api"))


Shared = Annotated[ScopedWorkspace, Depends(_workspace)]
"""The workspace as the owner of the token sees it."""


def _base(workspace: Shared, kb: Annotated[str, Path(description=_KB, max_length=80)]) -> Any:
    return base_called(workspace, kb)


def base_called(workspace: ScopedWorkspace, kb: str) -> KnowledgeBase:
    """A knowledge base by id, or by name. Raises NotFound."""
    if kb.isascii() and kb.isdigit() and int(kb) <= MOST_ID:
        try:
            return workspace.base_with_id(int(kb))
        except NotFound:  # digits may be a name too
            return workspace.base(kb)
    return workspace.base(kb)


Base = Annotated[KnowledgeBase, Depends(in_thread(_base))]
"""The knowledge base that an address names."""

RowId = Annotated[int, Path(ge=1, le=MOST_ID)]
"""The number of a job or a label."""


class Body(BaseModel):
    """A request body. Unknown fields are refused, so that a misspelled field is an error."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _is_text_and_numbers(cls, sent: Any) -> Any:
        if fault := find_fault(sent):
            raise ValueError(fault)
        return sent


class Page(Schema, Generic[Item]):
    """A page of a list: its items, how many there are in all, and the address of the next page."""

    items: list[Item]
    total: int
    next: str | None


class Paging(BaseModel):
    """The limit and offset of a page of a list."""

    limit: int = Field(50, ge=1, le=MOST)
    offset: int = Field(0, ge=0, le=MOST_ID)

    def of(self, request: Request, rows: Sequence[Row], show: Callable[[Row], Item]) -> Page[Item]:
        """A page of a list, of which only these rows are shown."""
        items = list(map(show, rows[self.offset : self.offset + self.limit]))
        return self.page(request, items, len(rows))

    def page(self, request: Request, items: list[Item], total: int) -> Page[Item]:
        """A page of these items, of ``total`` in all."""
        end = self.offset + self.limit
        later = request.url.include_query_params(limit=self.limit, offset=end)
        address = f"{later.path}?{later.query}" if end < total else None
        return Page(items=items, total=total, next=address)


Part = Annotated[Paging, Query()]
"""``limit`` and ``offset`` of a list."""


IfMatch = Annotated[
    str | None, Header(description="the ETag of the state to change; another state is refused")
]


def entity_tag(state: object) -> str:
    """The ETag of a state, such as a hash or a version (RFC 9110, section 8.8.3)."""
    return f'"{state}"'


def check_match(if_match: str | None, state: object) -> None:
    """Refuse with 412 a change of another state than the caller has seen (RFC 9110, 13.1.1)."""
    if if_match is not None and if_match.strip() != "*":
        tags = [tag.strip() for tag in if_match.split(",")]
        if entity_tag(state) not in tags:
            raise HTTPException(412)


class IdempotentReply:
    """A maker of replies, which repeats what was made for the same idempotency key."""

    def __init__(self, request: Request, key: str | None) -> None:
        self._request = request
        self._key = key

    def __call__(self, body: Any, make: Callable[[], Made]) -> JSONResponse:
        """``body`` is what the request says beside its address: its model, or plain data."""
        request = self._request
        body = body.model_dump() if isinstance(body, Body) else body
        if self._key is None:
            made = make()
        else:
            replies = request.app.state.workspace.access.replies
            request_digest = [request.method, request.url.path, body]
            made = replies.make_or_repeat(holder(request).id, self._key, request_digest, make)
        headers = {"Location": made.location} if made.location else {}
        return JSONResponse(made.body, made.status, headers=headers)


async def _once(
    request: Request,
    idempotency_key: Annotated[str | None, Header(description=_KEY, max_length=255)] = None,
) -> IdempotentReply:
    return IdempotentReply(request, idempotency_key)


Maker = Annotated[IdempotentReply, Depends(_once)]
"""For addresses that make things."""


def where(request: Request, *parts: object) -> str:
    """An address below that of the API."""
    root = request.scope.get("root_path", "")
    return "/".join([f"{root}/v1", *(quote(str(part), safe="") for part in parts)])
