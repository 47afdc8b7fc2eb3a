"""Charts, diagrams and forms of Office files that the libraries for them don't read."""

import io
import re
import zipfile
from typing import Any

import docx
import openpyxl
import pptx
import pytest
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.oxml import parse_xml
from pptx.util import Inches

from rag import readers
from tests.sample_files import picture, put

A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
D = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
C = "http://schemas.openxmlformats.org/drawingml/2006/chart"
M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
AREA = Inches(1), Inches(1), Inches(4), Inches(3)
DIAGRAM = f"""<dgm:dataModel xmlns:dgm="{D}" xmlns:a="{A}"><dgm:ptLst><dgm:pt><dgm:t>
<a:p><a:r><a:t>Moor the </a:t></a:r><a:r><a:t>boat</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt>
<dgm:t><a:p><a:r><a:t>Pay the fee</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>"""
FORMULA = f"""<m:oMath xmlns:m="{M}"><m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr>
<m:sub><m:r><m:t>i=1</m:t></m:r></m:sub><m:sup><m:r><m:t>n</m:t></m:r></m:sup><m:e><m:sSup>
<m:e><m:d><m:e><m:r><m:t>x+1</m:t></m:r></m:e></m:d></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup>
</m:sSup></m:e></m:nary></m:oMath>"""


def _saved(file: Any) -> bytes:
    buffer = io.BytesIO()
    file.save(buffer)
    return buffer.getvalue()


