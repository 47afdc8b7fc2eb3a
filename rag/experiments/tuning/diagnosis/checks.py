"""Checks of one failed question, in order: the first that finds something names the cause."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from rag.answering.assessing.editions import ALIKE, are_editions, edition_date
from rag.evaluation.anchoring import Haystack
from rag.evaluation.intervals import signed
from rag.experiments.tuning.diagnosis.case import Case
from rag.experiments.tuning.diagnosis.causes import Cause, Finding
from rag.languages import language_name, likeliest
from rag.lexical import synonyms
from rag.lexical.analyzers import function_words
from rag.library.documents.reading_again import SURE, broken_characters, unknown_words
from rag.retrieval.filters import describe_filters
from rag.types import LOST, SYNONYM_SEPARATOR, Evidence, page_name, percent

Check = Callable[[Case], Finding | None]

_LANGUAGE = 0.5  # probability of a guess from a question
_WRITTEN = 0.9  # the same from a passage, which is longer; unreadable text has less
_WHOLE = 0.75  # share of a label in one passage
_LONG = 2  # a label of more passages is no sentence that was cut
_GAIN = 0.02  # of the cosine
_CROWD = 0.8  # share of the results that are of one folder
INDEXED_RANK = "indexed_rank"
"""The figure of a finding: the rank by meaning if the index had the text as the fix has it."""


def outside_filter(case: Case) -> Finding | None:
    """The recipe's filter excludes the passage."""
    allowed = case.corpus.allowed
    if allowed is None or np.isin(case.chunk.key, allowed):
        return None
    filters = describe_filters(case.search)
    message = (
        f"The filter leaves {len(allowed):,} of {case.corpus.passages:,} passages, "
        f"without this one: {filters}."
    )
    return Finding("filter", message, {"allowed": float(len(allowed))})


def misread(case: Case) -> Finding | None:
    """The text of the label is unreadable."""
    sign = broken_characters(case.labelled_text)
    page = next((p for p in case.document.pages if p.number == case.chunk.page), None)
    if not sign and page is not None and page.confidence is not None and page.confidence < SURE:
        sign = f"text recognition is {page.confidence:.0f} % sure of the page"
    lacking, terms = case.figures.lacking, case.corpus.lexical.terms(case.question.text)
    if not sign and 2 * len(lacking) > len(terms) and not _language_differs(case):
        sign = unknown_words(case.labelled_text, case.corpus.lexical)
    return Finding("misread", f"The labelled text is unreadable: {sign}.") if sign else None


def cut_apart(case: Case) -> Finding | None:
    """The label is in several passages, and these as one are nearer than the relevant one is."""
    if case.label.end is None:
        return None
    start, end = case.span
    parts = [
        (key, min(end, stop) - max(start, begin), begin, stop)
        for key, begin, stop in case.setting.spans.get(case.chunk.document_id, ())
        if begin < end and stop > start
    ]
    longest = max((stop - begin for *_, begin, stop in parts), default=0)
    most = max((shared for _, shared, *_ in parts), default=0)
    if len(parts) < 2 or most >= _WHOLE * (end - start) or end - start > _LONG * longest:
        return None
    first, last = min(begin for *_, begin, _ in parts), max(stop for *_, stop in parts)
    whole = case.document.text[first:last]
    together = _cosine(case, whole)
    apart = case.figures.dense
    terms = _terms(case, case.question.text)
    more = len(terms & _terms(case, whole)) - len(terms & _terms(case, case.chunk.text))
    if together < apart + _GAIN and more < 1:
        return None
    message = (
        f"The label is split over {len(parts)} passages, with at most "
        f"{percent(most / (end - start))} in one. In one passage its cosine is {together:.3f} "
        f"instead of {apart:.3f}, with {signed(more, 0)} words of the question."
    )
    figures = {"together": together, "apart": apart, "words": float(more)}
    return Finding("cut", message, {**figures, INDEXED_RANK: _rank_by_meaning(case, together)})


