"""One answer of a language model: asked, asked again where that helps, and what came of it.

Paragraphs from general knowledge are marked as such, also where the model forgot it.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

from rag.answering.asking.prompt import (
    GENERAL,
    NO_ANSWER,
    Beside,
    Prompt,
    prompt_of,
    says_no_answer,
)
from rag.answering.asking.sourcing import AnswerTool, Sourcing
from rag.answering.asking.speech import Listener
from rag.answering.asking.suspicious import count_suspicious
from rag.answering.assessing.assess import Assessor, Sufficiency, with_assessment
from rag.answering.checking import with_checks
from rag.answering.checking.figures import blank_mentions
from rag.answering.citations import check, in_order, mentions, place_citations
from rag.answering.extractive import quotes
from rag.answering.reading import PassageReader, Sources
from rag.answering.refusal import of_language, refusal
from rag.answering.stream import AnswerStream
from rag.answering.vocabulary import Vocabulary
from rag.errors import ContextOverflow, ProviderError
from rag.protocols import ChatModel, Embedder
from rag.recipe import AnswerRecipe
from rag.types import (
    MUST_CITE,
    Answer,
    AnswerStatus,
    Citation,
    Decision,
    DecisionStep,
    Delta,
    Hit,
    Message,
    Span,
    Trace,
    Usage,
)

SMALLER = 0.5
"""The share of its tokens that a prompt keeps that was too long, where nobody tells the limit."""
_SAFETY = 0.8  # of a limit that is reported: other tokenizers count otherwise
_DEMANDED = frozenset({"strict", "tool", "balanced"})


@dataclass(frozen=True, slots=True)
class Parts:
    """The components that an answer needs besides the model."""

    embedder: Embedder
    sources: Sources | None
    words: Vocabulary
    beside: Beside
    tools: Sequence[AnswerTool] = ()
    sufficiency: Sufficiency | None = None


class ModelAnswer:
    """Makes one answer; ``stream`` may be read once.

    While it is being read, another thread may end it: what was decided and said by then is kept.
    """

    def __init__(self, trace: Trace, recipe: AnswerRecipe, chat: ChatModel, parts: Parts) -> None:
        self._recipe, self._parts = recipe, parts
        self._listener = Listener(chat, recipe.temperature)
        self._reader = PassageReader(parts.sources)
        self._decisions = list[Decision]()
        self._sourcing = Sourcing(
            trace, recipe, self._listener, parts.beside, parts.tools, self._decisions
        )
        self._shown: tuple[Hit, ...] | None = None  # those of the hits that the prompt has
        self._prompt: Prompt | None = None
        self._demanded = False
        self._revised = ""
        self._refusal = ""
        self._quotes: tuple[Citation, ...] = ()

    @property
    def _mode(self) -> str:
        return self._sourcing.mode

    @property
    def _trace(self) -> Trace:
        return self._sourcing.trace

    @property
    def _hits(self) -> tuple[Hit, ...]:
        return self._sourcing.hits if self._shown is None else self._shown

    def stream(self) -> AnswerStream:
        """The answer, piece by piece. Nothing happens before it is read."""
        parts = self._parts
        checked = with_checks(self._finish, parts.embedder, self._reader, parts.words)
        assessor = Assessor(
            parts.embedder, self._reader, parts.words, sufficiency=parts.sufficiency
        )
        assessed = with_assessment(lambda *end: _without_general(checked(*end)), assessor)
        return AnswerStream(self._deltas(), assessed, self._trace)

    def _deltas(self) -> Generator[Delta, None, None]:
        yield from self._sourcing.settle()
        if self._mode in ("strict", "grounded") and not self._hits:
            text, self._refusal = refusal(self._trace)
            yield Delta(text)
            return
        text = ""
        for delta in self._reply():
            text += delta.text
            yield delta
        if self._lacks_citations(text):
            yield Delta()
            self._demand(text)
            if self._lacks_citations(self._revised or text):
                self._quote()

    def _decide(self, step: DecisionStep, chosen: str, why: str, *, failed: bool = False) -> None:
        self._decisions.append(Decision(step, chosen, why, failed))

    @property
    def _beside(self) -> Beside:
        return self._parts.beside

    def _written(self, beside: Beside, total: int | None = None) -> Prompt:
        count = self._parts.embedder.tokenizer.count
        question, recipe = self._trace.question, self._recipe
        hits = self._hits
        return prompt_of(self._mode, question, hits, recipe, beside, self._reader, count, total)

    def _reply(self) -> Iterator[Delta]:
        """The reply; where the prompt was too long for the model, that to a shorter one.

        A model says so before the first word of a reply.
        """
        prompt = self._prompt = self._written(self._beside)
        self._shown = prompt.hits
        try:
            yield from self._listener.stream(prompt.messages, self._longest(prompt))
        except ContextOverflow as error:
            shorter = self._shorter(prompt, error)
            if shorter is None:
                raise
            self._prompt, self._shown = shorter, shorter.hits
            yield from self._listener.stream(shorter.messages, self._longest(shorter))

    def _longest(self, prompt: Prompt) -> int:
        """Return the token limit of the answer: the recipe's limit, within the remaining budget."""
        if prompt.spending is None:
            return self._recipe.max_tokens
        remaining = self._recipe.context_tokens - prompt.spending.prompt
        return min(self._recipe.max_tokens, max(prompt.spending.answer, remaining))

    def _shorter(self, prompt: Prompt, error: ContextOverflow) -> Prompt | None:
        """A prompt with fewer passages and nothing beside them; None where none is shorter."""
        count = self._parts.embedder.tokenizer.count
        begun = count(self._beside.begun)
        size = count(prompt.text) + begun + self._longest(prompt)
        share = error.share * _SAFETY if error.share else SMALLER
        beside = Beside(wording=self._beside.wording)
        if self._mode == "grounded":
            passage_count = max(int(len(prompt.hits) * share), 1)
            self._shown = tuple(prompt.hits[:passage_count])
            shorter = replace(self._written(self._beside), version=prompt.version)
        else:
            shorter = self._written(beside, max(int(size * share) - begun, 1))
        if len(shorter.text) >= len(prompt.text):
            return None
        description = f"{len(shorter.hits)} of {len(prompt.hits)} passages"
        extras = self._beside.history or self._beside.examples
        description += ", without conversation and examples" if extras else ""
        self._decide("context", f"asked again with {description}", error.message)
        return shorter

    def _lacks_citations(self, text: str) -> bool:
        if self._mode not in MUST_CITE or not text.strip() or says_no_answer(text):
            return False
        if self._mode == "balanced" and all_general(text):
            return False
        cited = (number for mention in mentions(text) for number in mention.numbers)
        return not any(1 <= number <= len(self._hits) for number in cited)

    def _demand(self, text: str) -> None:
        """Asks once more for citations; what comes counts only where it has some, or refuses."""
        if self._mode not in _DEMANDED or self._prompt is None:
            return
        self._demanded = True
        again = self._beside.wording.filled("citations", no_answer=NO_ANSWER)
        messages = [
            *self._prompt.messages,
            Message("assistant", text),
            Message("user", again),
        ]
        first = self._listener.last
        try:
            reply = self._listener.hear(messages, self._longest(self._prompt))
        except ProviderError as error:
            self._decide("citations", "asked once more", error.message, failed=True)
            return
        if not reply or self._lacks_citations(reply):
            self._listener.last = first
            why = "neither answer cites a passage"
            self._decide("citations", "asked once more", why, failed=True)
            return
        self._revised = reply
        self._decide("citations", "asked once more", "the first answer cited no passage")

    def _quote(self) -> None:
        parts, question = self._parts, self._trace.corrected
        try:
            citations = quotes(question, self._hits, parts.embedder, self._reader, parts.words)[1]
        except ProviderError:
            return
        self._quotes = place_citations(citations, parts.sources)[0]

    def _finish(self, text: str, usage: Usage, status: AnswerStatus, note: str) -> Answer:
        text = self._revised or text
        cited, unsupported = check(
            text, self._hits, self._trace.corrected, self._reader, self._parts.words
        )
        cited = tuple(replace(one, n=n) for n, one in enumerate(cited, start=1))
        citations, gone = place_citations(cited, self._parts.sources)
        notes = [note]
        if self._refusal:
            status = "refused" if status == "complete" else status
            notes = [note or self._refusal]
        elif status == "complete":
            status, verdict_note = self._verdict(text)
            notes = [verdict_note]
        text = in_order(text, len(self._hits))
        if self._mode == "balanced" and status != "refused":
            text = self._with_marks(text)
        notes += [*self._warnings(status, unsupported, bool(citations)), gone]
        notes += [self._trace.read_as, of_language(self._trace)]
        prompt = self._prompt
        spending = prompt.spending if prompt else None
        return Answer(
            text,
            citations,
            self._trace,
            self._mode,
            status,
            self._listener.usage,
            prompt.text if prompt else "",
            unsupported,
            " ".join(filter(None, notes)),
            examples=prompt.examples if prompt else (),
            decisions=tuple(self._decisions),
            budget=spending.parts if spending else (),
            prompt_version=self._version() if prompt else "",
            quotes=self._quotes,
            suspicious=count_suspicious(self._hits),
        )

    def _version(self) -> str:
        steps = ["decide"] if self._sourcing.asked else []
        again = ["citations"] if self._demanded else []
        return self._beside.wording.version(*steps, self._mode, *again)

    def _with_marks(self, text: str) -> str:
        text, added = marked_general(text)
        if added:
            paragraphs = "1 paragraph" if added == 1 else f"{added} paragraphs"
            self._decide("general", f"{paragraphs} marked", "no passage is cited there")
        return text

    def _warnings(
        self, status: AnswerStatus, unsupported: Sequence[int], cites: bool
    ) -> Iterator[str]:
        if unsupported:
            numbers = "".join(f"[{number}]" for number in unsupported)
            yield f"It cites {numbers}, but there is no such passage."
        if status == "complete" and self._mode in MUST_CITE and not cites:
            yield "The model cites no passage, so nothing supports this answer."
        if any(decision.step == "context" for decision in self._decisions):
            yield "The prompt was too long for the model and was shortened."

    def _verdict(self, text: str) -> tuple[AnswerStatus, str]:
        """Return the status of a complete reply, and the reason for it."""
        if not any(map(str.isalnum, blank_mentions(text, mentions(text)))):
            said = "only citations" if text.strip() else "an empty reply"
            return "failed", f"The model sent {said}."
        if self._mode in MUST_CITE and self._mode != "balanced" and says_no_answer(text):
            where = "the result of the tool" if self._mode == "tool" else "the passages"
            return "refused", f"The model found no answer in {where}."
        longest = self._longest(self._prompt) if self._prompt else self._recipe.max_tokens
        if self._listener.last.completion_tokens >= longest:
            return "complete", f"Cut off at {longest} tokens (answer.max_tokens)."
        return "complete", ""


