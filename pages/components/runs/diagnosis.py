"""Failures of a question set: their causes, and fixes with their net gain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from pages.components.labels.question_sets import SET, SETS, TAB
from pages.components.recipe import working_recipe
from pages.components.runs.actions import documents_changed
from pages.components.runs.comparison import AGAINST
from pages.components.runs.next_step import label_button
from pages.components.runs.table import SELECTED
from pages.components.shell import job_progress
from pages.components.shell.buttons import action_button
from pages.components.shell.session import ASKED_ANEW, offered
from pages.components.shell.tables import (
    LARGE_WIDTH,
    PINNED_WIDTH,
    TEXT_WIDTH,
    picked_rows,
    row_height,
)
from pages.components.shell.text import (
    ago,
    apply_button,
    change_badge,
    clipped,
    duration,
    plain,
)
from rag import (
    CAUSES,
    Diagnosis,
    FailedQuestion,
    Fix,
    KnowledgeBase,
    NextStep,
    QuestionSet,
    Recipe,
    Run,
    counted,
    metric_title,
    signed,
)

_CLICKED = "metrics_failure_clicked"
_ALL = "All causes"
_CAUSE_WIDTH, _EVIDENCE_WIDTH, _DOCUMENT_WIDTH, _NUMBER_WIDTH = 130, 250, 220, 60
"""Pixels of the columns of failed questions: all are in sight on a screen of 1440."""
_EVIDENCE = 96  # characters, which are three lines
_TALLEST = 400  # pixels of the evidence in full
_ON_TUNING = "tuning.py", "Change the recipe on Tuning", "tune"
_ON_DOCUMENTS = "documents.py", "Open Documents", "library_books"
_PLACES = {
    **dict.fromkeys(("missing", "excluded", "misread", "cut", "language"), _ON_DOCUMENTS),
    **dict.fromkeys(("superseded", "table_row", "not_found"), _ON_DOCUMENTS),
    "doubtful": ("inspector.py", "Judge in the inspector", "troubleshoot"),
    **dict.fromkeys(("doubted", "unexpected"), ("chat.py", "Ask in the chat", "forum")),
    "answered": ("tuning.py", "Threshold from labels, on Tuning", "tune"),
}
"""Pages with their label and icon by the cause that advice is against; else it is Tuning."""


def diagnosis_view(base: KnowledgeBase, chosen: QuestionSet, recipe: Recipe) -> None:
    """The tab: a button or its job, then fixes, causes and failed questions."""
    job = base.tuning.diagnoses.latest(chosen.name)
    if job is not None and job.active:
        job_progress.follow(job.id, "diagnose")
    else:
        _start(base, chosen, recipe)
        job_progress.failure(job)
    diagnosis = base.tuning.diagnoses.result(chosen.name)
    if diagnosis is None:
        return
    changes = base.tuning.diagnoses.changes(diagnosis, recipe)
    if changes:
        st.warning(
            f"Since this diagnosis, {' and '.join(changes)} changed. Find the causes again to "
            "update it.",
            icon=":material/update:",
        )
    st.markdown(f"**{diagnosis.headline}**{_most_frequent(diagnosis)}")
    if diagnosis.questions:
        _next_steps(base, chosen, diagnosis, None if changes else recipe)
        _causes(diagnosis)
        _questions(diagnosis)


def _start(base: KnowledgeBase, chosen: QuestionSet, recipe: Recipe) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        start = partial(base.tuning.diagnoses.start, chosen.name, recipe)
        options = offered(base, "tuning.diagnoses.start", type="primary")
        action_button("Find causes", "metrics_diagnose", "stethoscope", start, **options)
        st.caption(
            "Finds the first cause of each failed question, and tries changes of the recipe on "
            "questions that did not choose them.",
            help="A question fails if nDCG at top-k is below 0.5, or if the passage is found and "
            "it was not answered, or not as expected, in the last "
            "evaluation with *Also score answers*. One that got the expected answer there does "
            "not fail by a low rank. A question that the documents don't answer "
            "fails if it was answered.",
        )


def _most_frequent(diagnosis: Diagnosis) -> str:
    if not diagnosis.questions:
        return ""
    (cause, count), *others = diagnosis.causes.items()
    if others and others[0][1] == count:
        return ""
    return f" The most frequent cause is *{CAUSES[cause].title.lower()}* ({count:,})."


def _causes(diagnosis: Diagnosis) -> None:
    most = max(diagnosis.causes.values())
    advice = {cause: diagnosis.advice(cause) for cause in diagnosis.causes}
    st.caption("Each question counts under its first cause.")
    st.dataframe(
        [
            {
                "Cause": CAUSES[cause].title,
                "Questions": count,
                "What helps": advice[cause],
            }
            for cause, count in diagnosis.causes.items()
        ],
        key="metrics_causes",
        hide_index=True,
        row_height=row_height(advice.values(), LARGE_WIDTH),
        column_config={
            "Cause": st.column_config.TextColumn(width=PINNED_WIDTH),
            "Questions": st.column_config.ProgressColumn(
                format="%d", min_value=0, max_value=most, width="small"
            ),
            "What helps": st.column_config.TextColumn(width="large"),
        },
        alt="Causes with the number of questions that failed by them, and advice.",
    )


def _next_steps(
    base: KnowledgeBase, chosen: QuestionSet, diagnosis: Diagnosis, recipe: Recipe | None
) -> None:
    """The list; its buttons are for the ``recipe`` that was diagnosed, None if that changed."""
    st.header("What should I do next?", divider="gray")
    steps = diagnosis.next_steps
    if any(step.kind not in ("advice", "nothing") for step in steps):
        st.caption(
            "The largest group of failures first, then by expected gain per minute of work.",
            help="A change of the recipe was chosen on the tuning questions, and its gain is net: "
            "what all held-out questions gain, less what they lose. Questions without an answer "
            "count only if the change makes the search return something for them, or nothing: the "
            "figure is then a score, which is 1 or 0 for them and nDCG for the others. To use a "
            "change takes seconds. The time of a build follows from the throughput that was "
            "measured here. A label takes "
            f"{duration(diagnosis.pace.seconds)}, "
            + ("the median of your labels." if diagnosis.pace.measured else "an assumption.")
            + " More labels gain by what they decide.",
        )
    for number, step in enumerate(steps):
        with st.container(border=True):
            _step(diagnosis, step)
            if recipe is not None:
                _act(base, chosen, diagnosis, step, recipe, number)
            if step.fix is not None:
                _tested(base, diagnosis, step.fix)
    if diagnosis.note:
        st.caption(plain(diagnosis.note))


def _step(diagnosis: Diagnosis, step: NextStep) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if step.fix is not None:
            label, colour, icon = change_badge(step.fix.comparison)
            st.badge(label, color=colour, icon=icon)
        st.markdown(f"**{plain(step.title)}**")
        if figures := _figures(diagnosis, step):
            st.markdown(figures)
    causes = ""
    if step.fix is not None and step.fix.causes:
        causes = ", ".join(CAUSES[cause].title.lower() for cause in step.fix.causes)
        causes = f" Aimed at: {causes}."
    st.caption(plain(step.reason) + causes)


def _figures(diagnosis: Diagnosis, step: NextStep) -> str:
    """The gain as far as it is measured or estimated, and the time that it takes."""
    if step.kind == "nothing":
        return ""
    metric, where = metric_title(step.metric or diagnosis.trials.metric), ""
    if step.fix is not None:
        change = step.fix.comparison
        where = f" {step.fix.basis}, {change.certainty}"
    gain = list[str]()
    if step.gain is not None and step.kind != "label":  # which may decide on a gain, and has none
        gain = [f"{signed(step.gain)} {metric}{where}"]
    time = [f"about {duration(step.seconds)}"] if step.seconds else []
    return " · ".join([*gain, *time])


def _act(
    base: KnowledgeBase,
    chosen: QuestionSet,
    diagnosis: Diagnosis,
    step: NextStep,
    recipe: Recipe,
    number: int,
) -> None:
    """The button that does a step."""
    if step.kind == "fix" and step.fix is not None:
        _use(base, chosen, step, recipe, number, *apply_button(step.fix.comparison))
    elif step.kind == "top_k":
        _use(base, chosen, step, recipe, number, "Apply", "check")
        counted_already = (
            "*Metrics* at 10 count these ranks already, so they tell little of it: compare "
            if step.changes[0]["search.top_k"] <= 10
            else "To see what it gains in answers, compare "
        )
        st.caption(f"{counted_already}*Expected answer found*, with *Also score answers*.")
    elif step.kind == "rebuild":
        start = partial(base.tuning.diagnoses.start, chosen.name, recipe, rebuild=True)
        options = offered(
            base, "tuning.diagnoses.start", help="Builds that gain nothing are deleted again."
        )
        action_button("Build and try", "metrics_rebuild", "construction", start, **options)
    elif step.kind == "advice":
        _place(diagnosis, step)
    elif step.kind == "label" and chosen.questions <= diagnosis.asked:
        action_button("Add questions", "metrics_add_more", "add", _open_sets)
    elif step.kind == "label":
        label_button(base, chosen, "metrics_label_more")


def _place(diagnosis: Diagnosis, step: NextStep) -> None:
    """A link to the place where people can follow a step's advice."""
    for cause in step.causes:
        is_off = diagnosis.recipe.search.refuse == "off"  # which Tuning can turn on
        asks = cause in ("doubted", "unexpected")
        asks = asks or (cause == "answered" and not (diagnosis.can_limit or is_off))
        if asks and (question := _first_failed(diagnosis, cause)):
            _ask_button(question, cause)
        else:
            page, label, icon = _PLACES.get(cause, _ON_TUNING)
            st.page_link(page, label=label, icon=f":material/{icon}:")


