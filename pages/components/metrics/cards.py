"""The figures of a run, of retrieval and of answers: cards with their change, and a table by k.

The change is against another run, which is chosen here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from pages.components.shell.text import ago, capitalised, plain
from rag import (
    METRIC_DEFINITIONS,
    METRIC_TITLES,
    OWN_EMBEDDERS,
    UNCHANGED,
    Comparison,
    Interval,
    QuestionResult,
    Recipe,
    Run,
    RunDifferences,
    as_shown,
    change_in_words,
    counted,
    is_share,
    lacks_expected,
    lower_is_better,
    metric_meaning,
    metric_title,
    percent,
    unanswered,
)

REFUSED, DOUBTED, DOUBTED_WRONGLY = "correct_refusal", "correct_doubt", "false_doubt"
JUDGED, EXPECTED, CONFLICT = "judged_correctness", "answer_containment", "conflicting_sources"
_FIVE, _TEN = 5, 10  # the cutoffs of the cards


@dataclass(frozen=True, slots=True)
class Card:
    """A figure of ``Run.metrics`` as a card.

    ``count`` is shown in its place, and ``note`` below it.
    """

    metric: str
    label: str
    help: str
    count: str = ""
    note: str = ""


CARDS = (
    *(
        Card(metric, metric_title(metric), metric_meaning(metric))
        for metric in ("ndcg@10", "mrr@10", "recall@10", "precision@5")
    ),
    Card(
        REFUSED,
        METRIC_TITLES[REFUSED],
        f"{metric_meaning(REFUSED)} A higher threshold refuses more.",
    ),
)


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges of a run's metrics: by sampling of questions, and by what unjudged passages allow.

    ``ceilings`` are the highest possible values where that is below 1.
    """

    sampling: Mapping[str, Interval]
    unjudged: Mapping[str, Interval] = field(default_factory=dict)
    ceilings: Mapping[str, float] = field(default_factory=dict)


def cards(
    run: Run,
    earlier: Mapping[str, float],
    ranges: Ranges,
    changes: Mapping[str, Comparison],
    unit: str,
) -> None:
    """Five figures of retrieval; ``unit`` is what the labels name, passages or documents."""
    shown_cards = [refusals_card(run) if card.metric == REFUSED else card for card in CARDS]
    shown_cards = [
        replace(card, help=card.help.replace("passage", unit))
        for card in shown_cards
        if cutoffs(run) or card.metric in run.metrics  # else no question has a label
    ]
    shown_cards = [
        replace(card, note=f"of at most {ceiling:.2f}")
        if card.metric in run.metrics and (ceiling := ranges.ceilings.get(card.metric))
        else card
        for card in shown_cards
    ]
    if shown_cards:
        card_grid(shown_cards, run, earlier, ranges, changes)


def beyond_top_k(recipe: Recipe | None) -> str:
    """Name the ranks that either the cards count or the recipe returns; "" for none."""
    top_k = recipe.search.top_k if recipe else _TEN
    if top_k > _TEN:
        return f"Metrics count the first 10 ranks at most; top-k {top_k} returns more."
    if top_k == _TEN:
        return ""
    depths = "5 and 10" if top_k < _FIVE else "10"
    return f"Metrics at {depths} also count beyond top-k {top_k}."


def refusals_card(run: Run) -> Card:
    """The card of unanswerable questions: by the state of their answers, where it was measured."""
    card = CARDS[-1]
    if DOUBTED not in run.metrics:
        return card if REFUSED in run.metrics else replace(card, label=METRIC_TITLES[DOUBTED])
    return replace(
        card,
        metric=DOUBTED,
        label=METRIC_TITLES[DOUBTED],
        help=f"{METRIC_DEFINITIONS[DOUBTED]} For {percent(run.metrics.get(REFUSED, 0.0))}, the "
        "search returned nothing (*Refused by the search*). A higher threshold refuses more, and "
        "so does a higher limit of *Off-topic questions*. In JSON and gates: `correct_doubt`.",
    )


