"""The Metrics page: retrieval and answer metrics of a question set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.components.documents.add import sample_button
from pages.components.inspector.lost_labels import lost_labels
from pages.components.labels import question_sets
from pages.components.labels.judging import judge_popover
from pages.components.labels.question_sets import (
    FAILURES,
    SETS,
    TAB,
    document_labels_note,
)
from pages.components.labels.question_sets_view import (
    make_button,
    question_count,
    question_sets_view,
)
from pages.components.metrics import readings
from pages.components.metrics.cards import (
    ANSWER_METRICS,
    CARDS,
    DOUBTED,
    DOUBTED_WRONGLY,
    Ranges,
    answer_cards,
    answer_notes,
    answers_comparison,
    answers_reference,
    beyond_top_k,
    cards,
    comparison,
    cutoffs,
    figures_table,
    first_run,
    reference_run,
    same_search,
)
from pages.components.metrics.charts import against_k, first_ranks, tag_table
from pages.components.metrics.failures import GRADES, failures_table, headline
from pages.components.recipe.panel import recipe_panel
from pages.components.recipe.working_recipe import saved
from pages.components.runs.actions import documents_changed, downloads
from pages.components.runs.diagnosis import diagnosis_view
from pages.components.runs.next_step import chosen_set, label_button, page_title
from pages.components.shell.buttons import action_button, tabs
from pages.components.shell.guard import guard
from pages.components.shell.job_progress import active, failure, follow, loading_note
from pages.components.shell.session import chosen_base, keep, offered
from pages.components.shell.text import ago, duration, plain
from rag import (
    UNCHANGED,
    Comparison,
    Interval,
    KnowledgeBase,
    Plan,
    QuestionResult,
    QuestionSet,
    Recipe,
    Run,
    UnjudgedShare,
    counted,
    newest_scored,
    precision_ceiling,
    with_answers,
)

_JOB_HEIGHT = 84  # pixels
_UNLABELLED = (
    "No question of this set has a label yet, so there is nothing to measure. Accept proposed "
    "questions, import some with labels, or grade passages in the inspector."
)

_ANSWERS_ALONE = (
    "This set has expected answers and no labels, so *Evaluate* scores the answers alone. To "
    "measure retrieval too, label passages."
)


def main() -> None:
    """The page."""
    base = chosen_base()
    loading_note(base.id)
    sets = base.questions.list_all()
    question_sets.settle_set([item.name for item in sets])
    if not sets:
        _no_questions(base)
        return
    with st.sidebar:
        recipe = recipe_panel(base)
    if not question_sets.has_choice():
        st.session_state[question_sets.SET] = chosen_set(base, sets).name
    by_name = {item.name: item for item in sets}
    name = st.selectbox(
        "Question set", list(by_name), key=question_sets.SET, bind="query-params", width=420
    )
    views = {
        "Results": partial(_measured, base, by_name[name], recipe),
        FAILURES: partial(diagnosis_view, base, by_name[name], recipe),
        SETS: partial(_sets, base, sets, by_name[name], recipe),
    }
    tabs(views, TAB)


def _sets(
    base: KnowledgeBase, sets: Sequence[QuestionSet], chosen: QuestionSet, recipe: Recipe
) -> None:
    labelled = {
        item.name: readings.placed_questions(base, item.name, readings.version_of(item))
        for item in sets
    }
    question_sets_view(base, sets, chosen, recipe, labelled)
    _lost_labels(base, chosen)


def _lost_labels(base: KnowledgeBase, chosen: QuestionSet) -> None:
    version = readings.version_of(chosen)
    lost_labels(base, chosen.name, readings.lost_labels(base, chosen.name, version))


def _no_questions(base: KnowledgeBase) -> None:
    if any("questions" in job.payload for job in active(base.id)):
        st.markdown("The questions of the sample follow when all documents are read.")
        return
    st.markdown(
        "Metrics need questions with known relevant passages. You can get them in three ways:"
    )
    file, text, labels = st.columns(3)
    with file.container(border=True, height="stretch"):
        st.markdown("**Bring your own**")
        st.caption("Import an Excel, CSV or JSONL file. The dialog has an example.")
        if question_sets.import_button(base):
            question_sets.import_dialog(base)
    with text.container(border=True, height="stretch"):
        st.markdown("**Make them from the documents**")
        st.caption("You see the source of every question before you accept it.")
        make_button(base, saved(base))
    with labels.container(border=True, height="stretch"):
        st.markdown("**Label as you read**")
        st.caption("Ask a question in the inspector and grade the results.")
        st.page_link("inspector.py", label="Open the inspector", icon=":material/troubleshoot:")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Or look at the metrics of the sample first.", width="content")
        sample_button()


def _measured(base: KnowledgeBase, chosen: QuestionSet, recipe: Recipe) -> None:
    """Draw the evaluation of a question set, and its results."""
    verdict, action = st.columns([5, 3], vertical_alignment="center")
    # As high as a running job, which takes the place of the button: nothing below it jumps.
    slot = verdict.container(height=_JOB_HEIGHT, border=False, vertical_alignment="center")
    runs, place = _runs(base, chosen, recipe)
    outdated = _changed_since(base, chosen, runs[place], recipe) if runs else []
    with action.container(border=False), guard():
        _evaluate(base, chosen, recipe, is_next=not runs or bool(outdated))
    _lost_labels(base, chosen)
    if chosen.proposed:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            waiting = counted(chosen.proposed, "proposed question")
            st.caption(f":material/rule: {waiting} to accept or reject.", width="content")
            action_button("Show them", "metrics_proposed", "", _open, SETS, type="tertiary")
    without = readings.without_labels(base, chosen.name, readings.version_of(chosen))
    if without and _is_measurable(base, chosen):  # else all of them, as told below
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            newest = next(iter(base.runs.list_all(chosen.name)), None)
            scored = newest is not None and DOUBTED_WRONGLY in newest.metrics
            answers = scored and all(question.answer for question in without)
            text = question_sets.unmeasured(len(without), answers=answers)
            st.caption(f":material/label_off: {text}.", width="content")
            label_button(base, chosen, "metrics_label_rest")
    with guard():
        _results(base, chosen, recipe, runs, place, outdated, slot)


def _open(tab: str) -> None:
    st.session_state[TAB] = tab


def _is_measurable(base: KnowledgeBase, chosen: QuestionSet) -> bool:
    """Whether a set has a label, or a question without an answer."""
    if chosen.questions > chosen.answerable:
        return True
    return readings.label_count(base, chosen.name, readings.version_of(chosen)) > 0


def _has_answers_alone(base: KnowledgeBase, chosen: QuestionSet) -> bool:
    """Whether the expected answers of a set are all that can be measured."""
    if _is_measurable(base, chosen):
        return False
    return readings.expected_answers(base, chosen.name, readings.version_of(chosen)) > 0


def _plan(base: KnowledgeBase, chosen: QuestionSet) -> Plan:
    """Return the power analysis of a question set, based on its latest runs."""
    run_ids = tuple(run.id for run in base.runs.list_all(chosen.name))
    return readings.plan(base, chosen.name, run_ids, readings.version_of(chosen))


def _runs(base: KnowledgeBase, chosen: QuestionSet, recipe: Recipe) -> tuple[Sequence[Run], int]:
    """Return the runs of recipes that no gate made, else all, and the place of the shown one.

    *Runs* has gates and systems; here one stands only where no recipe was looked at.
    """
    all_runs = base.runs.list_all(chosen.name)
    runs = [run for run in all_runs if run.recipe and not run.is_gate] or all_runs
    return runs, next((i for i, run in enumerate(runs) if same_search(run.recipe, recipe)), 0)


def _evaluate(base: KnowledgeBase, chosen: QuestionSet, recipe: Recipe, *, is_next: bool) -> None:
    """The button, or the job that it started; ``is_next`` if the figures are none or outdated."""
    name = chosen.name
    for job in (
        base.runs.latest_evaluation(name, recipe),
        base.runs.latest_answers(name, recipe),
    ):
        if job is not None and job.active:
            follow(job.id, "evaluate")
            return
    with st.container(horizontal=True, horizontal_alignment="right", gap="small"):
        with st.popover("Options", icon=":material/tune:", type="tertiary"):
            ignored, sampled, answers = _options(base, chosen, recipe)
        evaluate = base.runs.start_answers if answers else base.runs.start_evaluation
        start = partial(evaluate, name, recipe, ignore_identical=ignored, without_users=sampled)
        path = "runs.start_answers" if answers else "runs.start_evaluation"
        options: dict[str, object] = {"type": "primary" if is_next else "secondary"}
        if not _is_measurable(base, chosen) and not _has_answers_alone(base, chosen):
            options |= {"disabled": True, "help": _UNLABELLED}
        options = offered(base, path, **options)
        action_button("Evaluate", "metrics_evaluate", "play_arrow", start, **options)


def _options(base: KnowledgeBase, chosen: QuestionSet, recipe: Recipe) -> tuple[bool, bool, bool]:
    """Draw what an evaluation leaves out, and whether it answers too."""
    alike = readings.named_like_documents(base, chosen.name, readings.version_of(chosen))
    ignored = alike > 0 and st.checkbox(
        "Ignore identical ids",
        key="metrics_ignore_identical",
        help=f"The ID of {counted(alike, 'question')} is the name of a document. If selected, "
        "that document never counts as a result of its question, as in BEIR's ArguAna.",
    )
    sampled = chosen.from_users > 0 and st.checkbox(
        "Leave out questions from chats",
        key="metrics_without_users",
        help=f"{counted(chosen.from_users, 'question')} came from chats. Such questions are "
        "not a random sample, because most of them failed.",
    )
    if _has_answers_alone(base, chosen):
        st.caption(_ANSWERS_ALONE)
        return ignored, sampled, True
    newest = next(iter(base.runs.list_all(chosen.name)), None)
    keep(base, "answers", first=newest is not None and DOUBTED_WRONGLY in newest.metrics)
    answers = st.checkbox(
        "Also score answers",
        key="answers",
        bind="query-params",
        help="Answers every question and scores the answers: " + _what_answers_cost(chosen, recipe),
    )
    return ignored, sampled, answers


def _what_answers_cost(chosen: QuestionSet, recipe: Recipe) -> str:
    if recipe.answer.provider == "extractive":
        return "quotes, without a language model."
    return f"{chosen.questions:,} calls of {plain(recipe.answer.provider)}."


def _results(
    base: KnowledgeBase,
    chosen: QuestionSet,
    recipe: Recipe,
    runs: Sequence[Run],
    place: int,
    outdated: Sequence[str],
    verdict: DeltaGenerator,
) -> None:
    """Draw the run at ``place``; ``outdated`` names what changed since it was made."""
    last = runs[0].created if runs else None
    failure(base.runs.latest_evaluation(chosen.name, recipe), after=last)
    failure(base.runs.latest_answers(chosen.name, recipe), after=last)
    if not runs:
        verdict.caption(f"{question_count(chosen)}. Changed {ago(chosen.changed)}.")
        _no_results(base, chosen)
        return
    run = runs[place]
    pinned = base.runs.baseline(chosen.name)
    if outdated:
        st.warning(
            f"Since this run, {plain(' and '.join(outdated))} changed. Evaluate to update the "
            "metrics.",
            icon=":material/update:",
        )
    version = readings.version_of(chosen)
    against, earlier, changes, compared = _compared(base, runs, place, pinned, version)
    moves = [change.difference for change in changes.values() if not change.obstacle]
    if moves and max(map(abs, moves)) < UNCHANGED:
        earlier = {}  # said once, not on each card
    results = readings.outcomes(base, run.id, run.recipe.search.top_k if run.recipe else 0)
    all_runs = base.runs.list_all(chosen.name)
    scored = newest_scored(all_runs, run.recipe, run.documents_hash) if run.recipe else None
    if scored and scored.id != run.id:
        results = with_answers(results, readings.answer_figures(base, scored.id))
    unjudged = readings.unjudged(base, run.id, version)
    ranges = _ranges(readings.intervals(base, run.id, version), unjudged, results)
    by_document = readings.document_labels(base, chosen.name, version)
    unit = "document" if by_document else "passage"
    verdict.markdown(f"##### {headline(run, results, unit)}")
    if by_document:
        st.info(document_labels_note(by_document), icon=":material/description:")
    cards(run, earlier, ranges, changes, unit)
    answer_cards(run, earlier, results, ranges, changes)
    if against:
        st.caption(f"Compared with {against}." if earlier else f"No change against {against}.")
    for caution in run.cautions:
        st.info(caution, icon=":material/info:")
    with st.container(horizontal=True, gap="small"):
        label = "See why questions fail"
        kind = "secondary" if outdated else "primary"
        action_button(label, "metrics_causes_open", "stethoscope", _open, FAILURES, type=kind)
        with st.popover("About these figures", icon=":material/info:", type="tertiary"):
            _notes(base, chosen, run, results, compared)
        if cutoffs(run):
            judge_popover(base, run, recipe, unjudged, unit)
            is_pinned = pinned is not None and pinned.id != run.id
            downloads(base, run, pinned if is_pinned else None)
    if cutoffs(run):  # else only questions without an answer: there is nothing to rank
        left, right = st.columns(2, gap="large")
        with left:
            first_ranks(run, results, unit)
        with right:
            against_k(run, unit)
        with st.expander("All measures at every k, and by tag", icon=":material/table:"):
            figures_table(run)
            tag_table(base, run, version)
    failures_table(base, run, results, unit)


def _no_results(base: KnowledgeBase, chosen: QuestionSet) -> None:
    if _is_measurable(base, chosen):
        text = (
            "This set has no results yet. *Evaluate* searches every question with the recipe "
            "in the sidebar and saves the metrics as a run."
        )
        st.info(text, icon=":material/monitoring:")
        return
    if _has_answers_alone(base, chosen):
        st.info(_ANSWERS_ALONE, icon=":material/monitoring:")
        return
    st.info(_UNLABELLED, icon=":material/label:")
    label_button(base, chosen, "metrics_label_first")


def _notes(
    base: KnowledgeBase,
    chosen: QuestionSet,
    run: Run,
    results: Sequence[QuestionResult],
    compared: str,
) -> None:
    """Draw what the figures rest on: questions, run, comparison, and what they can tell apart."""
    planned = _plan(base, chosen)
    plan = f"{planned.headline} {planned.basis}".strip() if planned.questions else ""
    for note in (
        f"{question_count(chosen)}. Changed {ago(chosen.changed)}.",
        GRADES if any(result.relevant for result in results) else "",
        f"{_about(base, run)} {compared}",
        plan,
        beyond_top_k(run.recipe) if "ndcg@10" in run.metrics else "",
        *answer_notes(run, results),
    ):
        if note:
            st.caption(note)


def _compared(
    base: KnowledgeBase,
    runs: Sequence[Run],
    place: int,
    pinned: Run | None,
    version: readings.Version,
) -> tuple[str, Mapping[str, float], Mapping[str, Comparison], str]:
    """Return the reference, its figures, the tested changes, and what tells more of them."""
    run = runs[place]
    before, against = reference_run(run, runs, pinned, saved(base))
    if before is None:
        return "", {}, {}, first_run(place)
    answered = answers_reference(run, runs, before, saved(base))
    apart = answered is not None and answered.id != before.id
    metrics = (*(card.metric for card in CARDS), DOUBTED, *(() if apart else ANSWER_METRICS))
    between = readings.between(base, run.id, before.id, version)
    changes = readings.changes(base, run.id, before.id, metrics, version)
    said = comparison(before, between, changes, name=_source(base, before), pinned=before == pinned)
    if answered is None or not apart:
        return against, before.metrics, changes, said
    between = readings.between(base, run.id, answered.id, version)
    further = readings.changes(base, run.id, answered.id, ANSWER_METRICS, version)
    said += f" {answers_comparison(answered, between, further, name=_source(base, answered))}"
    against += f"; scored answers with the run {ago(answered.created)}, {_source(base, answered)}"
    scores = {name: answered.metrics[name] for name in ANSWER_METRICS if name in answered.metrics}
    return against, {**before.metrics, **scores}, {**changes, **further}, said


def _about(base: KnowledgeBase, run: Run) -> str:
    at_once = ", several answers at a time" if "answers" in run.environment else ""
    return (
        f"Run {ago(run.created)}: {counted(run.questions, 'question')}, {_source(base, run)}, "
        f"took {duration(run.seconds)}{at_once}."
    )


def _source(base: KnowledgeBase, run: Run) -> str:
    if run.system:
        return f"system *{plain(run.system.label)}*"
    return f"recipe *{plain(base.runs.recipe_name(run.recipe))}*" if run.recipe else ""


def _ranges(
    sampling: Mapping[str, Interval],
    unjudged: UnjudgedShare | None,
    results: Sequence[QuestionResult],
) -> Ranges:
    """Return the ranges that the cards show."""
    ceiling = precision_ceiling(results, 5)
    bounds = unjudged if unjudged is not None and unjudged.unjudged else None
    return Ranges(
        sampling,
        {f"ndcg@{bounds.k}": bounds.ndcg} if bounds else {},
        {"precision@5": ceiling} if ceiling is not None and ceiling < 0.995 else {},
    )


def _changed_since(base: KnowledgeBase, chosen: QuestionSet, run: Run, recipe: Recipe) -> list[str]:
    """Name what changed since a run was made."""
    reasons = []
    if run.recipe and not same_search(run.recipe, recipe):
        reasons.append("the recipe")
    if documents_changed(base, run):
        reasons.append("the documents")
    elif run.recipe and run.filter_digest != base.documents.filter_digest(run.recipe):
        reasons.append("the tags that the recipe filters by")
    if run.set_version != chosen.version:
        reasons.append("the questions")
    return reasons


with guard():
    page_title("Metrics", "metrics")
with guard():
    main()
