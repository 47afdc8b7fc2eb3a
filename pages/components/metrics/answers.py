"""Cards for the answer metrics of a run, in the style of the retrieval cards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pages.components.metrics.cards import (
    EXPECTED,
    JUDGED,
    Card,
    Ranges,
    card_grid,
    expects_unscored,
)
from pages.components.shell.text import plain
from rag import (
    METRIC_DEFINITIONS,
    METRIC_TITLES,
    Comparison,
    QuestionResult,
    Run,
    counted,
    lacks_expected,
    unanswered,
)

DECISIONS, BY_STATUS = "correct_decision", "refusal_correctness"
ANSWER_CARDS = tuple(
    Card(metric, METRIC_TITLES[metric], METRIC_DEFINITIONS[metric])
    for metric in (
        *(DECISIONS, EXPECTED, "groundedness", "answer_relevance", "citation_precision"),
        *(JUDGED, "token_f1"),
    )
)
ANSWER_METRICS = (*(card.metric for card in ANSWER_CARDS), BY_STATUS)


def answer_cards(
    run: Run,
    earlier: Mapping[str, float],
    results: Sequence[QuestionResult],
    ranges: Ranges,
    changes: Mapping[str, Comparison],
) -> None:
    """Cards with their change against ``earlier``; none where the run only measured retrieval."""
    if any(card.metric in run.metrics for card in ANSWER_CARDS):
        shown_cards = [_decisions_card(run), _expected_card(results), *ANSWER_CARDS[2:]]
        left_out = _left_out(run)
        card_grid(
            [card for card in shown_cards if card.metric not in left_out],
            run,
            earlier,
            ranges,
            changes,
        )


def answer_notes(run: Run, results: Sequence[QuestionResult]) -> Iterator[str]:
    """Yield what the cards of answers do not tell: other counts, cost, prompts."""
    if lacking := sum(lacks_expected(row.metrics) for row in results):
        yield (
            f":material/rule: {counted(lacking, 'question')} got an answer without the "
            "expected one. *Correct decisions* counts whether a question is answered, so it "
            f"counts {'this one' if lacking == 1 else 'these'} as correct; *Failures* counts "
            f"{'it' if lacking == 1 else 'them'} as failed."
        )
    if sentence := unanswered(results):
        yield f":material/help: {sentence}"
    if answer_cost := run.environment.get("answers"):
        yield f":material/payments: Answers: {plain(answer_cost)}."
    if run.prompts:
        yield f":material/edit_note: Prompts: {plain(run.prompts)}"


def _left_out(run: Run) -> set[str]:
    """The metrics without a card: those that a run cannot have, or that say nothing about it."""
    names = {name for name in (JUDGED, EXPECTED) if name not in run.metrics}
    if run.recipe and run.recipe.answer.provider == "extractive":
        # Quotes are what their sources say, and have many more words than the expected answers.
        names |= {"groundedness", "token_f1"}
    return names


def _expected_card(results: Sequence[QuestionResult]) -> Card:
    """The card of expected answers, as a count."""
    found = [row.metrics[EXPECTED] for row in results if EXPECTED in row.metrics]
    unscored = sum(map(expects_unscored, results))
    return replace(
        ANSWER_CARDS[1],
        count=f"{sum(found):,.0f} of {len(found):,}",
        note=f"{unscored:,} not scored: nothing to look for" if unscored else "",
    )


def _decisions_card(run: Run) -> Card:
    """The first card; runs of earlier versions have decisions only by the status of answers."""
    card = ANSWER_CARDS[0]
    if DECISIONS in run.metrics or BY_STATUS not in run.metrics:
        return card
    title, definition = METRIC_TITLES[BY_STATUS], METRIC_DEFINITIONS[BY_STATUS]
    return replace(card, metric=BY_STATUS, label=title, help=definition)