def _first_failed(diagnosis: Diagnosis, cause: str) -> str:
    """The text of the first question that failed by a cause, "" if none did."""
    return next((one.text for one in diagnosis.questions if one.cause == cause), "")


def _ask_button(question: str, cause: str) -> None:
    """A button that asks a question in a new conversation."""
    if st.button(
        "Ask in the chat",
        key=f"metrics_advice_ask_{cause}",
        icon=":material/forum:",
        help=f"Asks “{plain(question)}” in a new conversation.",
    ):
        st.session_state[ASKED_ANEW] = question
        st.switch_page("chat.py", query_params={})


def _open_sets() -> None:
    st.session_state[TAB] = SETS


def _use(
    base: KnowledgeBase,
    chosen: QuestionSet,
    step: NextStep,
    recipe: Recipe,
    number: int,
    label: str,
    sign: str,
) -> None:
    """Buttons that make the change of a step in the visitor's recipe, and no other."""
    (changes,) = step.changes
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        apply = partial(working_recipe.change, base, changes)
        help_text = working_recipe.UNTIL_SAVED
        action_button(label, f"metrics_fix_{number}", sign, apply, help=help_text)
        changed = recipe.with_fields(changes)
        job = base.runs.latest_evaluation(chosen.name, changed)
        if job is not None and job.active:
            job_progress.follow(job.id, f"fix_{number}")
            return
        if run := _current_run(base, chosen, changed):
            _evaluated(base, chosen, recipe, run)
            return
        start = partial(base.runs.start_evaluation, chosen.name, changed)
        options = offered(
            base, "runs.start_evaluation", help="Evaluates the changed recipe and keeps the run."
        )
        action_button("Evaluate", f"metrics_fix_run_{number}", "play_arrow", start, **options)
    job_progress.failure(job)


