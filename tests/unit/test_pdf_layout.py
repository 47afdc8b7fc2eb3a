"""PDF pages as they were meant: heads, tables, captions, fonts that say nothing."""

import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from pypdf import PageObject, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
    NumberObject,
)
from reportlab.pdfgen.canvas import Canvas

from rag import Document, Omission
from rag.readers import read
from rag.readers.content import Source
from rag.readers.pdf import reader
from rag.readers.pdf.reader import plausibility
from rag.readers.recognition import Recognised
from tests.sample_files import put

PROSE = (
    "The instrument is set up on a firm bench away from heat and draught, and is left to settle "
    "before the first run of the day."
)


_LETTERS = "".join(chr(ord(c) - 29) if c.isalpha() else c for c in PROSE * 3)
SHIFTED = [(60.0, 700.0 - 14 * n, _LETTERS[50 * n : 50 * n + 50]) for n in range(7)]
"""Lines of a font that says other letters than it should."""


def document(tmp_path: Path, data: bytes) -> Document:
    return read(put(tmp_path, data), "x.pdf")


def drawn(*pages: list[tuple[float, float, str]]) -> bytes:
    """A page per list of (left, up, words)."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(600, 800))
    for page in pages:
        for left, up, words in page:
            canvas.drawString(left, up, words)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def test_what_pages_repeat_is_their_head_and_not_in_the_text(tmp_path):
    pages = [
        [(60, 770, "Corvane manual"), (60, 600, f"Chapter words {n}."), (500, 20, f"Page {n}")]
        for n in (1, 2, 3, 4)
    ]
    found = document(tmp_path, drawn(*pages))
    assert found.text == "\n\n".join(f"Chapter words {n}." for n in (1, 2, 3, 4))
    assert [page.head for page in found.pages] == [f"Corvane manual Page {n}" for n in (1, 2, 3, 4)]
    assert found.receipt.read["running_lines"] == 8


def test_left_and_right_pages_have_heads_of_their_own(tmp_path):
    pages = [
        [(60, 770, "The book" if n % 2 else "The chapter"), (60, 500 + n, f"Words of {n} here.")]
        for n in range(1, 9)
    ]
    found = document(tmp_path, drawn(*pages))
    assert {page.head for page in found.pages} == {"The book", "The chapter"}
    assert "The" not in found.text


def test_a_head_that_changes_with_the_section_is_its_heading(tmp_path):
    weirs = ["Alder", "Alder", "Birch", "Birch", "Birch", "Alder", "Alder"]
    pages = [
        [(60, 770, f"Weir {weir}"), (400, 770, f"{n}"), (60, 600, f"Gate {n} is of oak.")]
        for n, weir in enumerate(weirs, 1)
    ]
    found = document(tmp_path, drawn(*pages))
    gates = [f"Gate {n} is of oak." for n in range(1, 8)]
    assert [found.heading_at(found.text.index(gate)) for gate in gates] == [
        f"Weir {weir}" for weir in weirs
    ]
    assert found.text.split("\n\n") == [
        *("Weir Alder", *gates[:2], "Weir Birch", *gates[2:5], "Weir Alder", *gates[5:])
    ]
    assert found.receipt.read["running_lines"] == 7


def test_pages_that_hold_nothing_but_a_repeated_line_keep_it(tmp_path):
    found = document(tmp_path, drawn(*[[(60, 770, f"Slide {n}")] for n in (1, 2, 3, 4)]))
    assert found.text == "Slide 1\n\nSlide 2\n\nSlide 3\n\nSlide 4"


def test_two_pages_repeat_nothing(tmp_path):
    pages = [[(60, 770, "Same head"), (60, 600, f"Words {n}.")] for n in (1, 2)]
    assert document(tmp_path, drawn(*pages)).text.count("Same head") == 2


ROWS = [
    ("Item", "2022", "2023"),
    ("Pump", "12", "14"),
    ("Valve", "1,200", "(3)"),
    ("Lid", "7", "-"),
]


def placed(rows: list[tuple[str, ...]], top: float) -> list[tuple[float, float, str]]:
    return [
        (60 + 120 * column, top - 14 * row, cell)
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
    ]


def test_a_title_is_glued_to_its_table_and_prose_is_not(tmp_path):
    lines = [(60.0, 700.0, PROSE[:90]), (60.0, 686.0, PROSE[91:]), (60.0, 650.0, "Table 3: Stock")]
    found = document(tmp_path, drawn([*lines, *placed(ROWS, 630)]))
    (table,) = found.tables
    assert found.text == (
        f"{PROSE[:90]}\n{PROSE[91:]}\n\nTable 3: Stock\n"
        "Item\t2022\t2023\nPump\t12\t14\nValve\t1,200\t(3)\nLid\t7\t-"
    )
    assert (table.labels, table.caption) == (("Item", "2022", "2023"), "Table 3: Stock")


def test_the_last_lines_of_running_text_are_no_caption(tmp_path):
    found = document(tmp_path, drawn([(60, 660, f"{PROSE[:80]}."), *placed(ROWS, 640)]))
    (table,) = found.tables
    assert table.caption == ""
    assert f"{PROSE[:80]}.\n\nItem" in found.text


@pytest.mark.parametrize(
    "rows",
    [
        [("1 Start", "3"), ("2 Safety", "4"), ("3 Setting up", "9"), ("4 Work", "12")],
        [("•", "Check the lid"), ("•", "Dry the bowl"), ("•", "Call us"), ("•", "Wait")],
        [(PROSE[:30], PROSE[30:60]), (PROSE[60:90], PROSE[:28]), (PROSE[20:50], PROSE[50:80])],
    ],
    ids=["contents", "list", "prose in two columns"],
)
def test_what_is_no_table_is_none(tmp_path, rows):
    lines = [
        (60 + (200 if len(left) > 1 else 20) * column, 600 - 14 * row, cell)
        for row, (left, right) in enumerate(rows)
        for column, cell in enumerate((left, right))
    ]
    assert document(tmp_path, drawn(lines)).tables == ()


_LEFT = [f"left line {n:02d} of the first column here" for n in range(20)]
_RIGHT = [f"right line {n:02d} of the second column" for n in range(20)]


def _across(*, by_cell: int = 1) -> list[tuple[float, float, str]]:
    """Two columns, drawn ``by_cell`` lines of the left one, then as many of the right one."""
    found = []
    for first in range(0, 20, by_cell):
        for left, lines in ((50.0, _LEFT), (300.0, _RIGHT)):
            found += [(left, 700.0 - 14 * n, lines[n]) for n in range(first, first + by_cell)]
    return found


def test_columns_that_are_drawn_across_are_read_one_after_the_other(tmp_path):
    heading = (50.0, 730.0, "A heading that stands over both of the columns and more of the page")
    text = document(tmp_path, drawn([heading, *_across()])).text
    assert text.split("\n") == [heading[2], "", *_LEFT, "", *_RIGHT]


def test_cells_of_several_lines_are_no_columns(tmp_path):
    text = document(tmp_path, drawn(_across(by_cell=4))).text
    lines = [line for line in text.split("\n") if line]
    assert lines == [words for _, _, words in _across(by_cell=4)]


def test_words_drawn_twice_are_read_once(tmp_path):
    twice = [(60 + shift, 600.0, "Important heading") for shift in (0.0, 0.3)]
    assert document(tmp_path, drawn(twice)).text == "Important heading"


def with_ligatures(line: bytes) -> bytes:
    """A page with a line in a font whose code 128 is the shape of two letters, "ff"."""
    writer = PdfWriter()
    page = writer.add_blank_page(600, 800)
    to_unicode, content = DecodedStreamObject(), DecodedStreamObject()
    to_unicode.set_data(
        b"begincmap 1 begincodespacerange <00> <ff> endcodespacerange"
        b" 1 beginbfchar <80> <00660066> endbfchar"
        b" 1 beginbfrange <20> <7e> <0020> endbfrange endcmap"
    )
    content.set_data(b"BT /F1 12 Tf 60 600 Td (" + line + b") Tj ET")
    names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = DictionaryObject({NameObject(k): NameObject(v) for k, v in names.items()})
    font[NameObject("/FirstChar")] = NumberObject(32)
    font[NameObject("/LastChar")] = NumberObject(128)
    font[NameObject("/Widths")] = ArrayObject([NumberObject(556)] * 97)
    font[NameObject("/ToUnicode")] = writer._add_object(to_unicode)
    fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    page[NameObject("/Contents")] = writer._add_object(content)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def test_both_letters_of_a_ligature_are_read(tmp_path):
    data = with_ligatures(b"The o\200er is o\200icial.")
    assert document(tmp_path, data).text == "The offer is official."


@pytest.mark.parametrize("text", ["1", "12", "off", "Page", "Index"])
def test_a_page_of_few_letters_is_read(tmp_path, text):
    pages = [[(60.0, 600.0, "The notice period is four weeks.")], [(60.0, 600.0, text)]]
    assert document(tmp_path, drawn(*pages)).text.endswith(text)


@pytest.mark.parametrize(
    ("text", "good"),
    [
        (PROSE, True),
        ("CV-101 7 AB-22 KM-2200-50 3.5 kg 12,000", True),
        ("Die Gerätefläche muß trocken sein. " * 3, True),
        ("Прибор стоит на ровном столе и остывает перед первым запуском.", True),
        ("設置は水平な台の上で行い、運転の前に一時間待ちます。", True),
        (PROSE.encode().decode("utf-16-be", "replace"), False),
        ("".join(chr(ord(c) << 8) if c.isalpha() else c for c in PROSE), False),
        ("".join(chr(ord(c) - 29) if c.isalpha() else c for c in PROSE * 2), False),
        ("/G12/G13/G22 " * 20, False),
        ("\ue012\ue013\ue0ff " * 20, False),
        ("Ã¤Ã¶Ã¼ÃŸ fÃ¼r Ã¼ber GerÃ¤t â€™ â€œ " * 4, False),
        ("", False),
    ],
)
def test_text_is_told_from_what_fonts_without_characters_give(text, good):
    assert (plausibility(text) >= 0.7) == good


def test_pages_whose_fonts_say_nothing_are_named(tmp_path):
    found = document(tmp_path, drawn([(60, 700, "A page that can be read.")], SHIFTED))
    assert found.receipt.left_out == (Omission("unreadable_page", 1, "page 2", len(found.text)),)
    assert "recognised_pages" not in found.receipt.read  # what the page shows is no better


def test_what_a_page_shows_is_taken_where_its_fonts_say_nothing(tmp_path, monkeypatch):
    shown = Recognised(PROSE, 91.0)
    recogniser = SimpleNamespace(read=lambda _picture: shown)
    monkeypatch.setattr(reader, "available", lambda: True)
    monkeypatch.setattr(reader, "Recogniser", lambda _alive: recogniser)
    path = put(tmp_path, drawn([(60, 700, "A page that can be read.")], SHIFTED))
    content = reader.read_pdf(Source(path))
    assert content.text == f"A page that can be read.\n\n{PROSE}"
    assert content.read == {"recognised_pages": 1}
    assert content.left_out == ()


def test_the_more_plausible_of_two_readings_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(PageObject, "extract_text", lambda _page: PROSE)
    path = put(tmp_path, drawn(SHIFTED))
    content = reader.read_pdf(Source(path))
    assert content.text == PROSE
    assert content.left_out == ()


FEES = ("Fee No.", "Fee Title", "Basis", "2025", "2026")
COLUMNS = (60, 140, 300, 400, 480)


def fees(top: int, *rows: tuple[str, ...]) -> list[tuple[int, int, str]]:
    """Rows of a table, 30 points apart; one of a single cell is the title of a group."""
    return [
        (COLUMNS[column + (len(row) == 1)], top - 30 * number, cell)
        for number, row in enumerate(rows)
        for column, cell in enumerate(row)
    ]


def test_titles_of_groups_leave_a_table_its_labels(tmp_path):
    first = fees(
        *(700, FEES, ("Category: Taxi licences",)),
        *((f"B-{n}", f"Taxi number {n}", "Each", f"${n}20.00", f"${n}50.00") for n in range(1, 4)),
    )
    second = [(60, 760, "The fees of this page are for shops.")]
    second += fees(
        *(700, ("Category: Retail licences",)),
        *(("B-7", "Florist", "Each", "Free", "Free"),),
        *((f"B-{n}", f"Shop number {n}", "Each", f"${n}2.00", f"${n}5.00") for n in range(8, 11)),
    )
    found = document(tmp_path, drawn(first, second))
    assert [table.labels for table in found.tables] == [FEES, FEES]
    assert [found.text[table.start :].split("\n")[0].strip() for table in found.tables] == [
        "\t".join(FEES),
        "B-7\tFlorist\tEach\tFree\tFree",
    ]


@pytest.mark.parametrize(
    "between",
    [
        ["Table 2: Roads"],
        ["The roads below are those that the council has agreed to keep up.", "They are old."],
    ],
)
def test_another_table_does_not_get_the_labels(tmp_path, between):
    taxis = [
        (f"B-{n}", f"Taxi number {n}", "Each", f"${n}20.00", f"${n}50.00") for n in range(1, 5)
    ]
    roads = [
        (f"R-{n} to {n}", f"Main road {n}", "Tarred", f"{n}20.00", f"{n}50.00") for n in range(1, 5)
    ]
    page = fees(740, FEES, *taxis)
    page += [(60, 540 - 15 * number, line) for number, line in enumerate(between)]
    page += fees(480, *roads)
    found = document(tmp_path, drawn(page))
    assert [table.labels for table in found.tables] == [FEES, ()]


def test_a_row_of_units_belongs_to_the_header(tmp_path):
    page = fees(740, FEES)
    page += [
        (COLUMNS[3], 710, "EUR"),
        *fees(
            680, *((f"B-{n}", f"Taxi {n}", "Each", f"{n}20.00", f"{n}50.00") for n in range(1, 5))
        ),
    ]
    (table,) = document(tmp_path, drawn(page)).tables
    assert table.labels == ("Fee No.", "Fee Title", "Basis", "2025 EUR", "2026")