def other_language(case: Case) -> Finding | None:
    """Question and passage are in different languages."""
    terms = case.corpus.lexical.terms(case.question.text)
    if not _language_differs(case) or 2 * len(case.figures.lacking) < len(terms):
        return None
    question, written = (likeliest(text)[0] for text in (case.question.text, case.chunk.text))
    message = (
        f"The question is in {language_name(question)}, the passage in {language_name(written)}: "
        f"cosine {case.figures.dense:.3f}, {len(case.figures.lacking)} words of the question "
        "are not in it."
    )
    return Finding("language", message, {"cosine": case.figures.dense})


def misspelt(case: Case) -> Finding | None:
    """The search finds the passage when mistyped words are corrected."""
    if case.search.spelling == "question":
        return None
    corrections = case.corpus.lexical.corrections(case.question.text)
    if not corrections:
        return None
    rank = case.found_by(spelling="question")
    if rank is None or (case.shown_rank is not None and rank >= case.shown_rank):
        return None
    read = ", ".join(
        f"“{case.question.text[fix.start : fix.end]}” ({fix.term} in {fix.passages} passages)"
        for fix in corrections
    )
    return Finding(
        "misspelt", f"No passage has {read}. Corrected, the rank is {rank}.", {"rank": float(rank)}
    )


def other_words(case: Case) -> Finding | None:
    """No passage has a word of the question, and the labelled passage has a synonym of it."""
    if case.search.synonyms:
        return None
    question, passage = case.question.text, _terms(case, case.chunk.text)
    forms = [
        (question[form.start : form.end], word)
        for form in synonyms(question, case.corpus.lexical)
        for word in form.form.split(SYNONYM_SEPARATOR)
        if _terms(case, word) <= passage
    ]
    if not forms:
        return None
    rank = case.found_by(synonyms=True)
    if rank is None or (case.shown_rank is not None and rank >= case.shown_rank):
        return None
    read = ", ".join(f"“{typed}”, the passage has “{word}”" for typed, word in forms)
    message = f"No passage has {read}. Searched with synonyms, its rank is {rank}."
    return Finding("synonym", message, {"rank": float(rank)})


def reranked_away(case: Case) -> Finding | None:
    """Without the reranker, the passage is among the results."""
    if case.searched.candidates.rerank is None or case.shown_rank is not None:
        return None
    if not case.enters_without_rerank():
        return None
    return Finding("rerank", f"The reranker moved it to rank {case.rank}, below top-k.")


def refused(case: Case) -> Finding | None:
    """The question was refused, and the passage would be among the results."""
    topic = case.searched.candidates.topic
    if not len(case.searched.selection.refused) or topic is None:
        return None
    without = "refusals"
    if not case.enters(refuse=0.0):
        without = "refusals and the threshold"
        if not case.enters(refuse=0.0, threshold=None):
            return None
    limit = topic.limit(case.search.refuse) or 0.0
    message = (
        f"The question was refused as off-topic: probability {topic.probability:.3f}, the limit "
        f"is {limit:.3f}. Without {without} it is among the results."
    )
    return Finding("refused", message, {"probability": topic.probability, "limit": limit})


def below_threshold(case: Case) -> Finding | None:
    """Without the threshold, the passage is among the results."""
    if case.place is None or case.place not in case.searched.selection.below:
        return None
    if not case.enters(threshold=None):
        return None
    relevance = float(case.searched.selection.relevance[case.place])
    limit = case.setting.threshold or 0.0
    message = (
        f"Its relevance is {relevance:.3f}, below the threshold of {limit:.3f}. Without the "
        f"threshold its rank is {case.rank}."
    )
    return Finding("threshold", message, {"relevance": relevance, "threshold": limit})