def _current_run(base: KnowledgeBase, chosen: QuestionSet, recipe: Recipe) -> Run | None:
    """The newest run of a recipe on the questions and documents as they are now."""
    return next(
        (
            run
            for run in base.runs.list_all(chosen.name)
            if run.recipe == recipe
            and run.set_version == chosen.version
            and run.filter_digest == base.documents.filter_digest(recipe)
            and not documents_changed(base, run)
        ),
        None,
    )


def _evaluated(base: KnowledgeBase, chosen: QuestionSet, recipe: Recipe, run: Run) -> None:
    """The result of a change, and the way to its comparison with the recipe."""
    value = run.metrics.get("ndcg@10")
    figure = "" if value is None else f": nDCG@10 {value:.3f}"
    former = _current_run(base, chosen, recipe)
    marks = {SET: chosen.name, SELECTED: run.id}
    if former is not None:
        marks |= {SELECTED: f"{run.id},{former.id}", AGAINST: former.id}
    st.page_link(
        "runs.py",
        label="Compare on Runs" if former else "Open on Runs",
        icon=":material/compare_arrows:",
        query_params=marks,
    )
    st.caption(f"Evaluated {ago(run.created)}{figure}.", width="content")


def _tested(base: KnowledgeBase, diagnosis: Diagnosis, fix: Fix) -> None:
    with st.expander("How it was tested", icon=":material/science:"):
        st.markdown(
            plain(
                f"{fix.sentence} On the tuning questions, the best of "
                f"{counted(fix.tried, 'change')} gained {signed(fix.tuning_gain)} "
                f"{metric_title(fix.comparison.metric)}."
            )
        )
        _moved(base, diagnosis, fix)