def card_grid(
    shown_cards: Sequence[Card],
    run: Run,
    earlier: Mapping[str, float],
    ranges: Ranges,
    changes: Mapping[str, Comparison],
    *,
    border: bool = True,
) -> None:
    """Figures side by side, each with one line: its note, or its change against an earlier run.

    A change has a colour only where ``changes`` call it better or worse, and is left out where the
    two runs do not compare. Ranges stand in the help of a card.
    """
    with st.grid(len(shown_cards), min_column_width=132):
        for card in shown_cards:
            with st.container(border=border, height="stretch", gap="xsmall"):
                compared = changes.get(card.metric)
                _card(card, run.metrics, earlier, compared, ranges)
                if compared and compared.obstacle == OWN_EMBEDDERS:
                    st.caption(f"not comparable: {OWN_EMBEDDERS}")
                elif note := card.note or _absence(card, run):
                    st.caption(note)


def _card(
    card: Card,
    now: Mapping[str, float],
    before: Mapping[str, float],
    compared: Comparison | None,
    ranges: Ranges,
) -> None:
    value = now.get(card.metric)
    if value is None:
        st.metric(card.label, "–", help=f"{card.help} This set has no such question.")
        return
    comparable = compared is None or not compared.obstacle
    change = None
    if card.metric in before and comparable:
        # On the questions that the test compares, which may be fewer than the mean is over.
        change = compared.difference if compared else value - before[card.metric]
    decided = compared is not None and compared.verdict in ("better", "worse")
    flat = change is not None and (abs(change) < UNCHANGED or not decided)
    st.metric(
        card.label,
        shown(value, card),
        delta=None if change is None else change_in_words(card.metric, change),
        **style(0.0 if flat or change is None else change, card.metric),
        help="  \n".join([card.help, *_ranges(card, ranges)]),
    )


def _absence(card: Card, run: Run) -> str:
    """The reason why a run has no such value; "" where it has one, or no such question."""
    name, _, cutoff = card.metric.partition("@")
    others = any(metric.startswith(f"{name}@") for metric in run.metrics)
    absent = cutoff and others and card.metric not in run.metrics
    return f"not measured at {cutoff} in this run" if absent else ""


def _ranges(card: Card, ranges: Ranges) -> Iterator[str]:
    ceiling = ranges.ceilings.get(card.metric, 1.0)
    for intervals, means in (
        (ranges.sampling, "95% interval of the mean"),
        (ranges.unjudged, "Range that missing judgements allow"),
    ):
        if interval := intervals.get(card.metric):
            # Questions like these cannot have a higher mean.
            low, high = interval.low, min(interval.high, ceiling)
            yield f"{means}: {_rounded(low, card)} to {_rounded(high, card)}."


def _rounded(value: float, card: Card) -> str:
    return percent(value) if is_share(card.metric) else f"{value:.2f}"


def shown(value: float, card: Card) -> str:
    """A figure as its card has it."""
    return card.count or as_shown(card.metric, value)


def style(change: float, metric: str = "") -> dict[str, Any]:
    """Return colour and arrow of a change; 0 for one that is not decided.

    Without a ``metric``, higher is better. Streamlit takes both from a hyphen before the
    number, which is a minus sign here.
    """
    if not change:
        return {"delta_color": "off", "delta_arrow": "off"}
    up = change > 0
    colour = "green" if up != lower_is_better(metric) else "red"
    return {"delta_color": colour, "delta_arrow": "up" if up else "down"}


def cutoffs(run: Run) -> list[int]:
    """The k at which a run was measured."""
    return sorted({int(name.partition("@")[2]) for name in run.metrics if name.startswith("ndcg@")})


def expects_unscored(result: QuestionResult) -> bool:
    """Whether an answer was compared with an expected one that has nothing to look for."""
    return EXPECTED not in result.metrics and "exact_match" in result.metrics


