"""Drafts of questions to accept or reject: by a model, or offline from passages.

Drafts of questions to accept or reject, and the passages that they are made from.

Passages are picked by a seed, spread over all documents. A draft that shares rare words with its
passage makes retrieval easy; the check for it is lexical leakage.

Test queries cut from the text itself, without a language model.

They are what they are: a sentence with a gap, a sentence's rarest words, or a heading. All of them
use the words of their passage, so they flatter search by words; their leak score says how much.
They serve to try a recipe on documents that nobody has asked about yet.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from math import fsum, log
from pathlib import Path
from typing import Any, Literal, get_args

from rag.answering.asking.sourcing import objects
from rag.answering.statements.sentences import Statement, statements
from rag.answering.words import content_words
from rag.errors import ProviderMisbehaved
from rag.evaluation.anchoring import Haystack
from rag.evaluation.judging import Spans
from rag.fences import fenced
from rag.protocols import ChatModel
from rag.types import Chunk, Evidence, Message

LONG_ENOUGH = 120
"""Characters. Shorter passages are mostly titles; they are taken only where all are short."""


def sample(spans: Spans, number: int, seed: int) -> list[int]:
    """Keys of ``number`` passages (or all there are), one of every document before a second one.

    The same seed takes the same passages on every machine.
    """
    long = {name: _long(chunks) for name, chunks in spans.items()}
    if not any(long.values()):
        long = {name: [key for key, _, _ in chunks] for name, chunks in spans.items()}
    return list(islice(_in_turn(long, seed), number))


def _long(chunks: Sequence[tuple[int, int, int]]) -> list[int]:
    return [key for key, start, end in chunks if end - start >= LONG_ENOUGH]


def _in_turn(keys: Mapping[str, Sequence[int]], seed: int) -> Iterator[int]:
    documents = sorted(keys, key=lambda name: _place(seed, name))
    shuffled = [sorted(keys[name], key=lambda key: _place(seed, key)) for name in documents]
    for row in zip_longest(*shuffled):
        yield from (key for key in row if key is not None)


def _place(seed: int, item: object) -> bytes:
    return hashlib.sha256(f"{seed}\0{item}".encode()).digest()


class Rarity:
    """Rarity weights of the words in some texts, compared by rough stems.

    Stems ignore inflection. Weights are summed exactly because sets have no order: values are the
    same in every run.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._counts: Counter[str] = Counter()
        self._texts = 0
        for text in texts:
            self._counts.update(content_words(text))
            self._texts += 1

    def weight(self, stem: str) -> float:
        """log((n + 1) / df): next to nothing for a word of all n texts (df of them have it).

        A word that no text has counts as if half of one had it.
        """
        return log((self._texts + 1) / max(self._counts[stem], 0.5))

    def leak(self, question: str, passages: Iterable[str]) -> float:
        """The share, from 0 to 1, of a question's words that stand in its passages, by weight."""
        words = content_words(question)
        there = frozenset[str]().union(*map(content_words, passages))
        total = fsum(map(self.weight, words))
        return fsum(map(self.weight, words & there)) / total if total else 0.0

    def shared(self, one: str, other: str) -> float:
        """Return the lexical overlap of two texts: the sum of the weights of the words in both."""
        return fsum(map(self.weight, content_words(one) & content_words(other)))


ModelKind = Literal["factual", "paraphrase", "two-passage", "unanswerable"]
OfflineKind = Literal["cloze", "keywords", "heading"]
Kind = ModelKind | OfflineKind

MODEL_KINDS: tuple[ModelKind, ...] = get_args(ModelKind)
"""What a language model is asked for."""
OFFLINE_KINDS: tuple[OfflineKind, ...] = get_args(OfflineKind)
"""What is cut from the text without a model: not questions in earnest, but honest test queries."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question with the words that answer it. ``leak`` is the share of its rare words in them.

    An unanswerable one has no evidence; its leak is that to the passage it was made from. ``model``
    is the version that wrote it, "" where the server does not say it.
    """

    text: str
    kind: Kind
    evidence: tuple[Evidence, ...]
    leak: float
    model: str = ""

    @property
    def answerable(self) -> bool:
        """Whether it has evidence."""
        return bool(self.evidence)


