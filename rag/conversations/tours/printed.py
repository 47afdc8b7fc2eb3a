"""A tour as one HTML file to print or to send: no script, nothing loaded."""

from __future__ import annotations

from rag.answering.markup import CodeBlock
from rag.conversations.tours.stops import TourQuote, TourStop
from rag.conversations.tours.tours import Tour
from rag.evaluation.report import html_page
from rag.evaluation.report.markup import Markup, element, join, table
from rag.experiments.runs.version import code_version


def tour_html(tour: Tour, base_name: str) -> str:
    """Return a tour as an HTML page, one stop after another. All text is escaped."""
    body = join(
        element("p", f"{base_name} · {tour.changed:%Y-%m-%d}", class_="eyebrow"),
        element("h1", tour.title),
        *(_stop(number, stop) for number, stop in enumerate(tour.stops, start=1)),
    )
    return html_page(tour.title, code_version(), body)


def _stop(number: int, stop: TourStop) -> Markup:
    single = len(stop.points) == 1
    points = (
        element("p", *stop.points)
        if single
        else element("ul", *(element("li", point) for point in stop.points))
    )
    first = stop.kind == "answer"  # its points are its state, which decides how to read the rest
    return element(
        "section",
        element("h2", f"{number}. {stop.title}", class_="user"),
        element("p", stop.note, class_="lead user") if stop.note else None,
        points if stop.points and first else None,
        element("p", stop.shown_text(), class_="user") if stop.text else None,
        *map(_quote, stop.quotes),
        _values(stop) if stop.values else None,
        points if stop.points and not first else None,
    )


def _quote(quote: TourQuote) -> Markup:
    return element("div", element("h3", quote.source), *map(_part, quote.parts()))


def _part(part: TourQuote | CodeBlock) -> Markup:
    if isinstance(part, CodeBlock):
        return element("pre", part.code)
    words = element("mark", part.text) if part.text else None
    return element("p", part.before, words, part.after, class_="user indented")


def _values(stop: TourStop) -> Markup:
    rows = (
        element("tr", *(element("td", cell) for cell in (row.label, row.value, row.detail)))
        for row in stop.values
    )
    return table([element("th", name) for name in ("Measure", "Value", "Details")], rows)
