"""Answers without a language model: the sentences of the passages that fit the question best."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rag.answering.asked_values import DATE, NUMBER, VERSION, ValueKind, asked_value
from rag.answering.assessing.editions import (
    day_of,
    differ,
    is_of_moment,
    likeness,
    moment_of,
    of_other_dates,
    on_one_matter,
)
from rag.answering.assessing.question_forms import (
    answer_form,
    asks_definition,
    asks_figure,
    asks_what_to_do,
    bound_pattern,
    default_pattern,
    is_reference,
    place_pattern,
)
from rag.answering.assessing.ranges import AskedFigure, asked_figures
from rag.answering.assessing.validity import days_in
from rag.answering.markup import unmarked
from rag.answering.quote_candidates import Candidate, candidates_of, whole_statements
from rag.answering.quoting import in_quotation_marks, with_gap, with_what_follows
from rag.answering.reading import PassageReader
from rag.answering.statements.following import with_next
from rag.answering.statements.sentences import Statement, plain_words
from rag.answering.vocabulary import Vocabulary
from rag.protocols import Embedder
from rag.types import Citation, Hit

QUOTES = 3
EMBEDDED_CHARACTERS = 1000
"""Only so much text is embedded for one answer (about 220 tokens), the likeliest sentences first:
it keeps an answer well under a blink."""
COSINE_WEIGHT, WORDS_WEIGHT, PASSAGE_WEIGHT, SCORE_WEIGHT = 0.5, 0.3, 0.3, 0.1
FIRST_BONUS = 0.05
"""For the passage that the search ranks first."""
NAMED_BONUS = 0.2
"""For a row whose first cell the question names, by the share of its words."""
FIGURE_BONUS = 0.04
"""For a sentence with a figure, when the question asks for one."""
VALUE_BONUS, EXACT_BONUS = 0.05, 0.3
"""For a sentence with a value of the kind that the question asks for, and for one told by its form:
a phone number."""
NO_VALUE = 0.1
"""Subtracted from a sentence without any value of that kind."""
CHECKED_BONUS = 0.1
"""For a sentence with the rare words of the question."""
CODE_BONUS = 0.15
"""For a sentence that has the codes of the question itself or above it, by their share."""
SAME_NUMBER, OTHER_NUMBER = 0.3, 0.4
"""For a sentence about band 3, where the question is about it; subtracted from one about band 2."""
DEFINITION = 0.15
"""Subtracted from the definition of a word, unless the question asks for one."""
REFERENCE = 0.2
"""Subtracted from a sentence that only refers to another place."""
LENGTH_WEIGHT = 0.04
"""For each factor e of its length: a sentence of three words says little."""
SUPERSEDED, OUTDATED = 0.2, 0.1
"""Subtracted where the edition in force says the same with other figures; where it is at hand."""
BOUND_BONUS = 0.3
"""For a sentence that sets a limit, "at most 45 mg", when the question asks for one."""
FORM_BONUS = 0.1
"""For a sentence that gives a reason, says what to do, or has a default, when a question asks."""
RANGE_BONUS = 0.15
"""For a row or an item with a range that a figure of the question is in, "£100 to £500", or one
below a heading with such a range."""
DATE_BONUS = 0.3
"""For a sentence with a day of the question, however each writes it, and for a document that is
named by its day, month or year."""
OTHER_DATE = 0.2
"""Subtracted where the name of the document has another date or version than the question, and that
of another one has this one."""
OTHER_NAME = 0.4
"""Subtracted where a name of the question stands in the names of other documents or sections only,
by its share of the question: what the manual of one pump says is not about another pump."""
RUNNER_UP = 0.85
"""Further quotes must score at least this share of the best one."""
SAME = 0.6
"""Two quotes that share this much of their words (Jaccard) say the same."""

_DEFINITION = re.compile(
    r"\W{0,3}(?:\d[\d.]{0,6}\W{1,3})?[\"'“‘«„][^\"'“”‘’«»„]{1,80}[\"'”’»“](?: [\w-]{1,20}){0,3}"
    r" (?:means?|includes?|bedeutet|bezeichnet|ist|significa|signifie|désigne)\b",
    re.IGNORECASE,
)
"""What a list of definitions consists of: “Idle” means ..."""
_FIGURE = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty"
    r"|fifty|hundred|thousand|half|daily|weekly|monthly|yearly|annually|once|twice)\b",
    re.IGNORECASE,
)

_NUMBER = re.compile(r"\d[\d.,]*")
_ITEM = re.compile(
    r"\A(?:\(?\d{1,3}(?:\.\d{1,3}){0,3}[.)]|\(?[a-z]\)|[a-z]\.)\s+"
    r"(?!(?:jan|feb|mär|apr|mai|jun|jul|aug|sep|okt|nov|dez)[a-zä]*\b)",
    re.IGNORECASE,
)
"""The number of an item of a list, which is no figure; "15. März" is a date."""


@dataclass(frozen=True, slots=True)
class QuoteSelection:
    """The steps of a selection: ``read`` has all statements, ``telling`` those that stand alone.

    ``scored`` has those that were embedded, best first, ``distinct`` the best of them that say
    different things. ``chosen`` are quoted: the same, with what another edition says.
    """

    reader: PassageReader
    read: Sequence[Candidate]
    telling: Sequence[Candidate]
    scored: Sequence[tuple[float, Candidate]]
    distinct: Sequence[Candidate]
    chosen: Sequence[Candidate]

    @property
    def numbers(self) -> dict[int, int]:
        """The numbers of the quoted passages in the answer, by their place in the hits, from 1."""
        quoted = dict.fromkeys(one.n for one in self.chosen)
        return {n: number for number, n in enumerate(quoted, start=1)}


def quotes(
    question: str,
    hits: Sequence[Hit],
    embedder: Embedder,
    reader: PassageReader | None = None,
    words: Vocabulary | None = None,
) -> tuple[str, tuple[Citation, ...]]:
    """(text, citations): up to three statements of ``hits``, best first, each with its ``[n]``.

    Passages are numbered from 1 in the order in which they are quoted. A statement counts by its
    cosine with the question, the question's words it holds (rare ones count more) and the rank and
    relevance of its passage. A row of a table is one of its own, and wins where the question names
    it; rows that differ in figures only have their headings before them. Where editions of a
    document differ, the one in force is quoted first, another one behind it. Headings, running
    heads and marks of Markdown are not quoted; labels that only repeat the question, and what a
    passage cuts off, only where there is nothing else.
    Deterministic. Raises ProviderError when a remote embedder fails.
    """
    return quoted(question, select(question, hits, embedder, reader, words))


def quoted(question: str, selection: QuoteSelection) -> tuple[str, tuple[Citation, ...]]:
    """Return the text of an answer of the chosen statements, and its citations."""
    chosen, numbers = selection.chosen, selection.numbers
    headings = _headings(question, chosen, selection.reader)
    text = "\n\n".join(
        f"{heading}{in_quotation_marks(with_gap(one.hit.chunk.text, one.statement))}"
        f" [{numbers[one.n]}]"
        for one, heading in zip(chosen, headings, strict=True)
    )
    citations: dict[int, Citation] = {}
    for one in chosen:
        n, quote = numbers[one.n], one.statement.quote
        hit = selection.reader.holding(one.hit, one.statement)
        citations.setdefault(n, Citation(n, hit, quote, checked=one.checked))
    return text, tuple(citations.values())


def _headings(question: str, chosen: Sequence[Candidate], reader: PassageReader) -> list[str]:
    """The headings, with a colon, that answer, or that tell rows apart; "" for other statements."""
    asked, figures = asked_value(question), asked_figures(question)
    headings = _telling_apart(chosen, reader)
    for at, one in enumerate(chosen):
        telling = reader.heading_where(
            one.hit, one.statement, partial(_answers, one.statement.text, asked, figures)
        )
        headings[at] = f"{plain_words(telling)}: " if telling else headings[at]
    return headings


def _answers(
    text: str, asked: ValueKind | None, figures: Sequence[AskedFigure], heading: str
) -> bool:
    """Whether a heading has what is asked for, or the condition, and the text below has not."""
    if asked and asked.is_in_heading(heading):
        return not asked.is_in(text)
    if asked and asked.name == DATE.name and days_in(heading):
        # A list of changes has figures of its own; minutes of a day say when something else is.
        return not days_in(text) and (VERSION.is_in_heading(heading) or not asked.is_in(text))
    return any(one.is_in_range(heading) and not one.is_in_range(text) for one in figures)


def _telling_apart(chosen: Sequence[Candidate], reader: PassageReader) -> list[str]:
    """The headings, with a colon, of rows that differ in figures only; "" for other statements."""
    rows = Counter(_without_figures(one) for one in chosen if one.statement.kind == "row")
    headings = [
        reader.heading(one.hit, one.statement) if rows[_without_figures(one)] > 1 else ""
        for one in chosen
    ]
    apart = len(set(filter(None, headings))) > 1
    return [f"{plain_words(heading)}: " if heading and apart else "" for heading in headings]


def _without_figures(candidate: Candidate) -> str:
    return _NUMBER.sub("", candidate.statement.text)


def select(
    question: str,
    hits: Sequence[Hit],
    embedder: Embedder,
    reader: PassageReader | None = None,
    words: Vocabulary | None = None,
) -> QuoteSelection:
    """Choose the statements that ``quotes`` quotes, and keep what became of the others."""
    reader, words = reader or PassageReader(), words or Vocabulary()
    codes, all_candidates = candidates_of(question, hits, reader, words)
    whole = whole_statements(words.terms(question), codes, all_candidates, reader)
    whole = _with_priors(_with_editions(whole, question, reader), hits, question, reader)
    scored = _ranked(question, _likeliest(whole), embedder)
    distinct = _distinct(scored)
    chosen = _with_others(distinct or _beginning(hits), whole, question, reader)
    chosen = _without_superseded(chosen, question, reader)
    if asks_what_to_do(question):
        best = with_what_follows(question, chosen[0].hit.chunk.text, chosen[0].statement)
        n = chosen[0].n
        others = [one for one in chosen[1:] if one.n != n or one.statement.quote not in best.quote]
        chosen = [replace(chosen[0], statement=best), *others]
    elif answers := _answering(question):
        best = with_next(chosen[0].hit.chunk.text, chosen[0].statement, answers)
        others = [one for one in chosen[1:] if one.statement.quote not in best.quote]
        chosen = [replace(chosen[0], statement=best), *others]
    return QuoteSelection(reader, all_candidates, whole, scored, distinct, chosen)


def _answering(question: str) -> Callable[[str], bool] | None:
    """Tell of a text whether it has what a question asks for; None where it does not say what."""
    asked, place = asked_value(question), place_pattern(question)
    if asked and asked.name != NUMBER.name:  # "it" may have a number of anything
        return asked.is_in
    return (lambda text: place.search(text) is not None) if place else None


def _with_editions(
    candidates: list[Candidate], question: str, reader: PassageReader
) -> list[Candidate]:
    """The candidates with what the edition in force says in their place.

    They have none where the question names a year.
    """
    if day_of(question):
        return candidates
    hits = {one.n: one.hit for one in candidates}
    rivals = dict[int, list[Candidate]]()
    for n, hit in hits.items():
        newer = {other for other in hits if reader.supersedes(hits[other], hit)}
        rivals[n] = [one for one in candidates if one.n in newer]
    return [
        replace(
            one,
            outdated=bool(rivals[one.n]),
            in_force=next((two for two in rivals[one.n] if _supersedes(two, one, reader)), None),
        )
        for one in candidates
    ]


def _supersedes(one: Candidate, other: Candidate, reader: PassageReader) -> bool:
    return (
        reader.supersedes(one.hit, other.hit)
        and on_one_matter(one.words, other.words)
        and differ(one.statement.text, other.statement.text)
        and not _is_repeated(one, other, reader)
    )


def _is_repeated(one: Candidate, other: Candidate, reader: PassageReader) -> bool:
    """Whether the document of one of two statements has the other one, too."""
    return any(
        reader.repeats(a.hit, b.statement.quote, reader.heading(b.hit, b.statement))
        for a, b in ((one, other), (other, one))
    )


def _with_others(
    chosen: list[Candidate], candidates: list[Candidate], question: str, reader: PassageReader
) -> list[Candidate]:
    """The chosen statements; in place of all but the first what another edition says there."""
    best = chosen[0]
    superseded = (one for one in candidates if one.in_force is not None)
    others = [one for one in superseded if _supersedes(best, one, reader)]
    if not others and not day_of(question):
        others = list(_counterparts(best, candidates, reader))
    if not others or any(one in chosen for one in others):
        return chosen
    counterpart = max(others, key=lambda one: _correspondence(one, best))
    return [best, counterpart]


def _without_superseded(
    chosen: list[Candidate], question: str, reader: PassageReader
) -> list[Candidate]:
    """The chosen statements without those of a section that the edition of the first one has anew.

    What contradicts the first one stays, and all where the question names a year.
    """
    best = chosen[0]
    if day_of(question):
        return chosen
    return [
        one
        for one in chosen
        if not reader.supersedes(best.hit, one.hit)
        or (
            on_one_matter(best.words, one.words) and differ(best.statement.text, one.statement.text)
        )
        or not reader.has_section(best.hit, reader.heading(one.hit, one.statement))
    ]


def _counterparts(
    best: Candidate, candidates: list[Candidate], reader: PassageReader
) -> Iterator[Candidate]:
    """Statements of other editions under the same heading with other figures.

    One that is newer, or of which dates do not tell that. Of a passage only the statement counts
    that is most like the best one.
    """
    heading = reader.heading(best.hit, best.statement).casefold()
    alike: dict[int, list[Candidate]] = {}
    for one in candidates:
        if (
            reader.are_named_editions(best.hit, one.hit)
            and reader.heading(one.hit, one.statement).casefold() == heading
        ):
            alike.setdefault(one.n, []).append(one)
    for group in alike.values():
        one = max(group, key=lambda other: _correspondence(other, best))
        if (
            on_one_matter(best.words, one.words)
            and differ(best.statement.text, one.statement.text)
            and not _is_repeated(best, one, reader)
        ):
            yield one


def _correspondence(one: Candidate, other: Candidate) -> tuple[bool, float]:
    """Return how well two statements correspond, as a key: rows of one name more than others."""
    same_name = one.statement.name.casefold() == other.statement.name.casefold()
    return same_name, likeness(one.words, other.words)


def _with_priors(
    candidates: list[Candidate], hits: Sequence[Hit], question: str, reader: PassageReader
) -> list[Candidate]:
    wants_figure, asked = asks_figure(question), asked_value(question)
    best = max((hit.score for hit in hits), default=0.0)
    others = of_other_dates(question, {hit.document for hit in hits})
    days, bound, form = days_in(question), bound_pattern(question), answer_form(question)
    default, moment = default_pattern(question), moment_of(question)
    figures = asked_figures(question)
    # "What is the fee for parking" asks for a figure, "what is parking" for a definition.
    defines = not wants_figure and asks_definition(question)
    return [
        replace(
            one,
            prior=_prior(one, best, wants_figure, asked)
            + (DATE_BONUS if days & days_in(one.statement.text if days else "") else 0.0)
            + (DATE_BONUS if is_of_moment(one.hit.document, moment) else 0.0)
            + (RANGE_BONUS if _is_in_range(figures, one, reader) else 0.0)
            + (FORM_BONUS if form and form.search(one.statement.text) else 0.0)
            + (FORM_BONUS if default and default.search(one.statement.text) else 0.0)
            + (BOUND_BONUS if bound and bound.search(one.statement.text) else 0.0)
            - (OTHER_DATE if one.hit.document in others else 0.0)
            - (REFERENCE if _is_reference(one.statement) else 0.0)
            - (DEFINITION if not defines and _DEFINITION.match(one.statement.text) else 0.0),
        )
        for one in candidates
    ]


def _is_reference(statement: Statement) -> bool:
    """Whether a statement is only a reference; the text of a link has lost its brackets."""
    return is_reference(statement.text) or is_reference(statement.quote)


def _is_in_range(figures: Sequence[AskedFigure], one: Candidate, reader: PassageReader) -> bool:
    """Whether a row or an item, or the heading above, has a range with a figure asked about."""
    if not figures:
        return False
    texts = [*reader.heading_path(one.hit, one.statement).split(" > ")]
    if one.statement.kind in ("row", "item"):
        texts.append(one.statement.text)
    return any(figure.is_in_range(text) for figure in figures for text in texts)


def _prior(candidate: Candidate, best: float, wants_figure: bool, asked: ValueKind | None) -> float:
    text, hit = _ITEM.sub("", candidate.statement.text), candidate.hit
    has_figure = wants_figure and _FIGURE.search(text) is not None
    return (
        WORDS_WEIGHT * candidate.shared
        + PASSAGE_WEIGHT * hit.relevance
        + SCORE_WEIGHT * (hit.score / best if best > 0 else 0.0)
        + (FIRST_BONUS if candidate.n == 1 else 0.0)
        + NAMED_BONUS * candidate.named
        + CODE_BONUS * candidate.coded
        + (CHECKED_BONUS if candidate.checked else 0.0)
        + (FIGURE_BONUS if has_figure else 0.0)
        + (_value_bonus(asked, text) if asked else 0.0)
        + LENGTH_WEIGHT * math.log(max(len(candidate.statement.text), 1))
        - (SUPERSEDED if candidate.in_force else OUTDATED if candidate.outdated else 0.0)
        - OTHER_NAME * candidate.named_elsewhere
        + (SAME_NUMBER if candidate.of_number > 0 else 0.0)
        - (OTHER_NUMBER if candidate.of_number < 0 else 0.0)
    )


def _value_bonus(asked: ValueKind, text: str) -> float:
    if asked.exact:
        return EXACT_BONUS if asked.is_in(text) else -NO_VALUE
    return VALUE_BONUS if asked.is_in(text) else -NO_VALUE


def _likeliest(candidates: list[Candidate]) -> list[Candidate]:
    """Return as many candidates as the embedding limit allows, the greatest priors first."""
    selected, characters = list[Candidate](), 0
    for candidate in sorted(candidates, key=lambda one: (-one.prior, one.n, one.statement.start)):
        characters += len(candidate.statement.text)
        if selected and characters > EMBEDDED_CHARACTERS:
            break
        selected.append(candidate)
    return selected


def _ranked(
    question: str, candidates: list[Candidate], embedder: Embedder
) -> list[tuple[float, Candidate]]:
    """(score, candidate), best first; ties by passage, then position."""
    query = embedder.embed([question], "query")[0]
    vectors = embedder.embed([one.statement.text for one in candidates], "document")
    scored = [
        (COSINE_WEIGHT * float(vector @ query) + one.prior, one)
        for one, vector in zip(candidates, vectors, strict=True)
    ]
    return sorted(scored, key=lambda pair: (-pair[0], pair[1].n, pair[1].statement.start))


def _distinct(ranked: Sequence[tuple[float, Candidate]]) -> list[Candidate]:
    chosen, least = list[Candidate](), float("-inf")
    for score, candidate in ranked:
        if len(chosen) == QUOTES or score < least:
            break
        if not any(say_the_same(candidate, other) for other in chosen):
            chosen.append(candidate)
            least = max(least, score * RUNNER_UP)
    return chosen


def say_the_same(one: Candidate, other: Candidate) -> bool:
    """Whether two say the same; those with other figures, as of another year, do not."""
    inside = one.statement.quote in other.statement.quote
    if not inside:
        figures = (set(_NUMBER.findall(candidate.statement.text)) for candidate in (one, other))
        if next(figures) != next(figures):
            return False
    either = len(one.words | other.words)
    return inside or (either > 0 and len(one.words & other.words) / either >= SAME)


def _beginning(hits: Sequence[Hit]) -> list[Candidate]:
    """The best passage itself, for passages that hold nothing but headings."""
    text = hits[0].chunk.text.strip()
    lines = (" ".join(line.split()) for line in unmarked(text).splitlines())
    beginning = " · ".join(filter(None, lines)) or " ".join(text.split())
    statement = Statement(beginning, text, hits[0].chunk.text.find(text))
    return [Candidate(1, hits[0], statement, frozenset(), 0.0, 0.0, False)]
