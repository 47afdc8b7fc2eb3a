"""Learned fusions of a knowledge base: learned by a job, refused without a gain, and stored."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter

from rag.errors import InvalidInput, NotFound
from rag.evaluation.comparison import metric_name
from rag.evaluation.intervals import signed
from rag.jobs import JobRow, Jobs, Reporter
from rag.learned_fusion import FusionModel, model_from_dict
from rag.learned_fusion.trees import require_trees
from rag.operation import operation
from rag.questions.groups import groups_of
from rag.questions.snapshot import read_questions
from rag.questions.trial_log import TrialLog, name_of
from rag.recipe import Recipe
from rag.search.learned_fusion import fusion_hash, learned_with
from rag.services import Services
from rag.storage import bases
from rag.storage import jobs as job_rows
from rag.storage.quality import learned_fusions
from rag.storage.quality.learned_fusions import LearnedFusionRow
from rag.storage.runs import Trial
from rag.tuning.learning.labelled import METRIC, Ranker, labelled_questions
from rag.tuning.learning.passports import Kind, Learner, Passport, issue_passports
from rag.tuning.state import state
from rag.tuning.sweeper import Sweeper
from rag.tuning.weighted_progress import WeightedProgress
from rag.types import ProgressCallback

JOB = "learn_fusion"
FEWEST_QUESTIONS: Mapping[Kind, int] = {"linear": 60, "trees": 150}
"""Labelled questions that a kind of model needs."""


@dataclass(frozen=True, slots=True)
class LearnedOutcome:
    """The outcome of a fit. ``hash`` names the stored model, "" for one that was refused.

    ``recipe`` is the hash of the recipe whose fusion the passports compare with.
    """

    kind: Kind
    question_set: str
    questions: int
    recipe: str
    hash: str
    version: int
    passports: tuple[Passport, ...]

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        figures = " and ".join(
            f"{signed(passport.comparison.difference)} on unseen {passport.unit} "
            f"(p = {passport.comparison.p:.2g})"
            for passport in self.passports
        )
        missing = "" if len(self.passports) > 1 else " Too few documents for the second test."
        metric = metric_name(METRIC)
        if self.hash:
            better = [passport.unit for passport in self.passports if passport.gains]
            return (
                f"The learned fusion gains on unseen {' and '.join(better)}: {metric} "
                f"{figures}.{missing}"
            )
        return f"Refused: neither test shows a gain. {metric} {figures}.{missing}"


_STORED = TypeAdapter(LearnedOutcome)
_PASSPORTS = TypeAdapter(tuple[Passport, ...])


@dataclass(frozen=True, slots=True)
class LearnedFusion:
    """A stored learned fusion. ``learned_with`` has the fields that its features depend on."""

    hash: str
    version: int
    kind: Kind
    question_set: str
    set_version: int
    questions: int
    model: FusionModel
    learned_with: Mapping[str, Any]
    passports: tuple[Passport, ...]
    created: datetime


class LearnedFusions:
    """The learned fusions of one knowledge base."""

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        self._services = services
        self._jobs = jobs
        self._base_id = base_id

    @operation("editor", audit="evaluation")
    def learn(
        self,
        set_name: str,
        recipe: Recipe,
        kind: Kind = "linear",
        on_progress: ProgressCallback = lambda _done, _total: None,
    ) -> LearnedOutcome:
        """Learn a fusion, and store it if a passport shows a gain over the recipe's own fusion.

        Raises NotFound for an unknown set, InvalidInput for too few labelled questions or a recipe
        that is not hybrid, calls a model or uses tools, MissingDependency for trees without
        XGBoost.
        """
        return learned(self._services, self._base_id, set_name, recipe, kind, on_progress)

    @operation("editor", audit="evaluation")
    def start(self, set_name: str, recipe: Recipe, kind: Kind = "linear") -> int:
        """Queue ``learn``; return the job, also where it is queued already."""
        require_learnable(recipe, kind)
        payload = {"set": set_name, "recipe": recipe.model_dump(mode="json"), "kind": kind}
        title = f"Learning a {_NAMES[kind]} on {set_name}"
        about = self._about(set_name, recipe, kind)
        return self._jobs.submit_once(self._base_id, JOB, title, about, payload)

    @operation("viewer", models="none")
    def latest(self, set_name: str, recipe: Recipe, kind: Kind = "linear") -> JobRow | None:
        """The last job on these questions, documents and recipe, at work or over."""
        return self._jobs.latest(self._base_id, JOB, self._about(set_name, recipe, kind))

    @operation("viewer", models="none")
    def result(self, set_name: str, recipe: Recipe, kind: Kind = "linear") -> LearnedOutcome | None:
        """The outcome of the last finished job on these questions, documents and recipe."""
        about = self._about(set_name, recipe, kind)
        stored = self._jobs.result(self._base_id, JOB, about)
        return None if stored is None else _STORED.validate_python(stored)

    @operation("viewer", models="none")
    def list_all(self) -> list[LearnedFusion]:
        """All versions, newest first."""
        with self._services.database.read() as connection:
            rows = learned_fusions.list_all(connection, self._base_id)
        return [_of(row) for row in rows]

    @operation("viewer", models="none")
    def find(self, name: str) -> LearnedFusion:
        """A learned fusion by its hash. Raises NotFound."""
        with self._services.database.read() as connection:
            row = learned_fusions.find(connection, self._base_id, name)
        if row is None:
            raise _unknown(name)
        return _of(row)

    @operation("editor", audit="evaluation")
    def remove(self, name: str) -> None:
        """Delete a learned fusion; recipes that name it are refused from then on.

        Raises NotFound, InvalidInput for the one of the saved recipe.
        """
        with self._services.database.write() as connection:
            bases.hold(connection, self._base_id)
            if bases.by_id(connection, self._base_id).recipe.search.learned_fusion == name:
                raise InvalidInput(
                    f"The saved recipe ranks by the learned fusion {name}.",
                    "Save a recipe with search.learned_fusion=null, or another one, first.",
                )
            if not learned_fusions.remove(connection, self._base_id, name):
                raise _unknown(name)

    def _about(self, set_name: str, recipe: Recipe, kind: Kind) -> dict[str, str]:
        return _about(self._services, self._base_id, set_name, recipe, kind)


_NAMES: Mapping[Kind, str] = {"linear": "linear fusion", "trees": "fusion by trees"}


def _unknown(name: str) -> NotFound:
    return NotFound(
        f"No learned fusion is called {name[:100]!r}.", "The verb `learned-fusions` lists them."
    )


def _of(row: LearnedFusionRow) -> LearnedFusion:
    return LearnedFusion(
        hash=row.hash,
        version=row.version,
        kind="trees" if row.kind == "trees" else "linear",
        question_set=row.question_set,
        set_version=row.set_version,
        questions=row.questions,
        model=model_from_dict(row.model),
        learned_with=row.learned_with,
        passports=_PASSPORTS.validate_python(row.passports),
        created=row.created,
    )


def _about(
    services: Services, base_id: int, set_name: str, recipe: Recipe, kind: Kind
) -> dict[str, str]:
    """The questions, documents and recipe that a job learns on."""
    plain, measured_on = _plain(recipe), state(services, base_id, set_name, recipe)
    search = f"{plain.index.hash} {plain.search.hash}"
    return {"set": set_name, "kind": kind, "recipe": search, "state": measured_on}


def is_untried(
    services: Services, base_id: int, set_name: str, recipe: Recipe, labelled: int
) -> bool:
    """Whether a fusion can be learned from ``labelled`` questions, and none was yet.

    A fusion that was learned on other labels or documents is one, and so is a refused one on these.
    """
    kind: Kind = "linear"
    if labelled < FEWEST_QUESTIONS[kind] or recipe.search.learned_fusion is not None:
        return False
    try:
        require_learnable(recipe, kind)
    except InvalidInput:
        return False
    about = _about(services, base_id, set_name, recipe, kind)
    with services.database.read() as connection:
        if learned_fusions.list_all(connection, base_id):
            return False
        return job_rows.latest(connection, base_id, JOB, about, done=True) is None


def _plain(recipe: Recipe) -> Recipe:
    """The recipe with its own fusion."""
    return recipe.with_fields({"search.learned_fusion": None})


def require_learnable(recipe: Recipe, kind: Kind) -> None:
    """Raise InvalidInput for recipes whose fusion cannot be learned, MissingDependency for trees
    without XGBoost."""
    if kind not in FEWEST_QUESTIONS:
        raise InvalidInput(
            f"No learned fusion is of the kind {kind!r}.", "Choose one of: linear, trees"
        )
    search = recipe.search
    if search.mode != "hybrid":
        raise InvalidInput(
            f"A fusion joins words and meaning, and the mode is {search.mode}.",
            "Set search.mode to hybrid.",
        )
    asking = [name for name in SEARCH_MODELS if getattr(search, name)]
    if asking:
        fields = ", ".join(f"search.{name}" for name in asking)
        raise InvalidInput(
            f"Learning searches every question, and {fields} would call a model or a tool.",
            "Turn these fields off to learn; the learned fusion works with them.",
        )
    if kind == "trees":
        require_trees()


SEARCH_MODELS = ("expansions", "hyde", "rerank", "tools")


def learned(
    services: Services,
    base_id: int,
    set_name: str,
    recipe: Recipe,
    kind: Kind,
    on_progress: ProgressCallback,
) -> LearnedOutcome:
    """Do what ``LearnedFusions.learn`` says."""
    require_learnable(recipe, kind)
    plain = _plain(recipe)
    with services.database.read() as connection:
        question_set = read_questions(connection, base_id, set_name)
    sweeper = Sweeper(services, question_set)
    effort = WeightedProgress(on_progress, 1000.0)
    with effort.part(300.0) as progress:
        questions = labelled_questions(services, base_id, sweeper, plain, progress)
    _require_labels(kind, len(questions))
    groups = groups_of([item.question for item in questions])
    source = sweeper.source(plain.index)
    ranker = Ranker(services, base_id, source, plain)
    before = {item.question.id: ranker.score(item, None) for item in questions}
    learner = Learner(kind, questions, ranker, groups)

    def level(figures: Mapping[str, Mapping[str, float]]) -> float:
        content = repr([(unit, sorted(values.items())) for unit, values in figures.items()])
        look = Trial(
            family="learned fusion",
            look=name_of(kind, METRIC, hashlib.sha256(content.encode()).hexdigest()),
            kind="fit",
            metric=METRIC,
            alternatives=1,
            recipes=(plain.hash,),
            split_seed=None,
            split_share=None,
        )
        return TrialLog(services.database, base_id).note(set_name, look).level

    with effort.part(700.0) as progress:
        passports = issue_passports(learner, questions, before, groups, level, progress)
    outcome = LearnedOutcome(kind, set_name, len(questions), plain.hash, "", 0, passports)
    if not any(passport.gains for passport in passports):
        return outcome
    model = learner.fit(range(len(questions)), frozenset(), lambda: None)
    fields = learned_with(plain)
    row = LearnedFusionRow(
        hash=fusion_hash(model, fields),
        version=0,
        kind=kind,
        question_set=set_name,
        set_version=question_set.question_set.version,
        questions=len(questions),
        model=model.to_dict(),
        learned_with=fields,
        passports=_PASSPORTS.dump_python(passports, mode="json"),
        created=datetime.now(UTC),
    )
    with services.database.write() as connection:
        stored = learned_fusions.add(connection, base_id, row)
    return LearnedOutcome(
        kind, set_name, len(questions), plain.hash, stored.hash, stored.version, passports
    )


def _require_labels(kind: Kind, questions: int) -> None:
    needed = FEWEST_QUESTIONS[kind]
    if questions < needed:
        raise InvalidInput(
            f"A {_NAMES[kind]} needs {needed} labelled questions, and {questions:,} have a label "
            "in these documents.",
            "Label more questions."
            if kind == "linear"
            else f"Label more questions, or learn a linear fusion, which needs "
            f"{FEWEST_QUESTIONS['linear']}.",
        )


def learn_fusion(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "learn_fusion"; taken up again, it starts over."""
    reporter.report(0, 0, "reading the index")

    def on_progress(done: int, total: int) -> None:
        reporter.report(done, total, "searching, fitting and testing on what was left out")

    recipe, kind = Recipe.parse(job.payload["recipe"]), job.payload["kind"]
    outcome = learned(services, job.base_id, str(job.payload["set"]), recipe, kind, on_progress)
    reporter.result = _STORED.dump_python(outcome, mode="json")
    return outcome.headline