def at_cutoffs(run: Run) -> list[dict[str, object]]:
    """A row per measure, a column per k."""
    return [
        {"Measure": label} | {f"@{k}": run.metrics.get(f"{name}@{k}") for k in cutoffs(run)}
        for name, label in METRIC_TITLES.items()
        if f"{name}@{cutoffs(run)[0]}" in run.metrics
    ]


def figures_table(run: Run) -> None:
    """All measures at all k."""
    config = {f"@{k}": st.column_config.NumberColumn(format="%.3f") for k in cutoffs(run)}
    st.dataframe(
        at_cutoffs(run), hide_index=True, column_config=config, alt="Measures at several cutoffs."
    )


def first_run(later: int) -> str:
    """Say that a run is the first one of its set; ``later`` counts those made since."""
    if later:
        what = "the later run" if later == 1 else f"the {later:,} later runs"
        return f"This is the first run of this set. *Runs* compares it with {what}."
    return (
        "This is the first run of this set. To see the effect of a change of the recipe, make "
        "the change and press *Evaluate* again."
    )


def comparison(
    before: Run,
    between: RunDifferences,
    changes: Mapping[str, Comparison],
    *,
    name: str,
    pinned: bool,
) -> str:
    """Describe the run that the changes are measured against.

    ``name`` is that of its recipe or system. ``pinned`` if it is the baseline.
    """
    which = "the baseline, the run" if pinned else "the run"
    change = f"Change against {which} {ago(before.created)}, {name}: {plain(between.phrase)}"
    colored = "A change has a color if it is significant with all cards tested together"
    if between.comparable:
        return f"{change} {colored}; *Runs* tests one metric."
    return f"{change} {_reservation(between, changes, f'{colored}.')}"


def answers_comparison(
    before: Run, between: RunDifferences, changes: Mapping[str, Comparison], *, name: str
) -> str:
    """Describe the run that the changes of answer metrics are measured against.

    ``name`` is that of its recipe.
    """
    change = (
        f"That run has no scored answers, so the answer metrics compare with the run "
        f"{ago(before.created)}, {name}: {plain(between.phrase)}"
    )
    return change if between.comparable else f"{change} {_reservation(between, changes)}"


def _reservation(
    between: RunDifferences, changes: Mapping[str, Comparison], colored: str = ""
) -> str:
    """Say what the changes count if not all of both runs compares, or that nothing does."""
    if between.edited and changes and not all(found.obstacle for found in changes.values()):
        which = "this document" if len(between.edited) == 1 else "these documents"
        return (
            f"The changes count only the questions without a label in {which}; the "
            f"means count all. {colored}"
        ).rstrip()
    why = plain(capitalised(between.obstacle))
    return f"**{why} So the figures do not compare**: neither run is better or worse."


DECISIONS, BY_STATUS = "correct_decision", "refusal_correctness"
ANSWER_CARDS = tuple(
    Card(metric, METRIC_TITLES[metric], METRIC_DEFINITIONS[metric])
    for metric in (
        *(DECISIONS, EXPECTED, "groundedness", "answer_relevance", "citation_precision"),
        *(JUDGED, "token_f1"),
    )
)
ANSWER_METRICS = (*(card.metric for card in ANSWER_CARDS), BY_STATUS)


def answer_cards(
    run: Run,
    earlier: Mapping[str, float],
    results: Sequence[QuestionResult],
    ranges: Ranges,
    changes: Mapping[str, Comparison],
) -> None:
    """Figures with their change against ``earlier``; none where the run only measured retrieval.

    Without borders: the cards of retrieval lead.
    """
    if any(card.metric in run.metrics for card in ANSWER_CARDS):
        shown_cards = [_decisions_card(run), _expected_card(results), *ANSWER_CARDS[2:]]
        left_out = _left_out(run)
        card_grid(
            [card for card in shown_cards if card.metric not in left_out],
            run,
            earlier,
            ranges,
            changes,
            border=False,
        )


