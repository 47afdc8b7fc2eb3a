"""PDF pages with tables that are drawn here, so that every cell and label is known."""

import io
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reportlab.lib.pagesizes import A4
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

from rag import Document

SEEDS = range(4)
FONT, BOLD, SIZE = "Helvetica", "Helvetica-Bold", 9.0
LEADING = 11.0
_NOUNS = ("pump", "valve", "rotor", "filter", "gasket", "sensor", "heater", "cable", "lid", "hose")
_KINDS = ("steel", "brass", "rubber", "glass", "spare", "small", "large", "sealed", "double")
_VERBS = ("check", "clean", "replace", "tighten", "weigh", "dry", "lubricate", "calibrate")
_PROSE = (
    "The instrument is set up on a firm bench away from heat and draught, and is left to settle "
    "before the first run. Whoever works with it reads these pages first and keeps them near. "
)

Cells = Sequence[str]


@dataclass(frozen=True)
class DrawnTable:
    """Rows of cells as a reader should find them, and the label of each column."""

    labels: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class DrawnPdf:
    """A file with its tables in order; those of one table over two pages are two."""

    kind: str
    data: bytes
    tables: tuple[DrawnTable, ...]


def drawn_pdfs(seeds: Sequence[int] = SEEDS) -> list[DrawnPdf]:
    """Every kind of table, several times with other words and figures."""
    return [_drawn(kind, seed) for kind in _DRAW for seed in seeds]


def kept(document: Document, drawn: DrawnPdf) -> tuple[int, int, int]:
    """Count the rows of the drawn tables that a document reproduces.

    Return the number of all rows, of the rows with the same cells, and of those of them with the
    right labels.
    """
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for table in document.tables:
        for line in document.text[table.start : table.end].split("\n"):
            found.setdefault(tuple(line.split("\t")), []).append(table.labels)
    rows = [(row, table.labels) for table in drawn.tables for row in table.rows]
    whole = [(row, labels) for row, labels in rows if row in found]
    return len(rows), len(whole), sum(labels in found[row] for row, labels in whole)


def _drawn(kind: str, seed: int) -> DrawnPdf:
    dice = random.Random(f"{kind} {seed}")
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, invariant=1)
    tables = _DRAW[kind](canvas, dice)
    canvas.save()
    return DrawnPdf(kind, buffer.getvalue(), tuple(tables))


def _amount(dice: random.Random) -> str:
    number = dice.choice([dice.uniform(1, 99), dice.uniform(100, 99_999)])
    text = f"{number:,.{dice.choice([0, 1, 2])}f}"
    return dice.choice([text, text, text, f"({text})", f"{number % 100:.1f}%"])


def _figures(dice: random.Random, rows: int, columns: int) -> DrawnTable:
    heads = (
        "Item",
        *dice.sample(["2022", "2023", "2024", "Price", "Weight", "Stock"], columns - 1),
    )
    body = [(name, *(_amount(dice) for _ in heads[1:])) for name in _names(dice, rows)]
    return DrawnTable(heads, tuple(body))


def _names(dice: random.Random, count: int) -> list[str]:
    every = [f"{kind} {noun}".capitalize() for kind in _KINDS for noun in _NOUNS]
    return dice.sample(every, count)


def _faults(dice: random.Random, rows: int) -> DrawnTable:
    letters = dice.choice(["CV", "KM", "SW"])
    codes = dice.sample(range(101, 999), rows)
    body = [
        (
            f"{letters}-{code}",
            f"{name} not found",
            f"{dice.choice(_VERBS).capitalize()} the {dice.choice(_NOUNS)} and the "
            f"{dice.choice(_NOUNS)}, then {dice.choice(_VERBS)} the {dice.choice(_NOUNS)} again",
        )
        for code, name in zip(codes, _names(dice, rows), strict=True)
    ]
    return DrawnTable(("Code", "Meaning", "What to do"), tuple(body))


