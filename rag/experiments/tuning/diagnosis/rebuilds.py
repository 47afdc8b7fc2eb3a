"""Changes of the index that a diagnosis proposes and has no build for yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rag import providers
from rag.experiments.tuning.diagnosis.causes import Cause
from rag.experiments.tuning.diagnosis.checks import INDEXED_RANK
from rag.experiments.tuning.diagnosis.examining import Examination
from rag.experiments.tuning.diagnosis.finding import FailedQuestion
from rag.experiments.tuning.diagnosis.fixes import Changes, index_changes_for, key_of, metric_depth
from rag.experiments.tuning.diagnosis.searched import scores
from rag.library.documents.throughput import Throughput
from rag.services.services import Services
from rag.storage import documents
from rag.types import Cost

_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Changes of the index that were not tried, as each needs a build.

    ``gain`` is an estimate of what they gain over all questions, from ``questions`` of which
    ``reached`` would be in the top-k if their passage alone were indexed as the change has it; None
    where only words are searched. ``seconds`` is the time to build all of them, None for a remote
    model that was never used. ``tokens`` are about those that a model embeds that may cost money, 0
    for another one, and ``price`` is what they cost, None where that is unknown.
    """

    changes: tuple[Changes, ...]
    causes: tuple[Cause, ...]
    questions: int
    reached: int
    gain: float | None
    seconds: float | None
    tokens: int = 0
    price: Cost | None = None


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
    # By the metric of the fixes, beside which this gain stands.
    values = scores(examination.searched, metric_depth(recipe)).tolist()
    before = dict(zip([one.id for one in examination.questions], values, strict=True))
    gains = [gain_of(failure, before[failure.id], recipe.search.top_k) for failure in helped]
    by_words = recipe.search.mode == "lexical"
    embedder = recipe.index.embedder
    with services.database.read() as connection:
        rows = documents.list_documents(connection, base_id)
    characters = sum(row.characters for row in rows)
    seconds = Throughput(services).seconds(embedder, characters, 0)
    tokens = 0
    if providers.may_cost(providers.vector_space(embedder)[0].partition(":")[0], services.settings):
        tokens = characters // _CHARACTERS_PER_TOKEN * len(changes)
    return Rebuild(
        tuple(changes.values()),
        tuple(causes),
        len(helped),
        sum(gain > 0 for gain in gains),
        None if by_words else sum(gains) / len(examination.questions),
        None if seconds is None else seconds * len(changes),
        tokens,
        services.models.embedding_cost(embedder, tokens) if tokens else None,
    )


def gain_of(failure: FailedQuestion, before: float, top_k: int) -> float:
    """The gain of nDCG, which is ``before``, if the only relevant passage had its indexed rank.

    Results end at ``top_k``, also where the metric goes deeper.
    """
    rank = failure.finding.figures[INDEXED_RANK]
    return max(0.0, 1 / math.log2(1 + rank) - before) if rank <= top_k else 0.0
