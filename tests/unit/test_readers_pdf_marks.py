"""PDF: raised figures, lines with values, merged cells, forms, notes, struck and covered words."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    BooleanObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NumberObject,
)
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Table

from rag import Document, readers
from tests.sample_files import pdf

_SIZE = 10


def _read(folder: Path, *pages: Callable[[Canvas], None]) -> Document:
    path = folder / "content"
    canvas = Canvas(str(path), pagesize=A4)
    for draw in pages:
        canvas.setFont("Helvetica", _SIZE)
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return readers.read(path, "x.pdf")


def _left_out(document: Document) -> dict[str, int]:
    return {part.kind: part.count for part in document.receipt.left_out}


def _line(canvas: Canvas, y: float, *runs: tuple[str, float, float]) -> None:
    """Draw runs of text one behind the other: words, size, rise."""
    text = canvas.beginText(60, y)
    for words, size, rise in runs:
        text.setFont("Helvetica", size)
        text.setRise(rise)
        text.textOut(words)
    canvas.drawText(text)


@pytest.mark.parametrize(("size", "rise"), [(8, 5), (6, 4), (7, 3.6)])
def test_raised_and_lowered_figures(tmp_path, size, rise):
    def draw(canvas: Canvas) -> None:
        up, down = ("1", size, rise), ("2", size, -rise / 2)
        _line(canvas, 700, ("A berth costs 90", 10, 0), up, (" euros a month.", 10, 0))
        _line(canvas, 680, ("The tank of 10", 10, 0), ("3", size, rise), (" litres holds H", 10, 0))
        _line(canvas, 660, ("The air has CO", 10, 0), down, (" in it.", 10, 0))
        _line(canvas, 640, up, (" Members pay 60 euros.", 10, 0))
        _line(canvas, 600, ("Ask for PaLM", 10, 0), ("-540B", size, -rise / 2), (" today.", 10, 0))
        _line(canvas, 620, ("Small print of 75 euros.", size, 0), (" Large print.", 10, 0))

    text = _read(tmp_path, draw).text
    assert "costs 90¹ euros" in text
    assert "of 10³ litres" in text
    assert "CO₂ in it" in text
    assert "¹ Members pay 60" in text
    assert "print of 75 euros" in text
    assert "PaLM-540B today" in text


def test_lines_with_values_are_no_running_heads(tmp_path):
    def page(number: int) -> Callable[[Canvas], None]:
        def draw(canvas: Canvas) -> None:
            canvas.drawString(60, 810, "Harbour of Brackwater")
            canvas.drawString(60, 790, f"Invoice no. 2026-{100 + 7 * number}")
            canvas.drawString(60, 770, f"Week {number + 3}")
            canvas.drawString(60, 400, "Repair of the winch.")
            canvas.drawString(60, 40, f"Net pay: {2000 + 113 * number}.50 euros")
            canvas.drawString(500, 20, f"Page {number} of 5")

        return draw

    document = _read(tmp_path, *(page(number) for number in range(1, 6)))
    for number in range(1, 6):
        assert f"Invoice no. 2026-{100 + 7 * number}\n" in document.text
        assert f"Week {number + 3}\n" in document.text
        assert f"Net pay: {2000 + 113 * number}.50 euros" in document.text
    assert "Brackwater" not in document.text
    assert "Page" not in document.text
    assert "Brackwater" in document.pages[0].head


def test_letters_drawn_twice_are_one_and_double_letters_two(tmp_path):
    def draw(canvas: Canvas) -> None:
        text = canvas.beginText(60, 700)
        text.setCharSpace(-0.8)
        text.textOut("The carriage arriere is permettant effet illicite.")
        canvas.drawText(text)
        for shift in (0, 0.3):
            canvas.drawString(60 + shift, 680, "Twice for weight: all of it.")

    text = _read(tmp_path, draw).text
    assert "arriere is permettant effet illicite" in text
    assert text.count("Twice for weight: all of it.") == 1


@pytest.mark.parametrize("valign", ["TOP", "MIDDLE", "BOTTOM"])
def test_the_words_of_a_merged_cell_stand_in_each_of_its_rows(tmp_path, valign):
    rows = [
        ["Place", "Season", "Open", ""],
        ["", "", "Mon-Fri", "Sat"],
        ["Workshop", "Summer", "7-17", "8-12"],
        ["", "Winter", "8-16", "closed"],
        ["Chandlery", "Summer", "8-19", "8-19"],
        ["", "Winter", "closed", "10-14"],
    ]

    def draw(canvas: Canvas) -> None:
        style = [
            ("GRID", (0, 0), (-1, -1), 0.5, colors.black),
            ("SPAN", (0, 0), (0, 1)),
            ("SPAN", (1, 0), (1, 1)),
            ("SPAN", (2, 0), (3, 0)),
            ("SPAN", (0, 2), (0, 3)),
            ("SPAN", (0, 4), (0, 5)),
            ("VALIGN", (0, 0), (-1, -1), valign),
        ]
        table = Table(rows, style=style)
        table.wrapOn(canvas, 400, 400)
        table.drawOn(canvas, 60, 500)

    document = _read(tmp_path, draw)
    assert document.text.split("\n")[2:] == [
        "Workshop\tSummer\t7-17\t8-12",
        "Workshop\tWinter\t8-16\tclosed",
        "Chandlery\tSummer\t8-19\t8-19",
        "Chandlery\tWinter\tclosed\t10-14",
    ]
    assert document.tables[0].labels == ("Place", "Season", "Open Mon-Fri", "Open Sat")


def test_a_row_over_the_full_width_names_the_rows_below(tmp_path):
    rows = [
        ["Item", "Boat", "Price"],
        ["Members", "", ""],
        ["Crane", "small", "80"],
        ["Crane", "large", "95"],
        ["Guests", "", ""],
        ["Crane", "small", "140"],
    ]

    def draw(canvas: Canvas) -> None:
        style = [("GRID", (0, 0), (-1, -1), 0.5, colors.black)]
        style += [("SPAN", (0, row), (-1, row)) for row in (1, 4)]
        table = Table(rows, style=style, colWidths=[80, 80, 80])
        table.wrapOn(canvas, 400, 400)
        table.drawOn(canvas, 60, 500)

    assert _read(tmp_path, draw).text.split("\n")[2:] == [
        "Members: Crane\tsmall\t80",
        "Members: Crane\tlarge\t95",
        "Guests",
        "Guests: Crane\tsmall\t140",
    ]


def test_values_of_forms_stand_beside_their_labels(tmp_path):
    def draw(canvas: Canvas) -> None:
        form = canvas.acroForm
        canvas.drawString(60, 700, "Name of the boat:")
        form.textfield(name="boat", value="Kittiwake III", x=170, y=694, width=180, height=18)
        canvas.drawString(60, 660, "Winter storage")
        form.checkbox(name="winter", checked=True, x=170, y=656, size=16)
        canvas.drawString(90, 620, "Crane wanted")
        form.checkbox(name="crane", checked=False, x=60, y=616, size=16)
        canvas.textAnnotation("Ask about the length", (400, 600, 420, 620))

    document = _read(tmp_path, draw)
    assert "Name of the boat: Kittiwake III" in document.text
    assert "Winter storage ☒" in document.text
    assert "☐ Crane wanted" in document.text
    assert "Note: Ask about the length" in document.text
    assert document.receipt.read["form_fields"] == 3
    assert document.receipt.read["notes"] == 1


def test_the_first_values_of_a_form_are_no_labels_of_columns(tmp_path):
    def draw(canvas: Canvas) -> None:
        fields = [("Child", "Oskar"), ("Age", "eleven"), ("Food", "nuts"), ("Swims", "yes")]
        fields += [("Parent", "Mia"), ("Phone", "none")]
        for n, (label, value) in enumerate(fields):
            x, y = 60 + 260 * (n % 2), 700 - 28 * (n // 2)
            canvas.drawString(x, y, label)
            canvas.acroForm.textfield(name=label, value=value, x=x + 44, y=y - 4, height=16)
        for n, label in enumerate(["Vegetarian", "Own tent"]):
            canvas.acroForm.checkbox(name=label, checked=n == 0, x=60 + 260 * n, y=612, size=12)
            canvas.drawString(78 + 260 * n, 615, label)

    document = _read(tmp_path, draw)
    assert not any(table.labels for table in document.tables)
    assert [line.split("\t") for line in document.text.replace("\t\t", "\t").split("\n")] == [
        ["Child Oskar", "Age eleven"],
        ["Food nuts", "Swims yes"],
        ["Parent Mia", "Phone none"],
        ["☒ Vegetarian", "☐ Own tent"],
    ]


def test_struck_and_covered_words_are_left_out_and_counted(tmp_path):
    def draw(canvas: Canvas) -> None:
        canvas.drawString(60, 700, "The day rate is")
        canvas.drawString(140, 700, "18 euros")
        canvas.line(140, 703.5, 140 + canvas.stringWidth("18 euros", "Helvetica", _SIZE), 703.5)
        canvas.drawString(190, 700, "24 euros.")
        canvas.drawString(60, 660, "Underlined words stay.")
        canvas.line(60, 658, 60 + canvas.stringWidth("Underlined", "Helvetica", _SIZE), 658)
        canvas.drawString(60, 620, "The witness is")
        canvas.drawString(130, 620, "Anna Weber")
        canvas.rect(128, 615, 60, 16, stroke=0, fill=1)
        canvas.setFillColor(colors.lightgrey)
        canvas.rect(58, 575, 200, 16, stroke=0, fill=1)
        canvas.setFillColor(colors.black)
        canvas.drawString(60, 580, "Shaded words stay.")
        canvas.setFillColor(colors.white)
        canvas.drawString(60, 540, "Nobody sees this.")
        canvas.setFillColor(colors.navy)
        canvas.rect(58, 495, 200, 16, stroke=0, fill=1)
        canvas.setFillColor(colors.white)
        canvas.drawString(60, 500, "White words on blue stay.")
        canvas.setFillColor(colors.black)
        width = canvas.stringWidth("0.836", "Helvetica", _SIZE)
        canvas.drawString(60, 460, "0.836")
        canvas.rect(60, 440, width, 23.5, stroke=1, fill=0)  # the bar of a chart
        for part in range(4):  # a dashed line of a chart
            canvas.line(100 + part * width, 463.5, 100 + (part + 1) * width, 463.5)
        canvas.drawString(100 + width, 460, "0.838")
        canvas.drawString(60, 400, "twice struck, no more.")
        for place in (403.2, 404.2):
            end = canvas.stringWidth("twice struck, ", "Helvetica", _SIZE)
            canvas.line(60, place, 60 + end, place)

    document = _read(tmp_path, draw)
    assert "The day rate is 24 euros." in document.text
    assert "Underlined words stay." in document.text
    assert "Shaded words stay." in document.text
    assert "Weber" not in document.text
    assert "White words on blue stay." in document.text
    assert "0.836 0.838" in document.text
    assert "no more." in document.text
    assert _left_out(document) == {"covered_word": 2, "struck_word": 4, "white_word": 3}


@pytest.mark.parametrize("size", [A4, (100_000, 100_000)], ids=["a sheet", "a huge page"])
def test_text_in_a_gradient_is_read_and_only_white_on_white_is_not(tmp_path, size):
    """A pattern is no colour for pdfium, which calls such text white."""
    content = (
        b"BT /F1 12 Tf /Pattern cs /Blue scn 60 700 Td (Naor works at Alcide.) Tj ET "
        b"BT /F1 12 Tf 1 g 60 660 Td (Nobody sees this.) Tj ET "
        b"BT /F1 12 Tf 0 g 60 620 Td (Black words are read.) Tj ET"
    )
    ends = {"/C0": [0, 0, 1], "/C1": [0, 0.5, 1]}
    ramp = {NameObject(key): ArrayObject(map(FloatObject, rgb)) for key, rgb in ends.items()}
    ramp |= {
        NameObject("/FunctionType"): NumberObject(2),
        NameObject("/Domain"): ArrayObject(map(FloatObject, [0, 1])),
        NameObject("/N"): NumberObject(1),
    }
    shading = {
        NameObject("/ShadingType"): NumberObject(2),
        NameObject("/ColorSpace"): NameObject("/DeviceRGB"),
        NameObject("/Coords"): ArrayObject(map(FloatObject, [0, 0, 600, 0])),
        NameObject("/Extend"): ArrayObject([BooleanObject(True)] * 2),
        NameObject("/Function"): DictionaryObject(ramp),
    }
    pattern = {
        NameObject("/PatternType"): NumberObject(2),
        NameObject("/Shading"): DictionaryObject(shading),
    }
    font = {
        NameObject("/Type"): NameObject("/Font"),
        NameObject("/Subtype"): NameObject("/Type1"),
        NameObject("/BaseFont"): NameObject("/Helvetica"),
    }
    writer = PdfWriter()
    page = writer.add_blank_page(*size)
    stream = DecodedStreamObject()
    stream.set_data(content)
    page[NameObject("/Contents")] = writer._add_object(stream)
    page[NameObject("/Resources")] = DictionaryObject(
        {
            NameObject("/Font"): DictionaryObject({NameObject("/F1"): DictionaryObject(font)}),
            NameObject("/Pattern"): DictionaryObject(
                {NameObject("/Blue"): DictionaryObject(pattern)}
            ),
        }
    )
    writer.write(tmp_path / "content")
    document = readers.read(tmp_path / "content", "x.pdf")
    assert "Black words are read." in document.text
    if size == A4:  # of a huge page, nothing shows of any letter
        assert document.text == "Naor works at Alcide.\n\nBlack words are read."
        assert _left_out(document) == {"white_word": 3}


def test_letters_of_one_shape_that_are_read_from_right_to_left(tmp_path):
    # A font that says which letters its shapes stand for: "e" for lam and alef, a ligature.
    letters = {"a": "ج", "b": "ا", "c": "ت", "d": "ن", "e": "لإ"}
    pairs = "".join(
        f"<{ord(of):02x}><{to.encode('utf-16-be').hex()}>" for of, to in letters.items()
    )
    table = DecodedStreamObject()
    table.set_data(
        f"begincmap 1 begincodespacerange <00><ff> endcodespacerange {len(letters)} beginbfchar "
        f"{pairs} endbfchar endcmap".encode()
    )
    writer = PdfWriter(clone_from=io.BytesIO(pdf("abcdeb")))
    [font] = writer.pages[0]["/Resources"]["/Font"].values()
    font.get_object()[NameObject("/ToUnicode")] = writer._add_object(table)
    path = tmp_path / "content"
    writer.write(path)
    assert readers.read(path, "x.pdf").text == "الإنتاج"
