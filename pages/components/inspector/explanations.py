"""Explanations for the pages, remembered while what they explain stays what it is.

Below a question stands what happened to it: the state of its answer, the rank of the first
relevant passage, and the cause of a failure.
"""

from __future__ import annotations

from typing import Literal

import streamlit as st

from pages.components.shell.session import question_sets, refusal
from pages.components.shell.text import clipped, lacking, plain
from rag import (
    STATE_TITLES,
    AnswerState,
    Assessment,
    Attribution,
    Explainer,
    Finding,
    FirstCause,
    Hit,
    KnowledgeBase,
    Located,
    QuestionLabels,
    QuotesExplanation,
    Recipe,
    RetrievalComparison,
    Trace,
    Turn,
    unmarked,
)

_ATTRIBUTIONS = "inspector_attributions"
_MOST_ATTRIBUTIONS = 32


def explainer(base: KnowledgeBase, trace: Trace, recipe: Recipe) -> Explainer:
    """Explain one trace. Raises TouchstoneError."""
    return _explainer(base, recipe, trace, base.state(recipe), trace.digest)


def find(base: KnowledgeBase, trace: Trace, recipe: Recipe, text: str) -> list[Finding]:
    """The passages that hold a text. Raises TouchstoneError."""
    explains = explainer(base, trace, recipe)
    return explains.findings(_located(explains, text, _build(base, recipe)))


def compare(
    base: KnowledgeBase, question: str, before: Recipe, after: Recipe, set_name: str | None
) -> RetrievalComparison:
    """Two recipes on one question. Raises TouchstoneError."""
    versions = {item.name: str(item.changed) for item in base.questions.list_all()}
    labels = set_name, versions.get(set_name or "")
    states = base.state(before), base.state(after)
    return _compare(base, before, after, question, labels, states)


def attribution(
    base: KnowledgeBase, trace: Trace, recipe: Recipe, key: int, *, compute: bool
) -> Attribution | None:
    """Return the cached attribution of the cosine; compute it, with a progress bar, if ``compute``.

    Return None if it is neither cached nor computed. A rerun interrupts the computation. Raises
    TouchstoneError.
    """
    attributions: dict[object, Attribution] = st.session_state.setdefault(_ATTRIBUTIONS, {})
    attribution_key = _build(base, recipe), trace.question, key
    if attribution_key not in attributions and compute:
        bar = st.progress(0.0, "Leaving out one part at a time …")
        computed = explainer(base, trace, recipe).attribution(
            key, lambda done, total: bar.progress(done / total, f"{done} of {total} texts embedded")
        )
        bar.empty()
        while len(attributions) >= _MOST_ATTRIBUTIONS:
            attributions.pop(next(iter(attributions)))
        attributions[attribution_key] = computed
    return attributions.get(attribution_key)


def quotes_explanation(
    base: KnowledgeBase, trace: Trace, recipe: Recipe
) -> QuotesExplanation | None:
    """Return the state of an answer of quotes, and why each passage is quoted or not.

    None where a model answers. Raises TouchstoneError.
    """
    return _quotes_explanation(base, trace, recipe, base.state(recipe), trace.digest, recipe.hash)


def first_cause(
    base: KnowledgeBase, trace: Trace, recipe: Recipe, assessment: Assessment | None
) -> FirstCause | None:
    """Return the first cause by which a question fails; None if it passes, and for guests.

    Raises TouchstoneError.
    """
    if refusal(base, "tuning.diagnoses.first_cause"):
        return None
    latest = (base.tuning.diagnoses.latest(item.name) for item in question_sets(base))
    known = (
        tuple((item.name, str(item.changed)) for item in question_sets(base)),
        tuple((job.id, job.status) for job in latest if job),
        str(base.runs.newest_runs()),
        assessment.reason if assessment else "",
    )
    request = base.state(recipe), trace.digest, recipe.hash, known
    return _first_cause(base, trace, recipe, assessment, request)


def cause_line(cause: FirstCause) -> str:
    """A cause with its evidence and its fix, as Markdown."""
    return (
        f"**Cause: {plain(cause.title.lower())}.** {plain(cause.finding.evidence)} "
        f"**Fix:** {plain(cause.advice)}"
    )


def _build(base: KnowledgeBase, recipe: Recipe) -> str:
    """The state of what does not depend on how a build is searched."""
    return base.state(Recipe(index=recipe.index))


@st.cache_resource(max_entries=4, show_spinner=False)
def _explainer(
    _base: KnowledgeBase, _recipe: Recipe, _trace: Trace, state: str, digest: str
) -> Explainer:
    """Shared by what one view asks: it holds the whole corpus as ranked for one question."""
    return _base.explanations.explain(_trace.question, _recipe, _trace)


@st.cache_data(max_entries=32, show_spinner=False)
def _quotes_explanation(
    _base: KnowledgeBase, _trace: Trace, _recipe: Recipe, state: str, digest: str, recipe_hash: str
) -> QuotesExplanation | None:
    return _base.explanations.explain_quotes(_trace, _recipe)


@st.cache_data(max_entries=32, show_spinner=False)
def _first_cause(
    _base: KnowledgeBase,
    _trace: Trace,
    _recipe: Recipe,
    _assessment: Assessment | None,
    request: tuple[object, ...],
) -> FirstCause | None:
    return _base.tuning.diagnoses.first_cause(_trace, _recipe, _assessment)


