"""The heading of an answer: its state, said before the text."""

from __future__ import annotations

from collections.abc import Mapping

from pages.components.shell.text import plain
from pages.components.shell.wording import SIGNS, lacking
from rag import STATE_TITLES, AnswerState, Turn

BADGES: Mapping[AnswerState, str] = {
    "answered": ":green-badge[:material/check_circle: answered]",
    "doubtful": ":orange-badge[:material/help: doubtful]",
    "refused": ":orange-badge[:material/block: refused]",
    "conflicting": ":violet-badge[:material/compare_arrows: conflicting]",
}


def state_heading(turn: Turn) -> str:
    """The state of an answer with its reason, as Markdown; "" where it was not assessed."""
    assessment = turn.details.assessment
    if assessment is None:
        return ""
    heading = f"##### {SIGNS[assessment.state]} {STATE_TITLES[assessment.state]}"
    if assessment.state == "refused":
        return heading  # what came nearest, and why, stands below
    reason = plain(assessment.reason)
    if assessment.state == "answered" and reason:
        reason = f":small[:gray[{reason}]]"  # the quote below says it
    lines = [heading, reason, lacking(assessment)]
    if assessment.state == "conflicting":
        lines += [
            "\n".join(
                f"- [{edition.n}] {plain(edition.document)}"
                + (f", {plain(edition.day)}" if edition.day else "")
                + (" :green-badge[in force]" if edition.in_force else "")
                for edition in assessment.editions
            )
        ]
    return "\n\n".join(filter(None, lines))


def is_doubtful_quote(turn: Turn) -> bool:
    """Whether the quotes of an answer are only the nearest passages."""
    assessment = turn.details.assessment
    return assessment is not None and assessment.state == "doubtful" and turn.mode == "quotes"
