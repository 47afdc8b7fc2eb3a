"""A table of the outcomes of all questions of a run, failures first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import streamlit as st

from pages.components.metrics.cards import (
    CONFLICT,
    DOUBTED,
    DOUBTED_WRONGLY,
    EXPECTED,
    JUDGED,
    cutoffs,
    expects_unscored,
)
from pages.components.shell.tables import PINNED_WIDTH, picked_rows, row_height
from pages.components.shell.text import plain
from rag import (
    CAUSES,
    FAIR,
    GOOD,
    PASSING,
    KnowledgeBase,
    QuestionResult,
    Run,
    counted,
    failing_depth,
    first_failure,
    first_hits,
    first_relevant_rank,
    percent,
    ranks_low,
    search_grade,
)

_HEIGHT, _WHOLE = 332, 12  # pixels of a table that scrolls, and questions that need less
_CLICKED = "metrics_question_clicked"
_TEN = 10  # the depth of runs without ranking metrics
_EXPECTED, _RELEVANT = "Expected answer", "Relevant passages"
_OUTCOMES = {0.0: "not found", 1.0: "found"}
_PLAIN = re.compile(r"[^\W_](?:[^\W_]|[ .,/+-])*")


def failures_table(
    base: KnowledgeBase, run: Run, results: Sequence[QuestionResult], unit: str = "passage"
) -> None:
    """The questions as a table with a filter; the one that is clicked opens in the inspector.

    ``unit`` is what the labels name, passages or documents.
    """
    depth = failing_depth(run)
    counts = None if depth is None else _counts(results, depth)
    st.header("Questions, failures first", divider="gray", help=counts)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Click a question to inspect it.", width="content")
        filtered = _filtered(results)
    worst, ks = worst_first(filtered, depth or _TEN), cutoffs(run)
    wrapped = row_height((result.text for result in worst), PINNED_WIDTH)
    top_k = run.recipe.search.top_k if run.recipe else None
    diagnosis = base.tuning.diagnoses.current(run.question_set, run.recipe) if run.recipe else None
    failed = diagnosis.questions if diagnosis else ()
    causes = {one.id: CAUSES[one.cause].title for one in failed}
    event = st.dataframe(
        _rows(ks, worst, _score_name(depth), top_k, causes),
        key=f"metrics_questions_{run.id}",
        height=_HEIGHT if len(worst) > (_WHOLE // 2 if wrapped else _WHOLE) else "content",
        row_height=wrapped,
        hide_index=True,
        on_select=_click,
        selection_mode=("single-row", "single-cell"),
        column_config=_columns(run, unit, _score_name(depth)),
        placeholder="–",
        alt="Questions with tags, first relevant rank, outcome of the answer, whether it contains "
        f"the expected one, found {unit}s and {_score_name(depth)}, worst first.",
    )
    # Only a click opens: the table may have its selection still when the visitor comes back.
    clicked = st.session_state.pop(_CLICKED, False)
    for row in picked_rows(event)[:1] if clicked else ():
        st.switch_page("inspector.py", query_params=address(base, run, worst[row]))


def _score_name(depth: int | None) -> str:
    """The metric by which questions fail, as a column."""
    return f"nDCG@{depth or _TEN}"


def _click() -> None:
    st.session_state[_CLICKED] = True


_MOST_FAIL = {
    "low": "relevant {unit}s rank low or are missing",
    "parts": "parts of the answer are missing among the first {k}",
    "answered": "answered, though no document has the answer",
    "not refused": "not refused, though no document has the answer",
    "doubtful": "the answer is doubtful",
    "unexpected": "answered, not as expected",
}


_COLOURS = {"good": "green", "fair": "orange", "weak": "red"}
GRADES = (
    f"*Good*: a right passage is among the first 5 for at least {percent(GOOD)} of these "
    f"questions. *Fair*: for at least {percent(FAIR)}. *Weak*: for fewer. These limits are a "
    "convention."
)


def headline(run: Run, results: Sequence[QuestionResult], unit: str) -> str:
    """Grade the search, say for how many questions the first hit is relevant, and what fails most.

    Without labels, say how many expected answers were found.
    """
    relevant = [result for result in results if result.relevant]
    expected = [result.metrics[EXPECTED] for result in results if EXPECTED in result.metrics]
    said = []
    if relevant:
        grade = search_grade(relevant)
        said += [f":{_COLOURS[grade]}-badge[{grade.capitalize()}]", first_hits(relevant, unit)]
    elif expected:
        questions = counted(len(expected), "question")
        said.append(f"The expected answer was found for {sum(expected):,.0f} of {questions}.")
    if k := failing_depth(run):
        failures = Counter(filter(None, (first_failure(one, k) for one in results)))
        if failures:
            most = max(failures.values())
            kinds = [
                f":orange[{text.format(unit=unit, k=k)}]"
                for failure, text in _MOST_FAIL.items()
                if failures[failure] == most
            ]
            name = "failures" if len(kinds) > 1 else "failure"
            said.append(f"Most frequent {name}: {'; '.join(kinds)}.")
    return " ".join(said) or f"{counted(len(results), 'question')} measured."


def _counts(results: Sequence[QuestionResult], k: int) -> str:
    """Describe how many questions failed, and by what."""
    failures = Counter(filter(None, (first_failure(one, k) for one in results)))
    parts = {
        f"found low or not at all (nDCG@{k} below {PASSING})": failures["low"],
        f"with parts of the answer missing in the first {k}": failures["parts"],
        "answered wrongly": failures["answered"],
        "not refused": failures["not refused"],
        "doubtful": failures["doubtful"],
        "answered, not as expected": failures["unexpected"],
    }
    failed = ", ".join(f"{count:,} {name}" for name, count in parts.items() if count)
    head = f"{failures.total():,} of {counted(len(results), 'question')} failed"
    if failed and _is_scored(results):
        head += ", each counted once"
    counts = f"{head}: {failed}." if failed else f"{head}."
    low = sum(ranks_low(one, k) and first_failure(one, k) is None for one in results)
    if low:
        others = counted(low, "other question" if failures else "question")
        counts += (
            f" {others} got the expected answer, although relevant passages rank low or were not "
            f"found (nDCG@{k} below {PASSING})."
        )
    if any(one.answerable for one in results) and not _is_scored(results):
        counts += (
            " This run did not score answers: the tab *Failures* also counts questions whose "
            "passage was found and that were not answered, if a run with *Also score answers* "
            "says so."
        )
    return counts


def _is_scored(results: Sequence[QuestionResult]) -> bool:
    """Whether a run answered its questions, besides searching them."""
    return any(DOUBTED_WRONGLY in one.metrics for one in results)


def worst_first(results: Sequence[QuestionResult], k: int = _TEN) -> list[QuestionResult]:
    """Failures, then the rest, by nDCG@k; of equal ones, by the first relevant passage.

    What was found and not answered, or not as expected, stands behind what was not found.
    """

    def place(one: QuestionResult) -> tuple[bool, float, int]:
        passes = first_failure(one, k) is None
        return passes, score(one, k), -(one.first_relevant or 10_000)

    return sorted(results, key=place)


def score(result: QuestionResult, k: int = _TEN) -> float:
    """nDCG@k; a question without an answer scores 1 if it was not answered, else 0."""
    if result.answerable:
        return result.metrics.get(f"ndcg@{k}", 0.0)
    return result.metrics.get(DOUBTED, 0.0) if result.ranking else 1.0


def _filtered(results: Sequence[QuestionResult]) -> list[QuestionResult]:
    tags = sorted({tag for result in results for tag in result.tags})
    if not tags:
        return list(results)
    chosen_tags = st.multiselect(
        "Tags",
        tags,
        format_func=_tag,
        key="tag",
        bind="query-params",
        label_visibility="collapsed",
        placeholder="All tags",
        width=420,
    )
    return [result for result in results if not chosen_tags or set(chosen_tags) & set(result.tags)]


def _tag(tag: str) -> str:
    """A tag as a label, which may hold Markdown; plain words stay what the URL calls them."""
    return tag if _PLAIN.fullmatch(tag) else plain(tag)


def _rows(
    ks: Sequence[int],
    results: Sequence[QuestionResult],
    scored: str,
    top_k: int | None,
    causes: Mapping[str, str],
) -> list[dict[str, object]]:
    """Rows of the table, with causes by question id; columns without a value are left out."""
    rows = [
        {**_row(ks, result, scored, top_k), "Cause": causes.get(result.question_id)}
        for result in results
    ]
    names = rows[0] if rows else {}
    empty = {name for name in names if all(row[name] in (None, "", []) for row in rows)}
    return [{name: value for name, value in row.items() if name not in empty} for row in rows]


def _row(
    ks: Sequence[int], result: QuestionResult, scored: str, top_k: int | None
) -> dict[str, object]:
    """A row; ``top_k`` is the number of results that the recipe returns, None for a system."""
    found = result.found if top_k is None else result.relevant_among(top_k)
    return {
        "Question": result.text,
        "Tags": list(result.tags),
        "First relevant": first_relevant_rank(result, top_k) if result.relevant else None,
        "Answer": _answer(result),
        _EXPECTED: "not scored"
        if expects_unscored(result)
        else _OUTCOMES.get(result.metrics.get(EXPECTED, -1.0)),
        _RELEVANT: f"{found} of {result.relevant}" if result.relevant else None,
        scored: result.metrics.get(scored.lower()) if result.answerable else None,
        "Recall by k": [result.metrics.get(f"recall@{k}", 0.0) for k in ks]
        if result.relevant and result.metrics
        else None,
    }


def _answer(result: QuestionResult) -> str | None:
    """Describe the outcome of the answer; None where nothing was measured of it."""
    if not result.answerable:
        if not result.ranking:
            return "refused, rightly"
        doubtful = result.metrics.get(DOUBTED)
        if doubtful is None:
            return "not refused"
        return "not answered, rightly" if doubtful else f"{_state(result)}, wrongly"
    state = _state(result)
    words = ("" if state == "answered" else state), _correctness(result)
    answered = state if DOUBTED_WRONGLY in result.metrics else None
    return ", ".join(filter(None, words)) or answered


def _state(result: QuestionResult) -> str:
    """The state of the answer, as the chat has it."""
    if result.metrics.get(DOUBTED_WRONGLY):
        return "not answered"
    return "conflicting" if result.metrics.get(CONFLICT) else "answered"


def _correctness(result: QuestionResult) -> str:
    """Compare the answer with the expected one: by the judge's grade, or if they are equal."""
    grade = result.metrics.get(JUDGED)
    if grade is not None:
        return "wrong" if grade == 0 else "right" if grade == 1 else "partly right"
    return "right" if result.metrics.get("exact_match") else ""