def _moved(base: KnowledgeBase, diagnosis: Diagnosis, fix: Fix) -> None:
    """The questions that gain and lose."""
    questions = base.questions.usable(diagnosis.question_set)
    texts = {question.id: question.text for question in questions}
    rows = [
        {"Question": texts.get(name, name), "Difference": value}
        for name, value in sorted(fix.comparison.differences.items(), key=lambda item: item[1])
        if value
    ]
    if rows:
        st.dataframe(
            rows,
            hide_index=True,
            row_height=row_height((str(row["Question"]) for row in rows), TEXT_WIDTH),
            column_config={
                "Question": st.column_config.TextColumn(width=TEXT_WIDTH),
                "Difference": st.column_config.NumberColumn(format="%+.3f", width="small"),
            },
            alt="Held-out questions whose score changes, those that lose first.",
        )


def _questions(diagnosis: Diagnosis) -> None:
    st.header("Failed questions", divider="gray")
    titles = {CAUSES[cause].title: cause for cause in diagnosis.causes}
    title = st.selectbox("Cause", [_ALL, *titles], key="metrics_cause", width=320)
    questions = [
        question
        for question in diagnosis.questions
        if title == _ALL or question.cause == titles[str(title)]
    ]
    st.caption("Click a question to inspect it.")
    scored = f"nDCG@{diagnosis.recipe.search.top_k}"
    event = st.dataframe(
        [_row(question, scored) for question in questions],
        key="metrics_failed",
        height=460 if len(questions) > 10 else "auto",
        row_height=_height(questions),
        hide_index=True,
        on_select=_click,
        selection_mode=("single-row", "single-cell"),
        column_config={
            "Question": st.column_config.TextColumn(pinned=True, width=PINNED_WIDTH),
            "Cause": st.column_config.TextColumn(width=_CAUSE_WIDTH),
            "Evidence": st.column_config.TextColumn(width=_EVIDENCE_WIDTH),
            "Document": st.column_config.TextColumn(width=_DOCUMENT_WIDTH),
            "Page": st.column_config.NumberColumn(width=_NUMBER_WIDTH),
            scored: st.column_config.NumberColumn(format="%.2f", width=_NUMBER_WIDTH),
        },
        placeholder="–",
        alt="Failed questions with cause, evidence, document and page.",
    )
    clicked = st.session_state.pop(_CLICKED, False)
    for row in picked_rows(event)[:1] if clicked else ():
        st.switch_page("inspector.py", query_params=_address(questions, row))
    _whole_evidence(questions)


def _whole_evidence(questions: Sequence[FailedQuestion]) -> None:
    """The evidence that the table shortens, below it."""
    long = [one for one in questions if len(one.finding.evidence) > _EVIDENCE]
    if not long:
        return
    with (
        st.expander("Evidence in full", icon=":material/notes:"),
        st.container(height=_TALLEST if len(long) > 5 else "content", border=False),
    ):
        for one in long:
            st.markdown(f"**{plain(one.text)}** {plain(one.finding.evidence)}")


def _row(question: FailedQuestion, scored: str) -> dict[str, object]:
    """A row; a question that the documents do not answer has no passage to rank."""
    return {
        "Question": question.text,
        "Cause": CAUSES[question.cause].title,
        "Evidence": clipped(question.finding.evidence, _EVIDENCE),
        "Document": question.document or None,
        "Page": question.page,
        scored: None if question.cause == "answered" else question.score,
    }


def _height(questions: Sequence[FailedQuestion]) -> int | None:
    heights = (
        row_height((question.text for question in questions), PINNED_WIDTH),
        row_height((CAUSES[question.cause].title for question in questions), _CAUSE_WIDTH),
        row_height(
            (clipped(question.finding.evidence, _EVIDENCE) for question in questions),
            _EVIDENCE_WIDTH,
        ),
        row_height((question.document for question in questions), _DOCUMENT_WIDTH),
    )
    return max((height for height in heights if height), default=None)


def _address(questions: Sequence[FailedQuestion], row: int) -> dict[str, str]:
    """The query parameters that open a question, and its passage, in the inspector."""
    question = questions[row]
    parameters = {"q": question.text}
    if not question.passage:
        return parameters
    return {**parameters, "view": "What if", "passage": question.passage}


def _click() -> None:
    st.session_state[_CLICKED] = True
