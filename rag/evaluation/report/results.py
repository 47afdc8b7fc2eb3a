"""The upper part of a report: the headline, the figures, what was measured, the charts."""

from __future__ import annotations

from collections.abc import Sequence

from rag.evaluation.intervals import Interval, signed, signed_points
from rag.evaluation.measuring import highest_mean
from rag.evaluation.report import charts
from rag.evaluation.report.content import RunReport
from rag.evaluation.report.markup import Markup, columns, element, heading, join, section, table
from rag.evaluation.report.metric_titles import METRIC_TITLES, metric_title
from rag.evaluation.report.words import counted, headline, recipe_sentences
from rag.results import QuestionResult, Run
from rag.types import percent

_CARDS = ("ndcg@10", "mrr@10", "recall@10", "precision@5", "correct_refusal")
_SAYS = {
    "ndcg": "Are the best at the top? 1 would mean that they always come first.",
    "mrr": "How high is the first relevant one?",
    "recall": "What share of the relevant passages?",
    "precision": "How much of it is relevant?",
    "correct_refusal": "Nothing returned for questions without an answer.",
    "correct_doubt": "Refused, or probably not answered, for questions without an answer.",
    "answer_containment": "Answers that contain the expected one.",
    "correct_decision": "Answered where the documents have the answer, refused or doubtful where "
    "not.",
}
_OF_ANSWERS = ("answer_containment", "correct_decision")
_LINES = ("ndcg", "recall", "mrr", "precision")
_BANDS = ((1, 1), (2, 2), (3, 3), (4, 5), (6, 10), (11, 20), (21, 1000))
_MOST_TAGS = 12
_NO_CHANGE = 0.0005


def opening(report: RunReport) -> Markup:
    """The headline sentence and what it is about."""
    run = report.run
    return element(
        "header",
        element("div", "Retrieval evaluation", class_="eyebrow"),
        element("h1", headline(report)),
        element(
            "div",
            element("span", f"Knowledge base “{report.base}”", class_="user"),
            element("span", f"Questions “{run.question_set}”", class_="user"),
            element("span", f"{run.created:%d %B %Y}".lstrip("0")),
            class_="facts",
        ),
        _verdict(report),
        element("p", run.note, class_="note user", style="margin-top:18px") if run.note else None,
    )


def _verdict(report: RunReport) -> Markup | None:
    if report.baseline is None:
        return None
    figures = report.baseline.figures
    return element(
        "p",
        element("strong", figures.headline),
        f"{figures.evidence} {report.baseline.step}".strip(),
        class_=f"verdict {figures.verdict}",
    )


def cards(report: RunReport) -> Markup:
    """Figures with their intervals and the change against the baseline."""
    left = unanswered(report.results)
    return join(
        element("div", *(_card(report, name) for name in on_cards(report.run)), class_="cards"),
        element("p", left, class_="note") if left else None,
    )


def on_cards(run: Run) -> list[str]:
    """The metrics of a run that have a card."""
    state = "correct_doubt" in run.metrics  # as *Not answered* on Metrics
    cards = [*_CARDS[:-1], "correct_doubt" if state else _CARDS[-1]]
    names = [name for name in cards if name in run.metrics]
    if len(names) < 3:
        depths = [int(name.partition("@")[2]) for name in run.metrics if name.startswith("ndcg@")]
        names = [f"{name}@{max(depths, default=1)}" for name in _LINES]
    return [*names, *(name for name in _OF_ANSWERS if name in run.metrics)]


def meaning(metric: str) -> str:
    """Explain a metric of a card in one line."""
    return _SAYS.get(metric.partition("@")[0], "")


def as_shown(metric: str, value: float) -> str:
    """A value of a card: shares of questions in percent, others with three places."""
    return percent(value) if _is_share(metric) else f"{value:.3f}"


def unanswered(results: Sequence[QuestionResult]) -> str:
    """Count the answerable questions without an answer; "" if no answers were measured."""
    doubts = [row.metrics["false_doubt"] for row in results if "false_doubt" in row.metrics]
    if not doubts:
        return ""
    return (
        f"{sum(map(bool, doubts)):,} of {counted(len(doubts), 'answerable question')} got a "
        "refusal or a doubtful answer."
    )


