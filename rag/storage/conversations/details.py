"""Details of the way an answer was produced, as stored with its turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rag.types import TOOL, Answer, Assessment, BudgetPart, Citation, Decision, Edition


@dataclass(frozen=True, slots=True)
class StoredCitation:
    """``[n]`` of a stored answer; the passage is found again by document and span."""

    n: int
    chunk_id: str
    document_id: str
    document: str
    start: int
    end: int
    page: int | None
    relevance: float
    text: str
    quote: str
    base: str = ""
    url: str = ""
    checked: bool = False
    page_label: str = ""
    answers: bool = False

    @property
    def from_tool(self) -> bool:
        """Whether it is a result of an HTTP tool, which no knowledge base holds."""
        return self.document_id.startswith(TOOL)


@dataclass(frozen=True, slots=True)
class TurnDetails:
    """The decisions of a turn, how its prompt was spent, and in which wording it was asked.

    ``quotes`` are what the passages say, where the answer cites none or words them; ``written`` is
    what a model wrote that the quotes do not bear out. ``suspicious`` counts the
    passages that were shown and hold what reads like instructions. ``assessment`` is None of turns
    from before answers had a state. ``base_version`` is the version of the documents at its end, 0
    where that is not known.
    """

    decisions: tuple[Decision, ...] = ()
    budget: tuple[BudgetPart, ...] = ()
    prompt_version: str = ""
    quotes: tuple[StoredCitation, ...] = ()
    suspicious: int = 0
    assessment: Assessment | None = None
    base_version: int = 0
    written: str = ""


NO_DETAILS = TurnDetails()


def details_of(answer: Answer, base_version: int = 0) -> dict[str, Any]:
    """Return the details of an answer as plain data, without the empty ones."""
    details = {
        "decisions": [asdict(decision) for decision in answer.decisions],
        "budget": [asdict(part) for part in answer.budget],
        "prompt_version": answer.prompt_version,
        "quotes": [citation_row(citation) for citation in answer.quotes],
        "suspicious": answer.suspicious,
        "assessment": asdict(answer.assessment) if answer.assessment else None,
        "base_version": base_version,
        "written": answer.written,
    }
    return {name: value for name, value in details.items() if value}


def read_details(stored: Mapping[str, Any]) -> TurnDetails:
    """Restore the details from the output of ``details_of``."""
    budget = (
        BudgetPart(**{**part, "left_out": tuple(part["left_out"])})
        for part in stored.get("budget", ())
    )
    return TurnDetails(
        tuple(Decision(**decision) for decision in stored.get("decisions", ())),
        tuple(budget),
        stored.get("prompt_version", ""),
        tuple(StoredCitation(**citation) for citation in stored.get("quotes", ())),
        stored.get("suspicious", 0),
        _assessment(stored.get("assessment")),
        stored.get("base_version", 0),
        stored.get("written", ""),
    )


def _assessment(stored: Mapping[str, Any] | None) -> Assessment | None:
    if stored is None:
        return None
    editions = tuple(Edition(**edition) for edition in stored["editions"])
    return Assessment(**{**stored, "missing": tuple(stored["missing"]), "editions": editions})


def citation_row(citation: Citation) -> dict[str, Any]:
    """A citation as plain data."""
    hit = citation.hit
    return {
        "n": citation.n,
        "chunk_id": hit.chunk.id,
        "document_id": hit.chunk.document_id,
        "document": hit.document,
        "start": hit.chunk.start,
        "end": hit.chunk.end,
        "page": citation.cited_page,
        "page_label": citation.page_label,
        "relevance": hit.relevance,
        "text": hit.chunk.text,
        "quote": citation.quote,
        "base": hit.base,
        "url": hit.url,
        "checked": citation.checked,
        "answers": citation.answers,
    }
