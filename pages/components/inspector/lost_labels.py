"""Labels whose words are in no document: where they are listed, and moved or removed."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.inspector import explanations
from pages.components.recipe.working_recipe import saved
from pages.components.shell.buttons import confirm_button, dialog
from pages.components.shell.guard import guard
from pages.components.shell.session import offered, refusal
from pages.components.shell.tables import picked_rows
from pages.components.shell.text import clipped, marked, plain
from rag import Finding, KnowledgeBase, Label, Recipe, counted, nearest_words, unmarked

_CLICKED = "lost_label_clicked"
_MOST, _LONGEST = 3, 160  # passages that are offered; characters of a label in a line
_MATCHES = {
    "exact": ":green-badge[has these words]",
    "similar": ":orange-badge[has nearly these words]",
}


def lost_labels(base: KnowledgeBase, set_name: str, lost: Sequence[tuple[str, Label]]) -> None:
    """Labels whose words no present document has, by question id; metrics count them as misses.

    The one that is clicked is moved to other words or removed.
    """
    if not lost:
        return
    title = f"{_points(len(lost))} to text that is not here"
    with st.expander(title, icon=":material/label_off:"):
        st.caption(
            "Metrics count them as relevant passages that were not retrieved. Click one to move "
            "it to the right words or to remove it."
        )
        rows = [
            {
                "Question": question,
                "Document": label.document_name,
                "Page": label.page,
                "Words": label.quote,
            }
            for question, label in lost
        ]
        event = st.dataframe(
            rows,
            key=f"lost_labels_{base.id}_{set_name}_{hash(tuple(one.id for _, one in lost))}",
            hide_index=True,
            on_select=_click,
            selection_mode=("single-row", "single-cell"),
            alt="Labels whose text is not in any document.",
        )
    # Only a click opens: the table has its selection still after the dialog.
    clicked = st.session_state.pop(_CLICKED, False)
    may = not refusal(base, "questions.move_label")
    for row in picked_rows(event)[:1] if clicked and may else ():
        question_id, label = lost[row]
        texts = {item.id: item.text for item in base.questions.labelled(set_name)}
        _repair(base, set_name, texts.get(question_id, ""), label)


def lost_labels_of_question(
    base: KnowledgeBase, set_name: str, question: str, lost: Sequence[Label]
) -> None:
    """The lost labels of one question, with a button that moves or removes each."""
    for label in lost:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(
                f":orange[:material/label_off:] A label points to words that are not in "
                f"{plain(label.document_name)}: “{plain(clipped(label.quote, _LONGEST))}”",
                width="content",
            )
            options = {"key": f"lost_label_{label.id}", "icon": ":material/healing:"}
            if st.button("Repair", **offered(base, "questions.move_label", **options)):
                _repair(base, set_name, question, label)


def _points(number: int) -> str:
    return f"{counted(number, 'label')} {'points' if number == 1 else 'point'}"


def _click() -> None:
    st.session_state[_CLICKED] = True


@dialog("Repair a label", icon=":material/healing:", width="large")
def _repair(base: KnowledgeBase, set_name: str, question: str, label: Label) -> None:
    st.markdown(f"**{plain(question)}**")
    lacking = "does not have the words of the label" if label.quote else "is not here any more"
    st.caption(f"{plain(label.document_name)} {lacking}.")
    words = st.text_input(
        "Words that answer",
        label.quote,
        key=f"lost_label_words_{label.id}",
        help="Edit them to look for other words.",
    )
    findings: Sequence[Finding] = ()
    with guard():
        findings = _passages(base, question, words or label.quote or question)
    key = "lost_label_move"
    if findings:
        places = {finding.standing.chunk.key: finding for finding in findings}
        chosen = st.radio(
            "Move the label to",
            list(places),
            format_func=lambda place: _title(places[place]),
            key=f"lost_label_place_{label.id}",
        )
        chunk = places[chosen].standing.chunk
        start, end = nearest_words(chunk.text, words or label.quote or question)
        with st.container(border=True, height=180):
            st.markdown(marked(chunk.text, [(start, end)], "green-background"))
        place = chunk.document_id, chunk.start + start, chunk.start + end
        confirm_button("Move it here", key, base.questions.move_label, set_name, label.id, *place)
    if st.button("Remove the label", key="lost_label_remove", type="tertiary"):
        with guard():
            base.questions.remove_label(set_name, label.id)
            st.rerun()


def _passages(base: KnowledgeBase, question: str, words: str) -> list[Finding]:
    """The passages with the words, or the nearest; found without the model steps of the recipe."""
    recipe = Recipe(index=saved(base).index)
    trace = base.search(question, recipe)
    return explanations.find(base, trace, recipe, words)[:_MOST]


def _title(finding: Finding) -> str:
    words = clipped(unmarked(" ".join(finding.standing.chunk.text.split())), 70)
    match = _MATCHES.get(finding.match, "")
    return f"**{plain(finding.standing.document)}** {match} :small[{plain(words)}]"