def _is_share(metric: str) -> bool:
    return metric in _OF_ANSWERS or metric.startswith("correct_")


def _card(report: RunReport, metric: str) -> Markup:
    value, (low, high) = report.run.metrics[metric], report.interval(metric)
    interval = Interval(low, min(high, highest_mean(metric, report.results)))
    before = report.baseline.run.metrics.get(metric) if report.baseline else None
    in_percent = _is_share(metric)
    return element(
        "div",
        element("div", metric_title(metric), class_="label"),
        element("div", as_shown(metric, value), class_="figure"),
        charts.interval_strip(value, interval, before),
        element(
            "div",
            "sampling ",
            element("span", _range(interval, in_percent), class_="whole"),
            class_="small",
        ),
        _unjudged(metric, report),
        _change(metric, value, before, report),
        element("div", meaning(metric), class_="small"),
        class_="card",
    )


def _unjudged(metric: str, report: RunReport) -> Markup | None:
    """Return the ceiling of precision, or the range of nDCG that unjudged hits allow."""
    share, ceiling = report.unjudged, highest_mean(metric, report.results)
    if ceiling < 1.0:
        return element("div", f"of at most {ceiling:.2f}", class_="small")
    if share is None or not share.unjudged or metric != f"ndcg@{share.k}":
        return None
    return element(
        "div",
        "unjudged ",
        element("span", _range(share.ndcg, False), class_="whole"),
        class_="small",
    )


def _range(interval: Interval, in_percent: bool) -> str:
    low, high = interval
    return f"{percent(low)}–{percent(high)}" if in_percent else f"{low:.3f}–{high:.3f}"


def _change(metric: str, value: float, before: float | None, report: RunReport) -> Markup | None:
    if before is None or report.baseline is None:
        return None
    compared = report.baseline.cards.get(metric)
    if compared is not None and compared.obstacle:
        return None
    change = value - before
    if abs(change) < _NO_CHANGE:
        return element("div", "same as baseline", class_="small")
    amount = f"{signed_points(change)} points" if _is_share(metric) else signed(change)
    colours = {"better": "small up", "worse": "small down"}
    name = colours.get(compared.verdict, "small") if compared else "small"
    return element("div", f"{amount} vs. baseline", class_=name)


def _steps(report: RunReport) -> list[str]:
    """Return the steps of the recipe, or how the texts of a system were placed."""
    run = report.run
    if run.recipe:
        return recipe_sentences(run.recipe, report.threshold)
    if run.system is None:
        return []
    failed = f"{counted(len(run.system.errors), 'question')} failed and are left out."
    return [
        f"“{run.system.label}” returned the texts.",
        "They were located in the documents by their words. A text that is in no document keeps "
        "its rank and is not relevant.",
        "The other passages of the system are unknown, so each label that no returned text covers "
        "counts as one more relevant passage.",
        *([failed] if run.system.errors else []),
    ]


def setting(report: RunReport) -> Markup:
    """Return the section on the questions, the documents and the retrieval steps."""
    run = report.run
    unanswerable = sum(not item.answerable for item in report.results)
    question_note = (
        f"{counted(run.questions, 'question')} of the set “{run.question_set}”, version "
        f"{run.set_version}. For {len(report.judged):,} of them the relevant {report.unit}s are "
        "known" + (f"; {unanswerable:,} have no answer in the documents." if unanswerable else ".")
    )
    texts = "passage" if run.recipe else "returned text"
    data_note = (
        f"{counted(run.documents, 'document')} of the knowledge base “{report.base}”, "
        f"{'split into' if run.recipe else 'with'} {counted(report.passages, texts)}."
    )
    steps = (element("li", sentence) for sentence in _steps(report))
    return section(
        "What was measured",
        columns(
            element(
                "div",
                element("h3", "Questions"),
                element("p", question_note, class_="user"),
                element("h3", "Documents"),
                element("p", data_note, class_="user"),
                *(element("p", note, class_="note") for note in (*report.notes, *run.cautions)),
            ),
            element(
                "div",
                element("h3", "Recipe" if run.recipe else "System"),
                element("ol", *steps, class_="steps"),
            ),
        ),
    )


