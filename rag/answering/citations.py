"""Citations and quotations in an answer: found, checked against the passages, placed, marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag.answering.reading import PassageReader, Sources
from rag.answering.statements.sentences import (
    ITEM,
    LONGEST_STATEMENT,
    Statement,
    plain_words,
    sentence_spans,
)
from rag.answering.vocabulary import Support, Vocabulary, terms_of
from rag.chunking.places import place_of
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
    r"|!?\[[^\[\]]*\]\((?!#)(?:[^()\s]|\([^()\s]*\))*+(?:\s+\"[^\"]*\")?\)"  # [text](address)
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


_OPENING, _CLOSING, _EITHER = "“„«", "”»", '"'
_MARKS = dict.fromkeys(map(ord, "“”„«»\"‘’'"))
_PAIR = re.compile(r"“([^“”]*)”|\"([^\"]*)\"")


def in_quotation_marks(text: str) -> str:
    """A statement as a quotation, without a mark twice at either end.

    A mark at an end whose partner is in another sentence is left out, as are the marks of a
    statement that is a quotation as a whole. Where a quotation within it ends with it, or begins
    with it, those within it are in single marks.
    """
    text = _paired(text)
    if _is_mark(text[:1]) or _is_mark(text[-1:]):
        text = _PAIR.sub(lambda match: f"‘{match[1] or match[2] or ''}’", text)
    return f"“{text}”"


def answer_and_more(text: str, answering: Sequence[int]) -> tuple[str, str]:
    """Split the text of quotes into the quote that answers, and the others.

    ``answering`` are the numbers of the citations that answer. Where that is not one quote, all
    quotes are the answer.
    """
    if len(answering) != 1:
        return text, ""
    end = f"” [{answering[0]}]"
    first, gap, others = text.partition(f"{end}\n\n“")
    return (first + end, f"“{others}") if gap else (text, "")


SURROUNDINGS = 200
"""Characters of a passage that are shown on each side of a quote."""


def surroundings(passage: str, quote: str, shown: str = "") -> tuple[str, str]:
    """Return what a passage has before and after a quote, at most 200 characters each.

    Without marks of Markdown, on one line; "…" stands where the passage goes on. "" where it ends
    or has only what is ``shown`` already, where it does not have the quote or has it twice, and for
    a row of a table, which stands for itself.
    """
    if not quote or "\t" in quote or passage.count(quote) != 1:
        return "", ""
    text, _, rest = passage.partition(quote)
    before, after = _on_one_line(_without_mark(text)), _on_one_line(rest)
    if len(before) > SURROUNDINGS:
        before = before[-SURROUNDINGS:]
        before = f"… {before[before.find(' ', 0, SURROUNDINGS // 2) + 1 :]}"
    if len(after) > SURROUNDINGS:
        after = after[:SURROUNDINGS]
        blank = after.rfind(" ", SURROUNDINGS // 2)
        after = f"{after[:blank] if blank > 0 else after} …"
    known = _on_one_line(shown)
    return "" if before in known else before, "" if after in known else after


def _on_one_line(text: str) -> str:
    cells = (plain_words(cell) for cell in text.split("\t"))
    return " · ".join(filter(None, cells))


def words_of_quotation(text: str) -> str:
    """A text without quotation marks, in which a quotation and its source are equal."""
    return " ".join(text.translate(_MARKS).split())


def _is_mark(sign: str) -> bool:
    return sign != "" and sign in _OPENING + _CLOSING + _EITHER


def _paired(text: str) -> str:
    whole = _PAIR.fullmatch(text)
    if whole:
        return (whole[1] or whole[2] or text).strip()
    surplus = sum(map(text.count, _OPENING)) - sum(map(text.count, _CLOSING))
    odd = text.count(_EITHER) % 2 == 1
    if text[-1:] and ((text[-1] in _CLOSING and surplus < 0) or (text[-1] == _EITHER and odd)):
        return text[:-1].rstrip()
    if text[:1] and ((text[0] in _OPENING and surplus > 0) or (text[0] == _EITHER and odd)):
        return text[1:].lstrip()
    return text


def with_gap(passage: str, statement: Statement) -> str:
    """The text of a statement, with "…" between what it stands under and its words where they are
    apart in the passage: the third item of a list behind the line that announces all items."""
    words = plain_words(statement.quote)
    lead = statement.text.removesuffix(words).rstrip()
    if statement.kind not in ("prose", "item") or not words or not lead:
        return statement.text
    if lead == statement.text or statement.start < 0:
        return statement.text
    before = passage[max(statement.start - LONGEST_STATEMENT, 0) : statement.start]
    behind = plain_words(_without_mark(before))
    return statement.text if behind.endswith(lead) else f"{lead} … {words}"


def _without_mark(before: str) -> str:
    """A text without the mark of the item that begins behind it."""
    line = before.rpartition("\n")[2]
    mark = ITEM.match(f"{line.rstrip()} .")
    return before.removesuffix(line) if mark and mark.end() == len(line.rstrip()) + 1 else before


def place_citations(
    citations: Sequence[Citation], sources: Sources | None
) -> tuple[tuple[Citation, ...], str]:
    """Citations with the pages of what they quote, and a note on documents that are gone."""
    if sources is None:
        return tuple(citations), ""
    done, gone = list[Citation](), dict[str, None]()
    for one in citations:
        document = sources.document(one.hit)
        if document is not None:
            chunk, quote = one.hit.chunk, one.quote
            at = chunk.text.find(quote) if quote else -1
            start, length = (at, len(quote)) if at >= 0 else (0, len(chunk.text))
            place = place_of(document, chunk.start + start, chunk.start + start + length)
            done.append(replace(one, page=place.page, page_label=place.label))
            continue
        done.append(one)
        if not one.hit.from_tool:
            gone[one.hit.document] = None
    note = f"Deleted or replaced while this was answered: {', '.join(gone)}."
    return tuple(done), note if gone else ""