def _without_general(answer: Answer) -> Answer:
    """The answer without checks of what is general knowledge: no passage is meant to bear it.

    A sentence that cites one all the same is compared with it.
    """
    if answer.mode == "general":
        return replace(answer, sentences=())
    spans = general_spans(answer.text) if answer.mode == "balanced" else ()
    grounded = (
        check
        for check in answer.sentences
        if check.cited or not any(start <= check.start < end for start, end in spans)
    )
    return replace(answer, sentences=tuple(grounded))


_PARAGRAPHS = re.compile(r"(\n\s*\n)")
_STATEMENT = re.compile(rf"[*_>\s]*{re.escape(GENERAL[:-1])}\b[*_]*:?[*_]*\s*", re.IGNORECASE)
_LEADS_ON = re.compile(r"\s*#{1,6}\s|.*:[*_\s]*$", re.DOTALL)


def marked_general(text: str) -> tuple[str, int]:
    """A text whose paragraphs without a citation begin with ``GENERAL``, and how many lacked it.

    Headings, and what leads on with a colon, are left alone. So is code.
    """
    pieces, added = list[str](), 0
    for piece, fenced in _pieces(text):
        if not _PARAGRAPHS.fullmatch(piece) and not fenced and _states(piece):
            piece = f"{GENERAL} {piece.lstrip()}"
            added += 1
        pieces.append(piece)
    return "".join(pieces), added


def general_statement(paragraph: str) -> str | None:
    """Return the statement of a paragraph that is marked as general knowledge, or None."""
    match = _STATEMENT.match(paragraph)
    return paragraph[match.end() :] if match else None


def general_spans(text: str) -> list[Span]:
    """Return the spans of the paragraphs that are marked as general knowledge."""
    spans, at = list[Span](), 0
    for piece in _PARAGRAPHS.split(text):
        if general_statement(piece) is not None:
            spans.append((at, at + len(piece)))
        at += len(piece)
    return spans


def all_general(text: str) -> bool:
    """Whether every paragraph of a text says so."""
    paragraphs = [piece for piece in _PARAGRAPHS.split(text) if piece.strip()]
    return bool(paragraphs) and None not in map(general_statement, paragraphs)


def _states(paragraph: str) -> bool:
    return (
        bool(paragraph.strip())
        and general_statement(paragraph) is None
        and not mentions(paragraph)
        and not _LEADS_ON.match(paragraph)
    )


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Paragraphs and what parts them, each with whether a fence of code is open there."""
    fenced = False
    for piece in _PARAGRAPHS.split(text):
        ticks = piece.count("```")
        yield piece, fenced or ticks > 0
        fenced ^= ticks % 2 == 1