def a_duplicate(case: Case) -> Finding | None:
    """The passage was dropped as a copy of a better one."""
    doubles = case.searched.selection.doubles
    double = next((one for one in doubles if one.place == case.place), None)
    if double is None or not case.enters(duplicates=None):
        return None
    key = int(case.searched.candidates.keys[double.of])
    name = case.document_of(key)
    message = f"It was dropped as a copy of a passage of {name} (cosine {double.cosine:.3f})."
    return Finding("duplicates", message, {"cosine": double.cosine})


def diversified_away(case: Case) -> Finding | None:
    """Without MMR, the passage is among the results."""
    if case.search.mmr is None or case.shown_rank is not None or not case.enters(mmr=None):
        return None
    message = f"By score it is in the first {case.search.top_k}; MMR prefers less similar ones."
    return Finding("mmr", message)


def over_budget(case: Case) -> Finding | None:
    """The passage is a result that does not fit into the prompt."""
    kept = case.searched.selection.kept
    if case.place is None or case.shown_rank is not None or case.place not in kept:
        return None
    rank = int(np.flatnonzero(kept == case.place)[0]) + 1
    budget = case.setting.recipe.answer.context_tokens
    message = (
        f"It is result {rank}, but only the first {len(case.searched.shown)} fit into "
        f"{budget:,} tokens."
    )
    return Finding("budget", message, {"rank": float(rank), "budget": float(budget)})


def superseded_above(case: Case) -> Finding | None:
    """Older editions of the document rank higher, and without them the passage ranks better."""
    mine = case.document_of(case.chunk.key)
    date = edition_date(mine, case.document.text)
    older = [
        hit
        for hit in case.above
        if are_editions(hit.document, mine)
        and date.is_newer_than(
            edition_date(hit.document, case.setting.document(hit.chunk.document_id).text)
        )
        and on_one_matter(case.labelled_text, hit.chunk.text)
    ]
    if not older:
        return None
    rank = case.rank_without(np.array([hit.chunk.key for hit in older], np.int64))
    if rank is None or rank > case.search.top_k:
        return None
    first = older[0]
    message = (
        f"{first.document}, an older edition of {mine}, is at rank {first.rank}. Without older "
        f"editions its rank is {rank}."
    )
    return Finding("superseded", message, {"rank": float(rank), "above": float(first.rank)})


def doubtful_label(case: Case) -> Finding | None:
    """A result without a label says the same as the labelled passage."""
    for hit in case.above:
        chunk = hit.chunk
        touches = chunk.document_id == case.chunk.document_id and (
            chunk.start < case.chunk.end and chunk.end > case.chunk.start
        )
        if not touches and says_the_same(case.labelled_text, chunk.text):
            page = page_name(hit.document, chunk.page, chunk.heading, ", ")
            message = f"Rank {hit.rank} ({hit.document}{page}) says the same and has no label."
            return Finding("doubtful", message, {"rank": float(hit.rank)})
    return None


def row_without_labels(case: Case) -> Finding | None:
    """The passage is of a table whose labels have words of the question that it lacks."""
    table = case.document.table_at(case.span[0])
    if table is None:
        return None
    lacking = set(case.figures.lacking)
    named = sorted(lacking & _terms(case, " ".join((table.caption, *table.labels))))
    if not named:
        return None
    message = (
        f"The row is in a table whose labels have {_spelled(case, named)} of the question; the "
        "indexed passage does not."
    )
    labelled = "\n".join((", ".join(filter(None, table.labels)), case.chunk.text))
    rank = _rank_by_meaning(case, _cosine(case, labelled))
    return Finding("table_row", message, {"words": float(len(named)), INDEXED_RANK: rank})


