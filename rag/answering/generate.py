"""From a trace to an answer: refuse, quote, or ask a language model."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from rag.answering.checking import with_checks
from rag.answering.citations import check, in_order
from rag.answering.examples import fitted
from rag.answering.extractive import quotes
from rag.answering.prompting import messages, prompt_text, says_no_answer
from rag.answering.reading import PassageReader
from rag.answering.refusal import refusal
from rag.answering.sources import Sources, placed
from rag.answering.stream import AnswerStream
from rag.answering.vocabulary import Vocabulary
from rag.protocols import ChatModel, Embedder
from rag.recipe import AnswerRecipe
from rag.types import Answer, AnswerStatus, Citation, Delta, Example, Trace, Usage

QUOTES_MODE = "quotes"


def answer(
    trace: Trace,
    recipe: AnswerRecipe,
    *,
    embedder: Embedder,
    chat: ChatModel | None,
    sources: Sources | None = None,
    words: Vocabulary | None = None,
    examples: Sequence[Example] = (),
) -> AnswerStream:
    """Answers the question of ``trace`` from ``trace.context``.

    Without passages it refuses and names the nearest misses; no model is asked. Without ``chat``
    it quotes sentences. Nothing happens before the stream is read.

    In the answer ``[n]`` counts the passages as they are cited; the pieces of a model's text have
    numbers of their own, which ``in_order`` turns into those. With ``sources``, citations have the
    page of the words that they quote, rows of tables are quoted whole, and a note names documents
    that went away meanwhile. ``words`` are those of the index that was searched.
    ``examples`` are past interactions for a model: as many as fit their share of the budget are
    shown to it, and stand in the answer. Quotes and refusals have no use for any.
    """
    words = words or Vocabulary()
    if not trace.context:
        return _refused(trace, QUOTES_MODE if chat is None else recipe.mode)
    if chat is None:
        return _quoted(trace, embedder, sources, words)
    shown = fitted(examples, recipe.context_tokens, embedder.tokenizer.count)
    return _grounded(trace, recipe, chat, embedder, sources, words, shown)


def _refused(trace: Trace, mode: str) -> AnswerStream:
    text, note = refusal(trace)

    def finish(said: str, usage: Usage, status: AnswerStatus, problem: str) -> Answer:
        ended: AnswerStatus = "refused" if status == "complete" else status
        return Answer(said, (), trace, mode, ended, usage, note=problem or note)

    return AnswerStream((Delta(part) for part in (text,)), finish)


def _quoted(
    trace: Trace, embedder: Embedder, sources: Sources | None, words: Vocabulary
) -> AnswerStream:
    found = list[Citation]()

    def deltas() -> Generator[Delta, None, None]:
        text, citations = quotes(trace.question, trace.context, embedder, sources, words)
        found.extend(citations)
        yield Delta(text)

    def finish(text: str, usage: Usage, status: AnswerStatus, note: str) -> Answer:
        citations, gone = placed(found, sources)
        note = " ".join(filter(None, (note, gone, of_language(trace))))
        return Answer(text, citations, trace, QUOTES_MODE, status, usage, note=note)

    reader = PassageReader(sources)
    return AnswerStream(deltas(), with_checks(finish, embedder, reader, words, quoted=True))


def _grounded(
    trace: Trace,
    recipe: AnswerRecipe,
    chat: ChatModel,
    embedder: Embedder,
    sources: Sources | None,
    words: Vocabulary,
    examples: tuple[Example, ...],
) -> AnswerStream:
    hits, reader = trace.context, PassageReader(sources)

    def deltas() -> Generator[Delta, None, None]:
        yield from chat.stream(
            messages(trace.question, hits, reader, examples),
            temperature=recipe.temperature,
            max_tokens=recipe.max_tokens,
        )

    def finish(text: str, usage: Usage, status: AnswerStatus, note: str) -> Answer:
        cited, unsupported = check(text, hits, trace.question, reader, words)
        cited = tuple(replace(one, n=n) for n, one in enumerate(cited, start=1))
        citations, gone = placed(cited, sources)
        prompt = prompt_text(trace.question, hits, reader, examples)
        if status == "complete":
            status, note = _verdict(text, usage, recipe)
        text = in_order(text, len(hits))
        note = " ".join(filter(None, (note, gone, of_language(trace))))
        said = Answer(text, citations, trace, recipe.mode, status, usage, prompt, unsupported, note)
        return replace(said, examples=examples)

    return AnswerStream(deltas(), with_checks(finish, embedder, reader, words))


def of_language(trace: Trace) -> str:
    """What a reader is told of a question in a language that the embedder does not know."""
    stage = trace.stage("language")
    return f"{stage.note[0].upper()}{stage.note[1:]}." if stage else ""


def _verdict(text: str, usage: Usage, recipe: AnswerRecipe) -> tuple[AnswerStatus, str]:
    """How a reply that came to its end is to be taken, and why."""
    if not text.strip():
        return "failed", "The model sent an empty reply."
    if says_no_answer(text):
        return "refused", "The model found no answer in the passages."
    if usage.completion_tokens >= recipe.max_tokens:
        return "complete", f"Cut off at {recipe.max_tokens} tokens (answer.max_tokens)."
    return "complete", ""
