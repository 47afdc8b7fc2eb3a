"""The selected quotes as a prompt shows them: the cells that are asked for, headings, dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag.answering.asked_values import asked_value
from rag.answering.assessing.key_terms import words_in
from rag.answering.citations import with_gap
from rag.answering.extractive import QuoteSelection
from rag.answering.quote_candidates import Candidate
from rag.answering.reading import document_words
from rag.answering.statements.rows import BETWEEN
from rag.answering.vocabulary import Vocabulary
from rag.fences import neutral
from rag.types import Citation, Edition


@dataclass(frozen=True, slots=True)
class ShownQuote:
    """A quote in a prompt, and the citation that it becomes in an answer.

    ``text`` is all of it that a model sees; ``values`` is what of it can answer: of a row the cells
    without their labels and the row's name. ``above`` are the headings and the document that the
    quote stands under.
    """

    citation: Citation
    text: str
    values: str
    above: str


def shown_quotes(
    selection: QuoteSelection, question: str, words: Vocabulary, editions: Sequence[Edition]
) -> list[ShownQuote]:
    """Return the chosen quotes, numbered from 1.

    Of a row only the cells that the question names are shown. A heading or the document's name
    stands before a quote where it has a word of the question that the quote lacks. ``editions``,
    which disagree, stand with their days.
    """
    days = {edition.document: edition.day for edition in editions}
    asked = words.terms(question)
    shown = list[ShownQuote]()
    for n, one in enumerate(selection.chosen, start=1):
        cells = _cells(one, question, words)
        text = BETWEEN.join(cells)
        values = [cell.partition(": ")[2] or cell for cell in cells if cell != _name(one)]
        heading = selection.reader.heading_path(one.hit, one.statement)
        above = [place for place in (document_words(one.hit.document), heading) if place]
        telling = [place for place in above if words.terms(place) & asked - words.terms(text)]
        if one.hit.document in days:
            telling.append(f"{one.hit.document}, {days[one.hit.document]}".strip(", "))
        prefix = f"{' · '.join(dict.fromkeys(telling))}: " if telling else ""
        hit = selection.reader.holding(one.hit, one.statement)
        citation = Citation(n, hit, one.statement.quote, checked=one.checked)
        shown.append(
            ShownQuote(
                citation,
                neutral(f"{prefix}{text}"),
                BETWEEN.join(values) if one.statement.kind == "row" else text,
                " ".join(above),
            )
        )
    return shown


def answering_quotes(
    quotes: Sequence[ShownQuote], question: str, editions: Sequence[Edition]
) -> Sequence[ShownQuote]:
    """Return the quotes that a model words: all where editions disagree, else one.

    That is the first one with a value of the kind that is asked for, or the first one. A small
    model words the others as readily as the one that answers.
    """
    if editions:
        return quotes
    kind = asked_value(question)
    telling = [quote for quote in quotes if kind and kind.is_in(quote.values)]
    return [*telling, *quotes][:1]


def _cells(one: Candidate, question: str, words: Vocabulary) -> list[str]:
    """The text of a quote; of a row its name and the cells that answer the question.

    These are the cells with a value of the kind that is asked for. Of several, or where none has
    one, those whose label the question names, all of it: half a label may be another column's.
    """
    statement = one.statement
    cells = statement.text.split(BETWEEN)
    if statement.kind != "row" or len(cells) < 3:
        return cells if statement.kind == "row" else [with_gap(one.hit.chunk.text, statement)]
    kind, name = asked_value(question), _name(one)
    rest = [cell for cell in cells if cell != name]
    rest = [cell for cell in rest if kind and kind.is_in(cell)] or rest
    rest = [cell for cell in rest if _is_named(cell.partition(": ")[0], question, words)] or rest
    return [cell for cell in cells if cell == name or cell in rest]


def _name(one: Candidate) -> str:
    """The cell that names a row."""
    cells = one.statement.text.split(BETWEEN)
    return next((cell for cell in cells if cell.endswith(one.statement.name)), cells[0])


def _is_named(label: str, question: str, words: Vocabulary) -> bool:
    if words_in(label) <= words_in(question):
        return True
    terms = words.terms(label)
    return bool(terms) and terms <= words.terms(question)
