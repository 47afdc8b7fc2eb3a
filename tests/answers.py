"""Test data for answers: hits, traces, and a chat model that follows a script."""

from collections.abc import Iterator, Sequence

from rag import (
    Answer,
    Chunk,
    Dropped,
    Hit,
    KnowledgeBase,
    Message,
    Recipe,
    Stage,
    Trace,
    Turn,
)
from rag.types import Delta, Usage, chunk_key


def hit(text: str, rank: int = 1, relevance: float = 0.5, **more: object) -> Hit:
    document = str(more.get("document", f"doc-{rank}.md"))
    page = more.get("page")
    chunk = Chunk(
        key=chunk_key(document, 0, len(text)),
        document_id=document,
        start=0,
        end=len(text),
        text=text,
        order=0,
        heading=str(more.get("heading", "")),
        page=page if isinstance(page, int) else None,
    )
    return Hit(chunk, document, rank, relevance, relevance, {})


def hits(*texts: str) -> tuple[Hit, ...]:
    return tuple(hit(text, rank) for rank, text in enumerate(texts, start=1))


def trace(found: Sequence[Hit], question: str = "Why?", misses: Sequence[Hit] = ()) -> Trace:
    dropped = tuple(Dropped(miss, "below") for miss in misses)
    stage = Stage("threshold", len(found) + len(dropped), len(found), dropped)
    return Trace(question, "0" * 12, 9, 0.25, (stage,), tuple(found), 0.0)


def asked(
    base: KnowledgeBase,
    question: str,
    recipe: Recipe | None = None,
    *,
    talk: int | None = None,
    answer: Answer | None = None,
) -> Turn:
    """Ask in a conversation, a new one if none is named, and store the answer of the base.

    ``answer`` is stored in its place.
    """
    recipe = recipe or base.recipe()
    talk = base.conversations.open(talk)
    turn = base.conversations.ask(talk, question, recipe)
    base.conversations.conclude(turn, answer or base.ask(question, recipe).answer)
    return next(each for each in base.conversations.turns(talk) if each.id == turn)


class Scripted:
    """Says its pieces; a piece that is an exception is raised instead."""

    def __init__(self, *pieces: str | Exception, usage: Usage | None = None) -> None:
        self.pieces = pieces
        self.usage = usage
        self.asked: list[Sequence[Message]] = []
        self.settings: tuple[float, int] | None = None
        self.closed = False

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        self.asked.append(messages)
        self.settings = temperature, max_tokens
        try:
            for piece in self.pieces:
                if isinstance(piece, Exception):
                    raise piece
                yield Delta(piece)
            if self.usage:
                yield Delta(usage=self.usage)
        finally:
            self.closed = True


class Turns:
    """Replies in order, each in one piece; an exception is raised instead."""

    def __init__(self, *replies: str | Exception, usage: Usage | None = None) -> None:
        self.replies = replies
        self.usage = usage
        self.asked: list[Sequence[Message]] = []

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int
    ) -> Iterator[Delta]:
        reply = self.replies[len(self.asked)]
        self.asked.append(messages)
        if isinstance(reply, Exception):
            raise reply
        yield Delta(reply)
        if self.usage:
            yield Delta(usage=self.usage)
