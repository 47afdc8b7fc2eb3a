"""An interval as a picture in a table cell: all rows on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from pages.components.shell.palette import Palette
from rag import Interval, LeaderboardRow

WIDTH, HEIGHT = 150, 24
_EDGE = 8
_MIDDLE = HEIGHT / 2


def scale(intervals: Sequence[Interval | None]) -> tuple[float, float]:
    """The least and the greatest end of all intervals; (0, 1) without any."""
    present = [interval for interval in intervals if interval is not None]
    if not present:
        return 0.0, 1.0
    return min(interval.low for interval in present), max(interval.high for interval in present)


def interval_picture(
    row: LeaderboardRow,
    bounds: tuple[float, float],
    baseline: float | None,
    colours: Palette,
) -> str | None:
    """The interval of a run as a data address of an SVG, with the baseline's mean as a line."""
    if row.interval is None or row.value is None:
        return None
    low, high, dot = (_x(value, bounds) for value in (*row.interval, row.value))
    ink = colours.threshold if row.is_baseline else colours.accent
    if not row.comparable:
        ink = colours.not_relevant
    parts = [_line(_EDGE, WIDTH - _EDGE, colours.grid, 1), _line(low, high, ink, 4)]
    if baseline is not None and row.comparable:
        x = _x(baseline, bounds)
        parts.append(
            f'<path d="M{x:.1f} 1V{HEIGHT - 1}" stroke="{colours.muted}" stroke-dasharray="3 2"/>'
        )
    parts.append(
        f'<circle cx="{dot:.1f}" cy="{_MIDDLE}" r="5" fill="{ink}" stroke="{colours.page}"/>'
    )
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'
    return f"data:image/svg+xml;utf8,{quote(svg)}"


def _x(value: float, bounds: tuple[float, float]) -> float:
    low, high = bounds
    share = (value - low) / (high - low) if high > low else 0.5
    return _EDGE + min(max(share, 0.0), 1.0) * (WIDTH - 2 * _EDGE)


def _line(start: float, end: float, colour: str, width: int) -> str:
    return (
        f'<path d="M{start:.1f} {_MIDDLE}H{end:.1f}" stroke="{colour}" stroke-width="{width}" '
        'stroke-linecap="round"/>'
    )
