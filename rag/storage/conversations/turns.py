"""Chat turns, and the details of the way their answers were produced.

A question is stored before it is answered, so that a killed process loses none. A conversation is a
tree of turns: each has the one before it as its parent, and those with the same parent are versions
of each other. Shown is the branch that ends with the conversation's head.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from rag.recipe import Recipe
from rag.storage.conversations.sessions import Scope, conversation, turn
from rag.storage.rows import read
from rag.types import (
    MUST_CITE,
    TOOL,
    Answer,
    AnswerState,
    Assessment,
    BudgetPart,
    Citation,
    Decision,
    Edition,
    Example,
    SentenceCheck,
)


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
    from before answers had a state. ``documents_hash`` names the documents at its end, as that of a
    run does; "" where that is not known.
    """

    decisions: tuple[Decision, ...] = ()
    budget: tuple[BudgetPart, ...] = ()
    prompt_version: str = ""
    quotes: tuple[StoredCitation, ...] = ()
    suspicious: int = 0
    assessment: Assessment | None = None
    documents_hash: str = ""
    written: str = ""


NO_DETAILS = TurnDetails()


def details_of(answer: Answer, documents_hash: str = "") -> dict[str, Any]:
    """Return the details of an answer as plain data, without the empty ones."""
    details = {
        "decisions": [asdict(decision) for decision in answer.decisions],
        "budget": [asdict(part) for part in answer.budget],
        "prompt_version": answer.prompt_version,
        "quotes": [citation_row(citation) for citation in answer.quotes],
        "suspicious": answer.suspicious,
        "assessment": asdict(answer.assessment) if answer.assessment else None,
        "documents_hash": documents_hash,
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
        stored.get("documents_hash", ""),
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


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with its answer; ``status`` is "asked" until the answer ended somehow.

    ``also`` names the knowledge bases that were searched too, as ``str(FurtherBase)`` writes them.
    ``rewritten`` is the complete question that a follow-up was answered as, "" where it was
    answered as it stands. ``metrics`` are what was counted and timed, by name: {} of turns from
    before that was stored. ``examples`` are the past interactions that stood in the prompt,
    ``sentences`` the checks of what the answer claims.

    ``parent`` is the turn before it, and ``versions`` are the ids of all
    turns that were asked after that one, with its own: answers of other recipes, or other ways
    that the conversation took. ``reason`` and ``correction`` came with a thumb down; ``review``
    says what a review made of the turn. ``clicks`` counts its citations that were opened.
    ``details`` tell how the answer came about.
    """

    id: int
    question: str
    recipe: Recipe
    answer: str
    status: str
    mode: str
    citations: tuple[StoredCitation, ...]
    note: str
    passages: int
    seconds: float
    thumb: int
    also: tuple[str, ...] = ()
    rewritten: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()
    sentences: tuple[SentenceCheck, ...] = ()
    conversation_id: int = 0
    parent: int | None = None
    versions: tuple[int, ...] = ()
    reason: str = ""
    correction: str = ""
    review: str = ""
    clicks: int = 0
    created: datetime | None = None
    details: TurnDetails = NO_DETAILS

    @property
    def state(self) -> AnswerState | None:
        """The state of the answer; None where that was not assessed."""
        return self.details.assessment.state if self.details.assessment else None

    @property
    def uncited(self) -> bool:
        """Whether the answer should rest on passages or results, and names none."""
        return self.status == "complete" and self.mode in MUST_CITE and not self.citations

    @property
    def complete(self) -> str:
        """The question as it can be understood without the conversation."""
        return self.rewritten or self.question


def ask(
    connection: Connection,
    conversation_id: int,
    question: str,
    recipe: Recipe,
    also: Sequence[str] = (),
    instead_of: int | None = None,
) -> int:
    """Store a question that is about to be answered; return the id of the turn.

    It comes after the last turn that is shown, or is another version of ``instead_of``.
    """
    if instead_of is None:  # after the last one that is shown
        newest = select(func.max(turn.c.id)).where(turn.c.conversation_id == conversation_id)
        head = select(conversation.c.head).where(conversation.c.id == conversation_id)
        parent = select(func.coalesce(head.scalar_subquery(), newest.scalar_subquery()))
    else:
        parent = select(turn.c.parent).where(turn.c.id == instead_of)
    new = insert(turn).values(
        conversation_id=conversation_id,
        parent=parent.scalar_subquery(),
        question=question,
        recipe=recipe.model_dump(mode="json"),
        status="asked",
        also=list(also),
        citations=[],
        created=datetime.now(UTC),
    )
    return int(connection.execute(new.returning(turn.c.id)).scalar_one())


def conclude(
    connection: Connection,
    scope: Scope,
    turn_id: int,
    answer: Answer,
    metrics: Mapping[str, Any],
    documents_hash: str,
) -> bool:
    """Store the answer of a turn, whole or as far as it came, and what was counted and timed.

    Tells whether the turn is one of the scope.
    """
    stored = connection.execute(
        update(turn)
        .where(turn.c.id == turn_id, turn.c.conversation_id.in_(scope.ids))
        .values(
            answer=answer.text,
            status=answer.status,
            mode=answer.mode,
            citations=[citation_row(citation) for citation in answer.citations],
            sentences=[asdict(sentence) for sentence in answer.sentences],
            details=details_of(answer, documents_hash),
            note=answer.note,
            passages=answer.trace.passages,
            seconds=answer.trace.seconds,
            rewritten=answer.trace.question if answer.trace.typed else "",
            metrics=dict(metrics),
            examples=[_example(example) for example in answer.examples],
        )
        .returning(turn.c.id)
    )
    return stored.first() is not None


def _example(example: Example) -> dict[str, Any]:
    stored = asdict(example)
    del stored["answer"]  # what is deleted from the memory shall not live on in turns
    return stored


def mark(connection: Connection, /, scope: Scope, turn_id: int, **values: Any) -> None:
    """Store what somebody thinks of a turn: thumb, reason, correction, review."""
    mine = turn.c.conversation_id.in_(scope.ids)
    connection.execute(update(turn).where(turn.c.id == turn_id, mine).values(**values))


def count_click(connection: Connection, scope: Scope, turn_id: int) -> None:
    """Count that a citation of a turn was opened."""
    mark(connection, scope, turn_id, clicks=turn.c.clicks + 1)


def list_branch_turns(
    connection: Connection,
    scope: Scope,
    conversation_id: int,
    last: int | None = None,
    most: int | None = None,
) -> list[Turn]:
    """The turns of the branch that is shown, or ends with ``last``, oldest first.

    ``most`` limits them to the newest.
    """
    rows = connection.execute(
        select(turn, conversation.c.head)
        .join(conversation, conversation.c.id == turn.c.conversation_id)
        .where(scope.condition, conversation.c.id == conversation_id)
        .order_by(turn.c.id)
    ).all()
    if not rows:
        return []
    by_id = {row.id: row for row in rows}
    versions: dict[int | None, tuple[int, ...]] = {}
    for row in rows:
        versions[row.parent] = (*versions.get(row.parent, ()), row.id)
    at = last if last is not None else rows[-1].head or rows[-1].id
    branch = list[Turn]()
    while at in by_id and len(branch) != most:
        branch.append(stored_turn(by_id[at], versions[by_id[at].parent]))
        at = by_id.pop(at).parent
    return branch[::-1]


def newest_below(connection: Connection, conversation_id: int, turn_id: int) -> int:
    """The last turn of the newest branch that goes through a turn."""
    rows = connection.execute(
        select(turn.c.id, turn.c.parent)
        .where(turn.c.conversation_id == conversation_id)
        .order_by(turn.c.id)
    ).all()
    newest = {row.parent: row.id for row in rows if row.parent is not None}
    while turn_id in newest:
        turn_id = newest.pop(turn_id)
    return turn_id


def stored_turn(row: Row[Any], versions: tuple[int, ...]) -> Turn:
    """The turn that a row of the table holds."""
    return read(
        Turn,
        row,
        recipe=Recipe.restore(row.recipe),
        citations=tuple(StoredCitation(**item) for item in row.citations),
        also=tuple(row.also),
        examples=tuple(Example(**example) for example in row.examples),
        sentences=tuple(map(_sentence, row.sentences)),
        versions=versions,
        details=read_details(row.details),
    )


def unstored_turn(question: str, recipe: Recipe, answer: Answer) -> Turn:
    """Return an answer as a turn that no conversation has; its id is 0."""
    return Turn(
        id=0,
        question=question,
        recipe=recipe,
        answer=answer.text,
        status=answer.status,
        mode=answer.mode,
        citations=tuple(StoredCitation(**citation_row(one)) for one in answer.citations),
        note=answer.note,
        passages=answer.trace.passages,
        seconds=answer.trace.seconds,
        thumb=0,
        created=datetime.now(UTC),
        details=read_details(details_of(answer)),
    )


def _sentence(item: Mapping[str, Any]) -> SentenceCheck:
    lists = {name: tuple(item[name]) for name in ("cited", "reasons", "figures")}
    return SentenceCheck(**{**item, **lists})
