"""Receipts: what readers read of a file, and what they leave out; raised, struck, hidden text."""

import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsmap, qn
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.comments import Comment
from openpyxl.drawing.image import Image
from openpyxl.styles import Font
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from rag import Document, Omission, readers
from tests.sample_files import in_words, named_omissions, picture, put


def _read(folder: Path, name: str, file: Any) -> Document:
    """Read what ``file`` saves."""
    buffer = io.BytesIO()
    file.save(buffer)
    return readers.read(put(folder, buffer.getvalue()), name)


def _omissions(document: Document) -> dict[str, tuple[int, str]]:
    listed = named_omissions()[document.name.rpartition(".")[2]]
    assert {in_words(part.kind) for part in document.receipt.left_out} <= listed
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


def test_slides(tmp_path):
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
    assert document.receipt.read["charts"] == 1
    assert Omission("picture", 2, "slide 3").words == "2 pictures (first: slide 3)"


WEB_PAGE = """<html><body><main><h1>Fees</h1>
<p>A berth costs <s>80 euros</s> 90<sup><a href="#n">1</a></sup> euros for 10<sup>3</sup> litres of
H<sub>2</sub>O, <span style="text-decoration: line-through">5</span> 6 for
so&#8203;called guests.</p>
<p hidden>No longer valid</p><p style="display: none">Neither this</p>
<section class="accordion"><h3><button aria-expanded="false">How do I cancel?</button></h3>
<div class="panel" style="display:none"><p>In the portal.</p></div></section>
<div class="card"><span>Token</span><span>2</span><span>euros</span></div>
<div class="grid"><div>Mon</div><div>8-16</div></div>
<ol type="a" start="2"><li>The rent is 900 euros.</li><li>It is due in May.</li></ol>
<table><tr><th>Service</th><th>Details</th></tr><tr><td>Lifting</td><td><table><tr><th>Weight</th>
<th>Price</th></tr><tr><td>1 t</td><td>85</td></tr><tr><td>3 t</td><td>140</td></tr></table></td>
</tr></table><p>Write to <a href="mailto:office@example.org">us</a>.</p>%s</main></body></html>"""


@pytest.mark.parametrize("more", ["", "<p>The harbour has many guests in the summer.</p>" * 20])
def test_web_pages(tmp_path, more):
    document = readers.read(put(tmp_path, WEB_PAGE % more), "page.html")
    for line in (
        "A berth costs 90¹ euros for 10³ litres of H₂O, 6 for socalled guests.",
        "In the portal.",
        "Token 2 euros",
        "8-16",
        "b. The rent is 900 euros.",
        "c. It is due in May.",
        "Lifting\tWeight: 1 t · Price: 85",
        "Lifting\tWeight: 3 t · Price: 140",
        "Write to us (office@example.org).",
    ):
        assert line in document.text.splitlines()
    assert "valid" not in document.text
    assert _omissions(document) == {"struck_passage": (2, "Fees"), "hidden_passage": (2, "Fees")}


def test_markdown(tmp_path):
    text = (
        "# Fees\n\nA berth costs ~~80 euros~~ 90<sup>1</sup> euros, <del>5</del> 6 nights.\n\n"
        "`~~code~~`\n\n~~~\n~~more~~ code\n~~~\n\na~~b~~c, ~~gone~~, ~~ no mark ~~\n"
    )
    document = readers.read(put(tmp_path, text), "x.md")
    assert document.text == (
        "# Fees\n\nA berth costs 90¹ euros, 6 nights.\n\n"
        "`~~code~~`\n\n~~~\n~~more~~ code\n~~~\n\nac, , ~~ no mark ~~\n"
    )
    assert _omissions(document) == {"struck_passage": (4, "Fees")}


def test_a_table_of_excel(tmp_path):
    rows = "sep=;\r\nArtikel;Preis;Gültig ab\r\nSeife;1,5;01.04.2026\r\n"
    document = readers.read(put(tmp_path, rows.encode("cp1252")), "x.csv")
    assert document.text == "Artikel\tPreis\tGültig ab\nSeife\t1,5\t01.04.2026"
    assert document.tables[0].labels == ("Artikel", "Preis", "Gültig ab")
    assert document.tables[0].caption == ""
    assert document.receipt.read["encoding_guessed"] == 1


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("90¹ euros", ["90", "euro"]),
        ("10³ litres", ["10", "litr"]),
        ("30 m² of CO₂", ["30", "m2", "of", "co2"]),
        ("fee¹", ["fee"]),
    ],
)
def test_marks_of_notes_are_no_figures_for_search(text, terms):
    from rag.lexical import analyzer

    assert analyzer("english").tokens(text) == terms


