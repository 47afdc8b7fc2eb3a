"""Tables with and without a header, in files of each kind."""

import csv
import datetime
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import docx
import openpyxl
import pytest
from docx.oxml.ns import qn
from docx.oxml.parser import OxmlElement
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from rag.readers import read
from tests.sample_files import put

Rows = Sequence[Sequence[str]]
KEPT = [
    ["Tax Returns", "5 years"],
    ["Letters of Applicants Not Hired", "3 years"],
    ["Stop Payment Orders", "6 months after expiration"],
    ["Bylaws", "Permanent"],
    ["Visitor Logs", "90 days"],
]
FEES = [
    ["Rustic", "$20/person/night"],
    ["Modern", "$23/person/night"],
    ["Child", "Free"],
    ["Dogs", "$5/night"],
]
HOURS = [
    ["Friday", "15:30 - 23:00"],
    ["Saturday", "13:00 - 23:00"],
    ["Sunday", "10:00 - 18:30"],
    ["Monday", "closed"],
    ["Wednesday", "18:30 - 22:00"],
]
DUTIES = [
    ["Duty", "Officer"],
    ["Opens the vault", "Head Teller"],
    ["Signs the ledger", "Branch Manager"],
    ["Counts the coins", "Clerk"],
]


def markdown(rows: Rows) -> bytes:
    """A table whose first row stands over the rule, as converters write it."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|:---|:---:|", *lines[1:]]).encode()


def separated(rows: Rows) -> bytes:
    """Lines of values that commas part."""
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue().encode()


def page(rows: Rows, prose: str = "") -> bytes:
    """A web page whose table has no header cells."""
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    words = f"<p>{prose}</p>" if prose else ""
    return (
        f"<html><body><article><h1>Records</h1>{words}<table>{lines}</table>{words}"
        "</article></body></html>"
    ).encode()


def long_page(rows: Rows) -> bytes:
    """The same within prose, as the main text is taken from."""
    return page(rows, "This policy tells how long the records of the office are kept. " * 10)


def word(rows: Rows, form: Callable[[docx.table.Table], None] = lambda table: None) -> bytes:
    """A Word document with a table."""
    document = docx.Document()
    table = document.add_table(rows=len(rows), cols=len(rows[0]))
    for row, cells in enumerate(rows):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    form(table)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def pdf(rows: Rows) -> bytes:
    """A page with a table of two columns."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, invariant=1)
    for number, (first, second) in enumerate(rows):
        canvas.drawString(70, 760 - 20 * number, first)
        canvas.drawString(350, 760 - 20 * number, second)
    canvas.save()
    return buffer.getvalue()


def tags_in_markdown(rows: Rows) -> bytes:
    """A Markdown file that has the table as HTML without header cells."""
    lines = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"# Records\n\n<table>\n{lines}\n</table>\n".encode()


MAKERS = [
    ("x.md", markdown),
    ("x.md", tags_in_markdown),
    ("x.csv", separated),
    ("x.html", page),
    ("x.html", long_page),
    ("x.docx", word),
    ("x.pdf", pdf),
]


def labels_of(tmp_path: Path, name: str, data: bytes) -> list[tuple[str, ...]]:
    """The labels of the tables in a file."""
    return [table.labels for table in read(put(tmp_path, data), name).tables]


@pytest.mark.parametrize(("name", "make"), MAKERS)
@pytest.mark.parametrize("rows", [KEPT, FEES, HOURS])
def test_a_first_row_of_values_is_no_header(tmp_path, name, make, rows):
    assert labels_of(tmp_path, name, make(rows)) == [()]


@pytest.mark.parametrize(("name", "make"), MAKERS)
@pytest.mark.parametrize(
    ("labels", "rows"), [(("Name", "Price"), FEES), (("Day", "Opening hours"), HOURS)]
)
def test_labels_over_amounts_and_times_are_the_header(tmp_path, name, make, labels, rows):
    assert labels_of(tmp_path, name, make([labels, *rows])) == [labels]


@pytest.mark.parametrize(("name", "make"), MAKERS)
def test_a_first_row_of_labels_is_the_header(tmp_path, name, make):
    assert labels_of(tmp_path, name, make(DUTIES)) == [("Duty", "Officer")]
    assert labels_of(tmp_path, name, make([["Record", "Kept for"], *KEPT])) == [
        ("Record", "Kept for")
    ]