def _draw(
    canvas: Canvas,
    table: DrawnTable,
    left: float,
    top: float,
    widths: Sequence[float],
    *,
    lines: str = "",
    right: bool = False,
    bold: bool = False,
    header: bool = True,
) -> float:
    """Draws a table; ``lines``: "grid", "rules", "fills" or none. Returns where it ends."""
    y = top
    edges = [left + sum(widths[:n]) for n in range(len(widths) + 1)]
    marks = [top]
    for number, row in enumerate([*([table.labels] if header else []), *table.rows]):
        head = header and number == 0
        cells = [_wrapped(cell, width - 8) for cell, width in zip(row, widths, strict=True)]
        high = max(len(cell) for cell in cells) * LEADING + (5 if lines else 2)
        if lines == "fills" and number % 2 == 0:
            canvas.setFillGray(0.9)
            canvas.rect(left, y - high, sum(widths), high, stroke=0, fill=1)
            canvas.setFillGray(0)
        for column, cell in enumerate(cells):
            for step, words in enumerate(cell):
                font = BOLD if head and bold else FONT
                canvas.setFont(font, SIZE)
                x = edges[column] + 4
                if right and column:
                    x = edges[column + 1] - 4 - stringWidth(words, font, SIZE)
                at = y - SIZE - step * LEADING - (1 if lines else 0)
                canvas.drawString(x, at, words)
                if head and bold:  # drawn again, a little beside, as some programs make it bold
                    canvas.drawString(x + 0.3, at, words)
        y -= high
        marks.append(y)
    if lines == "grid":
        canvas.grid(edges, marks)
    if lines == "rules":
        for mark in (marks[0], marks[1], marks[-1]):
            canvas.line(edges[0], mark, edges[-1], mark)
    return y


def _wrapped(text: str, width: float) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if stringWidth(longer, FONT, SIZE) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _prose(canvas: Canvas, left: float, top: float, width: float, lines: int) -> float:
    canvas.setFont(FONT, SIZE)
    text = _wrapped(_PROSE * 12, width)[:lines]
    for number, line in enumerate(text):
        canvas.drawString(left, top - SIZE - number * LEADING, line)
    return top - len(text) * LEADING


def _ruled(canvas: Canvas, dice: random.Random) -> list[DrawnTable]:
    table = _faults(dice, 7)
    y = _prose(canvas, 60, 780, 470, 4)
    y = _draw(canvas, table, 60, y - 20, (60, 130, 290), lines="grid")
    _prose(canvas, 60, y - 20, 470, 5)
    return [table]


def _unruled(canvas: Canvas, dice: random.Random) -> list[DrawnTable]:
    table = _figures(dice, 8, 5)
    y = _prose(canvas, 60, 780, 470, 4)
    y = _draw(canvas, table, 60, y - 20, (150, 80, 80, 80, 80), right=True)
    _prose(canvas, 60, y - 20, 470, 5)
    return [table]


def _booktabs(canvas: Canvas, dice: random.Random) -> list[DrawnTable]:
    table = _figures(dice, 6, 4)
    y = _draw(canvas, table, 80, 760, (150, 90, 90, 90), lines="rules", right=True)
    _prose(canvas, 60, y - 20, 470, 8)
    return [table]


def _shaded(canvas: Canvas, dice: random.Random) -> list[DrawnTable]:
    table = _faults(dice, 8)
    _draw(canvas, table, 60, 760, (60, 130, 160), lines="fills")
    return [table]


def _wrapped_cells(canvas: Canvas, dice: random.Random) -> list[DrawnTable]:
    ruled, plain = _faults(dice, 5), _faults(dice, 5)
    y = _draw(canvas, ruled, 60, 780, (60, 80, 110), lines="grid")
    y = _prose(canvas, 60, y - 20, 470, 4)
    _draw(canvas, plain, 60, y - 20, (60, 160, 130))
    return [ruled, plain]


