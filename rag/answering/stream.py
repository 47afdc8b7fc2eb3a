"""An answer that arrives in pieces."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from time import perf_counter

from rag import telemetry
from rag.errors import TouchstoneError
from rag.types import Answer, AnswerStatus, Cost, Decision, Delta, Trace, Usage

Finish = Callable[[str, Usage, AnswerStatus, str], Answer]
"""Makes the answer of its text, the usage, how it ended, and a note for the reader."""


class AnswerStream(Iterator[str]):
    """Pieces of text; then, or after ``close``, the whole ``answer``.

    A failing provider raises nothing here: the text that came is kept, and ``answer`` says with
    status and note what happened, and ``error`` is what stopped it. Anything that is not a
    TouchstoneError is a defect and raised, and so is what ``while_allowed`` raises.
    """

    def __init__(self, deltas: Generator[Delta, None, None], finish: Finish, trace: Trace) -> None:
        """``trace`` is what is there before the first piece; a tool may add to it later."""
        self.trace = trace
        self._deltas = deltas
        self._finish = finish
        self._text = ""
        self._usage = Usage()
        self._answer: Answer | None = None
        self._began: float | None = None  # on the clock of perf_counter
        self._first: float | None = None
        self._price: Callable[[Usage], Cost | None] | None = None
        self._decisions: tuple[Decision, ...] = ()
        self._asked_in = telemetry.current()
        self._span: telemetry.Span | None = None
        self._turn: telemetry.Span | None = None  # which ends with the answer
        self._then: Callable[[Answer], None] | None = None
        self._afterwards: Callable[[], None] = lambda: None
        self._look: Callable[[], None] | None = None
        self.error: TouchstoneError | None = None

    def priced(self, price: Callable[[Usage], Cost | None]) -> AnswerStream:
        """The same stream, whose answer says what its tokens cost."""
        self._price = price
        return self

    def deciding(self, decision: Decision) -> AnswerStream:
        """The same stream, whose answer tells a decision that was made before it."""
        self._decisions = (*self._decisions, decision)
        return self

    def while_allowed(self, look: Callable[[], None]) -> AnswerStream:
        """The same stream, which is closed before a piece where ``look`` raises."""
        self._look = look
        return self

    def ending(self, turn: telemetry.Span, then: Callable[[Answer], None]) -> AnswerStream:
        """The same stream, with whose end a turn ends; ``then`` is called within the turn."""
        self._turn, self._then = turn, then
        return self

    def followed_by(self, work: Callable[[], None]) -> AnswerStream:
        """The same stream, with whose end ``work`` begins."""
        self._afterwards = work
        return self

    def __next__(self) -> str:
        self._began = self._began or perf_counter()
        if self._span is None:
            self._span = telemetry.begin("answer", {}, self._asked_in)
        while self._answer is None:
            self._check()
            try:
                with telemetry.at(self._span):
                    delta = next(self._deltas)
            except StopIteration:
                self._end("complete", "")
            except TouchstoneError as error:
                self.error = error
                status: AnswerStatus = "interrupted" if self._text else "failed"
                self._end(status, f"{error.message} {error.hint}".strip())
            else:
                if self._answer is not None:  # closed by another thread during the wait
                    self._deltas.close()
                    break
                self._check()
                self._usage = delta.usage or self._usage
                self._text += delta.text
                if delta.text:
                    self._first = self._first or perf_counter()
                    return delta.text
        raise StopIteration

    def _check(self) -> None:
        """Raises where the asking person may not go on: that may have ended while a model wrote."""
        try:
            if self._look is not None:
                self._look()
        except TouchstoneError:
            self.close()
            raise

    @property
    def answer(self) -> Answer:
        """The answer; waits for the rest of the text where it is not complete yet."""
        for _ in self:
            pass
        if self._answer is None:
            raise RuntimeError("an exhausted stream has an answer")
        return self._answer

    def close(self) -> None:
        """Stops the provider. What was said so far is the answer, with status interrupted.

        Another thread may be waiting for the next piece: it stops the provider when that comes.
        """
        with contextlib.suppress(ValueError):  # what a generator says that runs elsewhere
            self._deltas.close()
        if self._answer is None:
            self._end("interrupted", "Stopped before it was complete.")

    def _end(self, status: AnswerStatus, note: str) -> None:
        now = perf_counter()
        began = self._began or now
        first = None if self._first is None else self._first - began
        span = self._span or self._turn
        with telemetry.at(span) if span else contextlib.nullcontext():
            answer = self._finish(self._text, self._usage, status, note)
        note = " ".join(filter(None, (answer.note, _cut(answer.usage))))
        decisions = (*self._decisions, *answer.decisions)
        answer = replace(answer, note=note, decisions=decisions)
        cost = self._price(answer.usage) if self._price else None
        self._answer = replace(answer, seconds=now - began, first_token=first, cost=cost)
        telemetry.note_work("answer", now - began, self._answer, status=self._answer.status)
        if self._turn and self._then:
            with telemetry.at(self._turn):
                self._then(self._answer)
        for span in filter(None, (self._span, self._turn)):
            telemetry.end(span, self._answer, self.error)
        self._afterwards()


def _cut(usage: Usage) -> str:
    """Return the note on a prompt that the server cut, or an empty string."""
    if not usage.unread_tokens:
        return ""
    read, sent = usage.prompt_tokens, usage.prompt_tokens + usage.unread_tokens
    return f"The model's server cut the prompt: it read {read:,} of at least {sent:,} tokens."
