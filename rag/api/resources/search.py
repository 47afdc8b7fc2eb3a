"""Searches, explanations, and answers with citations, whole or as they are written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

from fastapi import Response
from fastapi.responses import JSONResponse
from pydantic import ConfigDict, Field, StringConstraints

from rag import (
    LONGEST_QUESTION,
    AnswerData,
    AnswerStream,
    ComparedData,
    FederatedBase,
    FindingsData,
    FurtherBase,
    HitData,
    InvalidInput,
    KnowledgeBase,
    PassageData,
    ProviderError,
    Recipe,
    ScopedWorkspace,
    TraceData,
    changed_recipe,
    compared_data,
    findings_data,
    passage_data,
    passage_key,
)
from rag.api import problems
from rag.api.resource import Base, Resource, Shared, base_called, needs
from rag.api.resources.recipes import RecipeRequest
from rag.api.threads import ANSWERS, STREAM, dear, event, in_thread, streamed

Text = Annotated[str, StringConstraints(max_length=LONGEST_QUESTION)]

search = Resource("search")


class SearchRequest(RecipeRequest):
    """A question, and by which recipe: the saved one, or with fields changed."""

    question: Text
    also: list[str] = Field([], max_length=20, description="further knowledge bases to search")

    def recipe_of(self, base: KnowledgeBase) -> Recipe:
        """The recipe that is meant. Raises InvalidRecipe; InvalidInput without an index for it."""
        return _built(base, super().recipe_of(base))

    def beside(self, workspace: ScopedWorkspace, base: KnowledgeBase) -> list[FederatedBase]:
        """The other knowledge bases. Raises NotFound, InvalidInput."""
        others = [FurtherBase(base_called(workspace, name).name) for name in self.also]
        return workspace.beside(base.name, others)


class ExplainRequest(SearchRequest):
    """A question, and what of its answer is to be explained: one of the last four fields."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"question": "How long is leave?", "find": "31 March"}]}
    )

    chunk_id: str | None = Field(None, description="a passage")
    find: Text | None = Field(None, description="words that the passages contain")
    document: str | None = Field(None, description="the id of a document, or its name")
    against: dict[str, Any] | None = Field(None, description="fields of another recipe")
    attribution: bool = Field(
        False, description="also the words that contribute to the cosine; slower"
    )


@search.post("/knowledge-bases/{kb}/search", **needs("read", 400, 404, 415, 502))
def search_passages(workspace: Shared, base: Base, body: SearchRequest) -> TraceData:
    """Passages for a question, with every figure, and what each stage did."""
    recipe = body.recipe_of(base)
    return TraceData.of(base.search(body.question, recipe, body.beside(workspace, base)))


@search.post("/knowledge-bases/{kb}/explain", **needs("read", 400, 404, 415, 502))
@dear
def explain_passage(base: Base, body: ExplainRequest) -> PassageData | FindingsData | ComparedData:
    """Explain why passages are found or not, and which changes would make a difference."""
    recipe = body.recipe_of(base)
    if body.against is not None:
        other = _built(base, changed_recipe(recipe, fields=body.against))
        return compared_data(base.explanations.compare(body.question, recipe, other))
    explainer = base.explanations.explain(body.question, recipe)
    if body.chunk_id is not None:
        key = passage_key(body.chunk_id)
        attribution = explainer.attribution(key) if body.attribution else None
        return passage_data(explainer, explainer.standing(key), explainer.changes(key), attribution)
    if body.find is not None:
        findings = explainer.find(body.find)
    elif body.document is not None:
        findings = explainer.in_document(explainer.document_id(body.document))
    else:
        raise InvalidInput("Specify what to explain.", "Give chunk_id, find, document, or against.")
    changes = [explainer.changes(finding.standing.chunk.key) for finding in findings]
    return findings_data(explainer, findings, changes)


def _built(base: KnowledgeBase, recipe: Recipe) -> Recipe:
    if recipe.index.hash not in {build.hash for build in base.documents.builds()}:
        raise InvalidInput(
            "There is no index for these fields of the recipe.",
            "Save the recipe, which builds it, or leave index fields as they are.",
        )
    return recipe


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