@pytest.mark.parametrize(
    ("row", "below"),
    [
        (["Bylaws", "Permanent"], [["Minutes", "Permanent"], ["Proxies", "Short"]]),
        (["Ada", "ada@example.org"], [["Bob", "bob@example.org"]]),
        (["Date Created: 4 May", "Approved by Board"], [["Date Approved: 9 May", "By Officer"]]),
        (["Card Orders Paid", "kept"], [["Card Orders Sent", "short"], ["Card Orders Lost", "x"]]),
        (["Rent", "$500"], [["Heat", "$80"]]),
        (["$135 per night", "1-4 adults"], [["$25", "each further adult"], ["Free", "children"]]),
        (["Monday", "closed"], [["Tuesday", "10:00 - 18:30"], ["Weekends", "10:00 - 16:00"]]),
        (["Adults", "6,00 €"], [["Children", "5,00 €"], ["Groups", "4,00 € je Person"]]),
        (["Opening the water", "enthalten"], [["Second visit", "50,00 €"], ["Lost", "9,00 €"]]),
        (["Children", "free"], [["Adults", "$8"], ["Groups", "on request"], ["Students", "$5"]]),
        (["**Friday**", "**15:30**"], [["Early", "10:00 - 12:00"], ["**Sunday**", "**10:00**"]]),
        (["E-14", "Filter is clogged"], [["E-15", "Pump is dry"]]),
        (["Moved on", "March 3, 2024"], [["Sold on", "June 7, 2024"]]),
    ],
)
def test_values_are_told_by_their_columns(tmp_path, row, below):
    assert labels_of(tmp_path, "x.csv", separated([row, *below])) == [()]


@pytest.mark.parametrize(
    ("row", "below"),
    [
        (["Overdue", "30 days", "60 days"], [["Loans", "1,200", "80"], ["Cards", "310", "9"]]),
        (["Business Unit", "Head"], [["Business Unit North", "Ada"], ["Business Unit South", "B"]]),
        (["Item", "2023", "2024"], [["Sales", "12", "14"]]),
        (["Day", "8:00", "9:00"], [["Monday", "Maths", "Art"], ["Tuesday", "Art", "Music"]]),
        (["Week", "Monday", "Tuesday"], [["1", "Maths", "Art"], ["2", "Art", "Music"]]),
        (["Monday", "Tuesday"], [["Maths", "Art"], ["Art", "Music"]]),
        (["Plan", "$500 deductible", "$900 deductible"], [["One", "$80", "$60"]]),
        (["Name", "Age"], [["Name", "Age"], ["Ada", "36"]]),
        (["Item", "1st quarter"], [["Sales", "12 tons"]]),
        (["Service", "Included"], [["Breakfast", "included"], ["Parking", "$8"]]),
        (["Plan", "Free", "Team"], [["Users", "$0", "$5"], ["Storage", "$0", "$9"]]),
        (["Name", "Age"], []),
    ],
)
def test_labels_are_no_values(tmp_path, row, below):
    assert labels_of(tmp_path, "x.csv", separated([row, *below])) == [tuple(row)]


def test_an_empty_header_of_markdown_is_none(tmp_path):
    rows = [["", ""], *DUTIES[1:]]
    assert labels_of(tmp_path, "x.md", markdown(rows)) == [()]
    days = [["", ""], *([f"**{cell}**" for cell in row] for row in HOURS)]
    assert labels_of(tmp_path, "x.md", markdown(days)) == [()]
    bold = [["", ""], ["**Duty**", "**Officer**"], *DUTIES[1:]]
    assert labels_of(tmp_path, "x.md", markdown(bold)) == [("**Duty**", "**Officer**")]


def bold(table: docx.table.Table) -> None:
    """Make the first row bold."""
    for cell in table.rows[0].cells:
        cell.paragraphs[0].runs[0].bold = True


def shaded(table: docx.table.Table) -> None:
    """Shade the first row."""
    for cell in table.rows[0].cells:
        shading = OxmlElement("w:shd")
        shading.set(qn("w:fill"), "D9D9D9")
        cell._tc.get_or_add_tcPr().append(shading)


def repeated(table: docx.table.Table) -> None:
    """Repeat the first row on every page."""
    table.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))


