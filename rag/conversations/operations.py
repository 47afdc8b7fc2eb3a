"""Operational metrics of a knowledge base over time, and the turns that need attention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

import numpy as np

from rag.errors import InvalidInput
from rag.operation import operation
from rag.storage import Database
from rag.storage.conversations import sessions as rows
from rag.storage.conversations.sessions import Scope, TurnRow
from rag.types import Cost, cost_text

HOURLY = timedelta(days=3)
"""Up to this long a span is drawn by the hour, a longer one by the day."""
LONGEST_DAYS = 36_500

Fault = Literal[
    "thumb down",
    "failed",
    "interrupted",
    "unsupported",
    "unsupported sentence",
    "no citation",
    "cut prompt",
    "doubtful",
    "refused",
]
"""``unsupported`` is a citation of a passage that was not given, ``unsupported sentence`` one that
its cited passages do not support; ``cut prompt`` is one that the model's server did not read whole;
``doubtful`` is the state of an answer."""


@dataclass(frozen=True, slots=True)
class OperationFigures:
    """Summary metrics of turns. Shares are of ``questions``; None without measurements.

    ``p50`` and ``p95`` are seconds from the question to the end of its answer, ``first_token`` is
    the median of the seconds to its first chunk. ``costs`` are of the turns that called a model,
    None if the price is unknown. Failed turns count as questions, but not in the times.
    """

    questions: int
    refused: int
    failed: int
    p50: float | None
    p95: float | None
    first_token: float | None
    prompt_tokens: int
    completion_tokens: int
    from_cache: int
    thumbs_up: int
    thumbs_down: int
    costs: tuple[Cost | None, ...] = ()
    doubtful: int = 0

    @property
    def doubtful_share(self) -> float | None:
        """Share of the questions whose answer is doubtful."""
        return self.doubtful / self.questions if self.questions else None

    @property
    def refused_share(self) -> float | None:
        """Share of the questions that were refused."""
        return self.refused / self.questions if self.questions else None

    def public(self) -> dict[str, Any]:
        """Return the figures as JSON shows them: costs in words, with the share of refusals."""
        costs, refused_share = cost_text(self.costs), self.refused_share
        return asdict(self) | {"costs": costs, "refused_share": refused_share}

    @property
    def tokens(self) -> int:
        """Tokens of prompts and answers together, as far as providers report them."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class OperationPeriod:
    """An hour or a day (UTC) from ``start`` on, and what its turns come to."""

    start: datetime
    figures: OperationFigures


class Operations:
    """Finished turns of one knowledge base, of all visitors; questions of the scope's alone."""

    _database: Database
    _scope: Scope

    @operation("viewer")
    def all_turns(self, days: float | None = None) -> list[TurnRow]:
        """Return the turns of the last days, or all; oldest first, at most the newest 20,000.

        Raises InvalidInput for no number of days.
        """
        if days is not None and not 0 <= days <= LONGEST_DAYS:
            raise InvalidInput(
                "The number of days is not valid.", f"Give a number up to {LONGEST_DAYS:,}."
            )
        first = None if days is None else datetime.now(UTC) - timedelta(days=days)
        return self._database.fetch(rows.turns_since, self._scope, first)

    @operation("viewer")
    def has_turns(self) -> bool:
        """Return whether anybody got an answer or a refusal yet."""
        return self._database.fetch(rows.has_turns, self._scope)


def operation_figures(turns: Sequence[TurnRow]) -> OperationFigures:
    """Return the summary metrics of turns."""
    answered = [turn for turn in turns if turn.status != "failed"]
    times = [total_seconds(turn) for turn in answered]
    first = [seconds for turn in answered if (seconds := turn.metrics.get("first_token_seconds"))]
    return OperationFigures(
        questions=len(turns),
        refused=sum(turn.status == "refused" for turn in turns),
        failed=len(turns) - len(answered),
        p50=_percentile(times, 50),
        p95=_percentile(times, 95),
        first_token=_percentile(first, 50),
        prompt_tokens=_total(turns, "prompt_tokens"),
        completion_tokens=_total(turns, "completion_tokens"),
        from_cache=_total(turns, "from_cache"),
        thumbs_up=sum(turn.thumb > 0 for turn in turns),
        thumbs_down=sum(turn.thumb < 0 for turn in turns),
        costs=tuple(cost_of(turn) for turn in turns if asked_model(turn)),
        doubtful=sum(turn.metrics.get("state") == "doubtful" for turn in turns),
    )


