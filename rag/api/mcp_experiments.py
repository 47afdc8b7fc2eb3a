"""The tools of MCP by which an agent tunes retrieval: measure, diagnose, sweep, decide, save.

What an agent sees of questions and figures is the tuning part of a question set. Whether a recipe
is better is decided on the held-out part alone, and each such look is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from rag import (
    OFFLINE_KINDS,
    CauseData,
    Grid,
    InvalidInput,
    KnowledgeBase,
    NotFound,
    QuestionPart,
    Recipe,
    Schema,
    SplitSelection,
    attribute,
    diagnosis_data,
    find_quote,
    signed,
)
from rag.api.mcp_tools import Call, Tool, tool

_METRIC = "ndcg@10"
_BY_MODELS = " by models"
_TRIED = ("recall@5", "recall@10", "mrr@10")
_NO_CLAIM = (
    "Recipes are chosen on these questions, so this shows no gain: evaluate both recipes, and ask "
    "compare_runs with held_out for the verdict."
)

Base = Annotated[str, Field(description="name of a knowledge base; may be left out if it is alone")]
Set = Annotated[str, Field(description="name of a question set; may be left out if it is alone")]
Fields = Annotated[
    dict[str, Any] | None,
    Field(description='fields of the saved recipe that change, as {"search.top_k": 8}'),
]
Metric = Annotated[str, Field(description="such as ndcg@10, recall@5, mrr@10")]
Reason = Annotated[
    str, Field(min_length=10, max_length=500, description="why you do this; people read it in Runs")
]
HeldOut = Annotated[
    bool, Field(description="the held-out questions; asking for them is recorded, and needs reason")
]


class QuestionSetBriefData(Schema):
    """A question set: how many of its questions are for tuning, and how many are held out."""

    name: str
    tuning: int
    held_out: int


class BaseBriefData(Schema):
    """A knowledge base with its question sets, systems and runs."""

    name: str
    documents: int
    passages: int
    question_sets: list[QuestionSetBriefData]
    systems: list[str]
    runs: int


class BasesData(Schema):
    """The knowledge bases that the token may see."""

    knowledge_bases: list[BaseBriefData]


class CurrentRecipeData(Schema):
    """The saved recipe, by part."""

    hash: str
    recipe: Recipe


class AskedQuestionData(Schema):
    """A question. ``documents`` are the names of those that its relevant labels are in."""

    id: str
    question: str = attribute("text")
    answerable: bool
    tags: list[str]
    documents: list[str]


class QuestionsData(Schema):
    """Questions of one part of a set."""

    part: str
    total: int
    questions: list[AskedQuestionData]


class TunedData(Schema):
    """Figures of a recipe or system on the tuning questions, and which were the worst of them.

    ``tokens`` are those of the passages that a model would be given, null where unknown.
    """

    sentence: str
    run: str | None
    recipe: str
    part: str
    questions: int
    metrics: dict[str, float]
    differences: dict[str, float]
    tokens: float | None
    worst: list[AskedQuestionData]
    cautions: list[str]


class VerdictData(Schema):
    """A run against a baseline. ``needed_p`` is what a winner needs at this look."""

    sentence: str
    verdict: str
    part: str = attribute("kind")
    metric: str
    questions: int
    mean: float
    baseline_mean: float = attribute("baseline")
    difference: float
    interval: list[float]
    p: float
    needed_p: float = attribute("alpha")
    trial_log: str
    tokens: float | None = None
    baseline_tokens: float | None = None


class SweepVerdictData(VerdictData):
    """The best recipe of a grid on the tuning questions, against the saved one on the others."""

    changes: dict[str, Any]
    tried: int
    leaders: list[dict[str, Any]]


class TunedFixData(Schema):
    """A change of the recipe that was tried, and its gain on the tuning questions."""

    changes: dict[str, Any]
    causes: list[str]
    tuning_gain: float


class CausesData(Schema):
    """The causes by which tuning questions fail, and changes of the recipe that help there."""

    sentence: str
    failed: int
    causes: list[CauseData]
    questions: list[dict[str, Any]]
    fixes: list[TunedFixData]
    without_gain: list[str]


class DoneData(Schema):
    """A change that was made, and the id of its result."""

    sentence: str
    id: str


class GateOutcomeData(Schema):
    """The outcome of a gate, and what fell short."""

    sentence: str
    outcome: str
    run: str
    failures: list[str]


class SystemAuditData(TunedData):
    """A system's results as they were located in the documents, beside its figures."""

    located: dict[str, int]
    repeated: int
    failed: int
    errors: list[str]