def _changed(data: bytes, old: str, new: str) -> bytes:
    """An Office file with every match in its parts replaced."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(buffer, "w") as written:
        for name in archive.namelist():
            content = archive.read(name)
            if name.endswith((".xml", ".rels")):
                content = re.sub(old.encode(), new.encode(), content)
            written.writestr(name, content)
    return buffer.getvalue()


def _blank_slide(deck: Any) -> Any:
    return deck.slides.add_slide(deck.slide_layouts[6])


def _years(number_format: str = "General") -> CategoryChartData:
    data = CategoryChartData(number_format=number_format)
    data.categories = ["2025", "2026"]
    data.add_series("Revenue", (1234567, 0.25))
    return data


@pytest.mark.parametrize("kind", ["bar3DChart", "pie3DChart", "surfaceChart"])
def test_a_chart_of_any_kind_is_a_table(tmp_path, kind):
    deck = pptx.Presentation()
    chart = XL_CHART_TYPE.COLUMN_CLUSTERED
    _blank_slide(deck).shapes.add_chart(chart, *AREA, _years('#,##0.0" €"'))
    data = _changed(_saved(deck), "barChart", kind)
    document = readers.read(put(tmp_path, data), "deck.pptx")
    assert document.text == "\tRevenue\n2025\t1,234,567.0 €\n2026\t0.3 €"
    assert document.receipt.read["charts"] == 1


def test_a_damaged_chart_leaves_the_text_around_it(tmp_path):
    deck = pptx.Presentation()
    slide = _blank_slide(deck)
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *AREA, _years())
    slide.shapes.add_textbox(*AREA).text_frame.text = "Welcome"
    data = _changed(_saved(deck), '<c:pt idx="0">', '<c:pt idx="x">')
    document = readers.read(put(tmp_path, data), "deck.pptx")
    assert document.text == "Welcome"
    assert [part.kind for part in document.receipt.left_out] == ["chart"]


def test_large_numbers_of_charts_keep_their_digits(tmp_path):
    deck = pptx.Presentation()
    _blank_slide(deck).shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *AREA, _years())
    document = readers.read(put(tmp_path, _saved(deck)), "deck.pptx")
    assert document.text == "\tRevenue\n2025\t1234567\n2026\t0.25"


def test_series_of_a_chart_with_points_of_their_own_are_tables_of_their_own(tmp_path):
    data, deck = XyChartData(), pptx.Presentation()
    for name, points in (("North", ((1, 5), (2, 6))), ("South", ((3, 7),))):
        series = data.add_series(name)
        for point in points:
            series.add_data_point(*point)
    _blank_slide(deck).shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, *AREA, data)
    document = readers.read(put(tmp_path, _saved(deck)), "deck.pptx")
    assert document.text == "\tNorth\n1\t5\n2\t6\n\n\tSouth\n3\t7"


def test_categories_of_a_chart_stand_after_their_groups(tmp_path):
    data, deck = CategoryChartData(), pptx.Presentation()
    for year in ("2025", "2026"):
        group = data.add_category(year)
        group.add_sub_category("spring")
        group.add_sub_category("autumn")
    data.add_series("Guests", (1, 2, 3, 4))
    _blank_slide(deck).shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *AREA, data)
    document = readers.read(put(tmp_path, _saved(deck)), "deck.pptx")
    assert document.text == (
        "\tGuests\n2025 spring\t1\n2025 autumn\t2\n2026 spring\t3\n2026 autumn\t4"
    )


def _diagram(part: Any, blob: str = DIAGRAM) -> str:
    """The markup of a diagram whose data is a part of the file."""
    name = PackURI("/diagrams/data1.xml")
    data = Part(name, "application/vnd.openxmlformats+xml", part.package, blob.encode())
    kind = f"{R}/diagramData"
    return f'<dgm:relIds xmlns:dgm="{D}" xmlns:r="{R}" r:dm="{part.relate_to(data, kind)}"/>'


def _frame(data: str) -> Any:
    return parse_xml(
        f'<p:graphicFrame xmlns:p="{P}" xmlns:a="{A}"><p:nvGraphicFramePr>'
        '<p:cNvPr id="9" name="9"/>'
        "<p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr><p:xfrm/><a:graphic>"
        f'<a:graphicData uri="{D}">{data}</a:graphicData></a:graphic></p:graphicFrame>'
    )


@pytest.mark.parametrize(
    ("blob", "text", "left_out"),
    [
        (DIAGRAM, "Moor the boat\nPay the fee\n\nWelcome", {}),
        ("<none/>", "Welcome", {"diagram": "slide 1"}),
        ("broken", "Welcome", {"diagram": "slide 1"}),
        ("", "Welcome", {"diagram": "slide 1"}),
    ],
)
def test_diagrams_of_slides(tmp_path, blob, text, left_out):
    deck = pptx.Presentation()
    slide = _blank_slide(deck)
    slide.shapes._spTree.append(_frame(_diagram(slide.part, blob)))
    slide.shapes.add_textbox(*AREA).text_frame.text = "Welcome"
    document = readers.read(put(tmp_path, _saved(deck)), "deck.pptx")
    assert document.text == text
    assert {part.kind: part.first for part in document.receipt.left_out} == left_out


def test_objects_of_slides_are_named_as_not_read(tmp_path):
    deck = pptx.Presentation()
    slide = _blank_slide(deck)
    slide.shapes.add_textbox(*AREA).text_frame.text = "Welcome"
    slide.shapes.add_ole_object(io.BytesIO(b"1"), "Excel.Sheet", *AREA[:2])
    document = readers.read(put(tmp_path, _saved(deck)), "deck.pptx")
    assert [part.kind for part in document.receipt.left_out] == ["embedded_object"]


def test_slides_with_a_linked_picture_and_one_for_a_title(tmp_path):
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.add_textbox(*AREA).text_frame.text = "A berth costs 80 euros."
    slide.shapes.add_picture(io.BytesIO(picture("PNG", "scan")), *AREA)
    title = slide.shapes.title._element
    titled = slide.shapes.add_picture(io.BytesIO(picture("PNG", "logo")), *AREA)._element
    titled.nvPicPr.nvPr.append(title.nvSpPr.nvPr.ph)
    title.getparent().remove(title)
    document = readers.read(
        put(tmp_path, _changed(_saved(deck), "r:embed=", "r:link=")), "deck.pptx"
    )
    assert document.text == "A berth costs 80 euros."
    assert [(part.kind, part.count) for part in document.receipt.left_out] == [("picture", 2)]


@pytest.mark.parametrize("branch", ["Choice", "Fallback"])
def test_a_shape_with_an_alternative_and_a_cell_without_text(tmp_path, branch):
    deck = pptx.Presentation()
    slide = _blank_slide(deck)
    box = slide.shapes.add_textbox(*AREA)
    box.text_frame.text = "The fee is "
    formula = parse_xml(
        f'<a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main">{FORMULA}</a14:m>'
    )
    box.text_frame.paragraphs[0]._p.append(formula)
    table = slide.shapes.add_table(2, 2, *AREA).table
    for row, column in ((0, 0), (0, 1), (1, 0)):
        table.cell(row, column).text = f"{row}{column}"
    bare = table.cell(1, 1)._tc
    bare.remove(bare.txBody)
    wrapper = parse_xml(
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        '<mc:Choice Requires="a14"/><mc:Fallback/></mc:AlternateContent>'
    )
    box._element.addprevious(wrapper)
    wrapper[branch == "Fallback"].append(box._element)
    document = readers.read(put(tmp_path, _saved(deck)), "deck.pptx")
    assert document.text == "The fee is ∑_(i=1)^n (x+1)^2\n\n00\t01\n10"


def test_charts_and_diagrams_of_word(tmp_path):
    deck = pptx.Presentation()
    frame = _blank_slide(deck).shapes.add_chart(XL_CHART_TYPE.PIE, *AREA, _years())
    document = docx.Document()
    part = document.part
    chart = docx.opc.part.Part(
        docx.opc.packuri.PackURI("/word/charts/chart1.xml"),
        frame.chart.part.content_type,
        frame.chart.part.blob,
        part.package,
    )
    name = part.relate_to(chart, f"{R}/chart")
    data = docx.opc.part.Part(
        docx.opc.packuri.PackURI("/word/diagrams/data1.xml"), "xml", DIAGRAM.encode(), part.package
    )
    diagram = part.relate_to(data, f"{R}/diagramData")
    for text, inside in (
        ("How it went:", f'<c:chart xmlns:c="{C}" xmlns:r="{R}" r:id="{name}"/>'),
        ("How to moor:", f'<dgm:relIds xmlns:dgm="{D}" xmlns:r="{R}" r:dm="{diagram}"/>'),
        ("Lost:", f'<c:chart xmlns:c="{C}" xmlns:r="{R}" r:id="rId99"/>'),
    ):
        run = document.add_paragraph(text).add_run()._r
        run.append(
            docx.oxml.parse_xml(
                '<w:drawing xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
                f"{inside}</w:drawing>"
            )
        )
    document.add_paragraph("Done.")._p.append(docx.oxml.parse_xml(FORMULA))
    read = readers.read(put(tmp_path, _saved(document)), "report.docx")
    assert read.text == (
        "How it went:\n\n\tRevenue\n2025\t1234567\n2026\t0.25\n\nHow to moor:\n\nMoor the boat\n"
        "Pay the fee\n\nLost:\n\nDone.∑_(i=1)^n (x+1)^2"
    )
    assert [(part.kind, part.count) for part in read.receipt.left_out] == [("chart", 1)]


def test_styles_that_have_no_type(tmp_path):
    document = docx.Document()
    document.add_heading("Fees", 1)
    document.add_paragraph("A berth costs 80 euros.")
    data = _changed(_saved(document), 'w:type="paragraph" ', "")
    assert readers.read(put(tmp_path, data), "fees.docx").text == "Fees\n\nA berth costs 80 euros."


def test_text_boxes_of_a_workbook(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["Berth", 80])
    chart = openpyxl.chart.BarChart()
    chart.add_data(openpyxl.chart.Reference(book.active, min_col=2, min_row=1))
    book.active.add_chart(chart, "D4")
    box = (
        f'<sp><txBody><a:p xmlns:a="{A}"><a:r><a:t>Only until </a:t></a:r><a:r><a:t>May</a:t></a:r>'
        f'</a:p><a:p xmlns:a="{A}"><a:r><a:t>Ask us</a:t></a:r></a:p></txBody></sp><clientData'
    )
    data = _changed(_saved(book), "<clientData", box)
    document = readers.read(put(tmp_path, data), "fees.xlsx")
    assert document.text == "Sheet\n\nBerth\t80\n\nOnly until May\nAsk us"
    assert [part.kind for part in document.receipt.left_out] == ["chart"]


def _strict(data: bytes) -> bytes:
    """The file in the strict form of ISO/IEC 29500."""
    rooms = "officeDocument|wordprocessingml|presentationml|spreadsheetml|drawingml"
    return _changed(
        data,
        f"http://schemas.openxmlformats.org/({rooms})/2006/",
        r"http://purl.oclc.org/ooxml/\1/",
    )


def test_files_in_the_strict_form(tmp_path):
    letter, deck, book = docx.Document(), pptx.Presentation(), openpyxl.Workbook()
    letter.core_properties.title = "Fees of the harbour"
    letter.add_heading("Fees", 1)
    letter.add_paragraph("A berth costs 80 euros.")
    _blank_slide(deck).shapes.add_textbox(*AREA).text_frame.text = "A berth costs 80 euros."
    book.active.append(["A berth costs", "80 euros."])
    for name, file, text in (
        ("fees.docx", letter, "Fees\n\nA berth costs 80 euros."),
        ("fees.pptx", deck, "A berth costs 80 euros."),
        ("fees.xlsx", book, "Sheet\n\nA berth costs\t80 euros."),
    ):
        document = readers.read(put(tmp_path, _strict(_saved(file))), name)
        assert document.text == text
        if file is letter:
            assert document.metadata["title"] == "Fees of the harbour"
