"""Receipts: what readers read of a file, and what they leave out; raised, struck, hidden text."""

import io
from pathlib import Path
from typing import Any

import pptx
import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from rag import Document, Omission, readers
from tests.sample_files import picture


def _read(folder: Path, name: str, file: Any) -> Document:
    """Read what ``file`` saves."""
    buffer = io.BytesIO()
    file.save(buffer)
    path = folder / "content"
    path.write_bytes(buffer.getvalue())
    return readers.read(path, name)


def _omissions(document: Document) -> dict[str, tuple[int, str]]:
    assert document.receipt is not None
    return {part.kind: (part.count, part.first) for part in document.receipt.left_out}


def deck() -> Any:
    """Slides with a chart, merged cells, a hidden slide, a struck price, a note mark, a picture."""
    deck = pptx.Presentation()
    first, hidden, last = (deck.slides.add_slide(deck.slide_layouts[6]) for _ in range(3))
    data = CategoryChartData()
    data.categories = ["2025", "2026"]
    data.add_series("Revenue", (4711, 5822.5))
    area = Inches(1), Inches(1), Inches(4), Inches(3)
    first.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *area, data)
    hidden._element.set("show", "0")
    hidden.shapes.add_textbox(*area).text_frame.text = "The old price is 18 euros."
    table = last.shapes.add_table(3, 2, *area).table
    for row, cells in enumerate((("Place", "Open"), ("Workshop", "7 to 17"), ("", "closed"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    paragraph = last.shapes.add_textbox(*area).text_frame.paragraphs[0]
    for text, name, value in (
        ("A berth costs ", "", ""),
        ("80 euros ", "strike", "sngStrike"),
        ("90", "", ""),
        ("1", "baseline", "30000"),
        (" euros for 10", "", ""),
        ("3", "baseline", "30000"),
        (" litres of H", "", ""),
        ("2", "baseline", "-25000"),
        ("O", "", ""),
    ):
        run = paragraph.add_run()
        run.text = text
        if name:
            run._r.get_or_add_rPr().set(name, value)
    last.shapes.add_picture(io.BytesIO(picture("PNG", "scan")), *area)
    return deck


def test_slides(tmp_path: Path) -> None:
    document = _read(tmp_path, "deck.pptx", deck())
    assert document.text == (
        "\tRevenue\n2025\t4711\n2026\t5822.5\n\n"
        "Place\tOpen\nWorkshop\t7 to 17\nWorkshop\tclosed\n\n"
        "A berth costs 90¹ euros for 10³ litres of H₂O"
    )
    assert _omissions(document) == {
        "hidden_slide": (1, "slide 2"),
        "struck_passage": (1, "slide 3"),
        "picture": (1, "slide 3"),
    }
    assert document.receipt is not None
    assert document.receipt.read["charts"] == 1
    assert Omission("picture", 2, "slide 3").words == "2 pictures (first: slide 3)"


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("90¹ euros", ["90", "euro"]),
        ("10³ litres", ["10", "litr"]),
        ("30 m² of CO₂", ["30", "m2", "of", "co2"]),
        ("fee¹", ["fee"]),
    ],
)
def test_marks_of_notes_are_no_figures_for_search(text: str, terms: list[str]) -> None:
    from rag.lexical import analyzer

    assert analyzer("english").tokens(text) == terms