@tool("read", reads=True)
def list_knowledge_bases(call: Call) -> BasesData:
    """List the knowledge bases with their question sets. Begin here."""
    briefs = []
    for info in call.workspace.bases():
        base = call.workspace.base(info.name)
        sets = []
        for row in base.questions.list_all():
            parts = base.runs.tuning_part(row.name)
            brief = QuestionSetBriefData(
                name=row.name, tuning=len(parts.tuning), held_out=len(parts.held_out)
            )
            sets.append(brief)
        briefs.append(
            BaseBriefData.of(
                info,
                question_sets=sets,
                systems=[system.name for system in base.systems.list_all()],
                runs=len(base.runs.list_all()),
            )
        )
    return BasesData(knowledge_bases=briefs)


@tool("read", reads=True)
def get_recipe(call: Call, knowledge_base: Base = "") -> CurrentRecipeData:
    """Return the saved recipe, which answers people: its fields are what you can change."""
    recipe = call.base(knowledge_base).recipe()
    return CurrentRecipeData(hash=recipe.hash, recipe=recipe)


@tool("experiment", reads=True)
def list_questions(
    call: Call,
    knowledge_base: Base = "",
    question_set: Set = "",
    held_out: HeldOut = False,
    reason: str = "",
    limit: Annotated[int, Field(ge=1, le=200, strict=True)] = 50,
    offset: Annotated[int, Field(ge=0, le=1_000_000, strict=True)] = 0,
) -> QuestionsData:
    """List the tuning questions of a set with the documents that answer them.

    The held-out questions decide later whether a change is a gain. Leave them unread: who tunes to
    them learns nothing from the verdict.
    """
    base = call.base(knowledge_base)
    name = _set(base, question_set)
    if held_out and len(reason.strip()) < 10:
        raise InvalidInput(
            "The held-out questions are shown for a reason only.", "Say why in reason."
        )
    parts = base.runs.tuning_part(name)
    ids = parts.held_out if held_out else parts.tuning
    return QuestionsData(
        part="held-out" if held_out else "tuning",
        total=len(ids),
        questions=_questions(base, name, ids[offset : offset + limit]),
    )


@tool("experiment")
def evaluate(
    call: Call,
    reason: Reason,
    knowledge_base: Base = "",
    question_set: Set = "",
    fields: Fields = None,
    system: Annotated[str, Field(description="a stored system, in the place of a recipe")] = "",
    metric: Metric = _METRIC,
    answers: Annotated[
        bool, Field(description="also answer the questions, with a recipe; costs what ask costs")
    ] = False,
) -> TunedData:
    """Measure a recipe or a stored system, and store the run. Builds the index if it must.

    With answers, figures such as answer_containment and correct_decision come too. You see the
    figures of the tuning questions. Use the id of the run in compare_runs.
    """
    base = call.base(knowledge_base)
    name = _set(base, question_set)
    if system and answers:
        raise InvalidInput("A system returns no answers.", "Leave answers out.")
    if system:
        job = base.systems.start_evaluation(name, system)
    else:
        recipe = call.recipe(base, fields)
        budget = call.answers_budget(recipe) if answers else None
        if base.documents.missing(recipe.index):
            call.finish(base.documents.build(recipe.index))
        job = (
            base.runs.start_evaluation(name, recipe)
            if budget is None
            else base.runs.start_answers(name, recipe, budget=budget)
        )
    run_id = call.workspace.jobs.get(job).payload["run"]
    spent = _price(base, run_id)
    try:
        call.finish(job)
    finally:
        call.money = _price(base, run_id) - spent
    if call.workspace.jobs.get(job).paused:
        raise InvalidInput(call.workspace.jobs.get(job).message, "Ask for a larger budget.")
    tuned = base.runs.on_tuning(run_id, metric)
    base.runs.note_trial(name, tuned.run.source_hash, metric)
    value = tuned.metrics.get(metric, 0.0)
    return TunedData.of(
        tuned,
        sentence=f"{metric} is {value:.3f} on the {tuned.questions} tuning questions. {_NO_CLAIM}",
        run=run_id,
        recipe=tuned.run.source_hash,
        part="tuning",
        differences={},
        tokens=tuned.run.context_tokens,
        worst=_questions(base, name, tuned.worst),
        cautions=tuned.run.cautions,
    )


