"""Stops of a tour from an answer, an explanation, a run or a comparison.

A stop keeps what it shows, until its owner asks its question again. A tour therefore stays as its
owner saw it when documents, recipes and runs change, and guests need no further rights to read it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from rag.answering.reading import BEFORE_NOTE
from rag.answering.statements.rows import readable_text, rows_within, tables_within
from rag.conversations.tours import (
    LONGEST_NOTE,
    AnswerBasis,
    TourQuote,
    TourStop,
    TourValue,
)
from rag.evaluation.anchoring import find_quote
from rag.evaluation.intervals import Interval, as_percent, signed
from rag.evaluation.measuring import highest_mean
from rag.evaluation.metrics import MEASURES, lower_is_better, metric_meaning, metric_title
from rag.evaluation.report import as_shown, on_cards, unanswered
from rag.evaluation.report.words import counted, first_hits, search_grade, setting
from rag.evaluation.significance import LEVEL
from rag.experiments.explanation.standing import Passing, Standing
from rag.experiments.runs.history import RunComparison
from rag.experiments.runs.recipe_names import MODES
from rag.recipe import Recipe
from rag.recipe.parts import phrase
from rag.retrieval.stages import stage_title
from rag.storage.conversations.turns import StoredCitation, Turn
from rag.types import AnswerState, Document, Span, Table, page_name
from rag.types.results import QuestionResult, Run

SURROUNDINGS = 600
"""Characters of a document before and after a cited passage."""
_LONGEST_TAG = 400
_TAG = re.compile(rf"</?[A-Za-z][^<]{{0,{_LONGEST_TAG}}}?>")
ROWS = 2
"""Rows of a table above and below a cited row."""
_PAGE_TITLES: Mapping[AnswerState, str] = {
    "answered": "Where it says so",
    "doubtful": "The nearest passage",
    "refused": "The nearest passage",
    "conflicting": "One of the sources",
}
_STAGE_TITLES: Mapping[str, str] = {
    "filter": "Not excluded by a filter",
    "dense": "Similar in meaning",
    "lexical": "Words in common",
    "fusion": "Both taken together",
    "rerank": "Ordered again by a model",
    "refuse": "Passed the check that the question is on topic",
    "threshold": "Relevant enough",
    "duplicates": "No copy of a better one",
    "mmr": "Adds something to better ones",
    "top_k": "Among the best",
    "context": "Given to the answer",
}
_SPACE = re.compile(r"\s+")
_CITED = re.compile(r"” \[(\d{1,4})\]\Z")


def answer_stops(
    turn: Turn,
    documents: Mapping[str, Document],
    basis: AnswerBasis | None = None,
    opened: int = 0,
) -> list[TourStop]:
    """Return a stop with the question and its answer, and one with the page that answers.

    That is the page of the citation with the number ``opened``, else of the quote that answers,
    else of the first one with all key words of the question. Quotes beside the one that answers
    come behind it, and say so. ``documents`` has the documents by id. A
    citation of a document that is not there is quoted without its surroundings, and gets no page.
    """
    quoted = _quotes_by_number(turn)
    in_force = _in_force(turn)
    answering = [citation for citation in turn.citations if citation.answers]
    beside = [one for one in turn.citations if answering and not one.answers]
    quotes = tuple(
        _cited(one, documents.get(one.document_id), quoted.get(one.n, ()), one.n in in_force)
        for one in turn.citations
        if one not in beside
    )
    more = (_cited(one, documents.get(one.document_id), quoted.get(one.n, ())) for one in beside)
    quotes += tuple(replace(one, source=f"More from the documents: {one.source}") for one in more)
    state, points = turn.state or "answered", list[str]()
    if assessment := turn.details.assessment:
        points.append(f"{assessment.title(turn.mode)}. {assessment.reason}".strip())
    if state == "doubtful" and turn.citations:
        points.append("The quotes are the nearest passages, probably not the answer.")
    if turn.answer and turn.note:
        points.append(turn.note)
    text = "" if turn.mode == "quotes" and quotes else turn.answer or turn.note
    answer = TourStop("answer", turn.complete, text, quotes, points=tuple(points), basis=basis)
    stops = [answer]
    there = [citation for citation in turn.citations if citation.document_id in documents]
    if there:
        chosen = (citation for citation in there if citation.n == opened)
        checked = (citation for citation in there if citation.checked)
        shown = next(chain(chosen, (one for one in there if one.answers), checked), there[0])
        document = documents[shown.document_id]
        place = _place(shown, document)
        page = _page(place, document, _quoted(document.text, shown))
        file = document.name.rpartition("/")[2]  # the page names its folders, too
        unsure = assessment is not None and assessment.is_unsure(turn.mode)
        found = "The quoted passage" if unsure else _PAGE_TITLES[state]
        title = f"{found}: {place.replace(document.name, file, 1)}"
        stops.append(TourStop("page", title, quotes=(page,), basis=basis))
    return stops


def answered_anew(
    stops: Sequence[TourStop], old: AnswerBasis, new: Sequence[TourStop]
) -> list[TourStop]:
    """Return the stops of a tour with those of an answer replaced by what it is now.

    Notes stay. A page that is cited no more is left out, and its note goes to the answer. If there
    is no stop for the answer, or no room in its note, the page stays and says that it is not cited.
    """
    now = {stop.kind: stop for stop in new}
    rest_on_it = [stop for stop in stops if stop.basis == old]
    moved = [stop.note for stop in rest_on_it if stop.kind not in now and stop.note]
    notes = ["\n\n".join([stop.note, *moved]) for stop in rest_on_it if stop.kind == "answer"]
    if not notes or max(map(len, notes)) > LONGEST_NOTE:
        moved = []
    replaced = list[TourStop]()
    for stop in stops:
        if stop.basis != old:
            replaced.append(stop)
        elif stop.kind in now:
            own = [stop.note, *(moved if stop.kind == "answer" else ())]
            replaced.append(now[stop.kind].with_note("\n\n".join(filter(None, own))))
        elif stop.note and not moved:
            replaced.append(_uncited(stop, new[0].basis))
    return replaced


def _uncited(page: TourStop, basis: AnswerBasis | None) -> TourStop:
    """A page as it was, with the new basis: an update of the tour looked at it."""
    day = f" of {basis.answered:%Y-%m-%d}" if basis else ""
    return replace(page, points=(f"The answer{day} does not cite this page.",), basis=basis)


def _in_force(turn: Turn) -> set[int]:
    """The numbers of the citations whose edition is in force, where the sources disagree."""
    assessment = turn.details.assessment
    if assessment is None or assessment.state != "conflicting":
        return set()
    return {edition.n for edition in assessment.editions if edition.in_force}


def _quotes_by_number(turn: Turn) -> dict[int, list[str]]:
    """The quotes of each citation in an answer of quotes, as the answer shows them."""
    by_number = dict[int, list[str]]()
    if turn.mode != "quotes":
        return by_number
    for part in turn.answer.split("\n\n"):
        _, _, quoted = part.partition("“")
        if match := _CITED.search(quoted):
            by_number.setdefault(int(match[1]), []).append(quoted[: match.start()])
    return by_number


def _cited(
    citation: StoredCitation,
    document: Document | None,
    quotes: Sequence[str],
    is_in_force: bool = False,
) -> TourQuote:
    """The quotes of a citation with their notes; its passage if the answer has no words of it."""
    force = " (in force)" if is_in_force else ""
    source = f"[{citation.n}] {_place(citation, document)}{force}"
    text = citation.quote or citation.text
    is_markdown = False
    if document is not None:
        span = _quoted(document.text, citation)
        is_markdown = _is_markdown(document)
        if tables_within(document, span):
            text = readable_text(document, span)
        elif not citation.quote:
            text = document.text[span[0] : span[1]]
    lead, notes = _joined(citation, quotes)
    first = BEFORE_NOTE.join([lead + text, *notes])
    return TourQuote(source, "\n\n".join([first, *quotes[1:]]), markdown=is_markdown)


def also_quoted(turn: Turn, citation: StoredCitation) -> list[str]:
    """Return what else an answer of quotes shows of a citation: footnotes and further quotes."""
    quotes = _quotes_by_number(turn).get(citation.n, [])
    further = (part for quote in quotes[1:] for part in quote.split(BEFORE_NOTE))
    return [*_joined(citation, quotes)[1], *further]


def _joined(citation: StoredCitation, quotes: Sequence[str]) -> tuple[str, list[str]]:
    """Return what an answer puts before the quote of a citation, and its footnotes."""
    whole = "".join(quotes[:1])
    if not whole:  # a whole passage is shown
        return "", []
    lead, quote, behind = whole.partition(citation.quote or whole)
    if not quote:  # white space differs, or a table is quoted by its cells
        lead, behind = "", "" if BEFORE_NOTE in citation.quote else whole
    return lead, behind.split(BEFORE_NOTE)[1:]


def _page(place: str, document: Document, span: Span) -> TourQuote:
    """A quote with its surroundings: of a row of a table, the rows around it."""
    text, (start, end) = document.text, span
    before = _before(text, start)
    shown, after = text[start:end], _after(text, end)
    if tables_within(document, span):
        end -= len(shown) - len(shown.rstrip())
        shown, after = readable_text(document, span), _after(text, end)
    if first := document.table_at(start):
        above = [row.text for row in rows_within(document, _whole(first)) if row.end <= start]
        before = "\n".join(["…"] * (len(above) > ROWS) + [*above[-ROWS:], ""])
    if last := document.table_at(end - 1):
        below = [row.text for row in rows_within(document, _whole(last)) if row.start >= end]
        after = "\n".join(["", *below[:ROWS]] + ["…"] * (len(below) > ROWS))
    return TourQuote(place, shown, before, after, markdown=_is_markdown(document))


def _whole(table: Table) -> Span:
    return table.start, table.end


def _is_markdown(document: Document) -> bool:
    return document.media_type == "text/markdown"


def _quoted(text: str, citation: StoredCitation) -> tuple[int, int]:
    """The span of a quote in its document; of its passage if the quote is put together."""
    passage = text[citation.start : citation.end]
    span = find_quote(passage, citation.quote) if citation.quote else None
    if span is None:
        return citation.start, citation.end
    return citation.start + span[0], citation.start + span[1]


def _before(text: str, start: int) -> str:
    """Return the text before a passage, from the beginning of a word."""
    if start <= SURROUNDINGS:
        return text[:start]
    at = start - SURROUNDINGS
    space = _SPACE.search(text, at, start)
    _, at = _tag_around(text, space.end() if space else at)
    return f"… {text[min(at, start) : start]}"


def _after(text: str, end: int) -> str:
    """Return the text after a passage, to the end of a word."""
    after = text[end : end + SURROUNDINGS]
    if end + SURROUNDINGS >= len(text):
        return after
    cut = max((match.start() for match in _SPACE.finditer(after)), default=len(after))
    at, _ = _tag_around(text, end + cut)
    return f"{text[end : max(at, end)]} …"


def _tag_around(text: str, at: int) -> Span:
    """Return the tag that a place is within, or the place itself: half a tag is no markup."""
    opened = text.rfind("<", max(at - _LONGEST_TAG, 0), at)
    tag = _TAG.match(text, opened) if opened >= 0 else None
    return tag.span() if tag and tag.end() > at else (at, at)


def explanation_stop(question: str, standing: Standing, document: Document) -> TourStop:
    """Return a stop that explains why a passage of a document was or was not retrieved."""
    chunk = standing.chunk
    place = standing.document + page_name(standing.document, chunk.page, chunk.heading, ", ")
    span = (chunk.start, chunk.end)
    text = readable_text(document, span) if tables_within(document, span) else chunk.text
    summary = standing.summary.removesuffix(".")
    if not standing.lost:
        rank = f" It has rank {standing.rank} of the search" if standing.rank else ""
        summary = f"The answer could be written from this passage.{rank}".removesuffix(".")
    return TourStop(
        "why",
        f"Why this passage? {question}",
        summary[:1].upper() + summary[1:] + ".",
        (TourQuote(place, text, markdown=_is_markdown(document)),),
        points=tuple(map(_step, standing.steps)),
    )


def _step(step: Passing) -> str:
    """One stage that a passage went through, for a reader who does not know the pipeline."""
    title = _STAGE_TITLES.get(step.stage, stage_title(step.stage))
    passed = step.outcome == "kept" and step.words.startswith("one of ")
    return f"{title}: {'yes, ' * passed}{step.words}{' passages' * passed}"


def run_stop(
    run: Run, name: str, intervals: Mapping[str, Interval], results: Sequence[QuestionResult]
) -> TourStop:
    """Return a stop with the metrics of a run that reports show first."""
    ranked = [result for result in results if result.relevant]
    graded = (
        f"{search_grade(ranked).capitalize()}. {first_hits(ranked, 'result')} " if ranked else ""
    )
    refused = f"{sentence} " if (sentence := unanswered(results)) else ""
    metrics = [metric for metric in on_cards(run) if metric in run.metrics]
    values = [
        TourValue(
            metric_title(metric),
            as_shown(metric, run.metrics[metric]),
            _bounded(metric, intervals.get(metric), highest_mean(metric, results)),
        )
        for metric in metrics
    ]
    return TourStop(
        "metrics",
        f"How good is it? {name}",
        f"{graded}{refused}Measured on the question set {run.question_set} on "
        f"{run.created:%Y-%m-%d}. Ranges are {as_percent(LEVEL)} confidence intervals.",
        values=tuple(values),
        points=tuple(f"{metric_title(metric)}: {metric_meaning(metric)}" for metric in metrics),
    )


def _bounded(metric: str, interval: Interval | None, ceiling: float) -> str:
    """An interval within the highest possible value of a metric, and that value if it is below 1.

    Questions like these cannot have a higher mean.
    """
    style = partial(as_shown, metric)
    shown = _range(Interval(interval.low, min(interval.high, ceiling)), style) if interval else ""
    return ", ".join(filter(None, [shown, f"of at most {ceiling:.2f}" if ceiling < 1.0 else ""]))


def comparison_stop(compared: RunComparison, names: Mapping[str, str], saved: Recipe) -> TourStop:
    """Return a stop with the verdict on a run against a baseline.

    ``names`` are those of runs, ``saved`` is the saved recipe.
    """
    figures, names = compared.figures, _told_apart(compared, names)
    means = (
        TourValue(
            f"{metric_title(figures.metric)}, {names[compared.run.id]}", f"{figures.mean:.3f}"
        ),
        TourValue(
            f"{metric_title(figures.metric)}, {names[compared.baseline.id]}",
            f"{figures.baseline:.3f}",
        ),
    )
    change = (
        TourValue(
            "Difference",
            signed(figures.difference),
            ""
            if figures.all_tied
            else f"{_range(figures.interval, signed)} ({as_percent(figures.confidence)} interval)",
        ),
        TourValue("Questions", f"{figures.won} won", f"{figures.lost} lost, {figures.tied} tied"),
    )
    chips = [f"{field} {new} instead of {old}" for field, old, new in _changes(compared)]
    changed = ", ".join(chips or compared.chips)
    changes = f"What the recipe changes: {changed}." if changed else ""
    scale = "" if figures.obstacle else _scale(figures.metric)
    tested = figures.evidence
    decides = figures.differences and not figures.obstacle and not figures.all_tied
    if as_percent(figures.confidence) != as_percent(LEVEL) and decides:
        tested += (
            f" The interval of the difference has the level {figures.level}. Ranges of single runs "
            f"have the level {as_percent(LEVEL)}."
        )
    return TourStop(
        "comparison",
        f"Is it better? {_apart(compared, names)}",
        f"{_in_plain_words(compared, names, saved)} {_counted_questions(compared, names)}".rstrip(),
        values=(*means, *(() if figures.obstacle else change)),
        points=tuple(filter(None, [changes, *compared.caveats, scale])),
        tested=tested.strip(),
    )


def _changes(compared: RunComparison) -> list[tuple[str, str, str]]:
    """The fields that two recipes search differently by, with the value of each in plain words."""
    before, recipe = compared.baseline.recipe, compared.run.recipe
    fields = before.differences(recipe) if before and recipe else {}
    words = {**MODES, "auto": "automatic"}
    return [
        (
            "search by" if name == "search.mode" else phrase(name),
            words.get(str(old)) or setting(old),
            words.get(str(new)) or setting(new),
        )
        for name, (old, new) in fields.items()
        if not name.startswith("answer.")
    ]


def _told_apart(compared: RunComparison, names: Mapping[str, str]) -> Mapping[str, str]:
    """The names of two runs; equal ones with a setting that differs, else with their time."""
    run, baseline = compared.run, compared.baseline
    if names[run.id] != names[baseline.id]:
        return names
    for field, old, new in _changes(compared):
        more = {run.id: f"{field} {new}", baseline.id: f"{field} {old}"}
        break
    else:
        more = {one.id: f"{one.created:%Y-%m-%d %H:%M:%S} UTC" for one in (run, baseline)}
    return {key: f"{names[key]}, {words}" for key, words in more.items()}


def _apart(compared: RunComparison, names: Mapping[str, str]) -> str:
    """Two runs by the parts of their names that only one has, for a title."""
    run, baseline = compared.run, compared.baseline
    new, old = names[run.id].split(", "), names[baseline.id].split(", ")
    parts = [part for part in new if part not in old], [part for part in old if part not in new]
    if not all(parts):  # the name of a recipe leaves out what is as by default
        changes = _changes(compared)
        parts = [f"{field} {value}" for field, _, value in changes], [old for _, old, _ in changes]
    if not all(parts):
        return f"{names[run.id]} against {names[baseline.id]}"
    return " against ".join(map(", ".join, parts))


def _counted_questions(compared: RunComparison, names: Mapping[str, str]) -> str:
    """A sentence on how many questions each of two runs finds the passage of.

    Only results that a recipe returns count: its top-k, and at most as many as the metric looks at.
    "" for metrics that aren't about the first results, and where the runs don't compare.
    """
    measure, _, cutoff = compared.figures.metric.partition("@")
    if measure not in MEASURES or not compared.rows or compared.figures.obstacle:
        return ""
    k, other = (_returned(run, int(cutoff)) for run in (compared.run, compared.baseline))
    found = sum((row.first_after or k + 1) <= k for row in compared.rows)
    before = sum((row.first_before or other + 1) <= other for row in compared.rows)
    return (
        f"“{names[compared.run.id]}” finds a right passage {_among(k)} for {found:,} of "
        f"{counted(len(compared.rows), 'question')}, “{names[compared.baseline.id]}” "
        f"{f'{_among(other)} ' if other != k else ''}for {before:,}."
    )


def _returned(run: Run, k: int) -> int:
    """The number of results among the first k that the recipe of a run returns."""
    return min(k, run.recipe.search.top_k) if run.recipe else k


def _among(k: int) -> str:
    return "as the first result" if k == 1 else f"among the first {k} results"


def _named(run: Run, names: Mapping[str, str]) -> str:
    """A run within a sentence: its name alone is no part of one."""
    return f"the {'recipe' if run.recipe else 'system'} “{names[run.id]}”"


def _in_plain_words(compared: RunComparison, names: Mapping[str, str], saved: Recipe) -> str:
    """The verdict for a reader who knows no statistics."""
    figures = compared.figures
    run, baseline = _named(compared.run, names), _named(compared.baseline, names)
    match figures.verdict:
        case "better":
            return f"Yes: {run} is better than {baseline}, by more than chance explains."
        case "worse":
            return f"No: {run} is worse than {baseline}, by more than chance explains."
        case "undecided" if figures.won or figures.lost:
            step = compared.recommendation(names, saved)
            return f"{figures.headline} {step}"  # as *Runs* has it
        case _:
            return figures.headline


def _scale(metric: str) -> str:
    """A sentence on the scale of a metric."""
    title = metric_title(metric)
    if lower_is_better(metric):
        return f"{title}: lower is better."
    says = metric_meaning(metric)
    return f"{title} is a score between 0 and 1; higher is better. {says}".rstrip()


def _place(citation: StoredCitation, document: Document | None) -> str:
    """The document of a citation with its page, or with the name of its sheet."""
    pages = document.pages if document else ()
    start = next((page.start for page in pages if page.number == citation.page), None)
    heading = document.heading_at(start) if document and start is not None else ""
    return citation.document + page_name(citation.document, citation.page, heading, ", ")


def _range(interval: Interval, style: Callable[[float], str] = "{:.3f}".format) -> str:
    return f"{style(interval.low)} to {style(interval.high)}"
