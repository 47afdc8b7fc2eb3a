"""Whether a run gave, figure by figure, what another machine got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag.experiments.bundles.contents import BundledResult, Results
from rag.experiments.runs.evaluator import Evaluation
from rag.types.results import GATE, PIPELINE

TIED = 1e-5
"""Passages with scores so close may change places: processors round the same model differently."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A figure that is not the same; ``question`` is "" for a mean, None stands for no figure."""

    question: str
    metric: str
    expected: float | None
    actual: float | None


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The result of reproducing a bundle on this machine.

    ``figures`` is the number of compared metrics, means and per question. ``rankings`` is the
    number of questions, and ``rankings_changed`` the number of questions with other retrieved
    passages or grades. ``largest_score_gap`` is the largest difference of two scores at the same
    rank. ``missing`` names missing documents, ``read_differently`` documents with another extracted
    text. ``environment`` contains the differences: (there, here).
    """

    base: str
    question_set: str
    run: str
    figures: int
    deviations: tuple[Deviation, ...]
    rankings: int
    rankings_changed: int
    largest_score_gap: float
    missing: tuple[str, ...]
    read_differently: tuple[str, ...]
    environment: Mapping[str, tuple[str, str]]

    @property
    def exact(self) -> bool:
        """Whether every figure is the same to the last digit, and every ranking up to ties."""
        return not (self.deviations or self.rankings_changed or self.missing)

    @property
    def sentence(self) -> str:
        """The result in plain English."""
        if self.exact:
            return (
                f"reproduced: all {self.figures:,} metrics and {self.rankings:,} rankings "
                "are identical"
            )
        reasons = []
        if self.missing:
            reasons.append(f"{len(self.missing):,} documents are missing")
        if self.read_differently:
            reasons.append(f"{len(self.read_differently):,} documents were read differently")
        because = f" ({'; '.join(reasons)})" if reasons else ""
        return (
            f"not reproduced: {len(self.deviations):,} of {self.figures:,} metrics and "
            f"{self.rankings_changed:,} of {self.rankings:,} rankings differ{because}"
        )


def compared(
    base: str,
    expected: Results,
    made_with: Mapping[str, str],
    evaluation: Evaluation,
    missing: Sequence[str] = (),
    read_differently: Sequence[str] = (),
) -> Reproduction:
    """Every figure of a bundle beside those of the run that repeated it."""
    here = {item.question_id: BundledResult.of(item) for item in evaluation.results}
    there = {item.id: item for item in expected.per_question}
    pairs = [(there.get(name), here.get(name)) for name in dict.fromkeys([*there, *here])]
    figures = [
        *_figures("", expected.metrics, evaluation.run.metrics),
        *(
            deviation
            for one, other in pairs
            for deviation in _figures(_name(one, other), _metrics(one), _metrics(other))
        ),
    ]
    return Reproduction(
        base=base,
        question_set=evaluation.run.question_set,
        run=evaluation.run.id,
        figures=len(figures),
        deviations=tuple(
            deviation for deviation in figures if deviation.expected != deviation.actual
        ),
        rankings=len(pairs),
        rankings_changed=sum(_changed(one, other) for one, other in pairs),
        largest_score_gap=max((_gap(one, other) for one, other in pairs), default=0.0),
        missing=tuple(missing),
        read_differently=tuple(read_differently),
        environment=_differing(made_with, evaluation.run.environment),
    )


def _figures(
    question: str, expected: Mapping[str, float], actual: Mapping[str, float]
) -> Iterator[Deviation]:
    for metric in dict.fromkeys([*expected, *actual]):
        yield Deviation(question, metric, expected.get(metric), actual.get(metric))


def _name(one: BundledResult | None, other: BundledResult | None) -> str:
    present = one or other
    return present.id if present else ""


def _metrics(result: BundledResult | None) -> Mapping[str, float]:
    return result.metrics if result else {}


def _changed(one: BundledResult | None, other: BundledResult | None) -> bool:
    """Whether something else was retrieved, in another order, or graded differently."""
    if one is None or other is None or _graded(one) != _graded(other):
        return True
    scores = {name: score for name, score, _ in other.ranking}
    return any(
        abs(scores[name] - score) > TIED
        for (name, _, _), (_, score, _) in zip(one.ranking, other.ranking, strict=True)
    )


def _graded(result: BundledResult) -> object:
    grades = {name: grade for name, _, grade in result.ranking}
    return grades, result.first_relevant, result.found, result.relevant


def _gap(one: BundledResult | None, other: BundledResult | None) -> float:
    if one is None or other is None:
        return 0.0
    pairs = zip(one.ranking, other.ranking, strict=False)
    return max((abs(a[1] - b[1]) for a, b in pairs), default=0.0)


def _differing(there: Mapping[str, str], here: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    return {
        name: (there.get(name, ""), here.get(name, ""))
        for name in dict.fromkeys([*there, *here])
        if there.get(name) != here.get(name) and name not in (GATE, PIPELINE)
    }