def _spanning(canvas: Canvas, dice: random.Random) -> list[DrawnTable]:
    plain = _figures(dice, 6, 5)
    inner = DrawnTable(("Item", "Q1", "Q2", "Q1", "Q2"), plain.rows)
    labels = ("Item", "Asia Q1", "Asia Q2", "Europe Q1", "Europe Q2")
    left, top, widths = 60, 740, (150, 80, 80, 80, 80)
    canvas.setFont(FONT, SIZE)
    for name, first in (("Asia", 210), ("Europe", 370)):
        canvas.drawCentredString(first + 80, top + 4, name)
        canvas.line(first + 6, top + 1, first + 154, top + 1)
    _draw(canvas, inner, left, top, widths, right=True)
    return [DrawnTable(labels, plain.rows)]


def _spanning_grid(canvas: Canvas, dice: random.Random) -> list[DrawnTable]:
    plain = _figures(dice, 6, 5)
    inner = DrawnTable(("Item", "Q1", "Q2", "Q1", "Q2"), plain.rows)
    labels = ("Item", "Asia Q1", "Asia Q2", "Europe Q1", "Europe Q2")
    canvas.setFont(FONT, SIZE)
    canvas.drawString(214, 744, "Asia")
    canvas.drawString(374, 744, "Europe")
    canvas.grid([60, 210, 370, 530], [740, 756])
    _draw(canvas, inner, 60, 740, (150, 80, 80, 80, 80), lines="grid")
    return [DrawnTable(labels, plain.rows)]


def _side_by_side(canvas: Canvas, dice: random.Random) -> list[DrawnTable]:
    one, other = _figures(dice, 7, 3), _figures(dice, 7, 3)
    _prose(canvas, 60, 790, 470, 2)
    _draw(canvas, one, 50, 740, (110, 55, 55), lines="grid")
    _draw(canvas, other, 310, 740, (110, 55, 55), lines="grid")
    return [one, other]


def _two_pages(canvas: Canvas, dice: random.Random) -> list[DrawnTable]:
    table = _figures(dice, 16, 4)
    first = DrawnTable(table.labels, table.rows[:8])
    rest = DrawnTable(table.labels, table.rows[8:])
    y = _prose(canvas, 60, 780, 470, 5)
    _draw(canvas, first, 60, y - 20, (150, 90, 90, 90), lines="grid")
    canvas.showPage()
    y = _draw(canvas, rest, 60, 780, (150, 90, 90, 90), lines="grid", header=False)
    _prose(canvas, 60, y - 20, 470, 6)
    return [first, rest]


def _beside_prose(canvas: Canvas, dice: random.Random) -> list[DrawnTable]:
    table = _figures(dice, 6, 3)
    y = _prose(canvas, 50, 780, 235, 14)
    y = _draw(canvas, table, 50, y - 18, (115, 60, 60), lines="rules", right=True)
    _prose(canvas, 50, y - 18, 235, 20)
    _prose(canvas, 310, 780, 235, 50)
    return [table]


def _turned_page(canvas: Canvas, dice: random.Random) -> list[DrawnTable]:
    table = _figures(dice, 7, 4)
    canvas.setPageRotation(dice.choice([90, 180, 270]))
    _draw(canvas, table, 60, 760, (150, 90, 90, 90), lines="grid")
    return [table]


def _lying(canvas: Canvas, dice: random.Random) -> list[DrawnTable]:
    table = _figures(dice, 7, 5)
    canvas.rotate(90)
    canvas.translate(0, -A4[0])
    _draw(canvas, table, 60, 500, (150, 110, 110, 110, 110), right=True)
    return [table]


def _fake_bold(canvas: Canvas, dice: random.Random) -> list[DrawnTable]:
    table = _figures(dice, 6, 4)
    _draw(canvas, table, 60, 760, (150, 90, 90, 90), lines="rules", right=True, bold=True)
    return [table]


_DRAW: dict[str, Callable[[Canvas, random.Random], list[DrawnTable]]] = {
    "ruled": _ruled,
    "unruled": _unruled,
    "between rules": _booktabs,
    "shaded": _shaded,
    "wrapped": _wrapped_cells,
    "spanning": _spanning,
    "spanning in a grid": _spanning_grid,
    "side by side": _side_by_side,
    "over two pages": _two_pages,
    "beside prose": _beside_prose,
    "turned page": _turned_page,
    "lying": _lying,
    "fake bold": _fake_bold,
}
