"""The questions of a set without labels, one after the other in the inspector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from pages.components.labels.grading import Grading
from pages.components.labels.question_sets import SET
from pages.components.metrics import readings
from pages.components.shell.buttons import action_button
from pages.components.shell.permission import offered, refusal
from pages.components.shell.session import open_page, question_sets
from pages.components.shell.text import plain
from rag import KnowledgeBase, LabelledQuestion, QuestionSet, counted

_BEGUN = "labelling_begun"  # the question that was shown without labels, and the one after it


def address(base: KnowledgeBase, chosen: QuestionSet) -> Mapping[str, str]:
    """The query parameters that open the first question of a set without labels, if any."""
    questions = _without_labels(base, chosen)
    return {SET: chosen.name, **({"q": questions[0].text} if questions else {})}


def label_button(base: KnowledgeBase, chosen: QuestionSet, key: str) -> None:
    """A button that opens the first question of a set without labels in the inspector."""
    options = offered(base, "questions.grade")
    icon = ":material/arrow_forward:"
    if st.button("Label passages", key=key, icon=icon, **options):
        open_page("inspector.py", address(base, chosen))


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
