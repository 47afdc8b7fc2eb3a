"""Everyday kinds of files, asked through the public door: the right value is in the first quote."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import docx
import openpyxl
import pypdf
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from reportlab.pdfgen.canvas import Canvas

from rag import Answer, KnowledgeBase, Recipe, Settings, Workspace
from tests.workspaces import add

Files = Mapping[str, str | bytes | Callable[[], bytes]]
NOTES = "# Release notes {}\n\nTokens: the page is faster. Export: the export is faster. {}\n"
LEAVE = (
    "# Leave policy\n\nEmployees have thirty days of leave a year. Leave is requested in the "
    "portal at least two weeks ahead. The manager answers within five days.\n\n## Carry-over\n\n"
    "Unused leave expires on {}. Exceptions need the consent of the personnel office.\n\n"
    "## Illness\n\nDays of illness during leave are given back if a certificate is handed in "
    "within three days.\n"
)


def _saved(file: Any) -> bytes:
    buffer = io.BytesIO()
    file.save(buffer)
    return buffer.getvalue()


def _pdf(*pages: str) -> bytes:
    """A PDF with a line of text for each line of its pages."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(400, 500))
    for page in pages:
        for number, line in enumerate(page.splitlines()):
            canvas.drawString(40, 440 - 24 * number, line)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def labelled() -> bytes:
    """Five pages that are numbered i, ii, 10, 11, 12."""
    lines = ("Contents.", "", "The lock is 38 m long.", "It is closed on 24 December.")
    writer = pypdf.PdfWriter(io.BytesIO(_pdf(*lines, "The keeper can be reached at channel 20.")))
    writer.set_page_label(0, 1, style="/r")
    writer.set_page_label(2, 4, style="/D", start=10)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def merged() -> bytes:
    """A table of Word with a cell over two rows, and a row over the full width."""
    document = docx.Document()
    rows = (
        ("Zone", "Boat", "Fee"),
        ("Members", "", ""),
        ("South", "small", "12"),
        ("", "large", "24"),
    )
    table = document.add_table(len(rows), 3)
    for row, cells in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    table.cell(1, 0).merge(table.cell(1, 2))
    table.cell(2, 0).merge(table.cell(3, 0))
    return _saved(document)


def raised() -> bytes:
    """A paragraph with a struck price, and a note mark behind the new one."""
    document = docx.Document()
    paragraph = document.add_paragraph("A winter berth costs ")
    paragraph.add_run("80 ").font.strike = True
    paragraph.add_run("90")
    paragraph.add_run("1").font.superscript = True
    paragraph.add_run(" euros a month.")
    return _saved(document)


def numbered() -> bytes:
    """Clauses that Word numbers."""
    document = docx.Document()
    numbering = document.part.numbering_part.element
    levels = '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
    levels += '<w:lvlText w:val="§ %1"/></w:lvl>'
    numbering.insert(
        0, parse_xml(f'<w:abstractNum {nsdecls("w")} w:abstractNumId="77">{levels}</w:abstractNum>')
    )
    numbering.append(
        parse_xml(f'<w:num {nsdecls("w")} w:numId="77"><w:abstractNumId w:val="77"/></w:num>')
    )
    clauses = (
        ("Subject", "The berth B-17 is let."),
        ("Rent", "The rent is 900 euros a year."),
        ("Termination", "Each party may give notice of three months. § 2 stays in force."),
    )
    for title, text in clauses:
        heading = document.add_heading(title, 1)
        properties = heading._p.get_or_add_pPr().get_or_add_numPr()
        properties.get_or_add_ilvl().val = 0
        properties.get_or_add_numId().val = 77
        document.add_paragraph(text)
    return _saved(document)


def two_tables() -> bytes:
    """A sheet with two tables above each other, one beside them, and a hidden row."""
    book = openpyxl.Workbook()
    rows = (
        ("Opening hours",), ("Day", "Hours"), ("Mon", "8-16"), (), ("Prices",), ("Item", "Price"),
        ("Coffee", 2), ("Tea", 3), ("Tea, members", 1),
    )  # fmt: skip
    for row in rows:
        book.active.append(row)
    for row, cells in enumerate((("Rent", "Fee"), ("Trailer", 30), ("Bike", 8)), 2):
        for column, value in enumerate(cells, 4):
            book.active.cell(row, column, value)
    book.active.row_dimensions[9].hidden = True
    return _saved(book)


def invoices() -> bytes:
    """Pages of one layout that differ in their values."""
    page = (
        "Invoice no. 2026-{}\nDue date: {}.04.2026\nCustomer: {}\nRepair of the winch on the deck\n"
        "Thank you for your order.\nTotal amount: {}.00 euros"
    )
    customers = ("Weber", "Braun", "Ito", "Costa", "Novak")
    return _pdf(
        *(
            page.format(101 + 7 * n, 10 + n, customer, 120 + 35 * n)
            for n, customer in enumerate(customers)
        )
    )


