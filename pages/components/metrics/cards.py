"""The figures of a run: cards with their change, and the table at several k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from pages.components.shell.text import plain
from pages.components.shell.wording import ago, capitalised
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
    is_share,
    lower_is_better,
    metric_meaning,
    metric_title,
    percent,
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
    shown_cards = [replace(card, help=card.help.replace("passage", unit)) for card in shown_cards]
    card_grid(shown_cards, run, earlier, ranges, changes)


def beyond_top_k(recipe: Recipe | None) -> str:
    """Name the ranks that the cards count and the recipe doesn't return; "" for none."""
    top_k = recipe.search.top_k if recipe else _TEN
    if top_k >= _TEN:
        return ""
    ranks = "rank 10" if top_k == _TEN - 1 else f"ranks {top_k + 1} to 10"
    depths = "5 and 10" if top_k < _FIVE else "10"
    return f"Metrics at {depths} also count {ranks}, which top-k {top_k} doesn't return."


def refusals_card(run: Run) -> Card:
    """The card of unanswerable questions: by the state of their answers, where it was measured."""
    card = CARDS[-1]
    if DOUBTED not in run.metrics:
        return card if REFUSED in run.metrics else replace(card, label=METRIC_TITLES[DOUBTED])
    return replace(
        card,
        metric=DOUBTED,
        label=METRIC_TITLES[DOUBTED],
        note=f"rightly refused: {percent(run.metrics.get(REFUSED, 0.0))}",
        help=f"{METRIC_DEFINITIONS[DOUBTED]} *Rightly refused* counts only those for which the "
        "search returned nothing. A higher threshold refuses more, and so does a higher limit of "
        "*Off-topic questions*. In JSON and gates: `correct_doubt`.",
    )


def card_grid(
    shown_cards: Sequence[Card],
    run: Run,
    earlier: Mapping[str, float],
    ranges: Ranges,
    changes: Mapping[str, Comparison],
) -> None:
    """Figures side by side, each with one line: its note, or its change against an earlier run.

    A change has a colour only where ``changes`` call it better or worse, and is left out where the
    two runs do not compare. Ranges stand in the help of a card.
    """
    with st.grid(len(shown_cards), min_column_width=132):
        for card in shown_cards:
            with st.container(border=True, height="stretch", gap="xsmall"):
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
    if ceiling < 1.0:
        yield f"At most {ceiling:.2f} on this set."
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
