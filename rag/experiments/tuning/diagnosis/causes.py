"""The causes of failed questions, in the order of the way from a document to a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rag.recipe import Recipe

Cause = (
    Literal["missing", "excluded", "filter", "misread", "cut", "language", "misspelt"]
    | Literal["synonym", "rerank", "refused", "threshold", "duplicates", "mmr", "budget"]
    | Literal["superseded", "doubtful", "table_row"]
    | Literal["not_found", "words_only", "meaning_only", "crowded", "top_k"]
    | Literal["ranked_low", "answered"]
    | Literal["doubted", "unexpected"]
)


@dataclass(frozen=True, slots=True)
class CauseRow:
    """The words for a cause: its title, and what people can do about it.

    ``untried`` is the part of the advice that no trial of a fix covers.
    """

    title: str
    advice: str
    untried: str = ""


CAUSES: Mapping[Cause, CauseRow] = {
    "missing": CauseRow(
        "Not in the documents", "Add the document, or mark the question as unanswerable."
    ),
    "excluded": CauseRow("Left out of the index", "Include the passage again, or build again."),
    "filter": CauseRow("Outside the filter", "Widen or remove the filter of the recipe."),
    "misread": CauseRow(
        "Read wrongly", "Read the document again, with text recognition if it is a scan."
    ),
    "cut": CauseRow(
        "Cut apart",
        "Use larger passages, an overlap, or join the two by hand.",
        "Join the two by hand.",
    ),
    "language": CauseRow(
        "Another language",
        *2 * ("Choose a multilingual embedder, or ask in the documents' language.",),
    ),
    "misspelt": CauseRow("Misspelt", "Turn on spelling correction."),
    "synonym": CauseRow("Other words", "Turn on synonyms."),
    "rerank": CauseRow(
        "Lost to the reranker",
        "Rerank more passages, or use another reranker.",
        "Use another reranker.",
    ),
    "refused": CauseRow("Refused", "Lower the limit of the refusal."),
    "threshold": CauseRow("Lost to the threshold", "Lower the threshold."),
    "duplicates": CauseRow("Dropped as a duplicate", "Drop nearer copies only."),
    "mmr": CauseRow("Lost to MMR", "Give the score more weight against diversity."),
    "budget": CauseRow("Beyond the token budget", "Allow more tokens, or use shorter passages."),
    "superseded": CauseRow(
        "An older edition ranks higher", *2 * ("Exclude or tag the superseded edition.",)
    ),
    "doubtful": CauseRow(
        "Doubtful label", *2 * ("Judge the passage that says the same: it may be relevant too.",)
    ),
    "table_row": CauseRow(
        "Table row without its labels", "Index the labels of tables with their rows."
    ),
    "not_found": CauseRow(
        "Found by neither search", *2 * ("Add words to the passage that people use in questions.",)
    ),
    "words_only": CauseRow("Found by lexical search only", "Give lexical search more weight."),
    "meaning_only": CauseRow("Found by dense search only", "Give dense search more weight."),
    "crowded": CauseRow(
        "Behind the documents of another folder",
        "Search without that folder, by the filter of documents.",
    ),
    "top_k": CauseRow("Below top-k", "Return more passages, or add a reranker.", "Add a reranker."),
    "ranked_low": CauseRow(
        "Returned, but low", "Add a reranker, or change the fusion.", "Add a reranker."
    ),
    "answered": CauseRow(
        "Answered, though no document does",
        "Raise the threshold, or the limit of off-topic questions, only if Tuning shows that it "
        "refuses no question with an answer.",
        "Raise the limit of off-topic questions.",
    ),
    "doubted": CauseRow(
        "Doubtful answer",
        "Ask in the words of the passage that has the answer, or let a language model answer.",
    ),
    "unexpected": CauseRow(
        "Answered, not as expected",
        "If a passage that was found has the expected answer, let a language model answer. If "
        "not, correct the expected answer in the question set.",
    ),
}


_NO_RERANKER: Mapping[Cause, CauseRow] = {
    "top_k": CauseRow("Below top-k", "Return more passages."),
    "ranked_low": CauseRow("Returned, but low", "Change the fusion."),
}
"""The rows of causes whose advice is a reranker, for where none can be added."""
_BY_DOUBT = (
    "Read what the answer rests on. Raise the {} only if Tuning shows that it "
    "refuses no question with an answer."
)
_NO_LIMIT = CauseRow(
    CAUSES["answered"].title,
    _BY_DOUBT.format("threshold or the off-topic limit"),
    untried=_BY_DOUBT.format("off-topic limit"),
)
"""The row for where no such limit is known, or too few labels tell of one."""


def _row(cause: Cause, recipe: Recipe, can_rerank: bool, can_limit: bool) -> CauseRow:
    if cause == "answered" and not can_limit:
        return _NO_LIMIT
    row = CAUSES[cause]
    return row if can_rerank and not recipe.search.rerank else _NO_RERANKER.get(cause, row)


def advice(
    cause: Cause,
    recipe: Recipe,
    *,
    without_gain: bool = False,
    helps_others: bool = False,
    can_rerank: bool = True,
    can_limit: bool = True,
) -> str:
    """Return what helps against a cause, where the recipe doesn't do it already.

    ``without_gain`` says that changes against it were tried, and none gains: they are not advised.
    ``helps_others`` says that one of them gains all the same, by questions that failed otherwise.
    A reranker is advised where the application ``can_rerank``, a limit of off-topic questions where
    labels ``can_limit`` it.
    """
    row = _row(cause, recipe, can_rerank, can_limit)
    off = cause == "answered" and recipe.search.refuse == "off"
    whole = "Set off-topic questions to Auto." if off else row.advice
    if not without_gain:
        return whole
    if off or not row.untried:
        tried = "Gains on other questions only" if helps_others else "Tried without gain"
        return f"{tried}: {whole[:1].lower()}{whole[1:]}"
    gains = "on other questions only" if helps_others else "nothing"
    return f"What was tried gains {gains}. Not tried: {row.untried[:1].lower()}{row.untried[1:]}"


def untried_advice(
    cause: Cause,
    recipe: Recipe,
    *,
    without_gain: bool = False,
    can_rerank: bool = True,
    can_limit: bool = True,
) -> str:
    """Return what is left to do against a cause; "" where changes cover it, and none gains."""
    if not without_gain:
        return advice(cause, recipe, can_rerank=can_rerank, can_limit=can_limit)
    if cause == "answered" and recipe.search.refuse == "off":
        return ""
    return _row(cause, recipe, can_rerank, can_limit).untried


LEAST_ON_TOPIC = "least_on_topic"
"""The figure of a finding: the lowest probability of being on topic of questions with an answer."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause that was checked. ``evidence`` is a sentence, ``figures`` its numbers by name."""

    cause: Cause
    evidence: str
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FailedQuestion:
    """A question that failed, and why.

    ``score`` is its nDCG at top-k. ``passage`` is the id of the relevant passage that was looked
    at, "" where there is none, with its ``document`` and ``page``. ``lacking`` is the code of its
    language if the embedder does not know that.
    """

    id: str
    text: str
    score: float
    finding: Finding
    passage: str = ""
    document: str = ""
    page: int | None = None
    lacking: str = ""

    @property
    def cause(self) -> Cause:
        """The name of the cause."""
        return self.finding.cause