def draft(
    kind: Kind,
    text: str,
    passages: Sequence[Chunk],
    spans: Sequence[tuple[int, int]],
    rarity: Rarity,
) -> Draft:
    """A draft from passages; ``spans`` are offsets of the evidence within each of them."""
    evidence = [
        Evidence(
            passage.document_id,
            passage.start + start,
            passage.start + end,
            1,
            passage.text[start:end],
        )
        for passage, (start, end) in zip(passages, spans, strict=False)
    ]
    leak = rarity.leak(text, [passage.text for passage in passages])
    return Draft(text, kind, tuple(evidence), leak)


GAP = "[…]"
_FIGURE = re.compile(r"(?<![\w.,])[€$£]?\d[\d.,:]*(?<=\d)\s?%?")
_WORD = re.compile(r"[^\W\d_][\w’'-]*")
_SHORTEST, _LONGEST = 40, 300  # characters of a sentence
_KEYWORDS = 5
_FEWEST_KEYWORDS = 3


def cut_question(kind: OfflineKind, passage: Chunk, rarity: Rarity) -> Draft | None:
    """A test query from one passage, with its source as evidence; None where it has none to give.

    ``cloze``: the sentence with the best figure or rare word left out. ``keywords``: the rarest
    words of that sentence, in order. ``heading``: the heading that the passage stands under.
    """
    if kind == "heading":
        return _from_heading(passage, rarity)
    best = max(_gaps(passage.text, rarity), key=lambda gap: gap.worth, default=None)
    if best is None:
        return None
    start = best.statement.start
    span = (start, start + len(best.statement.quote))
    text = best.cloze if kind == "cloze" else _keywords(best, rarity)
    return draft(kind, text, [passage], [span], rarity) if text else None


@dataclass(frozen=True, slots=True)
class _Gap:
    """A term of a statement that could be asked for; ``start`` is within the statement's text."""

    statement: Statement
    start: int
    term: str
    worth: float

    @property
    def cloze(self) -> str:
        text = self.statement.text
        return f"{text[: self.start]}{GAP}{text[self.start + len(self.term) :]}"


def _gaps(text: str, rarity: Rarity) -> Iterator[_Gap]:
    """Figures count double: what they say cannot be guessed."""
    read = 0
    for statement in statements(text):
        # One that leans on the sentence before repeats it; that one can do without.
        again = statement.start < read
        read = max(read, statement.start + len(statement.quote))
        if again or not _SHORTEST <= len(statement.text) <= _LONGEST:
            continue
        telling = content_words(statement.text)
        common = sum(map(rarity.weight, telling)) / max(len(telling), 1)
        for match in _FIGURE.finditer(statement.text):
            yield _Gap(statement, match.start(), match.group().rstrip(), 2 * common)
        for match in _WORD.finditer(statement.text):
            stems = content_words(match.group()) & telling
            weight = max(map(rarity.weight, stems), default=0.0)
            if weight > common:
                yield _Gap(statement, match.start(), match.group(), weight)


def _keywords(gap: _Gap, rarity: Rarity) -> str:
    telling = content_words(gap.statement.text)
    words = {
        match.group(): max(map(rarity.weight, content_words(match.group()) & telling), default=0.0)
        for match in _WORD.finditer(gap.statement.text)
        if match.group() != gap.term
    }
    rare = sorted((word for word in words if words[word] > 0), key=lambda word: -words[word])
    chosen = set(rare[:_KEYWORDS])
    if len(chosen) < _FEWEST_KEYWORDS:
        return ""
    return " ".join(word for word in words if word in chosen)


def _from_heading(passage: Chunk, rarity: Rarity) -> Draft | None:
    parts = [part.strip() for part in passage.heading.split(" > ") if part.strip()]
    text = ": ".join(dict.fromkeys(parts[-2:]))
    if not content_words(text):
        return None
    return draft("heading", text, [passage], [(0, len(passage.text))], rarity)


TRIES = 3
PASSAGES: Mapping[ModelKind, int] = {"two-passage": 2}
"""How many passages a question is made from, where it is not one."""
MOST_SHARED = 0.5
"""The highest leak of a paraphrase: above it, words were kept that should have been changed."""
_QUOTES: Mapping[ModelKind, int] = {"two-passage": 2, "unanswerable": 0}
_LONGEST_QUESTION = 300
_SHORTEST_QUOTE = 8
_MAX_TOKENS = 400

