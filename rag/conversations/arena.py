"""Two recipes answer one question side by side, and votes say which one is preferred."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rag.errors import InvalidInput, NotFound
from rag.evaluation.inference.betting import Watched, watched_mean
from rag.evaluation.intervals import Interval
from rag.input_rules import storable
from rag.operation import operation
from rag.recipe import Recipe
from rag.storage import Database
from rag.storage.conversations import Scope, feedback
from rag.storage.conversations.feedback import ArenaComparison, Side
from rag.types import Answer, percent

VOTES = ("left", "right", "tie", "both bad")


@dataclass(frozen=True, slots=True)
class ArenaSummary:
    """A summary of the votes on two recipes.

    ``rate`` is how often ``first`` is preferred, with a tie and "both bad" counting half, as the
    mean over questions: a question with several votes counts once. ``interval`` is its 95%
    interval, which stays valid if you look at it after every vote. The result is ``decided``
    exactly if 0.5 is outside of the interval.
    """

    first: Recipe
    second: Recipe
    votes: int
    questions: int
    wins: int
    losses: int
    ties: int
    both_bad: int
    rate: float
    interval: Interval
    decided: bool

    @property
    def share(self) -> str:
        """The rate and its interval in words."""
        low, high = self.interval
        return f"{percent(self.rate)} (95% interval {percent(low)} to {percent(high)})"

    @property
    def tally(self) -> str:
        """The votes in words."""
        won = f"{self.wins:,} to {self.losses:,}"
        return f"{won}, {self.ties:,} tied, {self.both_bad:,} both bad"

    def leader_first(self) -> ArenaSummary:
        """Return the summary with the recipe that is ahead as the first one."""
        if self.rate >= 0.5:
            return self
        return replace(
            self,
            first=self.second,
            second=self.first,
            wins=self.losses,
            losses=self.wins,
            rate=1 - self.rate,
            interval=Interval(1 - self.interval.high, 1 - self.interval.low),
        )


class Arena:
    """The bouts of a visitor in one knowledge base."""

    def __init__(self, database: Database, scope: Scope) -> None:
        self._database = database
        self._scope = scope

    @operation("viewer")
    def add(
        self,
        question: str,
        one: tuple[Recipe, Answer],
        other: tuple[Recipe, Answer],
        order: random.Random | None = None,
    ) -> int:
        """Store two answers in random order; return the bout."""
        sides = [Side(recipe, _shown(answer)) for recipe, answer in (one, other)]
        (order or random.SystemRandom()).shuffle(sides)
        return self._database.execute(
            feedback.add_comparison, self._scope, storable(question), *sides
        )

    @operation("viewer")
    def find(self, bout_id: int) -> ArenaComparison | None:
        """A bout; None where it is not one of these."""
        return self._database.fetch(feedback.find_comparison, self._scope, bout_id)

    @operation("viewer")
    def get(self, bout_id: int) -> ArenaComparison:
        """The same. Raises NotFound."""
        comparison = self.find(bout_id)
        if comparison is None:
            raise NotFound("This knowledge base has no such pair of answers.")
        return comparison

    @operation("viewer")
    def list_comparisons(self, limit: int = 100) -> list[ArenaComparison]:
        """The bouts, newest first."""
        return self._database.fetch(feedback.list_comparisons, self._scope, limit)

    @operation("viewer")
    def vote(self, bout_id: int, choice: str) -> None:
        """Store which answer is preferred, one of ``VOTES``. Raises InvalidInput, NotFound."""
        if choice not in VOTES:
            raise InvalidInput(f"{choice!r} is not a vote.", f"There are: {', '.join(VOTES)}.")
        with self._database.write() as connection:
            if not feedback.vote_comparison(connection, self._scope, bout_id, choice):
                raise NotFound("This knowledge base has no such pair of answers.")

    @operation("viewer")
    def summaries(self) -> list[ArenaSummary]:
        """Return the summary of the votes on each pair of recipes, most votes first."""
        return summaries(self._database.fetch(feedback.list_voted_comparisons, self._scope))


def summaries(voted: Iterable[ArenaComparison]) -> list[ArenaSummary]:
    """The votes of each two recipes, put together; those with the most votes first."""
    pairs = defaultdict[tuple[str, str], list[ArenaComparison]](list)
    recipes: dict[str, Recipe] = {}
    for comparison in voted:
        recipes |= {side.recipe.hash: side.recipe for side in (comparison.left, comparison.right)}
        first, second = sorted((comparison.left.recipe.hash, comparison.right.recipe.hash))
        pairs[first, second].append(comparison)
    results = [
        _summary(recipes[one], recipes[other], comparisons)
        for (one, other), comparisons in pairs.items()
    ]
    return sorted(results, key=lambda summary: -summary.votes)


def by_question(scores: Iterable[tuple[str, float]]) -> Watched:
    """The mean of scores in [-1, 1] over questions, each of which counts once."""
    scores_by_question = defaultdict[str, list[float]](list)
    for question, score in scores:
        scores_by_question[" ".join(question.casefold().split())].append(score)
    return watched_mean(np.array([np.mean(scores) for scores in scores_by_question.values()]))


def _summary(first: Recipe, second: Recipe, voted: list[ArenaComparison]) -> ArenaSummary:
    scores = [(comparison.question, _score(comparison, first)) for comparison in voted]
    mean = by_question(scores)
    won, votes = (
        Counter(score for _, score in scores),
        Counter(comparison.vote for comparison in voted),
    )
    return ArenaSummary(
        first,
        second,
        len(voted),
        len({" ".join(question.casefold().split()) for question, _ in scores}),
        won[1.0],
        won[-1.0],
        votes["tie"],
        votes["both bad"],
        (1 + mean.mean) / 2,
        Interval((1 + mean.low) / 2, (1 + mean.high) / 2),
        mean.decided,
    )


def _score(voted: ArenaComparison, recipe: Recipe) -> float:
    """1 where the answer of a recipe was preferred, -1 where the other one was, else 0."""
    if voted.vote not in ("left", "right"):
        return 0.0
    winner = voted.left if voted.vote == "left" else voted.right
    return 1.0 if winner.recipe.hash == recipe.hash else -1.0


def _shown(answer: Answer) -> dict[str, Any]:
    """Return the stored data of an answer."""
    return {
        "text": answer.text,
        "mode": answer.mode,
        "status": answer.status,
        "note": answer.note,
        "passages": answer.trace.passages,
        "seconds": answer.trace.seconds,
        "citations": [
            {
                "n": citation.n,
                "document": citation.hit.document,
                "page": citation.cited_page,
                "quote": citation.quote,
            }
            for citation in answer.citations
        ],
    }
