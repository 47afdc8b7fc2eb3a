"""One-sentence summaries of the charts of the operations page."""

from __future__ import annotations

from collections.abc import Sequence

from pages.components.operations.cards import seconds
from rag import OperationPeriod, counted


def unit(periods: Sequence[OperationPeriod]) -> str:
    """The length of a period: hour or day."""
    if len(periods) > 1:
        return "hour" if (periods[1].start - periods[0].start).days < 1 else "day"
    return "hour"


def questions(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the number of questions, with the busiest period."""
    most = max(periods, key=lambda period: period.figures.questions)
    total = sum(period.figures.questions for period in periods)
    if len(periods) == 1:
        return f"{counted(total, 'question')}, all in one {unit(periods)}"
    return f"{counted(total, 'question')}; most, {most.figures.questions:,}, {_when(most, periods)}"


def refusals(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the share of refusals, with the period that has most of them."""
    refused = sum(period.figures.refused for period in periods)
    total = sum(period.figures.questions for period in periods)
    if not refused:
        return "Nothing was refused"
    worst = max(periods, key=lambda period: period.figures.refused)
    return (
        f"{refused / total:.0%} were refused; most, {worst.figures.refused:,}, "
        f"{_when(worst, periods)}"
    )


def times(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the answer time of the slowest period, as the 95th percentile."""
    timed = [period for period in periods if period.figures.p95 is not None]
    if not timed:
        return "No answer was timed"
    slowest = max(timed, key=lambda period: period.figures.p95 or 0.0)
    return (
        f"At the slowest, {_when(slowest, periods)}, 95% of the answers came within "
        f"{seconds(slowest.figures.p95)}"
    )


def tokens(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the tokens of prompts and answers."""
    prompts = sum(period.figures.prompt_tokens for period in periods)
    answers = sum(period.figures.completion_tokens for period in periods)
    if not prompts + answers:
        return "No tokens were reported: quotes need no language model"
    return f"{prompts:,} tokens in prompts, {answers:,} in answers"


def thumbs(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the ratings of readers."""
    up = sum(period.figures.thumbs_up for period in periods)
    down = sum(period.figures.thumbs_down for period in periods)
    return f"{counted(up, 'thumb')} up, {down:,} down" if up + down else "Nobody rated an answer"


def _when(period: OperationPeriod, periods: Sequence[OperationPeriod]) -> str:
    if unit(periods) == "day":
        return f"on {period.start:%Y-%m-%d}"
    return f"in the hour from {period.start:%H:%M} on {period.start:%Y-%m-%d}"
