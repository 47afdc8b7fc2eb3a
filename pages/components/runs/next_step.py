"""The next step that the state of a knowledge base suggests, and questions to label in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import streamlit as st

from pages.components.labels.grading import Grading
from pages.components.labels.question_sets import FAILURES, NEXT_SET, SET, SETS, TAB
from pages.components.metrics import readings
from pages.components.metrics.failures import address, worst_first
from pages.components.recipe import working_recipe
from pages.components.recipe.local_models import offered_server, running
from pages.components.runs.table import SELECTED
from pages.components.shell.buttons import action_button
from pages.components.shell.job_progress import active
from pages.components.shell.session import (
    bases,
    chosen_base,
    guest,
    offered,
    open_page,
    question_sets,
    refusal,
    shared_cache,
)
from pages.components.shell.text import apply_button, clipped, plain
from rag import (
    KnowledgeBase,
    KnowledgeBaseData,
    LabelledQuestion,
    NextStep,
    QuestionResult,
    QuestionSet,
    Recipe,
    Run,
    counted,
    metric_title,
    phrase,
    signed,
)

_SETS_CHOSEN = "next_step_sets"  # names by the id of their knowledge base
FEW = 10
"""Questions below which a set decides nothing about recipes."""
ENOUGH_LABELLED = 50
_METRIC = "ndcg@10"
_FIRST = 10  # hits among which a relevant passage is expected
_MOST_UNJUDGED = 1000
_LONGEST = 70


@dataclass(frozen=True, slots=True)
class Step:
    """A sentence on the state, and the page that changes it: its address, and a button's label.

    ``marks`` are the parameters by which an address is recognized as this page. On the page
    itself, ``hint`` follows the sentence, and ``onward`` is the address and label of the button.
    """

    text: str
    page: str = ""
    label: str = ""
    parameters: Callable[[], Mapping[str, str]] = field(default=dict)
    marks: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""
    onward: tuple[str, str] = ("", "")


def page_title(title: str, page: str) -> None:
    """Draw the title of a page, and below it the next step."""
    st.title(title)
    what_next(page)


def what_next(page: str) -> None:
    """Draw the next step that the chosen knowledge base needs, the same on all pages.

    Settings and Usage have only their own. It is left out where it would only repeat the page, and
    where the inspector has a question already. Guests, and visitors who cannot label, get none.
    """
    if guest() or not bases():
        return
    base = chosen_base()
    if refusal(base, "questions.label"):
        return
    step = next(open_steps(next(info for info in bases() if info.id == base.id), base))
    if page in ("settings", "usage") and step.page != f"{page}.py":
        return  # nothing of retrieval is done there
    marked = all(st.query_params.get(name) == value for name, value in step.marks.items())
    here = step.page == f"{page}.py" and marked
    asked = page == "inspector" and "q" in step.marks and st.query_params.get("q")
    if asked or (here and step.marks and not step.hint):
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="frame_next"):
        text = f"{step.text} {step.hint}" if here else step.text
        whose = " for the saved recipe" if working_recipe.differences(base) else ""
        st.caption(f"**What next{whose}?** {text.strip()}", width="content")
        target, label = step.onward if here else (step.page, step.label)
        if target and st.button(
            label, key="frame_next_go", icon=":material/arrow_forward:", type="tertiary"
        ):
            open_page(target, {} if here else step.parameters())


def open_steps(info: KnowledgeBaseData, base: KnowledgeBase) -> Iterator[Step]:
    """Yield the steps that are open, from documents to a better recipe; at least one."""
    if not info.documents:
        if active(base.id):
            yield Step("Your documents are being read. You can ask as soon as the first one is in.")
            return
        text = "This knowledge base has no documents."
        hint = "Choose files below, or load the sample."
        yield Step(text, "documents.py", "Add documents", hint=hint)
        return
    sets = question_sets(base)
    if not sets:
        if server := offered_server(base):
            text = f"{running(server)} Use a model for answers, or stay with quotes."
            yield Step(text, "settings.py", "Choose a model")
        text = "Add questions with known answers, so that you can measure retrieval."
        onward = ("inspector.py", "Label passages")
        hint = "Choose a way below, or label passages in the inspector."
        yield Step(text, "metrics.py", "Add questions", hint=hint, onward=onward)
        return
    chosen = chosen_set(base, sets)
    saved = working_recipe.saved(base)
    if first := _diagnosed(base, chosen, saved):
        yield first
    runs = base.runs.list_all(chosen.name)
    without = len(readings.without_labels(base, chosen.name, readings.version_of(chosen)))
    if chosen.answerable - without < ENOUGH_LABELLED:
        yield _more_labels(base, chosen, without, runs)
        if not runs:
            return
    own = next((run for run in runs if _retrieves_alike(run, saved.index, saved.search)), None)
    if own is None:
        text = f"The saved recipe has no evaluation on *{plain(chosen.name)}*."
        yield Step(text, "metrics.py", "Evaluate", lambda: {SET: chosen.name})
        return
    yield from filter(None, (_failure(base, chosen, own), _better(base, chosen, own, runs)))
    yield Step("Nothing: the failures are labelled, and no run is ahead of the saved recipe.")


def _diagnosed(base: KnowledgeBase, chosen: QuestionSet, saved: Recipe) -> Step | None:
    """The first step of the diagnosis of the saved recipe, if it is current."""
    job = base.tuning.diagnoses.latest(chosen.name)
    if job is None:
        return None
    step = _first_step(base, chosen.name, saved.hash, job.id, job.status, chosen.version)
    if step is None or step.kind == "nothing":
        return None
    marks = {TAB: FAILURES}
    parameters = {SET: chosen.name, **marks}
    text, label, hint = _described(step, chosen.name)
    return Step(text, "metrics.py", label, lambda: parameters, marks, hint)


def _described(step: NextStep, set_name: str) -> tuple[str, str, str]:
    """The sentence of a step, the label of its button, and a hint for its own page."""
    if step.fix is not None:
        comparison = step.fix.comparison
        gain = f"{signed(comparison.difference)} {metric_title(comparison.metric)}"
        fields = ", ".join(map(phrase, step.fix.changes))
        verb = "gains" if comparison.verdict == "better" else "may gain"
        sure = "" if comparison.verdict == "better" else f", {comparison.certainty}"
        text = (
            f"Changing {plain(fields)} {verb} {gain} {step.fix.basis} of *{plain(set_name)}*{sure}."
        )
        return text, "Show the fix", f"*{apply_button(comparison)[0]}* is below."
    buttons = {"top_k": "Apply", "rebuild": "Build and try"}
    hint = f"*{buttons[step.kind]}* is below." if step.kind in buttons else ""
    # One line on every page: the rest stands on *Failures*, where the button leads.
    reason = step.reason.partition(". ")[0].removesuffix(".")
    reason = f" {plain(reason)}." if reason else ""
    return f"*{plain(set_name)}*: {plain(step.title)}.{reason}", "Show", hint


@shared_cache(16)
def _first_step(
    base: KnowledgeBase, set_name: str, recipe: str, _job: int, _status: str, _version: int
) -> NextStep | None:
    """The first step of the last diagnosis; None if that is of something else."""
    diagnosis = base.tuning.diagnoses.result(set_name)
    if diagnosis is None or diagnosis.recipe.hash != recipe:
        return None
    if base.tuning.diagnoses.changes(diagnosis, diagnosis.recipe):
        return None
    return next(iter(diagnosis.next_steps), None)


def chosen_set(base: KnowledgeBase, sets: Sequence[QuestionSet]) -> QuestionSet:
    """The set that the visitor chose last in a knowledge base, on whatever page.

    At first, it is one with labels and enough questions, if there is one.
    """
    kept: dict[int, str] = st.session_state.setdefault(_SETS_CHOSEN, {})
    picked = st.session_state.get(NEXT_SET) or st.session_state.get(SET)
    names = [picked or st.query_params.get(SET), kept.get(base.id)]
    asked = {item.name: item for item in sets if item.questions}
    chosen = next((asked[name] for name in names if name in asked), None)
    if chosen is None:
        return _first_measurable(base, sets)
    kept[base.id] = chosen.name
    return chosen


def _first_measurable(base: KnowledgeBase, sets: Sequence[QuestionSet]) -> QuestionSet:
    labelled = [
        item for item in sets if readings.label_count(base, item.name, readings.version_of(item))
    ]
    enough = [item for item in labelled if item.questions >= FEW]
    return next(chain(enough, labelled, (item for item in sets if item.questions)), sets[0])


def _more_labels(
    base: KnowledgeBase, chosen: QuestionSet, without: int, runs: Sequence[Run]
) -> Step:
    """The way to more labelled questions: labels for those ``without``, or further questions."""
    set_address = partial(dict[str, str], {SET: chosen.name})
    labelled = chosen.answerable - without
    placed = readings.placed_questions(base, chosen.name, readings.version_of(chosen))
    has = f"The question set *{plain(chosen.name)}* has {counted(placed, 'labelled question')}"
    if labelled and not placed:
        text, marks = f"{has}: its labels are for text that is not here.", {TAB: SETS}
        return Step(text, "metrics.py", "Repair labels", lambda: {SET: chosen.name, **marks}, marks)
    if labelled and not runs:
        return Step(f"{has} and no results yet.", "metrics.py", "Evaluate", set_address)
    text = f"{has}. To show smaller differences between recipes, have {ENOUGH_LABELLED} or more."
    if labelled and not without:
        marks = {TAB: SETS}
        parameters = {SET: chosen.name, **marks}
        return Step(text, "metrics.py", "Add questions", lambda: parameters, marks)
    if labelled and runs:
        hint = "*Judge* on this page suggests the passages to label."
        return Step(text, "metrics.py", "Judge next", set_address, hint=hint)
    address = first_unlabelled(base, chosen)
    marks = {name: value for name, value in address.items() if name != SET}
    return Step(text, "inspector.py", "Label passages", lambda: address, marks)


def _retrieves_alike(run: Run, index: object, search: object) -> bool:
    recipe = run.recipe
    return recipe is not None and recipe.index == index and recipe.search == search


@shared_cache(16)
def _worst_open(
    base: KnowledgeBase, run_id: str, _version: readings.Version
) -> QuestionResult | None:
    """The worst question without a relevant hit among the first, of which some are unjudged."""
    lost = [
        result
        for result in worst_first(readings.outcomes(base, run_id))
        if result.answerable and (result.first_relevant or _FIRST + 1) > _FIRST
    ]
    if not lost:
        return None
    queue = base.questions.judging_queue(run_id, k=_FIRST, limit=_MOST_UNJUDGED)
    unjudged = {hit.question_id for hit in queue}
    return next((result for result in lost if result.question_id in unjudged), None)


def _failure(base: KnowledgeBase, chosen: QuestionSet, run: Run) -> Step | None:
    worst = _worst_open(base, run.id, readings.version_of(chosen))
    if worst is None:
        return None
    text = (
        f"“{plain(clipped(worst.text, _LONGEST))}” finds no relevant passage. Label the right one, "
        "or see what dropped it."
    )

    def parameters() -> Mapping[str, str]:
        return {SET: chosen.name, **address(base, run, worst)}

    return Step(text, "inspector.py", "Inspect", parameters, {"q": worst.text})


def _better(base: KnowledgeBase, chosen: QuestionSet, own: Run, runs: Sequence[Run]) -> Step | None:
    """The best run that is ahead of the saved recipe; the Runs page corrects for all runs."""
    value = own.metrics.get(_METRIC)
    ahead = [
        (run, run.recipe)
        for run in runs
        if run.recipe and value is not None and run.metrics.get(_METRIC, 0.0) > value
    ]
    if not ahead:
        return None
    best, recipe = max(ahead, key=lambda pair: pair[0].metrics[_METRIC])
    version = readings.version_of(chosen)
    change = readings.changes(base, best.id, own.id, (_METRIC,), version).get(_METRIC)
    if change is None or change.verdict_by_labels != "better":
        return None
    text = (
        f"*{plain(base.runs.recipe_name(recipe))}* is ahead of the saved recipe on "
        f"*{plain(chosen.name)}*. Compare the two before you save it."
    )
    marks = {SELECTED: f"{best.id},{own.id}"}
    return Step(text, "runs.py", "Compare", lambda: {SET: chosen.name, **marks}, marks)


_BEGUN = "labelling_begun"  # the question that was shown without labels, and the one after it


def first_unlabelled(base: KnowledgeBase, chosen: QuestionSet) -> Mapping[str, str]:
    """The query parameters that open the first question of a set without labels, if any."""
    questions = _without_labels(base, chosen)
    return {SET: chosen.name, **({"q": questions[0].text} if questions else {})}


def label_button(base: KnowledgeBase, chosen: QuestionSet, key: str) -> None:
    """A button that opens the first question of a set without labels in the inspector."""
    options = offered(base, "questions.grade")
    icon = ":material/arrow_forward:"
    if st.button("Label passages", key=key, icon=icon, **options):
        open_page("inspector.py", first_unlabelled(base, chosen))


def suggested_questions(base: KnowledgeBase, most: int) -> list[str]:
    """Return questions of one set without labels: the chosen set, or the first that has any.

    There are none for a visitor who can't label.
    """
    if refusal(base, "questions.grade"):
        return []
    name = st.session_state.get(SET) or st.query_params.get(SET)
    sets = [item for item in question_sets(base) if name in (None, item.name)]
    questions = next(filter(None, (_without_labels(base, item) for item in sets)), ())
    return list(dict.fromkeys(question.text for question in questions))[:most]


def labelling_line(grading: Grading, ask: Callable[[str], None]) -> None:
    """Draw how many questions of the set have no labels, and a button that asks the next one.

    It appears at a question without labels, and stays when the visitor has labelled it.
    """
    base, question_id = grading.base, grading.labels.question_id
    chosen = next((item for item in question_sets(base) if item.name == grading.set_name), None)
    if chosen is None or question_id is None or refusal(base, "questions.grade"):
        return
    questions = _without_labels(base, chosen)
    ids = [question.id for question in questions]
    name = plain(chosen.name)
    scope = base.id, chosen.id, question_id
    if question_id in ids:
        place = ids.index(question_id)
        following = questions[(place + 1) % len(ids)]
        st.session_state[_BEGUN] = *scope, following.id
        text = (
            f"Question {place + 1:,} of {len(ids):,} without labels in *{name}*. Grade the "
            "passages that answer it."
        )
        label = "Next" if grading.labels.labels else "Skip"
        _line(text, label, following if len(ids) > 1 else None, ask)
    elif (begun := st.session_state.get(_BEGUN)) and begun[:-1] == scope:
        following = next((item for item in questions if item.id == begun[-1]), None)
        rest = counted(len(ids), "question")
        text = (
            f"This question is done. {rest} in *{name}* without labels."
            if ids
            else f"All questions in *{name}* are labelled."
        )
        _line(text, "Next", following or next(iter(questions), None), ask)
        if not ids:
            st.page_link("metrics.py", label="Evaluate on Metrics", icon=":material/monitoring:")


def _line(
    text: str, label: str, following: LabelledQuestion | None, ask: Callable[[str], None]
) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f":material/label: {text}", width="content")
        if following is not None:
            action_button(label, "labelling_next", "arrow_forward", ask, following.text)


def _without_labels(base: KnowledgeBase, chosen: QuestionSet) -> Sequence[LabelledQuestion]:
    return readings.without_labels(base, chosen.name, readings.version_of(chosen))