def found_by_one(case: Case) -> Finding | None:
    """No retriever has the passage among its candidates, or only one of them has."""
    depth = case.search.candidates
    near, words = case.figures.dense_rank, case.figures.bm25_rank
    figures = {
        name: float(value)
        for name, value in (("dense_rank", near), ("bm25_rank", words), ("rank", case.rank))
        if value is not None
    }
    by_meaning, by_words = near is not None and near <= depth, words is not None and words <= depth
    ranks = f"dense {_rank(near)}, lexical {_rank(words)}"
    if not by_meaning and not by_words:
        message = f"Neither search has it in the first {depth}: {ranks}{_lacking(case)}."
        return Finding("not_found", message, figures)
    if case.shown_rank is not None or (by_meaning and by_words):
        return None
    fused = "not a candidate" if case.rank is None else f"together rank {case.rank}"
    which = "lexical" if by_words else "dense"
    message = f"Only {which} search has it in the first {depth}: {ranks}, {fused}"
    if by_words:
        return Finding("words_only", f"{message}.", figures)
    return Finding("meaning_only", f"{message}{_lacking(case)}.", figures)


def crowded(case: Case) -> Finding | None:
    """Nearly all results are of another folder, and without it the passage is among the results."""
    if case.shown_rank is not None or not case.above:
        return None
    folders = Counter(folder_of(hit.document) for hit in case.above)
    folder, results = folders.most_common(1)[0]
    if folder == folder_of(case.document_of(case.chunk.key)) or results < _CROWD * len(case.above):
        return None
    keys = case.searched.candidates.keys
    passages = case.corpus.lookup(keys.tolist())
    crowd = [key for key, (_, name) in passages.items() if folder_of(name) == folder]
    rank = case.rank_without(np.array(crowd, np.int64))
    if rank is None or rank > case.search.top_k:
        return None
    where = f"the folder {folder}" if folder else "no folder"
    message = f"{results} of {len(case.above)} results are of {where}. Without it the rank is "
    message += f"{rank}."
    return Finding("crowded", message, {"rank": float(rank), "results": float(results)})


def folder_of(name: str) -> str:
    """Return the folder in the name of a document, "" for none."""
    return name.rpartition("/")[0]


def too_low(case: Case) -> Finding:
    """The passage ranks too low, for no other reason."""
    figures = {} if case.rank is None else {"rank": float(case.rank)}
    ranks = f"dense {_rank(case.figures.dense_rank)}, lexical {_rank(case.figures.bm25_rank)}"
    if case.shown_rank is not None:
        return Finding("ranked_low", f"It is result {case.shown_rank}: {ranks}.", figures)
    rank = "no candidate" if case.rank is None else f"rank {case.rank}"
    return Finding("top_k", f"It is {rank}, and top-k is {case.search.top_k}: {ranks}.", figures)


CHECKS: Sequence[Check] = (
    outside_filter,
    misread,
    cut_apart,
    other_language,
    misspelt,
    other_words,
    reranked_away,
    refused,
    below_threshold,
    a_duplicate,
    diversified_away,
    over_budget,
    superseded_above,
    doubtful_label,
    row_without_labels,
    found_by_one,
    crowded,
)


def cause_of(case: Case) -> Finding:
    """The first cause that holds."""
    return next(filter(None, (check(case) for check in CHECKS)), None) or too_low(case)


def _cosine(case: Case, text: str) -> float:
    vector = case.corpus.embedder.embed([text], "document")[0]
    return float(vector @ case.rankings.search_query.vector)


def _rank_by_meaning(case: Case, cosine: float) -> float:
    """The rank, from 1, of a passage with a cosine among those that are indexed."""
    return 1.0 + np.count_nonzero(case.rankings.full.near.scores > cosine)


def _language_differs(case: Case) -> bool:
    question, written = likeliest(case.question.text), likeliest(case.chunk.text)
    sure = question[1] >= _LANGUAGE and written[1] >= _WRITTEN
    return sure and question[0] != written[0]


def _terms(case: Case, text: str) -> set[str]:
    analyzer = case.corpus.lexical.analyzer
    return {term for term, _, _ in analyzer.spans(text)}


def _rank(rank: int | None) -> str:
    return "not at all" if rank is None else f"rank {rank:,}"


def _lacking(case: Case) -> str:
    lacking = case.figures.lacking[:4]
    return f"; it lacks {_spelled(case, lacking)}" if lacking else ""