_PROMPTS = Path(__file__).with_name("prompts")
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_FIELD = re.compile(
    r"^[^\w{\n]*+(question|quotes?)[^\w:：]*+(\d*)[^\w:：]*+[:：]\s*+(.+)$",
    re.IGNORECASE | re.MULTILINE,
)
_MARKS = " \t\r\n*\"'`“”„‘’«»…"
_POINTS_AT_PASSAGE = re.compile(
    r"\b(?:the|this|that|above|given|provided) (?:passages?|text|excerpt|document|quote)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reply:
    """The parsed reply of a model."""

    question: str
    quotes: tuple[str, ...]


class _Unusable(Exception):
    """The reason why a reply is unusable, in words for both the model and the user."""


def write_question(
    kind: ModelKind,
    passages: Sequence[Chunk],
    chat: ChatModel,
    rarity: Rarity,
    temperature: float = 0.0,
) -> Draft:
    """Ask a model for one question on ``passages`` and check it; unusable ones are sent back.

    Every quote must stand in its passage. Raises ProviderMisbehaved when no try was usable, and
    ProviderError.
    """
    messages = [
        Message("system", (_PROMPTS / "rules.txt").read_text(encoding="utf-8").strip()),
        Message("user", _request(kind, passages)),
    ]
    reason = ""
    for _ in range(TRIES):
        stream = chat.stream(messages, temperature=temperature, max_tokens=_MAX_TOKENS)
        text = model = ""
        for delta in stream:
            text, model = text + delta.text, delta.model or model
        try:
            reply = parse_reply(text)
            if not reply.question:
                raise _Unusable('there is no "question"')
            if len(reply.question) > _LONGEST_QUESTION:
                raise _Unusable("the question is too long")
            if _POINTS_AT_PASSAGE.search(reply.question):
                raise _Unusable("the question speaks of the passage, which its reader has not seen")
            spans = _spans(reply.quotes, passages[: _QUOTES.get(kind, 1)])
            proposal = draft(kind, reply.question, passages, spans, rarity)
            if kind == "paraphrase" and proposal.leak > MOST_SHARED:
                raise _Unusable("the question repeats the words of the passage")
            return replace(proposal, model=model)
        except _Unusable as error:
            reason = str(error)
        again = f"That cannot be used: {reason}. Reply with a better JSON object and nothing else."
        messages += [Message("assistant", text), Message("user", again)]
    raise ProviderMisbehaved(
        f"The model wrote no usable question in {TRIES} tries: {reason}.",
        "Try a larger model, or write questions without a model.",
    )


def _request(kind: ModelKind, passages: Sequence[Chunk]) -> str:
    quoted = "\n".join(
        fenced("passage", passage.text, f'n="{number}"')
        for number, passage in enumerate(passages, start=1)
    )
    template = (_PROMPTS / f"{kind}.txt").read_text(encoding="utf-8").strip()
    return template.replace("{passages}", quoted, 1)


def parse_reply(text: str) -> Reply:
    """The question and quotes in a reply: a JSON object, also amid other words, or named lines.

    Thoughts between ``<think>`` marks are left out. What is missing is empty.
    """
    text = _THOUGHTS.sub("", text)
    for reply in objects(text):
        if isinstance(reply.get("question"), str):
            return Reply(_one_line(reply["question"]), tuple(_quotes(reply)))
    lines = [(name.lower(), value) for name, _, value in _FIELD.findall(text)]
    question = next((value for name, value in lines if name == "question"), "")
    quotes = (value for name, value in lines if name != "question")
    return Reply(_one_line(question).strip(_MARKS), tuple(quote.strip(_MARKS) for quote in quotes))


def _quotes(reply: Mapping[str, Any]) -> Iterator[str]:
    """Quotes under any of the names that models give them."""
    for name, value in reply.items():
        if name.lower().startswith("quote"):
            values = value if isinstance(value, list) else [value]
            yield from (str(quote).strip(_MARKS).removesuffix("...") for quote in values if quote)


def _spans(quotes: Sequence[str], passages: Sequence[Chunk]) -> list[tuple[int, int]]:
    """Return the span of a quote in each passage. Raises _Unusable if a passage has no quote."""
    spans = []
    for number, passage in enumerate(passages, start=1):
        text = Haystack(passage.text)
        matches = [text.find(quote, similar=False) for quote in quotes if _is_long(quote)]
        span = next(filter(None, matches), None)
        if span is None:
            which = f"passage {number}" if len(passages) > 1 else "the passage"
            raise _Unusable(f"no quote is copied word for word from {which}")
        spans.append(span)
    return spans


def _is_long(quote: str) -> bool:
    return len("".join(quote.split())) >= _SHORTEST_QUOTE


def _one_line(text: str) -> str:
    return " ".join(text.split())