def _word(body: str, name: str = "w:p") -> Any:
    """An element of Word from what is in it."""
    spaces = " ".join(f'xmlns:{prefix}="{address}"' for prefix, address in nsmap.items())
    return parse_xml(f"<{name} {spaces}>{body}</{name}>")


def _runs(*runs: tuple[str, str]) -> str:
    """Runs of Word, each with its properties and its text."""
    return "".join(
        f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'
        for properties, text in runs
    )


def _letter(*elements: Any) -> Any:
    document = docx.Document()
    for element in elements:
        document.element.body.insert(-1, element)
    return document


def test_words_of_word_that_are_raised_struck_hidden_or_removed(tmp_path):
    up, down = ('<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>')
    document = _letter(
        _word(
            _runs(("", "A berth costs 90"), (up, "1"), ("", " euros for 10"), (up, "3"))
            + _runs(("", " litres of H"), (down, "2"), ("", "O"))
        ),
        _word(
            _runs(("", "It is "), ("<w:strike/>", "18 "), ("<w:dstrike/>", "euros"))
            + _runs(("", " 24 euros"), ('<w:rStyle w:val="Old"/>', " or 25"), ("<w:vanish/>", "!"))
        ),
        _word(
            f"{_runs(('', 'Sold '))}<w:moveFrom w:id='1'>{_runs(('', 'there'))}</w:moveFrom>"
            f"<w:moveTo w:id='2'>{_runs(('', 'here'))}</w:moveTo>"
            f"<w:ins w:id='3'>{_runs(('', ' daily'))}</w:ins>"
        ),
    )
    old = document.styles.add_style("Old", WD_STYLE_TYPE.CHARACTER)
    old.font.strike = True
    table = document.add_table(2, 2)
    for at, text in enumerate(("Old token", "1 euro", "Token", "2 euros")):
        table.cell(at // 2, at % 2).text = text
    table.cell(1, 1)._tc.append(_word(f"<w:p>{_runs(('', '3 euros'))}</w:p>", "w:moveFrom"))
    table.cell(1, 1).add_paragraph()
    table.rows[0]._tr.get_or_add_trPr().append(_word("", "w:del"))
    read = _read(tmp_path, "letter.docx", document)
    assert read.text == (
        "A berth costs 90¹ euros for 10³ litres of H₂O\n\n"
        "It is 24 euros\n\nSold here daily\n\nToken\t2 euros"
    )
    assert {kind: count for kind, (count, _) in _omissions(read).items()} == {
        "struck_passage": 2,
        "hidden_passage": 1,
        "tracked_change": 2,
        "deleted_row": 1,
    }


def test_merged_cells_groups_and_tables_in_cells_of_word(tmp_path):
    document = docx.Document()
    rows = (("Zone", "Boat", "Fee"), ("Guests", "", ""), ("South", "small", "12"))
    table = document.add_table(4, 3)
    for at, cells in enumerate((*rows, ("", "large", "24"))):
        for column, text in enumerate(cells):
            table.cell(at, column).text = text
    table.cell(1, 0).merge(table.cell(1, 2))
    table.cell(2, 0).merge(table.cell(3, 0))
    document.add_paragraph("Crane")
    outer = document.add_table(2, 2)
    for at, text in enumerate(("Service", "Details", "Lifting")):
        outer.cell(at // 2, at % 2).text = text
    inner = outer.cell(1, 1).add_table(3, 2)
    for at, text in enumerate(("Weight", "Price", "up to 3 t", "85 euros", "8 t", "140 euros")):
        inner.cell(at // 2, at % 2).text = text
    assert _read(tmp_path, "fees.docx", document).text == (
        "Zone\tBoat\tFee\nGuests\nGuests: South\tsmall\t12\nGuests: South\tlarge\t24\n\n"
        "Crane\n\nService\tDetails\nLifting\tWeight: up to 3 t · Price: 85 euros\n"
        "Lifting\tWeight: 8 t · Price: 140 euros"
    )


def test_numbers_that_word_makes(tmp_path):
    forms = (
        ("decimal", "§ %1"),
        ("lowerLetter", "%1.%2)"),
        ("upperRoman", "(%3)"),
        ("bullet", "o"),
    )
    levels = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="{1 + (at == 1)}"/><w:numFmt w:val="{form}"/>'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
        for at, (form, text) in enumerate(forms)
    )
    paragraphs = ((0, 90, "Subject"), (1, 90, "B-17"), (2, 90, "Part"), (2, 90, "Part"))
    paragraphs += ((3, 90, "bare"), (0, 90, "Rent"), (1, 90, "900 euros"), (0, 91, "Anew"))
    document = _letter(
        *(
            _word(
                f'<w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
                f"</w:pPr>{_runs(('', text))}"
            )
            for level, number, text in paragraphs
        )
    )
    numbering = document.part.numbering_part.element
    definition = _word(levels, "w:abstractNum")
    definition.set(qn("w:abstractNumId"), "90")
    numbering.insert(0, definition)
    for number, more in ((90, ""), (91, '<w:startOverride w:val="7"/>')):
        again = f'<w:lvlOverride w:ilvl="0">{more}</w:lvlOverride>'
        item = _word(f'<w:abstractNumId w:val="90"/>{again}', "w:num")
        item.set(qn("w:numId"), str(number))
        numbering.append(item)
    assert _read(tmp_path, "contract.docx", document).text.split("\n") == [
        *("§ 1 Subject", "1.b) B-17", "(I) Part", "(II) Part", "- bare"),
        *("§ 2 Rent", "2.b) 900 euros", "§ 7 Anew"),
    ]


def test_what_stands_beside_the_text_of_word(tmp_path):
    box = '<w:r><w:sym w:font="Wingdings" w:char="{}"/></w:r>'
    formula = "<m:oMath><m:r><m:t>F=</m:t></m:r><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num>"
    formula += "<m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>"
    document = _letter(
        _word(f'{_runs(("", "It costs 90"))}<w:r><w:footnoteReference w:id="2"/></w:r>'),
        _word(f"{box.format('F0FE')}{_runs(('', ' engine '))}{box.format('F0A8')}{formula}"),
    )
    spaces = f'xmlns:w="{nsmap["w"]}"'
    note = f'<w:footnotes {spaces}><w:footnote w:id="2"><w:p>{_runs(("", "Members: 60"))}</w:p>'
    part = Part(
        PackURI("/word/footnotes.xml"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml",
        f"{note}</w:footnote></w:footnotes>".encode(),
        document.part.package,
    )
    document.part.relate_to(part, f"{nsmap['r']}/footnotes")
    paragraph = document.add_paragraph("Remarked")
    document.add_comment(paragraph.runs, "Really?")
    paragraph.add_run().add_picture(io.BytesIO(picture("PNG", "plan")))
    paragraph._p.xpath(".//wp:docPr")[0].set("descr", "Depth 4 m")
    document.sections[0].header.paragraphs[0].text = "Valid from 1 April"
    document.sections[0].footer.paragraphs[0]._p.append(_word(_runs(("", "2")), "w:fldSimple"))
    document.sections[0].footer._element.xpath(".//w:fldSimple")[0].set(qn("w:instr"), "PAGE")
    read = _read(tmp_path, "notes.docx", document)
    assert read.text == (
        "Header: Valid from 1 April\n\nIt costs 90¹\n¹ Members: 60\n\n"
        "☒ engine ☐F=(a+b)/2\n\nRemarked[Picture: Depth 4 m]\nComment: Really?"
    )
    assert set(_omissions(read)) == {"picture"}
    assert {"footnotes": 1, "comments": 1, "headers": 1}.items() <= read.receipt.read.items()


def _book(*sheets: tuple[str, list[list[Any]]]) -> Any:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return book


def test_headers_that_differ_by_section_are_their_headings(tmp_path):
    document = docx.Document()
    for number, van in enumerate(("Van 12", "Van 19", "Van 19", "Van 12")):
        section = document.add_section() if number else document.sections[0]
        section.header.is_linked_to_previous = van == "Van 19" and number == 2
        if not section.header.is_linked_to_previous:
            section.header.paragraphs[0].text = "Ostra Ltd"
            section.header.add_paragraph(van)
        document.add_paragraph(f"The rack holds {number} kg.")
    read = _read(tmp_path, "vans.docx", document)
    assert read.text.split("\n\n") == [
        *("Header: Ostra Ltd", "Van 12", "The rack holds 0 kg.", "Van 19", "The rack holds 1 kg."),
        *("The rack holds 2 kg.", "Van 12", "The rack holds 3 kg."),
    ]
    assert [heading.title for heading in read.headings] == ["Van 12", "Van 19", "Van 12"]
    assert read.receipt.read["headers"] == 4
    for section in document.sections[1:]:
        section.header.is_linked_to_previous = True
    document.sections[3].header.is_linked_to_previous = False
    one = _read(tmp_path, "van.docx", document)
    assert not one.headings
    assert one.text.startswith("Header: Ostra Ltd\n\nHeader: Van 12\n\nThe rack")


def test_cells_of_excel_that_are_raised_struck_hidden_or_not_calculated(tmp_path):
    fee = CellRichText("90", TextBlock(InlineFont(vertAlign="superscript"), "1"))
    fee += [" euros", TextBlock(InlineFont(strike=True), " or 80")]
    prices = [["Item", "Cost", "Price", "Time", "Margin"]]
    prices += [["Berth", 1, fee, timedelta(hours=26.25), 3]]
    prices += [["Crane", 2, "=1+1", 7], ["Old", 3, "5", "9"], ["Key", 4, "6", "11"]]
    book = _book(("Prices", prices), ("Margins", [["Towel", 58]]))
    book["Margins"].sheet_state = "veryHidden"
    sheet = book["Prices"]
    sheet.column_dimensions["B"].hidden = sheet.column_dimensions["E"].hidden = True
    sheet.row_dimensions[4].hidden = True
    sheet["D2"].number_format, sheet["D3"].number_format = "[h]:mm", ";;;"
    sheet["C5"].font = Font(strike=True)
    sheet["D5"].comment = Comment("Ask the office", "Ada")
    sheet.add_image(Image(io.BytesIO(picture("PNG", "plan"))), "F1")
    read = _read(tmp_path, "prices.xlsx", book)
    assert read.text == (
        "Prices\n\nItem\tPrice\tTime\nBerth\t90¹ euros\t26:15\nCrane\nKey\t\t11\n"
        "Note on Key, 11: Ask the office"
    )
    assert _omissions(read) == {
        "picture": (1, "Prices"),
        "hidden_column": (2, "Prices!B"),
        "struck_passage": (2, "Prices!C2"),
        "uncalculated_formula": (1, "Prices!C3"),
        "hidden_cell": (1, "Prices!D3"),
        "hidden_row": (1, "Prices!4"),
        "hidden_sheet": (1, "Margins"),
    }


def test_merged_cells_groups_and_tables_below_each_other_in_excel(tmp_path):
    fees = [["Zone", "Boat", "Fee"], ["Guests"], ["South", "small", 12], ["", "large", 24]]
    apart = [["Opening"], ["Day", "Hours"], ["Mon", "8-16"], [], ["Prices"], []]
    apart += [["Item", "Price"], ["Coffee", 2], [], ["Tea", 3]]
    book = _book(("Fees", fees), ("Office", apart))
    book["Fees"].merge_cells("A2:C2")
    book["Fees"].merge_cells("A3:A4")
    read = _read(tmp_path, "fees.xlsx", book)
    assert read.text == (
        "Fees\n\nZone\tBoat\tFee\nGuests\nGuests: South\tsmall\t12\nGuests: South\tlarge\t24"
        "\n\nOffice\n\nOpening\nDay\tHours\nMon\t8-16"
        "\n\nPrices\nItem\tPrice\nCoffee\t2\nTea\t3"
    )
    assert [(table.labels, table.caption) for table in read.tables[1:]] == [
        (("Day", "Hours"), "Opening"),
        (("Item", "Price"), "Prices"),
    ]