@tool("experiment")
def try_recipe(
    call: Call,
    fields: Fields,
    reason: Reason,
    knowledge_base: Base = "",
    question_set: Set = "",
    metric: Metric = _METRIC,
) -> TunedData:
    """Measure changed search fields on the tuning questions at once, without storing a run.

    ``differences`` are to the saved recipe. Fields of the index, and steps that ask a model, need
    evaluate instead.
    """
    base = call.base(knowledge_base)
    name, recipe, saved = _set(base, question_set), call.recipe(base, fields), base.recipe()
    tuner = base.tuning.tuner(name)
    metrics = list(dict.fromkeys((metric, *_TRIED)))
    part: QuestionPart = "tuning" if tuner.split else "all"
    new, old = (tuner.figures([one], metrics, part, with_context=True) for one in (recipe, saved))
    means = {key: float(new.metrics[key][0].mean()) for key in metrics}
    before = {key: float(old.metrics[key][0].mean()) for key in metrics}
    tokens, tokens_before = (
        None if (row := side.means("context_tokens")) is None else float(row[0])
        for side in (new, old)
    )
    count = base.runs.note_trial(name, recipe.hash, metric)
    amount = means[metric] - before[metric]
    price = "" if tokens is None else f" It hands {tokens:.0f} tokens to a model"
    price += "." if tokens_before is None or not price else f", the saved one {tokens_before:.0f}."
    return TunedData(
        sentence=f"{metric} changes by {signed(amount)} on the {len(new.labelled)} {part} "
        f"questions. This is trial {count}.{price} {_NO_CLAIM}",
        run=None,
        recipe=recipe.hash,
        part=part,
        questions=len(new.labelled),
        metrics=means,
        differences={key: means[key] - before[key] for key in metrics},
        tokens=tokens,
        worst=[],
        cautions=[],
    )


@tool("experiment")
def compare_runs(
    call: Call,
    run: str,
    baseline: str,
    reason: Reason,
    knowledge_base: Base = "",
    metric: Metric = _METRIC,
    held_out: HeldOut = False,
) -> VerdictData:
    """Compare two runs. Only held_out gives a verdict, and each pair makes later ones harder.

    Choose on the tuning questions first, then ask once. Unless the verdict is better, no change
    is justified.
    """
    base = call.base(knowledge_base)
    new, old = base.runs.get(run), base.runs.get(baseline)
    price = new.tokens_beside(old)
    if held_out:
        comparison, attempt = base.runs.compare_on_unseen(run, baseline, metric)
        log = attempt.sentence
        advice = "" if comparison.verdict == "better" else " No change is justified."
        sentence = f"{comparison.headline}{advice} {price} {comparison.evidence}"
    else:
        comparison, log = base.runs.compare_on_tuning(run, baseline, metric), ""
        sentence = (
            f"{metric} changes by {signed(comparison.difference)} on the "
            f"{len(comparison.differences)} tuning questions. {price} {_NO_CLAIM}"
        )
    return VerdictData.of(
        comparison,
        sentence=sentence.strip(),
        verdict=comparison.verdict if held_out else "none",
        trial_log=log,
        questions=len(comparison.differences),
        tokens=new.context_tokens,
        baseline_tokens=old.context_tokens,
    )


@tool("experiment")
def sweep(
    call: Call,
    grid: Annotated[
        dict[str, list[Any]],
        Field(description='values by field, as {"search.top_k": [3, 5], "search.k1": [0.9, 1.5]}'),
    ],
    reason: Reason,
    knowledge_base: Base = "",
    question_set: Set = "",
    metric: Metric = _METRIC,
) -> SweepVerdictData:
    """Measure all recipes of a grid, choose on the tuning questions, and judge on the others.

    Counts as one look at the held-out questions, however large the grid is.
    """
    base = call.base(knowledge_base)
    name, saved = _set(base, question_set), base.recipe()
    for field, values in grid.items():
        for value in values:
            call.recipe(base, {field: value})
    needed = [recipe.index for recipe in (*Grid.parse(grid, saved).indexes(), saved)]
    job = base.documents.build_several(needed)
    if job is not None:
        call.finish(job)
    unseen = bool(base.runs.tuning_part(name).held_out)
    call.finish(base.tuning.searches.start(name, grid, saved, saved, metric, held_out=unseen))
    result = base.tuning.searches.result(name)
    if result is None:
        raise NotFound("The result of the sweep is gone.", "Run it again.")
    chosen = result.selection
    better = chosen.comparison.verdict == "better" and result.recipe != saved
    advice = "" if better else " No change is justified."
    return SweepVerdictData.of(
        chosen.comparison,
        sentence=f"{chosen.headline}{advice} {chosen.method}".strip(),
        kind="held-out" if isinstance(chosen, SplitSelection) else "cross-validated",
        trial_log=result.attempt.sentence,
        questions=len(chosen.comparison.differences),
        changes={field: after for field, (_, after) in saved.differences(result.recipe).items()},
        tried=chosen.tried,
        leaders=[{"figure": one.figure, **one.fields} for one in result.leaders],
    )


