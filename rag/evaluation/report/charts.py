"""Charts as SVG without a script: they need no network, print well, and follow light and dark.

Colours are classes of the style sheet. Every chart is 480 units wide, so that its letters stay
readable on a telephone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rag.evaluation.intervals import Interval, signed
from rag.evaluation.report.words import Markup, element, join
from rag.types import percent

WIDTH = 480
_LEFT, _RIGHT, _TOP = 44, 84, 14
_LABEL_GAP = 16  # least distance of two labels of lines
_LONGEST_BARS = 400

Scale = Callable[[float], float]


def against_k(
    cutoffs: Sequence[int],
    lines: Mapping[str, tuple[str, Sequence[float]]],
    band: Sequence[Interval] = (),
    before: tuple[str, Sequence[float]] | None = None,
) -> Markup:
    """Metrics against k: ``lines`` from class to (name, values); the first line gets the ``band``.

    ``before`` is drawn dashed: the same metric of the baseline.
    """
    height, bottom = 280, 240
    x = _steps(len(cutoffs), _LEFT + 12, WIDTH - _RIGHT)
    y = _linear(0.0, 1.0, bottom, _TOP)
    parts = [_grid(y, bottom), _ticks(cutoffs, x, bottom)]
    if band:
        upper = [(x[i], y(interval.high)) for i, interval in enumerate(band)]
        lower = [(x[i], y(interval.low)) for i, interval in enumerate(band)]
        first = next(iter(lines))
        parts.append(
            element("polygon", points=_points(upper + lower[::-1]), class_=f"band {first}")
        )
    ends = []
    if before is not None:
        parts.append(_line("before", x, [y(value) for value in before[1]]))
        ends.append(("before", before[0], y(before[1][-1])))
    for name, (label, values) in lines.items():
        parts.append(_line(name, x, [y(value) for value in values]))
        parts += [
            element("circle", cx=x[i], cy=y(value), r=3.2, class_=f"dot {name}")
            for i, value in enumerate(values)
        ]
        ends.append((name, label, y(values[-1])))
    parts += _end_labels(ends, x[-1] + 10, _TOP, bottom)
    spoken = ", ".join(f"{label} {values[-1]:.2f}" for label, values in lines.values())
    return _svg(height, f"Metrics against k. At k = {cutoffs[-1]}: {spoken}.", *parts)


def histogram(bars: Sequence[tuple[str, int, str]], title: str) -> Markup:
    """Bars from (label, count, class)."""
    height, bottom, margin = 280, 236, 14
    most = max((count for _, count, _ in bars), default=0) or 1
    step = (WIDTH - 2 * margin) / max(len(bars), 1)
    parts = [element("line", x1=margin, x2=WIDTH - margin, y1=bottom, y2=bottom, class_="axis")]
    for place, (label, count, name) in enumerate(bars):
        middle = margin + step * (place + 0.5)
        size = (bottom - 36) * count / most
        if count:
            parts.append(_bar(middle - step * 0.38, bottom - size, step * 0.76, size, name))
        parts.append(_text(middle, bottom - size - 7, f"{count:,}", "value"))
        parts.append(_text(middle, bottom + 19, label, "tick"))
    spoken = ", ".join(f"{label}: {count}" for label, count, _ in bars)
    return _svg(height, f"{title}: {spoken}.", *parts)


def differences(values: Sequence[float]) -> Markup:
    """One bar per question, the largest win left, the largest loss right.

    Of more than 400 questions, 400 evenly spaced ones are drawn.
    """
    ordered = sorted(values, reverse=True)
    if len(ordered) > _LONGEST_BARS:
        last = len(ordered) - 1
        ordered = [ordered[round(i * last / (_LONGEST_BARS - 1))] for i in range(_LONGEST_BARS)]
    height, bottom = 260, 226
    left = _LEFT + 14  # a sign before the figures
    reach = max((abs(value) for value in ordered), default=0.0) or 1.0
    y = _linear(-reach, reach, bottom, _TOP)
    step = (WIDTH - left - 10) / max(len(ordered), 1)
    parts = [
        join(
            element("line", x1=left, x2=WIDTH - 10, y1=y(tick), y2=y(tick), class_="grid"),
            _text(left - 6, y(tick) + 4, signed(tick, 2) if tick else "0", "tick end"),
        )
        for tick in (-reach, -reach / 2, 0.0, reach / 2, reach)
    ]
    for place, value in enumerate(ordered):
        if value:
            top, size = min(y(value), y(0.0)), abs(y(value) - y(0.0))
            name = "won" if value > 0 else "lost"
            parts.append(_bar(left + step * place, top, max(step * 0.82, 0.6), size, name))
    parts.append(element("line", x1=left, x2=WIDTH - 10, y1=y(0), y2=y(0), class_="axis"))
    won, lost = (sum(value * sign > 0 for value in values) for sign in (1, -1))
    middle = (left + WIDTH - 10) / 2
    parts.append(_text(middle, bottom + 24, "one bar a question, best to worst", "tick"))
    spoken = f"Difference per question: {won} better, {lost} worse, {len(values)} in all."
    return _svg(height, spoken, *parts)


def interval_strip(value: float, interval: Interval, before: float | None = None) -> Markup:
    """A figure from 0 to 1 as a dot on its interval, with a mark where the baseline stood."""

    def at(share: float) -> str:
        return f"{percent(min(max(share, 0.0), 1.0), 1)}"

    width = at(interval.high - interval.low)
    return element(
        "div",
        element("i", style=f"left:{at(interval.low)};width:{width}"),
        element("s", style=f"left:{at(before)}") if before is not None else None,
        element("b", style=f"left:{at(value)}"),
        class_="strip",
        aria_hidden="true",
    )


def _svg(height: int, spoken: str, *parts: Markup) -> Markup:
    size = f"0 0 {WIDTH} {height}"
    return element("svg", *parts, viewBox=size, role="img", aria_label=spoken)


def _linear(low: float, high: float, at_low: float, at_high: float) -> Scale:
    def place(value: float) -> float:
        return at_low + (value - low) / (high - low) * (at_high - at_low)

    return place


def _steps(count: int, first: float, last: float) -> list[float]:
    """Even places, as cutoffs such as 1, 3, 5, 10, 100 would crowd on a linear axis."""
    if count == 1:
        return [(first + last) / 2]
    return [first + (last - first) * i / (count - 1) for i in range(count)]


def _grid(y: Scale, bottom: float) -> Markup:
    right = WIDTH - _RIGHT + 4
    return join(
        *(
            join(
                element("line", x1=_LEFT, x2=right, y1=y(tick), y2=y(tick), class_="grid"),
                _text(_LEFT - 6, y(tick) + 4, f"{tick:g}", "tick end"),
            )
            for tick in (0.0, 0.25, 0.5, 0.75, 1.0)
        ),
        element("line", x1=_LEFT, x2=right, y1=bottom, y2=bottom, class_="axis"),
    )


def _ticks(cutoffs: Sequence[int], x: Sequence[float], bottom: float) -> Markup:
    labels = [_text(x[i], bottom + 19, str(k), "tick") for i, k in enumerate(cutoffs)]
    middle = (x[0] + x[-1]) / 2
    return join(*labels, _text(middle, bottom + 36, "k, how many are looked at", "tick"))


def _line(name: str, x: Sequence[float], y: Sequence[float]) -> Markup:
    points = _points(list(zip(x, y, strict=True)))
    return element("polyline", points=points, class_=f"line {name}")


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _end_labels(
    ends: Sequence[tuple[str, str, float]], x: float, top: float, bottom: float
) -> list[Markup]:
    """Names at the ends of lines, moved apart where lines end close to each other."""
    ordered = sorted(ends, key=lambda end: end[2])
    places: list[float] = []
    for _, _, y in ordered:
        places.append(max(y, places[-1] + _LABEL_GAP) if places else max(y, top))
    limit = bottom - 2
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], limit)
        limit = places[i] - _LABEL_GAP
    return [
        _text(x, y + 4, label, f"name {name}")
        for (name, label, _), y in zip(ordered, places, strict=True)
    ]


def _bar(x: float, y: float, width: float, height: float, name: str) -> Markup:
    round_ = 3 if width > 8 else 0
    return element(
        "rect", x=x, y=y, width=width, height=max(height, 1), rx=round_, class_=f"bar {name}"
    )


def _text(x: float, y: float, text: str, name: str) -> Markup:
    return element("text", text, x=x, y=y, class_=name)
