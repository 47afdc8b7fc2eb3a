"""Answers with citations, whole or as they are written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from fastapi import Response
from fastapi.responses import JSONResponse
from pydantic import Field

from rag import AnswerData, AnswerStream, HitData, KnowledgeBase, ProviderError, ScopedWorkspace
from rag.api import problems
from rag.api.events import STREAM, event, streamed
from rag.api.resource import Base, Resource, Shared, needs
from rag.api.resources.search import SearchRequest
from rag.api.threads import ANSWERS, in_thread

answers = Resource("answers")


class AskRequest(SearchRequest):
    """A question to answer."""

    stream: bool = Field(False, description="answer as server-sent events")


@answers.post(
    "/knowledge-bases/{kb}/ask",
    **needs(
        "ask",
        *(400, 404, 415, 502),
        response_model=AnswerData,
        content_by_status={200: {**STREAM, "description": "An answer, or its events."}},
    ),
)
async def ask_question(workspace: Shared, base: Base, body: AskRequest) -> Response:
    """Answer a question with citations.

    With ``stream`` as server-sent events: ``passages`` once, ``text`` for each piece, ``replaced``
    with another text where the pieces do not stand as the answer, then ``answer`` with all of it,
    or ``problem``.
    """
    if not body.stream:
        answer = await in_thread(_answer, ANSWERS)(workspace, base, body)
        return JSONResponse(answer.dump())
    return streamed(_in_threads(_events(await in_thread(_begun, ANSWERS)(workspace, base, body))))


def _begun(workspace: ScopedWorkspace, base: KnowledgeBase, body: AskRequest) -> AnswerStream:
    """An answer whose search is done."""
    return base.ask(body.question, body.recipe_of(base), body.beside(workspace, base))


def _answer(workspace: ScopedWorkspace, base: KnowledgeBase, body: AskRequest) -> AnswerData:
    stream = _begun(workspace, base, body)
    answer = stream.answer
    if answer.status == "failed":
        raise stream.error or ProviderError(answer.note)
    return AnswerData.of(answer)


def _events(stream: AnswerStream) -> Iterator[bytes]:
    try:
        yield event("passages", [HitData.of(hit).dump() for hit in stream.trace.hits])
        for piece in stream:
            yield event("text", piece)
        if stream.answer.status == "failed":
            why = stream.error or ProviderError(stream.answer.note)
            yield event("problem", problems.of(why))
        else:
            if stream.answer.written:
                yield event("replaced", stream.answer.text)
            yield event("answer", AnswerData.of(stream.answer).dump())
    except Exception as error:  # the answer has begun: only an event can still tell
        yield event("problem", problems.of(error))
    finally:
        stream.close()  # a client that left is written to no longer


async def _in_threads(events: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The same events, each waited for in a thread."""
    try:
        while (piece := await in_thread(next, ANSWERS)(events, None)) is not None:
            yield piece
    finally:
        if hasattr(events, "close"):
            events.close()