def _columns(run: Run, unit: str, scored: str) -> dict[str, object]:
    return {
        "Question": st.column_config.TextColumn(pinned=True, width=PINNED_WIDTH),
        "Tags": st.column_config.ListColumn(width=110),
        "First relevant": st.column_config.TextColumn(
            help=f"Rank of the first relevant {unit}, also if the threshold cut it. *Beyond "
            "top-k*: it stands below the results that the recipe returns."
        ),
        "Answer": st.column_config.TextColumn(
            width=150,  # or it is as narrow as its first rows, which may be empty
            help="*Not answered*: refused or doubtful. *Conflicting*: the sources "
            "disagree. "
            "*Answered*: none of these, and no model "
            "compared the answer with the expected one. *Right*, *partly right* and *wrong* are "
            "the grade of a model that did; without such a model, *right* are the same words.",
        ),
        _EXPECTED: st.column_config.TextColumn(
            width=110,
            help="Whether the answer contains the expected one: all its figures, dates and codes, "
            "and half of its words. What was not answered does not. *Not scored*: the "
            "expected answer has no word to look for.",
        ),
        _RELEVANT: st.column_config.TextColumn(
            f"Relevant {unit}s",
            help="How many of them the recipe returns: those among its top-k that the threshold "
            "does not cut.",
        ),
        scored: st.column_config.ProgressColumn(
            format="%.2f",
            min_value=0,
            max_value=1,
            width="small",
            help=f"A question fails below {PASSING}, unless it got the expected answer. Questions "
            "that the documents do not answer have none.",
        ),
        "Cause": st.column_config.TextColumn(
            width=150,
            help="The first cause that is confirmed, as on the tab *Failures*.",
        ),
        "Recall by k": st.column_config.LineChartColumn(
            y_min=0, y_max=1, width="small", help=f"At k = {', '.join(map(str, cutoffs(run)))}."
        ),
    }


def address(base: KnowledgeBase, run: Run, result: QuestionResult) -> dict[str, str]:
    """The query parameters that open a question in the inspector.

    If the run missed a labelled passage, they open the what-if view of this passage.
    """
    if run.recipe is None:
        return {"q": result.text}
    labels = base.questions.labels_of(run.question_set, result.text, run.recipe.index)
    results = base.runs.results(run.id)
    ranking = next(other.ranking for other in results if other.question_id == result.question_id)
    chunk_keys = [int(name, 16) for name, *_ in ranking[: run.recipe.search.top_k]]
    missed = labels.missed(chunk_keys)
    parameters = {"q": result.text}
    if missed is None:
        return parameters
    return {**parameters, "view": "What if", "passage": f"{missed:016x}"}
