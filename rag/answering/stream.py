"""An answer that arrives in pieces."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from time import perf_counter

from rag.errors import TouchstoneError
from rag.types import Answer, AnswerStatus, Delta, Usage

Finish = Callable[[str, Usage, AnswerStatus, str], Answer]
"""Makes the answer of its text, the usage, how it ended, and a note for the reader."""


class AnswerStream(Iterator[str]):
    """Pieces of text; then, or after ``close``, the whole ``answer``.

    A failing provider raises nothing here: the text that came is kept, and ``answer`` says with
    status and note what happened, and ``error`` is what stopped it. Anything that is not a
    TouchstoneError is a defect and raised.
    """

    def __init__(self, deltas: Generator[Delta, None, None], finish: Finish) -> None:
        self._deltas = deltas
        self._finish = finish
        self._text = ""
        self._usage = Usage()
        self._answer: Answer | None = None
        self._began: float | None = None  # on the clock of perf_counter
        self._first: float | None = None
        self.error: TouchstoneError | None = None

    def __next__(self) -> str:
        self._began = self._began or perf_counter()
        while self._answer is None:
            try:
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
                self._usage = delta.usage or self._usage
                self._text += delta.text
                if delta.text:
                    self._first = self._first or perf_counter()
                    return delta.text
        raise StopIteration

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
        answer = self._finish(self._text, self._usage, status, note)
        self._answer = replace(answer, seconds=now - began, first_token=first)