@pytest.mark.parametrize("form", [bold, shaded, repeated])
def test_the_form_of_a_row_in_word_tells_the_header(tmp_path, form):
    rows = [["Meeting", "Meeting", "Room 12"], ["Staff", "Board", "small"], ["IT", "Audit", "big"]]
    assert labels_of(tmp_path, "x.docx", word(rows)) == [()]
    assert labels_of(tmp_path, "x.docx", word(rows, form)) == [tuple(rows[0])]


def test_a_bold_first_row_of_values_is_no_header(tmp_path):
    assert labels_of(tmp_path, "x.docx", word(KEPT, bold)) == [()]


def test_header_cells_of_a_web_page_are_the_header(tmp_path):
    html = (
        "<table><tr><th></th><th colspan=2>Limit</th></tr><tr><th>Step</th><th>2 days</th>"
        "<th>9 days</th></tr><tr><td>A</td><td>3 days</td><td>5 days</td></tr></table>"
    )
    assert labels_of(tmp_path, "x.html", html.encode()) == [
        ("Step", "Limit 2 days", "Limit 9 days")
    ]


FLAGS = (
    "<table><tr><th rowspan=2>Name</th><th colspan=2>Beep code</th><th rowspan=2>Action</th></tr>"
    "<tr><th>4.1</th><th>4.2+</th></tr>"
    "<tr><td>CRASH</td><td></td><td>7</td><td rowspan=2>Disarm.</td></tr>"
    "<tr><td>RUNAWAY</td><td>6</td><td>6</td></tr></table>"
)


def test_cells_over_several_rows_move_no_column(tmp_path):
    document = read(put(tmp_path, FLAGS), "x.html")
    (table,) = document.tables
    assert table.labels == ("Name", "Beep code 4.1", "Beep code 4.2+", "Action")
    assert document.text.split("\n")[-2:] == ["CRASH\t\t7\tDisarm.", "RUNAWAY\t6\t6\tDisarm."]


@pytest.mark.parametrize("caption", ["", "<caption>Flags</caption>"])
def test_a_header_of_two_rows_within_markdown_is_one_row(tmp_path, caption):
    document = read(
        put(tmp_path, f"# Arming\n\n{FLAGS.replace('<table>', f'<table>{caption}')}\n"), "x.md"
    )
    (table,) = document.tables
    assert table.labels == ("Name", "Beep code 4.1", "Beep code 4.2+", "Action")
    assert table.caption == ("Flags" if caption else "")
    assert document.text[table.start : table.end].split("\n") == [
        "Name\tBeep code 4.1\tBeep code 4.2+\tAction",
        "CRASH\t\t7\tDisarm.",
        "RUNAWAY\t6\t6\tDisarm.",
    ]


def test_sheets_join_the_names_of_groups_and_show_figures_by_their_formats(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Processes"
    sheet.append(["Process", None, "Recovery", None, "Notes", None, None])
    sheet.append(["Unit", "Name", "RTO", "RPO", None, "Share", "Since"])
    sheet.append(["Credit", "Loan Approval", "30 days", "4 h", None, 0.0568468, None])
    sheet.append(["Branch", "Vault", "6 h", "1 h", None, 0.25, datetime.date(2024, 3, 1)])
    sheet.merge_cells("A1:B1")
    sheet.merge_cells("C1:D1")
    for row in (3, 4):
        sheet.cell(row, 6).number_format = "0.00%"
        sheet.cell(row, 7).number_format = "mmm yyyy"
    buffer = io.BytesIO()
    book.save(buffer)
    document = read(put(tmp_path, buffer.getvalue()), "x.xlsx")
    (table,) = document.tables
    assert table.labels == (
        *("Process Unit", "Process Name", "Recovery RTO", "Recovery RPO", "Notes", "Share"),
        "Since",
    )
    assert document.text.split("\n")[-2:] == [
        "Credit\tLoan Approval\t30 days\t4 h\t\t5.68%",
        "Branch\tVault\t6 h\t1 h\t\t25.00%\t2024-03",
    ]


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (
            [
                ["Source", "% of", "Funds", "% of"],
                ["", "Target", "Balance", "Assets"],
                ["Deposits", "4%", "292", "7%"],
            ],
            ("Source", "% of Target", "Funds Balance", "% of Assets"),
        ),
        (
            [
                ["", "", "Target", "", "Now"],
                ["Cash", "", "12", "", "9"],
                ["", "Coins", "3", "", "1"],
            ],
            ("", "", "Target", "", "Now"),
        ),
        ([["same", "same"], ["a", "b"], ["c", "d"]], ()),
    ],
)
def test_headers_of_two_rows_and_beside_indented_names(tmp_path, rows, labels):
    assert labels_of(tmp_path, "x.csv", separated(rows)) == [labels]


