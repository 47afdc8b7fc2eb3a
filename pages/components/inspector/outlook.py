"""The state of the answer to a question, before its passages: as in the chat, with its reason."""

from __future__ import annotations

import streamlit as st

from pages.components.inspector.explanations import cause_line, first_cause, quotes_explanation
from pages.components.shell.text import plain
from pages.components.shell.wording import SIGNS, lacking
from rag import STATE_TITLES, Assessment, KnowledgeBase, Recipe, Trace, Turn

_INSPECTED = "inspector_inspected"


def remember(base: KnowledgeBase, turn: Turn, recipe: Recipe) -> None:
    """Keep the state of an answer of the chat that is opened in the inspector with a recipe."""
    kept = base.id, turn.complete, recipe.hash, turn.details.assessment
    st.session_state[_INSPECTED] = kept


def outlook(base: KnowledgeBase, trace: Trace, recipe: Recipe) -> None:
    """Say the state of the answer with its reason, which key words no passage has, and the cause.

    Raises TouchstoneError.
    """
    lines, sign = list[str](), ":material/help:"
    explanation = quotes_explanation(base, trace, recipe)
    found = (explanation and explanation.assessment) or _of_turn(base, trace, recipe)
    if not trace.context and recipe.answer.mode == "strict":
        lines.append(f"**{STATE_TITLES['refused']}:** no passage is given to the answer.")
    elif found is not None and found.state != "refused":
        sign = SIGNS[found.state]
        lines += [f"**{STATE_TITLES[found.state]}.**", plain(found.reason), lacking(found)]
    said = found.reason if found else ""
    unknown = [word for word in base.unknown_words(trace, recipe) if word not in said]
    if unknown:
        lines.append(f"No passage has {' or '.join(f'“{plain(word)}”' for word in unknown)}.")
    if lines:
        st.caption(" ".join(filter(None, (sign, *lines))))
    if cause := first_cause(base, trace, recipe, found):
        title, fix = cause.title.lower(), cause.advice.partition(". ")[0].rstrip(".")
        st.caption(f"**Cause: {plain(title)}.** {plain(fix)}.", help=cause_line(cause))


def _of_turn(base: KnowledgeBase, trace: Trace, recipe: Recipe) -> Assessment | None:
    """The state of the answer that *Inspect this* opened, as the chat says it."""
    *request, kept = st.session_state.get(_INSPECTED, (None,))
    return kept if request == [base.id, trace.question, recipe.hash] else None
