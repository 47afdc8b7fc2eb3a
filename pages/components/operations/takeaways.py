"""What the charts of the operations page say, in a sentence each."""

from __future__ import annotations

from collections.abc import Sequence

from pages.components.operations.cards import seconds
from rag import OperationPeriod, counted


def unit(periods: Sequence[OperationPeriod]) -> str:
    """What a period is: an hour or a day."""
    if len(periods) > 1:
        return "hour" if (periods[1].start - periods[0].start).days < 1 else "day"
    return "hour"


def questions(periods: Sequence[OperationPeriod]) -> str:
    """When most was asked."""
    most = max(periods, key=lambda each: each.figures.questions)
    total = sum(each.figures.questions for each in periods)
    if len(periods) == 1:
        return f"{counted(total, 'question')}, all in one {unit(periods)}"
    return f"{counted(total, 'question')}; most, {most.figures.questions:,}, {_when(most, periods)}"


def refusals(periods: Sequence[OperationPeriod]) -> str:
    """How much was refused, and where most."""
    refused = sum(each.figures.refused for each in periods)
    total = sum(each.figures.questions for each in periods)
    if not refused:
        return "Nothing was refused"
    worst = max(periods, key=lambda each: each.figures.refused)
    return (
        f"{refused / total:.0%} were refused; most, {worst.figures.refused:,}, "
        f"{_when(worst, periods)}"
    )


def times(periods: Sequence[OperationPeriod]) -> str:
    """How long answers took where it was slowest."""
    timed = [each for each in periods if each.figures.p95 is not None]
    if not timed:
        return "No answer was timed"
    slowest = max(timed, key=lambda each: each.figures.p95 or 0.0)
    return (
        f"At the slowest, {_when(slowest, periods)}, 95% of the answers came within "
        f"{seconds(slowest.figures.p95)}"
    )


def tokens(periods: Sequence[OperationPeriod]) -> str:
    """What prompts and answers came to."""
    prompts = sum(each.figures.prompt_tokens for each in periods)
    answers = sum(each.figures.completion_tokens for each in periods)
    if not prompts + answers:
        return "No tokens were reported: quotes need no language model"
    return f"{prompts:,} tokens in prompts, {answers:,} in answers"


def thumbs(periods: Sequence[OperationPeriod]) -> str:
    """What readers said."""
    up = sum(each.figures.thumbs_up for each in periods)
    down = sum(each.figures.thumbs_down for each in periods)
    return f"{counted(up, 'thumb')} up, {down:,} down" if up + down else "Nobody rated an answer"


def _when(period: OperationPeriod, periods: Sequence[OperationPeriod]) -> str:
    if unit(periods) == "day":
        return f"on {period.start:%Y-%m-%d}"
    return f"in the hour from {period.start:%H:%M} on {period.start:%Y-%m-%d}"
