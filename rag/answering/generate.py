"""From a trace to an answer: refuse, quote, or ask a language model."""

from __future__ import annotations

from collections.abc import Generator

from rag.answering.citations import check
from rag.answering.extractive import quotes
from rag.answering.prompting import messages, prompt_text, says_no_answer
from rag.answering.refusal import refusal
from rag.answering.stream import AnswerStream
from rag.protocols import ChatModel, Embedder
from rag.recipe import AnswerRecipe
from rag.types import Answer, AnswerStatus, Citation, Delta, Trace, Usage

QUOTES_MODE = "quotes"


def answer(
    trace: Trace, recipe: AnswerRecipe, *, embedder: Embedder, chat: ChatModel | None
) -> AnswerStream:
    """Answers the question of ``trace`` from ``trace.context``, which ``[n]`` counts from 1.

    Without passages it refuses and names the nearest misses; no model is asked. Without ``chat``
    it quotes sentences. Nothing happens before the stream is read.
    """
    if not trace.context:
        return _refused(trace, QUOTES_MODE if chat is None else recipe.mode)
    if chat is None:
        return _quoted(trace, embedder)
    return _grounded(trace, recipe, chat)


def _refused(trace: Trace, mode: str) -> AnswerStream:
    text, note = refusal(trace)

    def finish(said: str, usage: Usage, status: AnswerStatus, problem: str) -> Answer:
        ended: AnswerStatus = "refused" if status == "complete" else status
        return Answer(said, (), trace, mode, ended, usage, note=problem or note)

    return AnswerStream((Delta(part) for part in (text,)), finish)


def _quoted(trace: Trace, embedder: Embedder) -> AnswerStream:
    found = list[Citation]()

    def deltas() -> Generator[Delta, None, None]:
        text, citations = quotes(trace.question, trace.context, embedder)
        found.extend(citations)
        yield Delta(text)

    def finish(text: str, usage: Usage, status: AnswerStatus, note: str) -> Answer:
        return Answer(text, tuple(found), trace, QUOTES_MODE, status, usage, note=note)

    return AnswerStream(deltas(), finish)


def _grounded(trace: Trace, recipe: AnswerRecipe, chat: ChatModel) -> AnswerStream:
    hits = trace.context

    def deltas() -> Generator[Delta, None, None]:
        yield from chat.stream(
            messages(trace.question, hits),
            temperature=recipe.temperature,
            max_tokens=recipe.max_tokens,
        )

    def finish(text: str, usage: Usage, status: AnswerStatus, note: str) -> Answer:
        citations, unsupported = check(text, hits)
        prompt = prompt_text(trace.question, hits)
        if status == "complete":
            status, note = _verdict(text, usage, recipe)
        return Answer(text, citations, trace, recipe.mode, status, usage, prompt, unsupported, note)

    return AnswerStream(deltas(), finish)


def _verdict(text: str, usage: Usage, recipe: AnswerRecipe) -> tuple[AnswerStatus, str]:
    """How a reply that came to its end is to be taken, and why."""
    if not text.strip():
        return "failed", "The model sent an empty reply."
    if says_no_answer(text):
        return "refused", "The model found no answer in the passages."
    if usage.completion_tokens >= recipe.max_tokens:
        return "complete", f"Cut off at {recipe.max_tokens} tokens (answer.max_tokens)."
    return "complete", ""