def _spelled(case: Case, terms: Iterable[str]) -> str:
    """Index terms as the words that were searched, which also has synonyms of those asked."""
    typed = case.corpus.lexical.spellings(case.rankings.search_query.words)
    return ", ".join(typed.get(term, term) for term in terms)


_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SAME = 0.85  # share of the words of a statement
_FEWEST = 4


def on_one_matter(one: str, other: str) -> bool:
    """Whether a text has enough of the words of another, besides numbers."""
    words = _words(one)
    return bool(words) and len(words & _words(other)) >= ALIKE * len(words)


def says_the_same(statement: str, text: str) -> bool:
    """Whether a text has nearly all words and every number of a statement."""
    words = _words(statement)
    if len(words) < _FEWEST:
        return False
    numbers = set(_NUMBER.findall(statement))
    return len(words & _words(text)) >= _SAME * len(words) and numbers <= set(_NUMBER.findall(text))


def _words(text: str) -> set[str]:
    words = {word.casefold() for word in _WORD.findall(text)}
    return words - function_words()


_WORDS = re.compile(r"\w+")
_NEARLY = 70.0  # percent of letters that a word read wrongly still has
_LACKING = 0.2  # share of the label's words: fewer may be another wording
_PLAIN_TEXT = (
    *(".md", ".markdown", ".rst", ".adoc", ".asciidoc", ".txt", ".html", ".htm"),
    *(".csv", ".tsv", ".json", ".jsonl"),
)
"""Formats whose words stand in the order in which they are read."""
_MISREAD = 0.5  # share of lacking words that stand there nearly


def lost_label(
    label: Evidence, texts: Mapping[str, str], elsewhere: Sequence[tuple[str, str]]
) -> Finding:
    """The cause for a label that no document has.

    ``texts`` has the texts of documents by name, as far as labels name them; ``elsewhere`` are
    (document, text) of the passages that are nearest to the label.
    """
    name = label.document_id.removeprefix(LOST)
    for document, text in elsewhere:
        if label.quote and document != name and Haystack(text).find(label.quote):
            return Finding(
                "doubtful", f"The label points to {name}, but {document} has the same words."
            )
    if name not in texts:
        return Finding("missing", f"{name}, which the label points to, is not in the documents.")
    return _changed(label, name, texts[name])


def _changed(label: Evidence, name: str, text: str) -> Finding:
    """The cause where the document is there, but not with the words of the label."""
    if label.quote and Haystack(text).find(label.quote, similar=False):
        return Finding("doubtful", f"{name} has these words, but the label is not placed there.")
    if sign := broken_characters(text):
        return Finding("misread", f"The text of {name} is unreadable: {sign}.")
    words = dict.fromkeys(word.casefold() for word in _WORDS.findall(label.quote))
    there = set(map(str.casefold, _WORDS.findall(text)))
    lacking = [word for word in words if word not in there]
    figures = {"label_words": float(len(words)), "lacking_words": float(len(lacking))}
    if words and len(lacking) <= _LACKING * len(words):
        message = f"{name} has the words of the label, but not as one quote."
        cause: Cause = "doubtful" if name.lower().endswith(_PLAIN_TEXT) else "misread"
        return Finding(cause, message, figures)
    letters = "".join(_WORDS.findall(text)).casefold()
    nearly = [word for word in lacking if word in letters or _stands_nearly(word, there)]
    shown = ", ".join(lacking[:4])
    message = f"{name} lacks {len(lacking)} of the {len(words)} words of the label: {shown}."
    if lacking and len(nearly) >= _MISREAD * len(lacking):
        return Finding("misread", f"{message} Most are in the text with other letters.", figures)
    return Finding("missing", message, figures)


def _stands_nearly(word: str, there: set[str]) -> bool:
    from rapidfuzz import fuzz, process

    if len(word) < 4:
        return False
    return process.extractOne(word, there, scorer=fuzz.ratio, score_cutoff=_NEARLY) is not None
