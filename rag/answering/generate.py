"""From a trace to an answer: refuse, quote, or ask a language model."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from rag.answering.asking.model_answer import ModelAnswer, Parts
from rag.answering.asking.prompt import Beside, Prompt, Wording
from rag.answering.asking.quote_sentence import (
    QuotesAnswer,
    QuoteSentence,
    answering_quotes,
    quotes_prompt,
)
from rag.answering.asking.sourcing import AnswerTool
from rag.answering.asking.suspicious import count_suspicious
from rag.answering.assessing.assess import Assessor, Sufficiency, with_assessment
from rag.answering.checking import with_checks
from rag.answering.citations import place_citations
from rag.answering.extractive import ChosenQuotes, QuoteFate, choose_quotes, quote_fates, quoted
from rag.answering.reading import PassageReader, Sources
from rag.answering.refusal import of_language, refusal
from rag.answering.stream import AnswerStream
from rag.answering.vocabulary import Vocabulary
from rag.protocols import ChatModel, Embedder
from rag.recipe import AnswerRecipe
from rag.types import Answer, AnswerStatus, Assessment, Citation, Delta, Example, Trace, Usage

QUOTES_MODE = "quotes"
_OF_PASSAGES = frozenset({"strict", "grounded", "auto"})
_NEEDS_MODEL = "needs a language model: choose a provider under Answers, or with answer.provider."


def answer(
    trace: Trace,
    recipe: AnswerRecipe,
    *,
    embedder: Embedder,
    chat: ChatModel | None,
    sources: Sources | None = None,
    words: Vocabulary | None = None,
    examples: Sequence[Example] = (),
    beside: Beside | None = None,
    tools: Sequence[AnswerTool] = (),
    sufficiency: Sufficiency | None = None,
) -> AnswerStream:
    """Answers the question of ``trace`` from ``trace.context``, or as the recipe's mode says.

    Without passages, modes that rest on them refuse and name the nearest misses; no model is
    asked. Without ``chat`` sentences are quoted. Nothing happens before the stream is read.
    ``beside`` is what a model is shown besides the passages; ``tools`` are those of mode auto.

    In the answer ``[n]`` counts the passages as they are cited; the pieces of a model's text have
    numbers of their own, which ``in_order`` turns into those. With ``sources``, citations have the
    page of the words that they quote, rows of tables are quoted whole, and a note names documents
    that went away meanwhile. ``words`` are those of the index that was searched.
    ``examples`` are past interactions for a model: as many as fit their share of the budget are
    shown to it, and stand in the answer. Quotes and refusals have no use for any.
    ``sufficiency`` checks an answer without doubt once more.
    """
    quotes = _Quotes(trace, embedder, sources, words, sufficiency)
    if chat is not None and words_quotes(recipe, trace):
        sentence = QuoteSentence(
            *(trace, recipe, chat, quotes.answer),
            embedder=embedder,
            words=quotes.words,
            beside=beside or Beside(),
        )
        return sentence.stream()
    if chat is not None:
        shown = replace(beside or Beside(), examples=tuple(examples))
        parts = Parts(embedder, sources, quotes.words, shown, tools, sufficiency)
        return ModelAnswer(trace, recipe, chat, parts).stream()
    if recipe.mode == "general":
        message = f"An answer from general knowledge {_NEEDS_MODEL}"
        return _refused(trace, message, "No language model is set.")
    needs_model = recipe.mode in ("balanced", "auto")
    unmet = f"Mode {recipe.mode} {_NEEDS_MODEL}" if needs_model else ""
    if not trace.context:
        text, note = refusal(trace)
        return _refused(trace, text, " ".join(filter(None, (trace.read_as, note, unmet))))
    return quotes.stream(unmet)


def words_quotes(recipe: AnswerRecipe, trace: Trace) -> bool:
    """Whether a model words the quotes for a recipe, in place of reading passages."""
    return recipe.evidence == "quotes" and has_evidence(recipe, trace)


def has_evidence(recipe: AnswerRecipe, trace: Trace | None) -> bool:
    """Whether a model answers from passages alone, and some were retrieved; None: not yet."""
    return recipe.mode in _OF_PASSAGES and (trace is None or bool(trace.context))


def sentence_prompt(
    trace: Trace,
    *,
    embedder: Embedder,
    sources: Sources | None,
    words: Vocabulary,
    wording: Wording,
) -> Prompt:
    """Return the prompt that asks a model to word the quotes of ``trace``.

    Raises ProviderError when a remote embedder fails.
    """
    quotes = _Quotes(trace, embedder, sources, words)
    answered = quotes.answer()
    shown = answered.shown(trace.corrected, quotes.words)
    worded = answering_quotes(shown, trace.corrected, answered.editions)
    return quotes_prompt(trace.corrected, worded, wording)


@dataclass(frozen=True, slots=True)
class QuotesExplanation:
    """The state of an answer of quotes, and what became of each passage, by its key."""

    assessment: Assessment | None = None
    fates: Mapping[int, QuoteFate] = field(default_factory=dict)


def explain_quotes(
    trace: Trace,
    recipe: AnswerRecipe,
    *,
    embedder: Embedder,
    sources: Sources | None = None,
    words: Vocabulary | None = None,
    sufficiency: Sufficiency | None = None,
) -> QuotesExplanation:
    """Explain what ``answer`` says to the question of ``trace`` without a language model.

    The sentences are chosen once for both. Raises ProviderError when a remote embedder fails.
    """
    if not trace.context:
        refused = answer(trace, recipe, embedder=embedder, chat=None, sources=sources, words=words)
        return QuotesExplanation(refused.answer.assessment)
    quotes = _Quotes(trace, embedder, sources, words, sufficiency)
    shown = quotes.stream().answer
    answers = {citation.n for citation in shown.citations if citation.answers}
    fates = {
        key: replace(fate, folded=bool(fate.number and answers) and fate.number not in answers)
        for key, fate in quote_fates(trace, quotes.choice).items()
    }
    return QuotesExplanation(shown.assessment, fates)


def _refused(trace: Trace, text: str, note: str) -> AnswerStream:
    def finish(text: str, usage: Usage, status: AnswerStatus, problem: str) -> Answer:
        ended: AnswerStatus = "refused" if status == "complete" else status
        return Answer(text, (), trace, QUOTES_MODE, ended, usage, note=problem or note)

    assessed = with_assessment(finish, None)
    return AnswerStream((Delta(part) for part in (text,)), assessed, trace)


class _Quotes:
    """The answer of quotes to the question of ``trace``, with the ``words`` of its index."""

    def __init__(
        self,
        trace: Trace,
        embedder: Embedder,
        sources: Sources | None,
        words: Vocabulary | None,
        sufficiency: Sufficiency | None = None,
    ) -> None:
        self.words = (words or Vocabulary()).for_question(trace.corrected, trace.corrections)
        self._trace, self._embedder, self._sources = trace, embedder, sources
        self._reader = PassageReader(sources)
        self._sufficiency = sufficiency

    @cached_property
    def choice(self) -> ChosenQuotes:
        """The quotes, chosen once. Raises ProviderError when a remote embedder fails."""
        return choose_quotes(self._trace, self._embedder, self._reader, self.words)

    def answer(self) -> QuotesAnswer:
        """The complete answer, with what a model needs to word it.

        Raises ProviderError when a remote embedder fails.
        """
        selection = self.choice.selection
        return QuotesAnswer(self.stream().answer, selection, self._sources)

    def stream(self, unmet: str = "") -> AnswerStream:
        """The answer; its note has ``unmet``, the warning for a mode that needs a model."""
        trace, embedder, reader = self._trace, self._embedder, self._reader
        all_citations = list[Citation]()

        def deltas() -> Generator[Delta, None, None]:
            text, citations = quoted(self.choice.selection)
            all_citations.extend(citations)
            yield Delta(text)

        def finish(text: str, usage: Usage, status: AnswerStatus, note: str) -> Answer:
            citations, gone = place_citations(all_citations, self._sources)
            note = " ".join(filter(None, (note, gone, trace.read_as, of_language(trace), unmet)))
            seen = count_suspicious(trace.context)
            mode = QUOTES_MODE
            return Answer(text, citations, trace, mode, status, usage, note=note, suspicious=seen)

        checked = with_checks(finish, embedder, reader, self.words, quoted=True)
        assessor = Assessor(
            *(embedder, reader, self.words), lambda: self.choice.edition, self._sufficiency
        )
        return AnswerStream(deltas(), with_assessment(checked, assessor), trace)