def answer_notes(run: Run, results: Sequence[QuestionResult]) -> Iterator[str]:
    """Yield what the cards of answers do not tell: other counts, cost, prompts."""
    if lacking := sum(lacks_expected(row.metrics) for row in results):
        yield (
            f":material/rule: {counted(lacking, 'question')} got an answer without the "
            "expected one. *Correct decisions* counts whether a question is answered, so it "
            f"counts {'this one' if lacking == 1 else 'these'} as correct. *Failures* counts those "
            "that have a label as failed."
        )
    if sentence := unanswered(results):
        yield f":material/help: {sentence}"
    if answer_cost := run.environment.get("answers"):
        yield f":material/payments: Answers: {plain(answer_cost)}."
    if run.prompts:
        yield f":material/edit_note: Prompts: {plain(run.prompts)}"


def _left_out(run: Run) -> set[str]:
    """The metrics without a card: those that a run cannot have, or that say nothing about it."""
    names = {name for name in (JUDGED, EXPECTED, "citation_precision") if name not in run.metrics}
    if run.recipe and run.recipe.answer.provider == "extractive":
        # Quotes are what their sources say, and have many more words than the expected answers.
        names |= {"groundedness", "token_f1"}
    return names


def _expected_card(results: Sequence[QuestionResult]) -> Card:
    """The card of expected answers, as a count."""
    found = [row.metrics[EXPECTED] for row in results if EXPECTED in row.metrics]
    unscored = sum(map(expects_unscored, results))
    return replace(
        ANSWER_CARDS[1],
        count=f"{sum(found):,.0f} of {len(found):,}",
        note=f"{unscored:,} not scored: nothing to look for" if unscored else "",
    )


def _decisions_card(run: Run) -> Card:
    """The first card; runs of earlier versions have decisions only by the status of answers."""
    card = ANSWER_CARDS[0]
    if DECISIONS in run.metrics or BY_STATUS not in run.metrics:
        return card
    title, definition = METRIC_TITLES[BY_STATUS], METRIC_DEFINITIONS[BY_STATUS]
    return replace(card, metric=BY_STATUS, label=title, help=definition)


def same_search(one: Recipe | None, other: Recipe | None) -> bool:
    """Whether two recipes retrieve alike; how they answer makes no difference here."""
    if one is None or other is None:
        return False
    return (one.index, one.search) == (other.index, other.search)


def reference_run(
    run: Run, runs: Sequence[Run], baseline: Run | None, saved: Recipe
) -> tuple[Run | None, str]:
    """Return the run that the figures of a run compare with, and what it is.

    ``runs`` has the newest first. The reference is the baseline, else the newest run of the saved
    recipe on the same documents, else the newest older run. If the documents changed since that
    one, it is the newest older run with the same recipe: a change of both says nothing about
    either.
    """
    if baseline is not None and baseline.id != run.id:
        return baseline, "the baseline"
    for one in runs:
        same_documents = one.documents_hash == run.documents_hash
        if one.id != run.id and same_documents and same_search(one.recipe, saved):
            return one, "the saved recipe"
    return _before(run, runs), "the run before"


def _before(run: Run, runs: Sequence[Run]) -> Run | None:
    older = runs[runs.index(run) + 1 :]
    newest = next(iter(older), None)
    if newest is None or newest.documents_hash == run.documents_hash:
        return newest
    return next((one for one in older if same_search(one.recipe, run.recipe)), newest)


def answers_reference(
    run: Run, runs: Sequence[Run], before: Run | None, saved: Recipe
) -> Run | None:
    """Return the run that the answer metrics of a run compare with.

    That is ``before`` if its answers were scored, else the ``reference_run`` among those with
    scored answers. None if the answers of ``run`` were not scored.
    """
    if not _scored(run):
        return None
    if before is not None and _scored(before):
        return before
    return reference_run(run, [one for one in runs if _scored(one)], None, saved)[0]


def _scored(run: Run) -> bool:
    return any(metric in run.metrics for metric in ANSWER_METRICS)