@tool("experiment")
def diagnose(
    call: Call,
    reason: Reason,
    knowledge_base: Base = "",
    question_set: Set = "",
    fields: Fields = None,
) -> CausesData:
    """Find the first cause of each tuning question that fails, and changes that help there.

    A cause names the stage that loses the passage. Try the fixes, then compare_runs.
    """
    base = call.base(knowledge_base)
    name = _set(base, question_set)
    call.finish(base.tuning.diagnoses.start(name, call.recipe(base, fields)))
    result = base.tuning.diagnoses.result(name)
    if result is None:
        raise NotFound("The result of the diagnosis is gone.", "Run it again.")
    data, tuning = diagnosis_data(result), set(base.runs.tuning_part(name).tuning)
    failed = [question for question in data.questions if question.id in tuning]
    causes = []
    for cause in data.causes:
        if count := sum(question.cause == cause.cause for question in failed):
            causes.append(cause.model_copy(update={"questions": count}))
    first = f" Most often: {causes[0].title}." if causes else ""
    return CausesData(
        sentence=f"{len(failed)} of {len(tuning)} tuning questions fail.{first}",
        failed=len(failed),
        causes=causes,
        questions=[question.dump() for question in failed],
        fixes=list(map(TunedFixData.of, data.fixes)),
        without_gain=data.without_gain,
    )


@tool("label")
def propose_questions(
    call: Call,
    reason: Reason,
    knowledge_base: Base = "",
    question_set: Set = "",
    number: Annotated[int, Field(ge=1, le=100)] = 10,
) -> DoneData:
    """Have questions made from passages. They count once a person accepts them."""
    base = call.base(knowledge_base)
    name = _set(base, question_set)
    job = base.questions.request_proposals(name, OFFLINE_KINDS, number, base.recipe())
    call.finish(job)
    waiting = len(base.questions.proposals(name))
    return DoneData(sentence=f"{waiting} proposed questions wait for a person.", id=str(job))


@tool("label")
def add_question(
    call: Call,
    question: str,
    reason: Reason,
    knowledge_base: Base = "",
    question_set: Set = "",
) -> DoneData:
    """Add a question of yours. It goes into a set beside the one of people, never into it."""
    base = call.base(knowledge_base)
    name = _set(base, question_set).removesuffix(_BY_MODELS) + _BY_MODELS
    question_id = base.questions.collect(name, question, origin=_agent(call))
    return DoneData(sentence=f"The question is in {name!r}, marked as yours.", id=question_id)


@tool("label")
def label(
    call: Call,
    question_id: str,
    document: str,
    quote: Annotated[str, Field(description="the words of the document that answer, exactly")],
    reason: Reason,
    grade: Annotated[int, Field(ge=0, le=3)] = 1,
    knowledge_base: Base = "",
    question_set: Set = "",
) -> DoneData:
    """Grade words of a document for a question of yours. The label is marked as a model's.

    Questions of people keep the labels of people.
    """
    base = call.base(knowledge_base)
    name = _set(base, question_set).removesuffix(_BY_MODELS) + _BY_MODELS
    ids = {info.name: info.id for info in base.documents.documents(base.recipe().index)}
    document_id = ids.get(document, document)
    span = find_quote(base.documents.document(document_id).text, quote)
    if span is None:
        raise InvalidInput("The document has no such words.", "Quote them as fetch returns them.")
    label_id = base.questions.label(
        name, question_id, document_id, *span, grade, origin=_agent(call)
    )
    return DoneData(sentence=f"The label is in {name!r}, marked as yours.", id=str(label_id))


