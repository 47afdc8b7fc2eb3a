"""Choosing on one half of the questions and reporting on the other, so that luck is not praised."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag.errors import InvalidInput
from rag.evaluation.comparison import CROWNING_P, Comparison, Groups, compare
from rag.evaluation.intervals import signed
from rag.evaluation.metrics import metric_name
from rag.types import Floats, percent


@dataclass(frozen=True, slots=True)
class Split:
    """Question ids by what they are for, each in the order given."""

    tuning: tuple[str, ...]
    held_out: tuple[str, ...]


def split(
    questions: Iterable[str],
    tuning_share: float = 0.5,
    seed: int = 0,
    *,
    groups: Groups | None = None,
    strata: Mapping[str, Hashable] | None = None,
) -> Split:
    """Splits question ids; a group is never divided, and every stratum is split alike.

    Within a stratum those that a hash of seed and name puts first are for tuning, up to the share:
    the same on any machine and in any order, and one question more moves hardly another. The share
    is met as nearly as groups allow. Raises InvalidInput for a share outside (0, 1) or when a side
    stays empty.
    """
    if not 0.0 < tuning_share < 1.0:
        raise InvalidInput(
            f"With a tuning share of {tuning_share:g}, one side of the split is empty.",
            "Choose a share between 0 and 1, such as 0.5.",
        )
    ids = list(questions)
    chosen = _chosen(ids, tuning_share, seed, groups or {}, strata or {})
    tuning = tuple(question for question in ids if question in chosen)
    held_out = tuple(question for question in ids if question not in chosen)
    if not tuning or not held_out:
        raise InvalidInput(
            f"Too few questions to split ({len(ids)}): one side is empty.",
            "Label more questions, or compare recipes that were not chosen on these questions.",
        )
    return Split(tuning, held_out)


def folds(
    questions: Sequence[str],
    count: int,
    seed: int = 0,
    *,
    groups: Groups | None = None,
    strata: Mapping[str, Hashable] | None = None,
) -> list[int]:
    """The fold of each question, from 0; groups stay whole, and every stratum is in all alike.

    Within a stratum a hash of seed and name sets the order in which they are dealt, each to the
    fold that has the fewest questions.
    """
    sizes = [0] * count
    fold_of: dict[str, int] = {}
    for members in _layers(list(questions), groups or {}, strata or {}):
        for name in sorted(members, key=lambda name: _place(name, seed)):
            fold = sizes.index(min(sizes))
            sizes[fold] += len(members[name])
            fold_of.update(dict.fromkeys(members[name], fold))
    return [fold_of[question] for question in questions]


def _chosen(
    ids: Sequence[str], share: float, seed: int, groups: Groups, strata: Mapping[str, Hashable]
) -> set[str]:
    """Choose the ids for tuning. What a stratum has too many of, the next one has fewer of."""
    chosen: set[str] = set()
    seen = 0.0
    for members in _layers(ids, groups, strata):
        seen += sum(map(len, members.values()))
        for name in sorted(members, key=lambda name: _place(name, seed)):
            # Those that half fit are in.
            if len(chosen) + len(members[name]) / 2 <= share * seen + 1e-9:
                chosen.update(members[name])
    return chosen


def _layers(
    ids: Sequence[str], groups: Groups, strata: Mapping[str, Hashable]
) -> list[dict[str, list[str]]]:
    """Strata, the largest first: questions by the name of what stays together."""
    units: dict[str, list[str]] = {}
    for question in ids:
        units.setdefault(
            f"group {groups[question]}" if question in groups else question, []
        ).append(question)
    layers: dict[str, list[str]] = {}
    for name, members in units.items():
        counts = Counter(repr(strata.get(question)) for question in sorted(members))
        common = counts.most_common(1)[0][0]
        layers.setdefault(common, []).append(name)
    largest = sorted(layers.items(), key=lambda layer: (-len(layer[1]), layer[0]))
    return [{name: units[name] for name in names} for _, names in largest]


def _place(question: str, seed: int) -> float:
    """A point in [0, 1), evenly spread over ids."""
    digest = hashlib.sha256(f"{seed}\0{question}".encode()).digest()
    return int.from_bytes(digest[:8]) / 2**64


@dataclass(frozen=True, slots=True)
class SplitSelection:
    """The best recipe of the tuning questions, and what is left of its lead on the others.

    ``row`` is its place among the recipes. Leads are over the baseline, in units of the metric.
    ``comparison`` is on held-out questions only, where nothing was chosen; ``tried`` is how many
    recipes it was chosen from.
    """

    row: int
    tried: int
    tuning_questions: int
    tuning_lead: float
    comparison: Comparison

    @property
    def held_out_lead(self) -> float:
        """The lead on questions that the choice did not see."""
        return self.comparison.difference

    @property
    def shrinkage(self) -> float | None:
        """The share of the lead that was luck (above 1: it turned); None without a lead."""
        return 1.0 - self.held_out_lead / self.tuning_lead if self.tuning_lead > 0 else None

    @property
    def headline(self) -> str:
        """The verdict on the winner, in one sentence."""
        return selection_headline(self.comparison, self.tuning_lead, self.tried)

    @property
    def method(self) -> str:
        """The procedure behind the headline, in sentences; "" if no recipe leads."""
        if self.shrinkage is None:
            return ""
        held_out = len(self.comparison.differences)
        return (
            f"On the {self.tuning_questions:,} tuning questions, the best of {self.tried:,} "
            f"different recipes leads by {self.tuning_lead:.3f}. On the {held_out:,} held-out "
            f"questions, its lead is {self.held_out_lead:z.3f}{_change(self.shrinkage)}."
        )

    @property
    def sentence(self) -> str:
        """The headline and the method."""
        return f"{self.headline} {self.method}".strip()


def selection_headline(comparison: Comparison, lead: float, tried: int) -> str:
    """Return the verdict on the best of ``tried`` recipes, compared with the baseline."""
    stay = "No reason to change:"
    if lead <= 0 and tried == 1:
        return f"{stay} the only other recipe does not beat the baseline."
    if lead <= 0:
        return f"{stay} none of {tried:,} different recipes beats the baseline."
    if comparison.obstacle or comparison.doubt:
        return comparison.headline
    gain = round(comparison.difference, 3)
    level = "the same" if not gain else "a higher" if gain > 0 else "a lower"
    change = (
        f"the best recipe found has {level} {metric_name(comparison.metric)} on questions that did "
        f"not pick it: {signed(gain)}"
    )
    if comparison.verdict == "better":
        return f"Better: {change} {comparison.basis}."
    noise = f", {comparison.certainty}" if comparison.verdict == "undecided" and gain else ""
    return f"{stay} {change} {comparison.basis}{noise}."


def choose(
    metric: str,
    scores: Floats,
    questions: Sequence[str],
    baseline: int,
    parts: Split,
    groups: Groups | None = None,
    alpha: float = CROWNING_P,
) -> SplitSelection:
    """Pick the recipe with the best mean on tuning questions and compare it on held-out ones.

    ``scores`` has shape (recipes, questions), columns aligned with ``questions``; ``baseline`` is a
    row. The baseline wins a tie, then the earlier row. A winner needs a p-value of ``alpha``.
    Questions in neither part are ignored.
    Raises InvalidInput when one part has no question here.
    """
    tuning, held_out = _columns(questions, parts.tuning), _columns(questions, parts.held_out)
    if not len(tuning) or not len(held_out):
        raise InvalidInput(
            "The tuning or the held-out questions have no metrics to choose by.",
            "Evaluate both parts of the split.",
        )
    means = scores[:, tuning].mean(axis=1)
    # Differences of rounding size are ties.
    best = int(np.argmax(means >= means.max() - 1e-12))
    if means[baseline] >= means[best] - 1e-12:
        best = baseline
    names = [questions[column] for column in held_out]
    run, other = (dict(zip(names, scores[row, held_out], strict=True)) for row in (best, baseline))
    return SplitSelection(
        row=best,
        tried=len(scores),
        tuning_questions=len(tuning),
        tuning_lead=float(means[best] - means[baseline]) if best != baseline else 0.0,
        comparison=compare(metric, run, other, kind="held-out", groups=groups, alpha=alpha),
    )


def _columns(questions: Sequence[str], names: Iterable[str]) -> npt.NDArray[np.intp]:
    among = set(names)
    return np.flatnonzero([question in among for question in questions])


def _change(shrinkage: float) -> str:
    if shrinkage >= 1.0:
        return ", so it is gone"
    if abs(shrinkage) < 0.005:
        return ", the same"
    if shrinkage < -1.0:  # of next to nothing: a percentage would say nothing
        return ", more than twice as large"
    return f" ({percent(abs(shrinkage))} {'smaller' if shrinkage > 0 else 'larger'})"