@st.cache_data(max_entries=32, show_spinner=False)
def _located(_explainer: Explainer, text: str, build: str) -> list[Located]:
    return _explainer.locate(text)


@st.cache_data(max_entries=32, show_spinner=False)
def _compare(
    _base: KnowledgeBase,
    _before: Recipe,
    _after: Recipe,
    question: str,
    labels: tuple[str | None, str | None],
    states: tuple[str, str],
) -> RetrievalComparison:
    return _base.explanations.compare(question, _before, _after, labels[0])


_INSPECTED = "inspector_inspected"
_LONGEST_QUOTE = 300  # characters: two lines
_OF_RUN = " in the last run that scored answers"


def remember(base: KnowledgeBase, turn: Turn, recipe: Recipe) -> None:
    """Keep the state of an answer of the chat that is opened in the inspector with a recipe."""
    kept = base.id, turn.complete, recipe.hash, turn.details.assessment
    st.session_state[_INSPECTED] = kept


def outlook(base: KnowledgeBase, trace: Trace, recipe: Recipe, labels: QuestionLabels) -> None:
    """Say in one line what happened: the state of the answer, the first relevant passage, the fix.

    Below it stands the quote that answers. The reason, the key words that no passage has, and the
    cause are less than that. Raises TouchstoneError.
    """
    happened, rest = list[str](), list[str]()
    explanation = quotes_explanation(base, trace, recipe)
    found = (explanation and explanation.assessment) or _of_turn(base, trace, recipe)
    cause = first_cause(base, trace, recipe, found)
    is_unexpected = cause is not None and cause.finding.cause == "unexpected"
    if not trace.context and recipe.answer.mode == "strict":
        tone = _tone("refused", labels)
        happened.append(f":{tone}[{STATE_TITLES['refused']}.]")
        rest.append("No passage is given to the answer.")
    elif cause is not None and is_unexpected:  # what is known wrong is not likely to be right
        happened.append(f":orange[{plain(cause.title)}{_OF_RUN}.]")
    elif found is not None and found.state != "refused":
        mode = "quotes" if explanation else recipe.answer.mode
        tone = _tone("unsure" if found.is_unsure(mode) else found.state, labels)
        happened.append(f":{tone}[{found.title(mode)}.]")
        rest += [plain(found.reason), lacking(found)]
    first = next((hit for hit in trace.ranking if labels.grades.get(hit.chunk.key, 0) > 0), None)
    happened.append(_first_relevant(trace, labels, first))
    said = found.reason if found else ""
    unknown = [word for word in base.explanations.unknown_words(trace, recipe) if word not in said]
    if unknown:
        rest.append(f"No passage has {' or '.join(f'“{plain(word)}”' for word in unknown)}.")
    if cause:
        # Whether an answer is doubtful is known of this one, or else only of that of a run.
        is_stored = cause.finding.cause == "doubted" and (not found or found.state != "doubtful")
        if not is_unexpected:
            another = f", for another relevant passage ({plain(cause.document)})"
            of_first = not cause.passage or first is None or first.chunk.id == cause.passage
            about = "Cause" if of_first else f"Cause{another}"
            rest.append(f"{about}: {plain(cause.title.lower())}{_OF_RUN * is_stored}.")
        rest.append(f"{plain(cause.advice.partition('. ')[0].rstrip('.'))}.")
    bold, grey = (" ".join(filter(None, parts)) for parts in (happened, rest))
    line = f"{bold and f'**{bold}**'} {grey and f':gray[{grey}]'}".strip()
    fates = explanation.fates.values() if explanation and trace.context else ()
    shown = [(fate.number, fate.quote) for fate in fates if fate.number and not fate.folded]
    if shown:
        words = " ".join(unmarked(min(shown)[1]).split())
        line += f"\n\n> {plain(clipped(words, _LONGEST_QUOTE))}"
    if line:
        st.markdown(line, help=cause_line(cause) if cause else None)


def _tone(state: AnswerState | Literal["unsure"], labels: QuestionLabels) -> str:
    """The colour of a state: whether that is right for a question with these labels."""
    if state == "conflicting":
        return "violet"
    if labels.answerable:
        return {"answered": "green", "refused": "red"}.get(state, "orange")
    return "green" if state in ("doubtful", "refused") else "red"


def _first_relevant(trace: Trace, labels: QuestionLabels, first: Hit | None) -> str:
    """Say where the first passage that is labelled relevant came; "" without labels."""
    if not labels.answerable:
        return "No document has the answer."
    if not labels.relevant:
        return ""
    if first is None:
        return ":red[No relevant passage is found.]"
    returned = [hit.chunk.key for hit in trace.hits]
    # As on the cards; a run counts only what passes the threshold.
    ranks = f"The first relevant passage has rank {first.rank} of all candidates"
    if first.chunk.key not in returned:
        return f":red[{ranks} and is not returned.]"
    if first.chunk.key == returned[0]:
        return ":green[A relevant passage comes first.]"
    return f":orange[{ranks}.]"


def _of_turn(base: KnowledgeBase, trace: Trace, recipe: Recipe) -> Assessment | None:
    """The state of the answer that *Inspect this* opened, as the chat says it."""
    *request, kept = st.session_state.get(_INSPECTED, (None,))
    return kept if request == [base.id, trace.question, recipe.hash] else None