@tool("recipe")
def save_recipe(call: Call, fields: Fields, reason: Reason, knowledge_base: Base = "") -> DoneData:
    """Save changed fields: the recipe answers people from now on. Builds its index if it must.

    Do this after compare_runs or sweep said better on the held-out questions, and say so in
    reason. The recipe before stays among the versions.
    """
    base = call.base(knowledge_base)
    before = base.recipe()
    recipe = call.recipe(base, fields)
    outcome = base.recipes.save_and_build(recipe, instead_of=before)
    if not outcome.saved:
        raise InvalidInput("Somebody saved another recipe meanwhile.", "Read it and try again.")
    if outcome.job is not None:
        call.finish(outcome.job)
    changes = ", ".join(before.differences(recipe)) or "nothing"
    return DoneData(sentence=f"Saved {recipe.hash}; it changes {changes}.", id=recipe.hash)


@tool("experiment")
def gate(
    call: Call,
    minimums: Annotated[dict[str, float], Field(description='as {"recall@5": 0.8}')],
    reason: Reason,
    knowledge_base: Base = "",
    question_set: Set = "",
    fields: Fields = None,
    system: str = "",
    baseline: Annotated[str, Field(description="a run that must not be better")] = "",
    tolerance: float = 0.0,
) -> GateOutcomeData:
    """Check a recipe or system as a continuous integration does: on all questions of a set.

    It tells only what falls short, and each gate against a baseline counts in the trial log.
    """
    base = call.base(knowledge_base)
    name = _set(base, question_set)
    demands = minimums, baseline or None, tolerance, call.report
    if system:
        result = base.systems.gate(name, system, *demands)
    else:
        result = base.runs.gate(name, call.recipe(base, fields), *demands)
    failures = [f"{one.metric} is below {one.required:.3f}" for one in result.failures]
    failures += [f"{metric} cannot tell good from bad here" for metric in result.blind]
    return GateOutcomeData(
        sentence=f"The gate {result.outcome}. {'; '.join(failures)}".strip(),
        outcome=result.outcome,
        run=result.evaluation.run.id,
        failures=failures,
    )


@tool("experiment")
def audit_system(
    call: Call,
    system: str,
    reason: Reason,
    knowledge_base: Base = "",
    question_set: Set = "",
    metric: Metric = _METRIC,
) -> SystemAuditData:
    """Ask a stored system all questions, and tell how far its results can be trusted.

    Results that no document contains, that repeat, or that failed show a wrong mapping, another
    corpus, or a system that breaks.
    """
    measured = evaluate.work(
        call, reason, knowledge_base, question_set, system=system, metric=metric
    ).dump()
    source = call.base(knowledge_base).runs.get(measured["run"]).system
    located = dict(source.located) if source else {}
    errors = dict(source.errors) if source else {}
    total = sum(located.values())
    measured["sentence"] = (
        f"{total - located.get('foreign', 0)} of {total} results are in these documents; "
        f"{len(errors)} questions failed."
    )
    return SystemAuditData(
        **measured,
        located=located,
        repeated=source.repeated if source else 0,
        failed=len(errors),
        errors=sorted(set(errors.values()))[:5],
    )


TOOLS: tuple[Tool, ...] = (
    *(list_knowledge_bases, get_recipe, list_questions, evaluate, compare_runs, sweep, diagnose),
    *(try_recipe, propose_questions, add_question, label, save_recipe, gate, audit_system),
)


def _set(base: KnowledgeBase, name: str) -> str:
    """Return the name of the question set that is meant. Raises NotFound, InvalidInput."""
    if name:
        return name if name.endswith(_BY_MODELS) else base.questions.named(name).name
    names = [row.name for row in base.questions.list_all() if not row.name.endswith(_BY_MODELS)]
    if len(names) != 1:
        raise InvalidInput("Name the question set.", f"There are: {', '.join(names) or 'none yet'}")
    return names[0]


def _questions(base: KnowledgeBase, name: str, ids: Sequence[str]) -> list[AskedQuestionData]:
    by_id = {question.id: question for question in base.questions.labelled(name)}
    return [
        AskedQuestionData.of(
            by_id[key],
            documents=sorted({one.document_name for one in by_id[key].labels if one.grade > 0}),
        )
        for key in ids
        if key in by_id
    ]


def _price(base: KnowledgeBase, run_id: str) -> float:
    """The known cost of the answers of a run so far."""
    prices = (answer.price for answer in base.runs.answers(run_id).values())
    return sum(price.amount for price in prices if price is not None)


def _agent(call: Call) -> str:
    token = call.workspace.principal.token
    return f"model ({token.name if token else 'local client'})"