def shown_in(folder: Path, value: object, code: str) -> str:
    """A cell of a workbook with a number format, as it is read."""
    book = openpyxl.Workbook()
    for row in (["Name", "Value"], ["Ada", value]):
        book.active.append(row)
    book.active["B2"].number_format = code
    book.save(folder / "x.xlsx")
    return read(folder / "x.xlsx", "x.xlsx").text.rpartition("\t")[2]


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (0.05684680402345009, "General", "0.05684680402"),
        (0.05684680402345009, "0.0%", "5.7%"),
        (34553, '_("$"* #,##0_);_("$"* \\(#,##0\\);_("$"* "-"??_);_(@_)', "$34,553"),
        (-34553, '_("$"* #,##0_);_("$"* \\(#,##0\\);_("$"* "-"??_);_(@_)', "$(34,553)"),
        (-2.5, "0.00", "-2.50"),
        (1.5, "0.##", "1.5"),
        (2, "0.##", "2"),
        (7, "000", "007"),
        (1234567, "#,##0.0,", "1,234.6"),
        (12.5, "#,##0.00\\ [$€-407]", "12.50 €"),
        (0.5, "# ?/?", "0.5"),
        (1200.0, "0.00E+00", "1200"),
        (5, '0 "days"', "5 days"),
        (1500, '[>=1000]0.0,"K";0', "1.5K"),
        (15, '[>=1000]0.0,"K";0', "15"),
        (0, '0;-0;"none"', "none"),
        (0, '_("$"* #,##0_);_("$"* \\(#,##0\\);_("$"* "-"??_);_(@_)', "$0"),
    ],
)
def test_numbers_as_their_format_shows_them(tmp_path, value, code, text):
    assert shown_in(tmp_path, value, code) == text


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("yyyy", "2024"),
        ("mmm\\-yy", "2024-03"),
        ("dd/mm/yyyy", "2024-03-09"),
        ("d. mmm", "2024-03-09"),
    ],
)
def test_days_as_far_as_their_format_shows_them(tmp_path, code, text):
    assert shown_in(tmp_path, datetime.date(2024, 3, 9), code) == text


@pytest.mark.parametrize(
    ("header", "below"),
    [
        (["Name", "Type"], [["name", "string"], ["size", "number"]]),
        (["City", "Remark"], [["Bern", "Remark"], ["Basel", "closed"], ["Chur", "open"]]),
        (
            ["Day", "Open", "Closed"],
            [["Sun", "no", "Closed"], ["Mon", "9", "17"], ["Tue", "9", "5"]],
        ),
        (["Load", "10 kg", "20 kg"], [["Time", "5 s", "7 s"], ["Way", "6 s", "8 s"]]),
    ],
)
def test_a_label_that_a_cell_repeats_stays_a_label(tmp_path, header, below):
    assert labels_of(tmp_path, "x.csv", separated([header, *below])) == [tuple(header)]


def test_an_empty_caption_is_no_row_of_the_header(tmp_path):
    page = (
        "<table><caption></caption><tr><th>Item</th><th>Price</th></tr>"
        "<tr><td>Bread</td><td>2 EUR</td></tr><tr><td>Milk</td><td>1 EUR</td></tr></table>"
    )
    path = tmp_path / "list.html"
    path.write_text(f"<html><body><p>What is sold.</p>{page}</body></html>")
    assert [table.labels for table in read(path, path.name).tables] == [("Item", "Price")]


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (5.0, '[>=1000000]0.0,,"M";[>=1000]0.0,"K";0', "5"),
        (-12.5, '#,##0.00;[Red]#,##0.00;"-"', "-12.50"),
        (-12.5, "#,##0.00;(#,##0.00)", "(12.50)"),
        (-12.5, "0.0;-0.0", "-12.5"),
        (2.5, "0", "3"),
        (0.125, "0%", "13%"),
        (1.005, "0.00", "1.01"),
        (float("1e300"), "0.0", "1e+300"),
    ],
)
def test_numbers_are_rounded_and_signed_as_excel_does(tmp_path, value, code, shown):
    assert shown_in(tmp_path, value, code) == shown
