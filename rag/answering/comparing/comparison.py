"""Answers to questions that compare, with how they were found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag.answering.assessing.editions import day_of, moment_of
from rag.answering.comparing.dating import edition_words
from rag.answering.comparing.differences import differences
from rag.answering.comparing.grids import Grid, documents_of, grids, hit_of, in_force
from rag.answering.comparing.superlatives import Comparison, Entry, comparisons
from rag.answering.comparing.wordings import Superlative, pair, superlative, words_of
from rag.answering.quoting import in_quotation_marks
from rag.answering.reading import PassageReader
from rag.answering.vocabulary import Vocabulary
from rag.protocols import Embedder
from rag.types import Citation, Hit, Trace

SHOWN = 3
"""Rows with the same value that are quoted."""


@dataclass(frozen=True, slots=True)
class Compared:
    """An answer that was found by comparison; ``reason`` says what was compared.

    ``certain`` is whether the values of a table were compared, not sentences.
    """

    text: str
    citations: tuple[Citation, ...]
    reason: str
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Uncompared:
    """A question that wants a comparison which the documents do not allow; ``reason`` says why.

    A quote that has all of ``words`` may answer it all the same, and so may one that sets a limit:
    the greatest for a ``sign`` of 1, the least for -1.
    """

    reason: str
    words: tuple[str, ...]
    sign: int


def compare(
    trace: Trace, embedder: Embedder, reader: PassageReader, words: Vocabulary
) -> Compared | Uncompared | None:
    """The answer to a question that compares; None for any other question.

    Raises ProviderError when a remote embedder fails.
    """
    question = trace.corrected
    wanted, two = superlative(question), pair(question)
    if wanted is None and two is None:
        return None
    documents = documents_of(trace, reader)
    moment = moment_of(question)
    names_editions = two is not None and bool(day_of(two.one) and day_of(two.other))
    left_out: tuple[str, ...] = ()
    if not names_editions:
        documents, left_out = in_force(documents, moment or reader.day, reader)
    tables = list(grids(documents, words))
    if two is None and (not tables or _is_label(wanted, tables)):
        return None  # running text, or a row of its own, may well say what is the greatest
    if two is not None:
        current = {_document(hit) for hit, _ in documents}
        others = sorted(trace.candidates, key=lambda hit: hit.rank)
        hits = [hit for hit in (*trace.context, *others) if _document(hit) in current]
        shown = differences(question, two, tables, hits, embedder, reader, words)
        if shown is None:
            return None
        used = [citation.hit.document for citation in shown.citations]
        notes = (edition_words(name, left_out, moment) for name in used)
        reason = f"{shown.reason} {next(filter(None, notes), '')}".strip()
        return Compared(shown.text, shown.citations, reason, shown.certain)
    assert wanted is not None
    answer = _extreme(wanted, comparisons(question, wanted, tables, words))
    if isinstance(answer, Uncompared):
        return answer
    note = edition_words(answer.citations[0].hit.document, left_out, moment)
    return replace(answer, reason=f"{answer.reason} {note}".strip())


def _is_label(wanted: Superlative | None, tables: Sequence[Grid]) -> bool:
    """Whether a column or row is called by a superlative: "Highest speed" is read, not compared."""
    if wanted is None:
        return False
    word = wanted.words[-1].casefold()
    names = (
        name
        for grid in tables
        for name in (*grid.table.labels, *(row.name for row in grid.rows))
        if word in name.casefold()
    )
    return any(word in words_of(name) for name in names)


def _document(hit: Hit) -> tuple[str, str]:
    return hit.base, hit.chunk.document_id


def _extreme(wanted: Superlative, fitting: Sequence[Comparison]) -> Compared | Uncompared:
    if not fitting:
        reason = f"No column of a table could be compared for “{wanted.word}”."
        return Uncompared(reason, wanted.words, wanted.sign)
    comparison, document = fitting[0], fitting[0].documents[0]
    rivals = [other for other in fitting[1:] if document in other.documents]
    if rivals:
        names = " and ".join(f"“{rival.label}”" for rival in (comparison, *rivals[: SHOWN - 1]))
        return Uncompared(
            f"The columns {names} fit “{wanted.word}” alike.", wanted.words, wanted.sign
        )
    best = comparison.best(wanted)
    if not best:
        return Uncompared(
            f"There are not enough rows for “{wanted.word}”.", wanted.words, wanted.sign
        )
    shown = best[: max(SHOWN, wanted.count)]
    texts, citations = list[str](), list[Citation]()
    for n, entry in enumerate(shown, start=1):
        source = entry.grid.document.text[entry.row.start : entry.row.end]
        hit = hit_of(entry.grid, [entry.row])
        citations.append(Citation(n, hit, source, checked=True))
        texts.append(f"{in_quotation_marks(entry.row.text)} [{n}]")
    reason = _how(wanted, comparison, best, len(shown))
    return Compared("\n\n".join(texts), tuple(citations), reason)


def _how(wanted: Superlative, comparison: Comparison, best: Sequence[Entry], shown: int) -> str:
    count, documents = len(comparison.entries), comparison.documents
    where = documents[0] if len(documents) == 1 else f"{len(documents)} documents"
    what = "values of" if comparison.across else "rows by the column"
    end = "greatest" if wanted.sign > 0 else "least"
    values = dict.fromkeys(
        f"{entry.cell} ({entry.owner})" if entry.owner else entry.cell for entry in best[:shown]
    )
    if wanted.place > 1:
        end = f"number {wanted.place} from the {end} is"
    else:
        end = f"the {wanted.count} {end} are" if wanted.count > 1 else f"the {end} is"
    rows = f"{count} {what} “{comparison.label}” in {where}"
    text = f"Compared {rows}: {end} {', '.join(values)}."
    if len(best) > shown:
        text += f" {len(best)} rows have this value; {shown} are quoted."
    if comparison.unread:
        text += f" {comparison.unread} more have no figure that can be compared."
    return text