def pictures(report: RunReport) -> Markup:
    """Metrics against k, and where the first relevant passage stands."""
    return element(
        "section",
        columns(
            element(
                "div",
                element("h2", "How many passages are needed?"),
                element("p", _depth(report), class_="lead"),
                _against_k(report),
            ),
            element(
                "div",
                element("h2", f"Where is the first relevant {report.unit}?"),
                element("p", _ranks_in_words(report), class_="lead"),
                charts.histogram(_rank_bars(report), "Questions by rank of the first relevant"),
            ),
        ),
    )


def _depth(report: RunReport) -> str:
    metrics = report.run.metrics
    cutoffs = [k for k in (5, 10, *report.cutoffs) if f"recall@{k}" in metrics][:2]
    recalls = " and ".join(f"{percent(metrics[f'recall@{k}'])} in the first {k}" for k in cutoffs)
    return f"Recall: {recalls}. The shaded area is the 95% interval of nDCG."


def _ranks_in_words(report: RunReport) -> str:
    missed = sum(item.first_relevant is None for item in report.judged)
    if not missed:
        return "Something relevant was found for every question."
    return f"Nothing relevant was found for {counted(missed, 'question')}."


def _against_k(report: RunReport) -> Markup:
    ks, metrics = report.cutoffs, report.run.metrics
    lines = {
        name: (METRIC_TITLES[name], [metrics[f"{name}@{k}"] for k in ks])
        for name in _LINES
        if all(f"{name}@{k}" in metrics for k in ks)
    }
    before = None
    if report.baseline:
        old = [report.baseline.run.metrics.get(f"ndcg@{k}") for k in ks]
        values = [value for value in old if value is not None]
        before = ("baseline", values) if len(values) == len(ks) else None
    return charts.against_k(ks, lines, [report.interval(f"ndcg@{k}") for k in ks], before)


def _rank_bars(report: RunReport) -> list[tuple[str, int, str]]:
    ranks = [item.first_relevant for item in report.judged]
    depth = report.cutoffs[-1] if report.cutoffs else 1
    bars = [
        (
            str(low) if low == high else f"{low}–{min(high, depth)}",
            sum(rank is not None and low <= rank <= high for rank in ranks),
            "found",
        )
        for low, high in _BANDS
        if low <= depth
    ]
    return [*bars, ("none", ranks.count(None), "missing")]


def figures(report: RunReport) -> Markup:
    """Every measure at every k, and the leading metric by tag."""
    ks, metrics = report.cutoffs, report.run.metrics
    names = [name for name in METRIC_TITLES if any(f"{name}@{k}" in metrics for k in ks)]
    head = [element("th", "Measure"), *(element("th", f"@{k}", class_="number") for k in ks)]
    rows = [
        element(
            "tr",
            element("td", METRIC_TITLES[name]),
            *(_number(metrics.get(f"{name}@{k}")) for k in ks),
        )
        for name in names
    ]
    refusals = [
        name
        for name in ("correct_refusal", "correct_doubt", "false_refusal", "false_doubt")
        if name in metrics
    ]
    more = "; ".join(
        f"{metric_title(name)} {percent(metrics[name])} "
        f"(95% interval {_range(report.interval(name), True)})"
        for name in refusals
    )
    return section(
        "All figures",
        table(head, rows),
        element("p", more + ".", class_="note") if more else None,
        _by_tag(report),
    )


def _by_tag(report: RunReport) -> Markup | None:
    tagged = report.tagged()
    if not tagged:
        return None
    numbers = ("Questions", metric_title(report.metric), "95% interval")
    head = [element("th", "Tag"), *(element("th", number, class_="number") for number in numbers)]
    rows = [
        element(
            "tr",
            element("td", element("span", tag_figures.tag, class_="user")),
            element("td", f"{tag_figures.questions:,}", class_="number"),
            _number(tag_figures.means[report.metric]),
            element("td", _range(tag_figures.intervals[report.metric], False), class_="number"),
        )
        for tag_figures in tagged[:_MOST_TAGS]
    ]
    rest = len(tagged) - _MOST_TAGS
    return join(
        heading("By tag"),
        table(head, rows),
        element("p", f"{counted(rest, 'more tag')}.", class_="note") if rest > 0 else None,
    )


def _number(value: float | None) -> Markup:
    return element("td", "–" if value is None else f"{value:.3f}", class_="number")