TARIFF = "# Tariff\n\nThe day rate is ~~18 euros~~ 24 euros.\n"
CLAUSES = (
    "<h1>Rules</h1><ol type=a><li>Clause a ends if clause b is broken."
    "<li>The rent is 900 euros.</ol>"
)
NESTED = (
    "<h1>Crane</h1><table><tr><th>Service<th>Details<tr><td>Lifting<td><table><tr><th>Weight"
    "<th>Price<tr><td>up to 3 t<td>85 euros<tr><td>3 t to 8 t<td>140 euros</table></table>"
)
HIDDEN = (
    "<h1>Office</h1><p hidden>The harbour office is in hall 9.</p><p>The harbour office is at "
    "quay 4.</p>"
)
PANELS = (
    "<h1>Help</h1><p>" + "Life in the harbour. " * 40 + "</p><h3><button aria-expanded=false "
    "aria-controls=p>How do I cancel?</button></h3><div id=p hidden>Cancel in the portal up to 14 "
    "days ahead.</div><div><div>Token 2 euros</div></div>"
)
GRID = (
    "<h1>Prices</h1><div><div><div>Token</div><div>2 euros</div></div>"
    "<div><div>Towel</div><div>4 euros</div></div></div>"
)
LAYOUT = (
    "<h1>News</h1><table><tr><td><h2>Winter</h2><p>The harbour is closed from 3 November.</p></td>"
    "<td><h2>Crane</h2><p>The crane lifts 12 t.</p></td></tr></table>"
)
RECORDS = (
    '{"text": "A token opens the shower for five minutes.", "id": 1, "price": "2 euros"}\n'
    '{"text": "A towel is lent.", "id": 2, "price": "5 euros"}\n'
)
SWEDISH = "Båtplatser för gäster kostar 300 kronor. Öppet på söndagar.".encode("cp1252")
RUSSIAN = "Правила гавани\n\nСтоянка гостевой лодки стоит семьсот рублей за ночь.\n".encode(
    "koi8_r"
)
EXCEL = "sep=;\r\nArtikel;Preis;Gültig ab\r\nHandtuch;5,20;02.03.2026\r\n".encode("cp1252")
METER = "## How do I reset the {} meter?\n\nPress the {} button for {} seconds.\n\n"
METERS = (("water", "red", 5), ("power", "green", 8), ("gas", "blue", 12))
MOORING = "**Q: Can I moor at pontoon {} overnight?**\nA: Yes, up to {} m.\n\n"
FAQ = "# FAQ\n\n" + "".join(METER.format(*meter) for meter in METERS)
FAQ += "".join(MOORING.format(name, n + 6) for n, name in enumerate("ABCDEFGHIJKLMNOPQRST"))
CODES = (
    "# RULE-A002\n\nDetects a change of the gate configuration.\n\n# RULE-A020\n\nDetects a change "
    "of the lamp configuration.\n"
)
RELEASES = (
    "# Release 7.23\n\nThe tide table shows UTC.\n\n# Release 7.2.3\n\nThe tide table shows local "
    "time.\n\n# Release 17.23\n\nThe map has a scale bar.\n"
)
THAI = "# ค่าจอดเรือ\n\nค่าจอดเรือสำหรับผู้มาเยือนคืนละสามร้อยบาท\n\n# เวลาเปิด\n\nสำนักงานเปิดเวลาแปดนาฬิกา\n"
LAO = "ຄ່າຈອດເຮືອສຳລັບແຂກຄືນລະສາມຮ້ອຍບາດ\n\nຫ້ອງການເປີດແປດໂມງ\n"
GATE = "# Gate\n\nThe code of gate {} is {}.\n"
PACKAGES = "".join(
    f"Package: {name}\nSize: {size}\nMaintainer: {who} <{who.lower()}@example.org>\n\n"
    for name, size, who in (("libgail", 415, "Ito"), ("valgrind", 776, "Weber"), ("mawk", 9, "Ida"))
)
COPIES: Files = {"leave-COPY.md": LEAVE.format("31 March"), "leave.md": LEAVE.format("30 June")}
FOLDERS: Files = {"a/b_c.md": GATE.format("one", 1111), "a_b/c.md": GATE.format("two", 2222)}
KINDS: list[tuple[str, Files, str, str, str]] = [
    ("struck", {"a.md": TARIFF}, "What is the day rate?", "is 24 euros", "answered"),
    ("raised", {"a.docx": raised}, "What does a winter berth cost?", "costs 90¹ euros", "answered"),
    (
        "merged",
        {"a.docx": merged},
        "Fee for a large boat in zone South?",
        "large · Fee: 24",
        "answered",
    ),
    (
        "group row",
        {"a.docx": merged},
        "Fee for a small boat of members?",
        "Members: South",
        "answered",
    ),
    ("Word's numbers", {"a.docx": numbered}, "What does § 2 say?", "is 900 euros", "answered"),
    ("web lists", {"a.html": CLAUSES}, "What does clause b say?", "is 900 euros", "answered"),
    (
        "nested table",
        {"a.html": NESTED},
        "What does lifting 3 t to 8 t cost?",
        "140 euros",
        "answered",
    ),
    ("hidden", {"a.html": HIDDEN}, "Where is the harbour office?", "quay 4", "answered"),
    ("accordion", {"a.html": PANELS}, "How do I cancel?", "up to 14 days", "answered"),
    ("lone line", {"a.html": PANELS}, "What does a token cost?", "Token 2 euros", "answered"),
    ("two tables", {"a.xlsx": two_tables}, "What does tea cost?", "Tea · Price: 3", "answered"),
    ("beside", {"a.xlsx": two_tables}, "What does a trailer cost?", "“Rent: Trailer", ""),
    ("grid", {"a.html": GRID}, "What does a towel cost?", "“Towel · 4 euros”", "answered"),
    ("newsletter", {"a.html": LAYOUT}, "What does the crane lift?", "“The crane lifts 12 t", ""),
    ("values", {"a.pdf": invoices}, "What is the total amount for Costa?", "225.00 euros", ""),
    ("Windows-1252", {"a.txt": SWEDISH}, "Vad kostar båtplatser?", "300 kronor", "answered"),
    ("KOI8-R", {"a.txt": RUSSIAN}, "Сколько стоит стоянка лодки?", "семьсот рублей", "answered"),
    ("Excel's CSV", {"a.csv": EXCEL}, "Handtuch Preis?", "Handtuch · Preis: 5,20", "answered"),
    (
        "fields",
        {"a.jsonl": RECORDS},
        "What does a shower token cost?",
        "price: 2 euros",
        "answered",
    ),
    (
        "records of fields",
        {"a.txt": PACKAGES},
        "What is the maintainer of valgrind?",
        "“Maintainer: Weber <weber@example.org>”",
        "answered",
    ),
    ("FAQ", {"a.md": FAQ}, "How do I reset the gas meter?", "blue button for 12", "answered"),
    ("codes", {"a.md": CODES}, "What does A002 detect?", "gate configuration", "answered"),
    ("versions", {"a.md": RELEASES}, "What is new in version 7.2.3?", "local time", "answered"),
    ("Thai", {"a.md": THAI}, "สำนักงานเปิดกี่โมง", "สำนักงานเปิดเวลาแปดนาฬิกา", "answered"),
    ("Lao", {"a.txt": LAO}, "ຫ້ອງການເປີດຈັກໂມງ", "“ຫ້ອງການເປີດແປດໂມງ”", "answered"),
    ("copies", COPIES, "When does unused leave expire?", "30 June", "conflicting"),
    ("folders", FOLDERS, "What is the code of gate one?", "1111", "answered"),
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    home = Workspace(Settings.from_env({}, home=tmp_path_factory.mktemp("home")))
    yield home
    home.close()


def _asked(
    workspace: Workspace, name: str, files: Files, question: str
) -> tuple[KnowledgeBase, Answer]:
    base = workspace.create(name)
    made = {path: file() if callable(file) else file for path, file in files.items()}
    assert set(add(workspace, base, made)) == {"added"}
    return base, base.ask(question, Recipe()).answer


@pytest.mark.parametrize(
    ("name", "files", "question", "value", "state"), KINDS, ids=[kind[0] for kind in KINDS]
)
def test_the_first_quote_has_the_value(workspace, name, files, question, value, state):
    _, answer = _asked(workspace, name, files, question)
    assert value in answer.text.split("\n\n")[0]
    assert answer.state == state or not state


def test_a_citation_names_the_number_that_is_printed_on_the_page(workspace):
    _, answer = _asked(
        workspace, "labels", {"lock.pdf": labelled()}, "At what channel is the keeper?"
    )
    assert [(one.page, one.page_label) for one in answer.citations] == [(5, "12")]


def test_a_series_of_near_copies_is_one_finding(workspace):
    fixes = "Depth and tide are shown in the table of the harbour. " * 3
    files = {f"releases/2026-{n:02}.md": NOTES.format(f"2026-{n:02}", fixes) for n in range(1, 10)}
    base, _ = _asked(workspace, "series", files, "What is faster?")
    (finding,) = base.documents.examinations.examine().open
    assert (finding.kind, len(finding.places), "releases/" in finding.summary) == (
        "copies",
        9,
        True,
    )
