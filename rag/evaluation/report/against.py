"""The part of a report that compares a run with a baseline."""

from __future__ import annotations

from rag.evaluation.intervals import as_percent, signed
from rag.evaluation.report import charts
from rag.evaluation.report.content import Baseline, RunReport
from rag.evaluation.report.markup import Markup, columns, element, heading, section
from rag.evaluation.report.metric_titles import metric_title
from rag.evaluation.report.words import counted
from rag.results import Run

_SHOWN = 6


def against_baseline(report: RunReport) -> Markup | None:
    """Differences by question, the test, and where it was won and lost; None without a baseline."""
    baseline = report.baseline
    if baseline is None:
        return None
    figures = baseline.figures
    chips = [element("li", chip) for chip in baseline.chips]
    return section(
        "Against the baseline",
        element(
            "p",
            f"The baseline is run {baseline.run.id} of {baseline.run.created:%Y-%m-%d}. "
            + _changes(report.run, baseline),
            class_="lead",
        ),
        element("ul", *chips, class_="chips") if chips else None,
        *(element("p", f"By few labels: {verdict}") for verdict in baseline.decisions),
        *(element("p", caveat, class_="note") for caveat in baseline.caveats),
        *(() if figures.obstacle else _evidence(baseline)),
    )


def _changes(run: Run, baseline: Baseline) -> str:
    of_recipes = run.recipe and baseline.run.recipe
    if baseline.chips:
        return "What the recipe changes:" if of_recipes else "What was measured:"
    return f"Both runs retrieve with the same {'recipe' if of_recipes else 'system'}."


def _evidence(baseline: Baseline) -> tuple[Markup | None, ...]:
    """Return the charts, tally and test of a comparison; only comparable runs have them."""
    figures = baseline.figures
    counts = element(
        "div",
        element("h3", "Wins, losses, ties"),
        _tally(baseline),
        element("p", _test(baseline), style="margin-top:16px"),
    )
    chart = element(
        "div",
        element("h3", f"Difference in {metric_title(figures.metric)} by question"),
        charts.differences(list(figures.differences.values())),
    )
    return (
        counts if figures.all_tied else columns(chart, counts),
        _moved(baseline, 1, "Where it gained most"),
        _moved(baseline, -1, "Where it lost most"),
    )


def _tally(baseline: Baseline) -> Markup:
    figures = baseline.figures
    counts = (
        ("won", figures.won, "better"),
        ("tied", figures.tied, "the same"),
        ("lost", figures.lost, "worse"),
    )
    parts = [element("i", class_=name, style=f"flex:{count}") for name, count, _ in counts if count]
    legend = [element("span", f"{count:,} {says}", class_=name) for name, count, says in counts]
    bar = element("div", *parts, class_="tally", aria_hidden="true")
    return element("div", bar, element("div", *legend, class_="legend"))


def _test(baseline: Baseline) -> str:
    figures = baseline.figures
    if figures.all_tied:
        return figures.headline
    low, high = figures.interval
    p = "below 0.001" if figures.p < 0.001 else f"{figures.p:.2g}"
    return (
        f"On average {signed(figures.difference)}, with a {as_percent(figures.confidence)} "
        f"interval from {signed(low)} to {signed(high)} at the level of the test. If the two "
        "runs were equally good, a difference at least this large would come about by chance with "
        f"probability {p} (paired randomisation test over "
        f"{counted(len(figures.differences), 'question')})."
    )


def _moved(baseline: Baseline, sign: int, title: str) -> Markup | None:
    """The questions with the largest differences of one sign."""
    rows = [item for item in baseline.figures.differences.items() if item[1] * sign > 0]
    if not rows:
        return None
    rows.sort(key=lambda item: -abs(item[1]))
    body = [
        element(
            "tr",
            element(
                "td", element("span", baseline.texts.get(key, key), class_="user"), class_="wide"
            ),
            element("td", signed(value), class_=f"number {'up' if sign > 0 else 'down'}"),
        )
        for key, value in rows[:_SHOWN]
    ]
    rest = len(rows) - _SHOWN
    return element(
        "div",
        heading(title),
        element("div", element("table", element("tbody", *body)), class_="scroll"),
        element("p", f"and {rest:,} more", class_="note") if rest > 0 else None,
    )
