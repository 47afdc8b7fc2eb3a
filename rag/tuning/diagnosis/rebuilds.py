"""Changes of the index that a diagnosis proposes and has no build for yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rag.documents.throughput import Throughput
from rag.services import Services
from rag.storage import documents
from rag.tuning.diagnosis.causes import Cause
from rag.tuning.diagnosis.checks import INDEXED_RANK
from rag.tuning.diagnosis.examining import Examination
from rag.tuning.diagnosis.finding import FailedQuestion
from rag.tuning.diagnosis.fixes import Changes, index_changes_for, key_of


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Changes of the index that were not tried, as each needs a build.

    ``gain`` is an estimate of what they gain over all questions, from ``questions`` of which
    ``reached`` would be in the top-k if their passage alone were indexed as the change has it; None
    where only words are searched. ``seconds`` is the time to build all of them, None for a remote
    model that was never used.
    """

    changes: tuple[Changes, ...]
    causes: tuple[Cause, ...]
    questions: int
    reached: int
    gain: float | None
    seconds: float | None


def find_rebuild(
    services: Services, base_id: int, examination: Examination, failed: Sequence[FailedQuestion]
) -> Rebuild | None:
    """The changes of the index that may help against the causes of ``failed``; None for none."""
    recipe = examination.recipe
    changes, causes = dict[str, Changes](), dict[Cause, None]()
    for cause in dict.fromkeys(failure.cause for failure in failed):
        for change in index_changes_for(cause, recipe):
            if not examination.is_built(recipe.with_fields(change).index):
                changes[key_of(change)] = change
                causes[cause] = None
    if not changes:
        return None
    helped = [failure for failure in failed if failure.cause in causes]
    gains = [_gain(failure, recipe.search.top_k) for failure in helped]
    by_words = recipe.search.mode == "lexical"
    embedder = recipe.index.embedder
    with services.database.read() as connection:
        rows = documents.list_documents(connection, base_id)
    characters = sum(row.characters for row in rows)
    seconds = Throughput(services).seconds(embedder, characters, 0)
    return Rebuild(
        tuple(changes.values()),
        tuple(causes),
        len(helped),
        sum(gain > 0 for gain in gains),
        None if by_words else sum(gains) / len(examination.questions),
        None if seconds is None else seconds * len(changes),
    )


def _gain(failure: FailedQuestion, top_k: int) -> float:
    """The gain of nDCG if the only relevant passage had the rank of the finding."""
    rank = failure.finding.figures[INDEXED_RANK]
    return max(0.0, 1 / math.log2(1 + rank) - failure.score) if rank <= top_k else 0.0
