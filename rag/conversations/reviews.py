"""The review queue: turns that failed somebody, and what becomes of them.

Feedback is for the people who run a knowledge base: all who may review see a turn with a thumb.
Only the person who asked sees any other.
"""

from __future__ import annotations

from typing import Any

from rag.conversations import exports
from rag.errors import InvalidInput
from rag.input_rules import storable
from rag.operation import operation
from rag.storage import Database
from rag.storage.conversations import EVERYBODY, Scope, feedback, turns
from rag.storage.conversations.feedback import DISMISSED, FEEDBACK_REASONS, LABELLED

LONGEST_CORRECTION = 4000
_MOST_SHOWN = 50


class Reviews:
    """The feedback of a visitor on answers, and the queue of answers to review."""

    _database: Database
    _scope: Scope

    @operation("guest")
    def explain_thumb(self, turn_id: int, reason: str, correction: str = "") -> None:
        """Store why a thumb is down, and what would have been right. Raises InvalidInput."""
        if reason and reason not in FEEDBACK_REASONS:
            raise InvalidInput(
                f"{reason!r} is not one of the reasons.",
                f"There are: {', '.join(FEEDBACK_REASONS)}.",
            )
        text = storable(correction).strip()
        if len(text) > LONGEST_CORRECTION:
            raise InvalidInput(f"A correction has at most {LONGEST_CORRECTION:,} characters.")
        self._mark(self._scope, turn_id, reason=reason, correction=text)

    @operation("guest")
    def count_opened(self, turn_id: int) -> None:
        """Count that a citation of a turn was opened."""
        self._database.execute(turns.count_click, self._scope, turn_id)

    @operation("labeller")
    def waiting_reviews(self) -> list[feedback.Feedback]:
        """Turns with a thumb down, refused, or with an unsupported sentence, newest first.

        Those that a review settled are left out.
        """
        return self._database.fetch(feedback.waiting, self._scope, _MOST_SHOWN)

    @operation("labeller")
    def review_figures(self) -> feedback.FeedbackFigures:
        """Return the number of turns of each kind, of all users."""
        return self._database.fetch(feedback.figures, self._scope)

    @operation("labeller")
    def dismiss_review(self, turn_id: int) -> None:
        """Take a turn out of the queue."""
        self._mark(Scope(self._scope.base_id, EVERYBODY), turn_id, review=DISMISSED)

    @operation("labeller")
    def mark_labelled(self, turn_id: int) -> None:
        """Note that a question of a set was made of a turn."""
        self._mark(Scope(self._scope.base_id, EVERYBODY), turn_id, review=LABELLED)

    @operation("labeller", audit="export")
    def export_feedback(self) -> list[dict[str, Any]]:
        """Every turn that somebody thought something of, newest first, for scripts."""
        entries = self._database.fetch(feedback.list_feedback, self._scope)
        return [
            {
                **exports.turn_data(entry.turn),
                "conversation": entry.conversation,
                "visitor": entry.visitor,
                "review": entry.turn.review,
            }
            for entry in entries
        ]

    def _mark(self, scope: Scope, turn_id: int, **values: Any) -> None:
        self._database.execute(turns.mark, scope, turn_id, **values)
