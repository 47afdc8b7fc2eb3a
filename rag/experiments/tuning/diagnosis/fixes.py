"""Fixes of causes: chosen on the tuning questions, and measured on the held-out ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rag.errors import InvalidInput, InvalidRecipe
from rag.evaluation.comparison import Comparison, Figures, compare_pairs
from rag.evaluation.inference.posterior import EQUIVALENT
from rag.evaluation.intervals import signed
from rag.evaluation.metrics import metric_title
from rag.evaluation.report.results import UNCHANGED
from rag.evaluation.report.words import counted
from rag.evaluation.splits import Split
from rag.experiments.runs.differences import recipe_chips
from rag.experiments.tuning.diagnosis.case import have_ndcg, scores, search_all
from rag.experiments.tuning.diagnosis.causes import Cause, FailedQuestion
from rag.experiments.tuning.diagnosis.checks import folder_of
from rag.experiments.tuning.diagnosis.examining import Examination
from rag.recipe import Recipe
from rag.search.corpus import threshold_rule
from rag.services.services import Services
from rag.types import Floats, Mask, ProgressCallback

Changes = Mapping[str, Any]

MOST_CANDIDATES = 400
_LEAST_GAIN = 1e-9
_UNMEASURED = "A change gains on the tuning questions, but no held-out question can test it."
_OVERLAP = 4  # a quarter of a passage


@dataclass(frozen=True, slots=True)
class Fix:
    """A change of the recipe that was chosen on the tuning questions.

    ``causes`` are those of which it helps a failed question; it may gain on other questions alone.

    ``tuning_gain`` is its net gain there, over ``tuning`` questions. ``comparison`` is with the
    recipe on the held-out questions: what it gains less what it loses. Questions without an nDCG
    are among both only if the change makes the search return something for them, or nothing: the
    metric is then "score", ``without_ndcg`` counts them in the comparison, and ``ranked`` names the
    metric of the others, with its difference. ``tried`` counts the changes that it was chosen from.
    ``rescued`` and ``broken`` are the ids of held-out questions that fail only without it,
    or only with it.
    """

    changes: Changes
    causes: tuple[Cause, ...]
    tried: int
    tuning: int
    tuning_gain: float
    comparison: Comparison
    rescued: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    without_ndcg: int = 0
    ranked: tuple[str, float] | None = None

    @property
    def gains(self) -> bool:
        """Whether it gains on the held-out questions, as far as they tell.

        Undecided, a gain of no more than ``EQUIVALENT`` counts only if more of them win than lose.
        """
        found = self.comparison
        if found.verdict != "undecided":
            return found.verdict == "better"
        return found.difference > (UNCHANGED if found.won > found.lost else EQUIVALENT)

    @property
    def losers(self) -> list[str]:
        """The ids of the held-out questions that lose by it."""
        return [name for name, value in self.comparison.differences.items() if value < 0]

    @property
    def basis(self) -> str:
        """The held-out questions of the comparison, those with an answer first."""
        if not self.without_ndcg:
            return self.comparison.basis
        ranked = len(self.comparison.differences) - self.without_ndcg
        if not ranked:
            return f"on the {counted(self.without_ndcg, 'held-out question')} without an answer"
        return (
            f"on the {counted(ranked, 'held-out question')} with an answer and "
            f"{self.without_ndcg:,} without"
        )

    @property
    def parts_of_score(self) -> str:
        """The differences that make a score, in a sentence; "" for another metric."""
        if self.ranked is None:
            return ""
        (metric, difference), differences = self.ranked, self.comparison.differences
        with_answer = difference * (len(differences) - self.without_ndcg)
        refused = round(sum(differences.values()) - with_answer)
        return (
            f" {metric_title(metric)} of those with an answer: {signed(difference)}. "
            f"Of {self.without_ndcg:,} without, {signed(refused, 0)} return nothing."
        )

    @property
    def sentence(self) -> str:
        """The comparison in words, with the score of questions that have no nDCG."""
        if not self.without_ndcg:
            return self.comparison.sentence
        if self.without_ndcg == len(self.comparison.differences):
            which = "None of these questions has an nDCG: they are questions without an answer"
        else:
            which = f"Among them: {counted(self.without_ndcg, 'question')} without an answer"
        return (
            f"{self.comparison.sentence} {which}, scored 1 if the search returns nothing and 0 "
            f"otherwise.{self.parts_of_score}"
        )


@dataclass(frozen=True, slots=True)
class Trials:
    """The fixes that gain on the tuning questions, the largest gain there first.

    ``without_gain`` are causes for which changes were tried, and none gains there, or the best one
    helps no question that failed by them. ``helping_others`` are causes of which a tried change is
    a fix that gains by questions that failed otherwise. ``indexes`` are the hashes of the builds
    that were searched for that.
    """

    metric: str
    fixes: tuple[Fix, ...] = ()
    without_gain: tuple[Cause, ...] = ()
    note: str = ""
    tried: int = field(default=0)
    indexes: tuple[str, ...] = ()
    helping_others: tuple[Cause, ...] = ()

    def gain_nothing(self, cause: Cause) -> bool:
        """Return whether changes against a cause were tried, and none gains on other questions."""
        fixes = [fix for fix in self.fixes if cause in fix.causes]
        return cause in self.without_gain or (bool(fixes) and not any(fix.gains for fix in fixes))


def changes_for(cause: Cause, recipe: Recipe, threshold: float | None) -> list[Changes]:
    """The changes of the recipe that may help against a cause and that change something."""
    return [
        change for change in _proposals(cause, recipe, threshold) if _changes_it(recipe, change)
    ]


def index_changes_for(cause: Cause, recipe: Recipe) -> list[Changes]:
    """The changes of the index that may help against a cause; each needs a build.

    There is none for a recipe with a calibration, which belongs to one build.
    """
    if recipe.search.relevance == "probability":
        return []
    return [change for change in _index_proposals(cause, recipe) if _changes_it(recipe, change)]


def calibration_note(causes: Iterable[Cause], recipe: Recipe) -> str:
    """The reason why no change of the index is proposed, "" where none would be anyway."""
    by_cosine = recipe.with_fields({"search.relevance": "cosine"})
    if recipe == by_cosine or not any(index_changes_for(cause, by_cosine) for cause in causes):
        return ""
    return (
        "No change of the index is proposed: probabilities of relevance need a calibration, which "
        "belongs to one index. To try changes of the index, set search.relevance to cosine."
    )


def described_changes(recipe: Recipe, changes: Changes) -> str:
    """Describe changes as ``threshold 0.5 → off``."""
    return ", ".join(recipe_chips(recipe, recipe.with_fields(changes), answers=True))


def _changes_it(recipe: Recipe, change: Changes) -> bool:
    """Whether a change is within the bounds of its fields, and makes another recipe."""
    try:
        return recipe.with_fields(change) != recipe
    except InvalidRecipe:
        return False


def metric_depth(recipe: Recipe) -> int:
    """The cutoff of nDCG by which fixes are compared: deep enough for twice the results."""
    return max(10, 2 * recipe.search.top_k)


def proposed(
    examination: Examination, failed: Sequence[FailedQuestion]
) -> dict[Cause, list[Changes]]:
    """The changes to try by cause; those of the index as far as it is built with them."""
    recipe, threshold = examination.recipe, examination.threshold.threshold
    causes = dict.fromkeys(failure.cause for failure in failed)
    crowded = {folder_of(one.document) for one in failed if one.cause == "crowded"}
    globs = tuple(f"{folder}/*" for folder in sorted(crowded) if folder)
    # A passage in no folder has no filter that leaves out a folder.
    to_folders: list[Changes] = [{"search.documents": globs}] if len(globs) == len(crowded) else []
    return {
        cause: [
            *(to_folders if cause == "crowded" else changes_for(cause, recipe, threshold)),
            *(
                change
                for change in index_changes_for(cause, recipe)
                if examination.is_built(recipe.with_fields(change).index)
            ),
        ]
        for cause in causes
    }


def try_fixes(
    services: Services,
    base_id: int,
    examination: Examination,
    failed: Sequence[FailedQuestion],
    parts: Split,
    groups: Mapping[str, str],
    on_progress: ProgressCallback,
) -> Trials:
    """Try the changes for all causes of ``failed``."""
    proposals, k = proposed(examination, failed), metric_depth(examination.recipe)
    measured = measure_changes(services, base_id, examination, proposals, on_progress)
    failed_ids = dict[Cause, set[str]]()
    for failure in failed:
        failed_ids.setdefault(failure.cause, set()).add(failure.id)
    return chosen(examination, proposals, measured, parts, groups, k, failed_ids)


def measure_changes(
    services: Services,
    base_id: int,
    examination: Examination,
    proposals: Mapping[Cause, Sequence[Changes]],
    on_progress: ProgressCallback,
) -> dict[str, Floats]:
    """The score of every question with each change, shape (questions,), by what names it.

    Changes that the calibration of the recipe excludes are left out.
    """
    recipe, k = examination.recipe, metric_depth(examination.recipe)
    distinct = {key_of(change): change for changes in proposals.values() for change in changes}
    measured = dict[str, Floats]()
    for done, (key, change) in enumerate(distinct.items()):
        on_progress(done, len(distinct))
        changed = recipe.with_fields(change)
        with suppress(InvalidInput):  # a calibration is for one set of fields
            measured[key] = _measured(services, base_id, examination, changed, k)
    return measured


def chosen(
    examination: Examination,
    proposals: Mapping[Cause, Sequence[Changes]],
    measured: Mapping[str, Floats],
    parts: Split,
    groups: Mapping[str, str],
    k: int,
    failed: Mapping[Cause, Collection[str]],
) -> Trials:
    """Choose the best change of each cause on tuning questions, and compare it on the others.

    ``failed`` has the ids of the failed questions of each cause: a change that helps none of them
    is not against the cause, whatever it gains elsewhere. A change that no held-out question
    measures is left out.
    """
    ids, base = [one.id for one in examination.questions], scores(examination.searched, k)
    tuning, held_out = np.isin(ids, parts.tuning), np.isin(ids, parts.held_out)
    gains = {key: values - base for key, values in measured.items()}
    places = {cause: np.isin(ids, list(names)) for cause, names in failed.items()}
    best, without = _best(proposals, gains, tuning, places)
    ranked = have_ndcg(examination.searched, k)
    # A question without an nDCG says nothing about a change that leaves its score as it is.
    told, pairs = dict[str, Mask](), list[tuple[str, Figures, Figures]]()
    unmeasured = False
    for key in list(best):
        told[key] = ranked | (measured[key] != base)
        part = held_out & told[key]
        if not part.any():
            unmeasured = True
            del best[key]
            continue
        names = np.array(ids)[part].tolist()
        metric = "score" if (told[key] & ~ranked).any() else f"ndcg@{k}"
        pairs.append((metric, _figures(names, measured[key][part]), _figures(names, base[part])))
    compared = compare_pairs(pairs, kind="held-out", groups=groups) if best else []
    fixes = [
        Fix(
            change,
            tuple(causes),
            tried,
            int((tuning & told[key]).sum()),
            float((measured[key] - base)[tuning & told[key]].mean()),
            comparison,
            tuple(name for name in after if before[name] == 0 < after[name]),
            tuple(name for name in after if after[name] == 0 < before[name]),
            int((held_out & told[key] & ~ranked).sum()),
            (f"ndcg@{k}", float(gains[key][held_out & ranked].mean()))
            if metric == "score" and (held_out & ranked).any()
            else None,
        )
        for (key, (change, causes, tried)), (metric, after, before), comparison in zip(
            best.items(), pairs, compared, strict=True
        )
    ]
    fixes.sort(key=lambda fix: -fix.tuning_gain)
    gaining = {key_of(fix.changes) for fix in fixes if fix.gains}
    recipe = examination.recipe
    indexes = {
        recipe.with_fields(change).index.hash
        for proposed_changes in proposals.values()
        for change in proposed_changes
        if key_of(change) in measured
    }
    return Trials(
        f"ndcg@{k}",
        tuple(fixes),
        tuple(without),
        note=_UNMEASURED if unmeasured else "",
        tried=len(measured),
        indexes=tuple(sorted(indexes)),
        helping_others=tuple(
            cause
            for cause, proposed_changes in proposals.items()
            if not gaining.isdisjoint(map(key_of, proposed_changes))
            and not any(fix.gains and cause in fix.causes for fix in fixes)
        ),
    )


def _best(
    proposals: Mapping[Cause, Sequence[Changes]],
    gains: Mapping[str, Floats],
    tuning: Mask,
    failed: Mapping[Cause, Mask],
) -> tuple[dict[str, tuple[Changes, list[Cause], int]], list[Cause]]:
    """The best change of each cause with its causes and how many were tried, by what names it.

    Also the causes without a change that gains and helps a question that ``failed`` by them. The
    ``gains`` and masks have shape (questions,).
    """
    best: dict[str, tuple[Changes, list[Cause], int]] = {}
    without: list[Cause] = []
    for cause, proposed_changes in proposals.items():
        changes = [one for one in proposed_changes if key_of(one) in gains]
        means = [float(gains[key_of(one)][tuning].mean()) for one in changes]
        if not means or max(means) <= _LEAST_GAIN:
            without += [cause] if means else []
            continue
        change = changes[int(np.argmax(means))]
        _, causes, tried = best.setdefault(key_of(change), (change, [], 0))
        helps = bool((gains[key_of(change)][failed[cause]] > 0).any())
        (causes if helps else without).append(cause)
        best[key_of(change)] = change, causes, tried + len(changes)
    return best, without


def _figures(names: Sequence[str], values: Floats) -> Figures:
    return dict(zip(names, values.tolist(), strict=True))


def _measured(
    services: Services, base_id: int, examination: Examination, recipe: Recipe, k: int
) -> Floats:
    rule = threshold_rule(services, base_id, recipe.index, recipe.search)
    searched = search_all(
        examination.source_of(recipe.index),
        examination.questions,
        recipe,
        rule.threshold,
        lambda _done, _total: None,
    )
    return scores(searched, k)


def key_of(change: Changes) -> str:
    """Name a change."""
    return repr(sorted(change.items()))


def _proposals(cause: Cause, recipe: Recipe, threshold: float | None) -> Iterator[Changes]:
    search = recipe.search
    match cause:
        case "filter":
            yield {
                **{f"search.{name}": () for name in ("documents", "types", "tags")},
                **{f"search.{name}": "" for name in ("pages", "after", "before", "heading")},
            }
        case "language":
            yield {"search.other_languages": "words"}
            yield {"search.mode": "lexical", "search.threshold": None}
            yield {"search.mode": "dense", "search.threshold": None}
        case "misspelt":
            yield {"search.spelling": "question"}
            yield {"search.spelling": True}
            yield {"search.fuzzy": True}
        case "synonym":
            yield {"search.synonyms": True}
        case "rerank":
            yield {"search.rerank": None}
            yield {"search.rerank_depth": min(200, 2 * search.rerank_depth)}
        case "refused":
            yield {"search.refuse": "off"}
            yield {"search.refuse": "off", "search.threshold": None}
        case "answered":
            yield {"search.refuse": "auto"}
            least = threshold or 0.2
            yield from ({"search.threshold": round(least + step, 2)} for step in (0.1, 0.2))
        case "threshold":
            yield {"search.threshold": None}
            if threshold is not None and threshold > 0:
                for share in (0.75, 0.5):
                    yield {"search.threshold": round(threshold * share, 2)}
        case "duplicates":
            yield {"search.duplicates": None}
            yield {"search.duplicates": 0.99}
        case "mmr":
            yield {"search.mmr": None}
            yield {"search.mmr": round((1 + (search.mmr or 0)) / 2, 3)}
        case "budget":
            yield {"answer.context_tokens": 2 * recipe.answer.context_tokens}
        case "words_only":
            yield from _weights(recipe, (-0.1, -0.2, -0.3, -0.4))
            yield {"search.mode": "lexical"}
        case "meaning_only":
            yield from _weights(recipe, (0.1, 0.2, 0.3))
            yield {"search.mode": "dense"}
        case "not_found":
            most = max(search.candidates, MOST_CANDIDATES)
            yield {"search.candidates": min(most, 3 * search.candidates)}
            yield {"search.prefix": True}
            yield {"search.fuzzy": True}
            yield {"search.feedback": 3, "search.feedback_terms": 10}
        case "top_k" | "ranked_low" | "doubtful" | "superseded":
            yield from _weights(recipe, (-0.2, 0.2))
        case _:
            return


def _index_proposals(cause: Cause, recipe: Recipe) -> Iterator[Changes]:
    index = recipe.index
    if cause == "cut" and index.chunker != "whole":
        if index.chunker == "fixed":
            yield {"index.chunker": "recursive"}
        yield {"index.chunk_size": 2 * index.chunk_size}
        overlap = index.chunk_size // _OVERLAP
        if overlap > index.chunk_overlap:
            yield {"index.chunk_overlap": overlap}
    elif cause == "table_row":
        yield {"index.context": "table"}


def _weights(recipe: Recipe, steps: Sequence[float]) -> Iterator[Changes]:
    search = recipe.search
    if search.mode != "hybrid":
        yield {"search.mode": "hybrid"}
        return
    for step in steps:
        weight = round(search.dense_weight + step, 3)
        if 0 <= weight <= 1:
            yield {"search.dense_weight": weight}
    yield {"search.fusion": "rrf"}
    yield {"search.fusion": "saturation", "search.dense_weight": 0.5}