def asked_model(turn: TurnRow) -> bool:
    """Whether a model was asked, as far as its tokens tell."""
    return bool(turn.metrics.get("prompt_tokens") or turn.metrics.get("completion_tokens"))


def cost_of(turn: TurnRow) -> Cost | None:
    """Return the cost of a turn at the time of its answer; None if it was unknown."""
    amount = turn.metrics.get("cost")
    return None if amount is None else Cost(amount, str(turn.metrics.get("currency")))


def total_seconds(turn: TurnRow) -> float:
    """From the question to the end of its answer; of older turns, what their search took."""
    return float(turn.metrics.get("total_seconds", turn.seconds))


def operation_periods(turns: Sequence[TurnRow]) -> list[OperationPeriod]:
    """Hour by hour, or day by day, without gaps: a period in which nobody asked has figures of 0.

    In UTC, like all times that are stored.
    """
    if not turns:
        return []
    first, last = turns[0].asked, max(turn.asked for turn in turns)
    step = timedelta(hours=1) if last - first <= HOURLY else timedelta(days=1)
    start = _floor(first, step)
    turns_by_period: dict[datetime, list[TurnRow]] = {}
    for turn in turns:
        turns_by_period.setdefault(_floor(turn.asked, step), []).append(turn)
    count = int((_floor(last, step) - start) / step) + 1
    moments = (start + number * step for number in range(count))
    return [
        OperationPeriod(moment, operation_figures(turns_by_period.get(moment, [])))
        for moment in moments
    ]


def slowest_turns(turns: Iterable[TurnRow], most: int = 10) -> list[TurnRow]:
    """Return the turns that took longest, the slowest first."""
    return sorted(turns, key=lambda turn: (-total_seconds(turn), -turn.id))[:most]


def fault(turn: TurnRow) -> Fault | None:
    """The first thing that is wrong with a turn, the worst kind first; None where nothing is."""
    if turn.thumb < 0:
        return "thumb down"
    if turn.status in ("failed", "interrupted"):
        return "failed" if turn.status == "failed" else "interrupted"
    if turn.metrics.get("unsupported"):
        return "unsupported"
    if unsupported_sentences(turn):
        return "unsupported sentence"
    if turn.status == "complete" and turn.metrics.get("cited") == 0:
        return "no citation"
    if turn.metrics.get("unread_tokens"):
        return "cut prompt"
    if turn.metrics.get("state") == "doubtful":
        return "doubtful"
    return "refused" if turn.status == "refused" else None


def unsupported_sentences(turn: TurnRow) -> int:
    """Sentences that what they cite does not support; 0 where they were not counted yet."""
    return int(turn.metrics.get("unsupported_sentences") or 0)


_FAULTS: tuple[Fault, ...] = get_args(Fault)


def worst_turns(turns: Iterable[TurnRow], most: int = 10) -> list[tuple[TurnRow, Fault]]:
    """Return the turns with a fault.

    The worst kind is first, then most unsupported sentences, then newest.
    """
    faulty = [(turn, wrong) for turn in turns if (wrong := fault(turn)) is not None]

    def rank(entry: tuple[TurnRow, Fault]) -> tuple[int, int, int]:
        turn, wrong = entry
        return _FAULTS.index(wrong), -unsupported_sentences(turn), -turn.id

    return sorted(faulty, key=rank)[:most]


def _floor(moment: datetime, step: timedelta) -> datetime:
    hour = 0 if step >= timedelta(days=1) else moment.hour
    return moment.replace(hour=hour, minute=0, second=0, microsecond=0)


def _percentile(values: Sequence[float], percent: float) -> float | None:
    return float(np.percentile(values, percent)) if values else None


def _total(turns: Sequence[TurnRow], name: str) -> int:
    return int(sum(turn.metrics.get(name) or 0 for turn in turns))
