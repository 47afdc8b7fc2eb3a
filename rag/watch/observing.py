"""One look: measures what is watched, and compares it with the reference."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rag.documents.stores.vector_check import check_index
from rag.evaluation.comparison import compare
from rag.evaluation.inference.spending import level
from rag.evaluation.inference.two_samples import energy_test
from rag.protocols import Embedder
from rag.recipe import Recipe
from rag.runs.doubts import answer_states
from rag.runs.evaluator import Evaluator
from rag.runs.groups import groups_of_set
from rag.runs.searched_documents import documents_hash
from rag.search.snapshot import SearchSnapshot, take_complete_snapshot
from rag.services import Services
from rag.storage import passage_edits
from rag.storage.conversations import feedback
from rag.types import ProgressCallback, Question, Vectors
from rag.watch.report import (
    METRIC,
    CanaryChange,
    MetricDrift,
    MovedText,
    QuestionDrift,
    VectorDrift,
    WatchReport,
)

CANARY = "canary"
"""The tag of canary questions."""
SENTENCES = (
    "The warranty covers parts and labour for two years.",
    "How do I reset the password of my account?",
    "Unused leave may be carried over until the end of March.",
    "Die Lieferung erfolgt innerhalb von fünf Werktagen.",
    "Quel est le prix de la pièce de rechange ?",
    "Error E-1042: pump pressure below 2.5 bar.",
    "def mean(values): return sum(values) / len(values)",
    "Aspirin inhibits the enzyme cyclooxygenase.",
    "Revenue rose by 12% to 4.3 million euros in 2023.",
    "The meeting begins at nine in the morning.",
)
"""Texts that are embedded at every look."""
SAME_VECTOR = 0.999
"""The lowest cosine of two vectors of a text from one model; rounding moves it by less."""
STORED_SAMPLE = 10
"""Stored vectors of passages that are compared with new ones."""
FEWEST_ASKED = 50
"""Questions of chats since the last test, for another test."""
MOST_ASKED = 300
_DECIMALS = 8  # of stored vectors
_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Observation:
    """A report with the state that later looks are compared with."""

    report: WatchReport
    state: Mapping[str, Any]


def observe(
    services: Services,
    base_id: int,
    set_name: str,
    recipe: Recipe,
    reference: Mapping[str, Any] | None,
    earlier: Sequence[WatchReport],
    on_progress: ProgressCallback,
) -> Observation:
    """Look at a set with a recipe; ``reference`` is the state to compare with, None for none.

    ``earlier`` has the reports since the reference, newest first. Questions are embedded anew, as
    a cache would hide that the model changed. Raises NotFound, InvalidInput, ProviderError.
    """
    evaluator = Evaluator(services, base_id)
    question_set, questions = evaluator.questions(set_name)
    snapshot = take_complete_snapshot(services, base_id, recipe)
    embedder = services.models.embedder(recipe.index.embedder)
    sentences = embedder.embed(SENTENCES, "document")
    queries = _embedded(embedder, [question.text for question in questions])
    results, _ = evaluator.measure(questions, queries, snapshot, (10,), on_progress)
    figures = {
        item.question_id: float(item.metrics[METRIC]) for item in results if METRIC in item.metrics
    }
    canaries = [question for question in questions if CANARY in question.tags]
    states = answer_states(services, snapshot, canaries)
    ranks = {item.question_id: item.first_relevant for item in results}
    shown = {
        item.id: _canary(item, ranks.get(item.id), recipe.search.top_k, states.get(item.id, ""))
        for item in canaries
    }
    with services.database.read() as connection:
        groups = groups_of_set(connection, base_id, set_name)
        edits = passage_edits.digest(connection, base_id)
        last_turn = feedback.last_turn(connection, base_id)
    state = {
        "embedder": embedder.id,
        "recipe": recipe.hash,
        "set_version": question_set.version,
        "documents": documents_hash(snapshot.index.keys, edits),
        "vectors": np.round(sentences.astype(np.float64), _DECIMALS).tolist(),
        "figures": figures,
        "canaries": shown,
        "last_turn": last_turn,
    }
    obstacles = () if reference is None else tuple(_obstacles(reference, state))
    comparable = reference if not obstacles else None
    # A look that could not be compared spends nothing of the alpha.
    last = next((report.metrics for report in earlier if report.metrics is not None), None)
    previous = earlier[0] if earlier else None
    report = WatchReport(
        question_set=set_name,
        recipe=recipe.hash,
        is_reference=reference is None,
        mean=float(np.mean(list(figures.values()))) if figures else 0.0,
        vectors=_vectors(services, snapshot, embedder, sentences, reference),
        metrics=None
        if comparable is None
        else _metrics(figures, comparable["figures"], last, groups),
        canaries=len(canaries),
        changed=() if comparable is None else tuple(_changes(canaries, comparable, shown)),
        questions=None
        if reference is None
        else _questions(services, base_id, embedder, queries, reference, previous),
        obstacles=obstacles,
        notes=tuple(_notes(reference, state, canaries)),
    )
    return Observation(report, state)


def _embedded(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    starts = range(0, len(texts), _AT_ONCE)
    return np.concatenate(
        [embedder.embed(texts[start : start + _AT_ONCE], "query") for start in starts]
    )


def _obstacles(reference: Mapping[str, Any], state: Mapping[str, Any]) -> list[str]:
    obstacles = []
    if reference["set_version"] != state["set_version"]:
        obstacles.append("Questions or labels of the set changed since the reference.")
    if reference["recipe"] != state["recipe"]:
        obstacles.append(
            f"The recipe is {state['recipe']}, that of the reference was {reference['recipe']}."
        )
    return obstacles


def _notes(
    reference: Mapping[str, Any] | None, state: Mapping[str, Any], canaries: Sequence[Question]
) -> list[str]:
    notes = []
    if not canaries:
        notes.append(f"No question has the tag {CANARY!r}.")
    if reference is not None and reference["documents"] != state["documents"]:
        notes.append("The documents changed since the reference.")
    return notes


def _vectors(
    services: Services,
    snapshot: SearchSnapshot,
    embedder: Embedder,
    sentences: Vectors,
    reference: Mapping[str, Any] | None,
) -> VectorDrift:
    """Compare vectors of the sentences with the reference, and stored vectors with new ones."""
    check = check_index(services, snapshot, STORED_SAMPLE)
    cosines = np.ones(len(SENTENCES))
    if reference is not None and reference["embedder"] == embedder.id:
        before = np.array(reference["vectors"], np.float64)
        cosines = (
            np.einsum("ij,ij->i", before, sentences.astype(np.float64))
            if before.shape == sentences.shape
            else np.zeros(len(SENTENCES))
        )
    moved = sorted(
        (
            MovedText(text, round(float(cosine), 4))
            for text, cosine in zip(SENTENCES, cosines, strict=True)
            if cosine < SAME_VECTOR
        ),
        key=lambda item: item.cosine,
    )
    lowest = round(min(1.0, float(cosines.min())), 6)
    return VectorDrift(embedder.id, lowest, tuple(moved), check.sampled, len(check.foreign))


def _metrics(
    figures: Mapping[str, float],
    before: Mapping[str, float],
    previous: MetricDrift | None,
    groups: Mapping[str, str],
) -> MetricDrift:
    """Test figures against the reference; figures that were tested before are no new test."""
    digest = hashlib.sha256(repr(sorted(figures.items())).encode()).hexdigest()[:16]
    if previous is not None and previous.digest == digest:
        return previous
    number = previous.number if previous is not None else 0
    same = dict(figures) == dict(before)
    alpha = level(max(1, number if same else number + 1))
    result = compare(METRIC, figures, before, alpha=alpha, groups=groups)
    verdict = result.verdict_by_labels
    return MetricDrift(
        mean=result.mean,
        reference=result.baseline,
        p=result.p,
        level=alpha,
        number=number if same else number + 1,
        questions=len(result.differences),
        lost=result.lost,
        won=result.won,
        verdict="same" if same else verdict if verdict in ("better", "worse") else "undecided",
        digest=digest,
    )


def _canary(question: Question, rank: int | None, top_k: int, state: str) -> dict[str, str]:
    if not question.answerable:
        passage = ""
    elif rank is not None and rank <= top_k:
        passage = "expected passage found"
    else:
        passage = "expected passage not found"
    return {"passage": passage, "state": state}


def _changes(
    canaries: Sequence[Question], reference: Mapping[str, Any], shown: Mapping[str, Any]
) -> list[CanaryChange]:
    changes = []
    for question in canaries:
        before, now = reference["canaries"].get(question.id), shown[question.id]
        if before is not None and before != now:
            changes.append(CanaryChange(question.text, _words(before), _words(now)))
    return changes


def _words(canary: Mapping[str, str]) -> str:
    return ", ".join(filter(None, [canary["passage"], canary["state"]])) or "no result"


def _questions(
    services: Services,
    base_id: int,
    embedder: Embedder,
    labelled: Vectors,
    reference: Mapping[str, Any],
    previous: WatchReport | None,
) -> QuestionDrift | None:
    """Test the questions of chats since the last test.

    While they are too few, return the last result as one of an earlier look.
    """
    last = previous.questions if previous is not None else None
    after = last.last_turn if last is not None else int(reference["last_turn"])
    with services.database.read() as connection:
        questions = feedback.questions_after(connection, base_id, after, MOST_ASKED)
    texts = list({text.casefold(): text for _, text in questions}.values())
    if len(texts) < FEWEST_ASKED:
        return None if last is None else replace(last, is_new=False)
    sample = labelled
    if len(labelled) > MOST_ASKED:
        chosen = np.random.default_rng(0).choice(len(labelled), MOST_ASKED, replace=False)
        sample = labelled[np.sort(chosen)]
    result = energy_test(_embedded(embedder, texts), sample)
    newest = max(turn for turn, _ in questions)
    return QuestionDrift(len(texts), len(sample), result.distance, result.p, newest)
