"""Citations in an answer: found, checked against the passages, traced to a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.answering.reading import PassageReader
from rag.answering.statements.sentences import Statement, sentence_spans
from rag.answering.vocabulary import Support, Vocabulary, terms_of
from rag.types import Citation, Hit

LONGEST_RANGE = 20
"""More passages than that nobody cites at once: of a longer range only the ends count."""

_NUMBER = r"\d{1,3}"
_KIND = r"(?:(?:source|doc|document|passage|ref|reference|quelle|dokument)s?\.? )?"
_PLACE = r"(?:, ?(?:pp?|pages?|sections?|sec|s|seiten?|§)\.? ?\d{1,4}(?:[-–]\d{1,4})?)?"
_ITEM = rf"{_KIND}{_NUMBER}(?:\s*[-–]\s*{_NUMBER})?{_PLACE}"
_ITEMS = rf"\s*\^?({_ITEM}(?:(?:\s*[,;&]\s*| and | und ){_ITEM})*)\s*"
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_MENTION = re.compile(
    rf"(?<!\b[a-z])(?:\\?\[(?i:{_ITEMS})\\?\](?:\(#[^()\s]*\))?|［(?i:{_ITEMS})］)"
    rf"|【(?i:{_ITEMS})(?:†[^【】\n]*)?】"
)
_RAISED_MENTION = re.compile(
    rf"(?:(?<=[^\W\d]{{4}})|(?<=[.!?]))([{_RAISED}]{{1,3}})(?![\w{_RAISED}])"
)
_PLACES = re.compile(_PLACE, re.IGNORECASE)
_PLAIN = str.maketrans(_RAISED, "0123456789")
_RANGE = re.compile(rf"({_NUMBER})(?:\s*[-–]\s*({_NUMBER}))?")
_QUOTED = re.compile(r"(?<=” )\[(\d{1,3})\](?=\s|$)")
_NOT_PROSE = re.compile(
    r"```.*?(?:```|\Z)"  # fenced code
    r"|(?<!`)(`++).+?(?<!`)\1(?!`)"  # code in a line
    r"|!?\[[^\[\]]*\]\((?!#)[^()\s]*(?:\s+\"[^\"]*\")?\)"  # [text](address)
    r"|^[ \t]*\[[^\[\]]+\]:\s*+\S+?://\S+",  # [1]: address
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """``text[start:end]`` cites passages by these numbers, in the order written."""

    start: int
    end: int
    numbers: tuple[int, ...]


def mentions(text: str) -> list[Mention]:
    """Every ``[1]``, ``[1, 2]`` and ``[1-3]`` outside of code and links to other pages.

    Models also write ``[^1]``, ``[source 1]``, ``[1, p. 4]``, ``[1](#1)`` and ``【1†source】``;
    ``a[1]`` is none. A text without any of these may have raised figures behind words.
    """
    prose = _NOT_PROSE.sub(lambda match: " " * len(match.group()), text)
    return [
        Mention(match.start(), match.end(), tuple(_numbers(match[match.lastindex or 0])))
        for match in list(_MENTION.finditer(prose)) or _RAISED_MENTION.finditer(prose)
    ]


def quoted_mentions(text: str) -> list[Mention]:
    """The ``[n]`` behind the quotes of an answer that is made of them.

    Other brackets are the document's own.
    """
    matches = _QUOTED.finditer(text)
    return [Mention(match.start(), match.end(), (int(match.group(1)),)) for match in matches]


def check(
    text: str,
    hits: Sequence[Hit],
    question: str = "",
    reader: PassageReader | None = None,
    words: Vocabulary | None = None,
) -> tuple[tuple[Citation, ...], tuple[int, ...]]:
    """(citations, unsupported): what ``text`` cites, each number once, by first appearance.

    ``[n]`` stands for ``hits[n - 1]``; numbers without a passage are unsupported. A citation
    quotes the statement of its passage that shares most words with the citing sentence, and is
    checked where that holds what is rare in ``question``.
    """
    reader, words = reader or PassageReader(), words or Vocabulary()
    statements_by_hit = [reader.statements(hit) for hit in hits]
    texts = [terms_of(one, words) for statements in statements_by_hit for one in statements]
    support = Support(words.terms(question), words, texts)
    citations: dict[int, Citation] = {}
    unsupported: dict[int, None] = {}
    for mention in mentions(text):
        for number in mention.numbers:
            if not 1 <= number <= len(hits):
                unsupported[number] = None
            elif number not in citations:
                hit = hits[number - 1]
                statement = best_statement(
                    _claim(text, mention), statements_by_hit[number - 1], words
                )
                if statement is None:
                    citations[number] = Citation(number, hit)
                    continue
                above = words.terms(reader.context(hit, statement))
                good = support.is_checked(terms_of(statement, words), above)
                wide = reader.holding(hit, statement)
                citations[number] = Citation(number, wide, statement.quote, checked=good)
    return tuple(citations.values()), tuple(unsupported)


def in_order(text: str, passages: int) -> str:
    """``text`` with its citations numbered as they first appear, each in a bracket of its own.

    ``[4] ... [1, 4]`` becomes ``[1] ... [2][1]``. Numbers above ``passages``, which no passage has,
    stay as they are; of a text that is not complete yet, what is there keeps its numbers.
    """
    numbers: dict[int, int] = {}
    pieces, last = list[str](), 0
    for mention in mentions(text):
        shown_numbers = [
            numbers.setdefault(n, len(numbers) + 1) if 1 <= n <= passages else n
            for n in mention.numbers
        ]
        pieces += [text[last : mention.start], *(f"[{n}]" for n in dict.fromkeys(shown_numbers))]
        last = mention.end
    return "".join([*pieces, text[last:]])


def best_statement(
    claim: str, statements: Sequence[Statement], words: Vocabulary
) -> Statement | None:
    """The statement that supports ``claim`` best by Dice's coefficient of their terms, or None."""
    claim_terms = words.terms(claim)
    best, chosen = 0.0, None
    for statement in statements:
        terms = words.terms(statement.text)
        overlap = 2 * len(claim_terms & terms) / max(len(claim_terms) + len(terms), 1)
        if overlap > best:
            best, chosen = overlap, statement
    return chosen


def _numbers(inside: str) -> Iterator[int]:
    for first, last in _RANGE.findall(_PLACES.sub("", inside.translate(_PLAIN))):
        low, high = int(first), int(last or first)
        if low < high <= low + LONGEST_RANGE:
            yield from range(low, high + 1)
        else:
            yield from dict.fromkeys((low, high))


def _claim(text: str, mention: Mention) -> str:
    """The sentence that a mention belongs to: what stands before it, or else behind it."""
    before = _MENTION.sub(" ", text[: mention.start]).rstrip()
    paragraph = before.rpartition("\n")[2]
    if paragraph.strip():
        start, end = sentence_spans(paragraph)[-1]
        return paragraph[start:end]
    behind = _MENTION.sub(" ", text[mention.end :]).strip().partition("\n")[0]
    spans = sentence_spans(behind)
    return behind[slice(*spans[0])] if spans else ""
