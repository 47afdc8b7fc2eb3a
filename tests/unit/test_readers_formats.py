"""OpenDocument, RTF, books, notebooks and transcripts: their text, and what it leaves out."""

import json
import zipfile
from pathlib import Path

import pytest

from rag import Document, UnreadableDocument, page_name
from rag.readers import read
from tests.sample_files import (
    epub,
    in_words,
    named_omissions,
    open_row,
    open_sheet,
    open_text,
    put,
    zipped,
)


def document(folder: Path, data: bytes, name: str) -> Document:
    return read(put(folder, data), name)


def left_out(read: Document) -> dict[str, tuple[int, str]]:
    assert read.receipt is not None
    listed = named_omissions()[read.name.rpartition(".")[2]]
    assert {in_words(part.kind) for part in read.receipt.left_out} <= listed
    return {part.kind: (part.count, part.first) for part in read.receipt.left_out}


LOOKS = (
    '<style:style style:name="struck"><style:text-properties '
    'style:text-line-through-style="solid"/></style:style>'
    '<style:style style:name="up"><style:text-properties style:text-position="super 58%"/>'
    "</style:style>"
    '<style:style style:name="gone"><style:text-properties text:display="none"/></style:style>'
    '<text:list-style style:name="clauses"><text:list-level-style-number text:level="1" '
    'style:num-format="1" style:num-prefix="§ "/><text:list-level-style-number text:level="2" '
    'style:num-format="a" style:num-suffix=")"/></text:list-style>'
    '<text:list-style style:name="points"><text:list-level-style-bullet text:level="1"/>'
    "</text:list-style>"
)


def test_odt_has_numbers_notes_tables_and_no_struck_text(tmp_path):
    body = """<text:tracked-changes><text:changed-region>was 80</text:changed-region>
</text:tracked-changes><text:change/><text:list text:style-name="clauses"><text:list-item><text:h
 text:outline-level="1">Rent</text:h><text:list><text:list-item><text:p>It is
 <text:span text:style-name="struck">80</text:span> 90<text:span text:style-name="up">1</text:span>
 euros<text:note><text:note-citation>2</text:note-citation><text:note-body><text:p>Net.</text:p>
</text:note-body></text:note>.</text:p></text:list-item></text:list></text:list-item>
<text:list-item><text:h text:outline-level="1">Notice</text:h></text:list-item></text:list>
<text:list text:style-name="points"><text:list-item><text:p>Bring a rope.</text:p></text:list-item>
</text:list><text:p text:style-name="gone">Secret.</text:p><table:table><table:table-header-rows>
<table:table-row><table:table-cell><text:p>Zone</text:p></table:table-cell><table:table-cell>
<text:p>Fee</text:p></table:table-cell></table:table-row></table:table-header-rows>
<table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>North</text:p>
</table:table-cell><table:table-cell><text:p>10</text:p></table:table-cell></table:table-row>
<table:table-row><table:covered-table-cell/><table:table-cell><text:p>20</text:p>
</table:table-cell></table:table-row></table:table><text:p>Plan:<draw:frame><draw:image/>
</draw:frame></text:p>"""
    odt = document(tmp_path, open_text(body, LOOKS), "rules.odt")
    assert odt.text == (
        "# § 1 Rent\n\na) It is 90¹ euros².\n\n² Net.\n\n# § 2 Notice\n\n- Bring a rope.\n\n"
        "Zone\tFee\nNorth\t10\nNorth\t20\n\nPlan:"
    )
    assert left_out(odt) == {
        "struck_passage": (1, "§ 1 Rent"),
        "hidden_passage": (1, "§ 2 Notice"),
        "tracked_change": (1, ""),
        "picture": (1, "§ 2 Notice"),
    }
    assert [heading.title for heading in odt.headings] == ["§ 1 Rent", "§ 2 Notice"]


def test_odt_of_libreoffice_states_lines_by_type_and_styles_marks_of_notes_twice(tmp_path):
    looks = LOOKS.replace("through-style=", "through-type=")
    body = """<text:p>It is <text:span text:style-name="struck">80</text:span> 90<text:span
 text:style-name="up"><text:note><text:note-citation>1</text:note-citation><text:note-body>
<text:p>Net.</text:p></text:note-body></text:note></text:span>.</text:p>"""
    assert document(tmp_path, open_text(body, looks), "x.odt").text == "It is 90¹.\n\n¹ Net."


MASTERS = "".join(
    f'<style:style style:name="P{name}" style:master-page-name="{page}"/>'
    f'<style:master-page style:name="{page}"><style:header><text:p>Kiln {name}</text:p>'
    "</style:header></style:master-page>"
    for name, page in (("Nora", "Standard"), ("Rosa", "Other"))
)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (
            "x.odt",
            open_text(
                "<text:p>At 1240.</text:p><text:p>Slowly.</text:p>"
                '<text:p text:style-name="PRosa">At 1180.</text:p>',
                MASTERS,
            ),
        ),
        (
            "x.rtf",
            rb"{\rtf1\ansi\sectd{\header Ostra\par}{\header Kiln Nora\par}"
            rb"\pard At 1240.\par Slowly.\par"
            rb"\sect\sectd{\header Ostra\par}{\header Kiln Rosa\par}\pard At 1180.\par}",
        ),
    ],
)
def test_headers_that_differ_by_section_are_their_headings(tmp_path, name, data):
    read = document(tmp_path, data, name)
    places = [read.heading_at(read.text.index(words)) for words in ("1240", "Slowly", "1180")]
    assert places == ["Kiln Nora", "Kiln Nora", "Kiln Rosa"]
    assert read.text.removeprefix("Header: Ostra\n\n") == (
        "# Kiln Nora\n\nAt 1240.\n\nSlowly.\n\n# Kiln Rosa\n\nAt 1180."
    )


def test_rtf_has_rows_that_name_groups_and_cells_over_several_rows(tmp_path):
    three = rb"\cellx900\cellx1800\cellx2700"
    rows = (
        rb"\trowd" + three + rb" Zone\cell Boat\cell Fee\cell\row",
        rb"\trowd\cellx2700 Members\cell\row",
        rb"\trowd\clvmgf" + three + rb" South\cell small\cell 12\cell\row",
        rb"\trowd\clvmrg" + three + rb"\cell large\cell 24\cell\row",
        rb"\trowd\clmgf\cellx900\clmrg\cellx1800\clmrg\cellx2700 Guests\cell\cell\cell\row",
        rb"\trowd" + three + rb" South\cell small\cell 19\cell\row",
    )
    read = document(tmp_path, rb"{\rtf1\intbl" + b"".join(rows) + b"}", "fees.rtf")
    assert read.text.splitlines()[1:] == [
        "Members",
        "Members: South\tsmall\t12",
        "Members: South\tlarge\t24",
        "Guests",
        "Guests: South\tsmall\t19",
    ]


TABLE = "<table><tr><td>Boat</td><td>Fee</td></tr><tr><td>Yacht</td><td>640</td></tr></table>"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (
            "x.rtf",
            rb"{\rtf1\trowd\cellx900\cellx1800\intbl Boat\cell Fee\cell\row"
            rb"\trowd\cellx900\cellx1800\intbl Yacht\cell 640\cell\row\pard\par}",
        ),
        (
            "x.odt",
            open_text(
                f"<table:table>{open_row('Boat', 'Fee')}{open_row('Yacht', '640')}</table:table>"
            ),
        ),
        ("x.epub", epub(TABLE)),
        ("x.eml", b"Subject: Fees\nContent-Type: text/html\n\n" + TABLE.encode()),
    ],
)
def test_the_first_row_of_a_table_without_marks_of_a_header_has_its_labels(tmp_path, name, data):
    (table,) = document(tmp_path, data, name).tables
    assert table.labels == ("Boat", "Fee")


def test_ods_has_merged_cells_and_notes_but_no_hidden_rows(tmp_path):
    rows = (
        '<table:table-column/><table:table-column table:visibility="collapse"/>'
        '<table:table-column table:number-columns-repeated="16000"/>'
        + open_row("Zone", "Margin", "Fee")
        + '<table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>North</text:p>'
        "</table:table-cell><table:table-cell><text:p>7</text:p></table:table-cell>"
        "<table:table-cell><office:annotation><text:p>Net.</text:p></office:annotation><text:p>90"
        '<text:span text:style-name="up">1</text:span></text:p></table:table-cell>'
        '<table:table-cell table:number-columns-repeated="16000"/></table:table-row>'
        "<table:table-row><table:covered-table-cell/><table:table-cell/><table:table-cell>"
        '<text:p><text:span text:style-name="struck">80</text:span>95</text:p></table:table-cell>'
        "</table:table-row>"
        + open_row("South", "", "60", visibility="collapse")
        + '<table:table-row table:number-rows-repeated="1000000"><table:table-cell/>'
        "</table:table-row>"
    )
    ods = document(tmp_path, open_sheet(rows, styles=LOOKS), "fees.ods")
    assert ods.text == "Fees\n\nZone\tFee\nNorth\t90¹\nNorth\t95\nNote on 90¹: Net."
    assert left_out(ods) == {
        "hidden_column": (1, "Fees"),
        "struck_passage": (1, "Fees"),
        "hidden_row": (1, "Fees"),
    }
    assert page_name(ods.name, ods.page_at(10), ods.heading_at(10)) == "sheet Fees"


def test_rtf_has_code_pages_notes_and_tables_but_no_struck_text(tmp_path):
    rtf = rb"""{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}}
{\stylesheet{\s1\sb0 heading 1;}}{\header Page head\par}\pard\s1 Rent\par
\pard It is {\strike 80 }90{\super 1} \'80{\footnote \chftn\~Net.}, {\f1\'e4\'e0}, \u8364?.\par
{\v Secret.}{\deleted old}{\listtext 1.\tab}First\par{\pict 0102}
\trowd\cellx1\cellx2\intbl Zone\cell Fee\cell\row
\trowd\clvmgf\cellx1\cellx2\intbl North\cell 10\cell\row
\trowd\clvmrg\cellx1\cellx2\intbl\cell 20\cell\row\pard{\*\unknown words}End.\par}trailing"""
    read = document(tmp_path, rtf, "rules.rtf")
    assert read.text == (
        "Header: Page head\n\n# Rent\n\nIt is 90¹ €, да, €.\n\n¹ Net.\n\n1. First\n\n"
        "Zone\tFee\nNorth\t10\nNorth\t20\n\nEnd."
    )
    kinds = ("struck_passage", "hidden_passage", "tracked_change", "picture")
    assert left_out(read) == dict.fromkeys(kinds, (1, "Rent"))
    starts = {one.kind: one.start for one in read.receipt.left_out}
    assert read.text[starts["picture"] :].strip().startswith("Zone")


def test_rtf_numbers_its_notes_as_word_and_libreoffice_write_them(tmp_path):
    word = rb"{\super\chftn}{\footnote\pard {\super\chftn } Net.}"
    office = rb"{\super\chftn{\*\footnote\pard{\super\chftn} In March.}}"
    rtf = rb"{\rtf1\ansi 90" + word + rb" and 80" + office + rb".\par}"
    read = document(tmp_path, rtf, "fees.rtf")
    assert read.text == "90¹ and 80².\n\n¹ Net.\n\n² In March."


def test_chapters_of_a_book_come_in_its_order(tmp_path):
    chapters = (
        '<a id="x"/><h1>Caf&eacute;</h1><p>90<sup>1</sup>&nbsp;euros &amp; a tip.</p><img/>',
        "<h2>Rules</h2><p>No <del>dogs</del> boats.</p>",
    )
    book = document(tmp_path, epub(*chapters), "harbour.epub")
    assert book.text == "# Café\n\n90¹ euros & a tip.\n\n## Rules\n\nNo boats."
    assert book.metadata["title"] == "Harbour"
    assert left_out(book) == {"struck_passage": (1, "Rules"), "picture": (1, "Café")}


def test_notebook_has_code_and_its_text_but_no_pictures(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": "# Rates\nAll in euros."},
        {
            "cell_type": "code",
            "source": ["# a comment\n", "print(90)"],
            "outputs": [
                {"output_type": "stream", "text": ["90\n"]},
                {"data": {"image/png": "iVBO", "text/plain": "<Figure size 1>"}},
                {"data": {"image/png": "iVBO", "text/plain": "highest: 734 cm"}},
                {"data": {"text/html": "<b>x</b>", "text/plain": "<HTML object at 0x7f>"}},
                {"ename": "ValueError", "traceback": ["..."]},
            ],
        },
    ]
    notebook = document(tmp_path, json.dumps({"cells": cells}).encode(), "rates.ipynb")
    assert notebook.text == (
        "# Rates\nAll in euros.\n\n```\n# a comment\nprint(90)\n```\n\n```\n90\n```"
        "\n\n```\nhighest: 734 cm\n```"
    )
    assert [heading.title for heading in notebook.headings] == ["Rates"]
    assert left_out(notebook) == {
        "picture": (2, "cell 2"),
        "output": (1, "cell 2"),
        "error_output": (1, "cell 2"),
    }


def test_turns_of_a_transcript_have_their_times_as_places(tmp_path):
    vtt = """WEBVTT - Meeting of 12 May
Kind: captions

NOTE made by hand

intro
00:01.000 --> 00:03.000 align:start
<v Ann>Welcome to the <i>harbour</i>.</v>

00:03.000 --> 00:05.000
<v Ann>Welcome to the harbour.
<v Ann>Berths are let in May.</v>

00:05.500 --> 00:07.000
<v Bob>How much &amp; when?</v>

01:02:03.000 --> 01:02:04.000
<v Bob>And in June?</v>
"""
    transcript = document(tmp_path, vtt.encode(), "meeting.vtt")
    assert transcript.metadata["title"] == "Meeting of 12 May"
    assert transcript.text == (
        "Meeting of 12 May\n\nAnn: Welcome to the harbour. Berths are let in May.\n\n"
        "Bob: How much & when?\n\nBob: And in June?"
    )
    at = transcript.text.index("How")
    assert page_name(transcript.name, None, transcript.heading_at(at)) == "00:00:05"
    assert transcript.headings[-1].title == "01:02:03"
    assert left_out(transcript) == {"comment": (1, "made by hand")}
    srt = document(
        tmp_path,
        b"1\n00:00:01,000 --> 00:00:02,000\nAnn: Hello.\n\n2\n00:00:02,500 "
        b"--> 00:00:03,000\nAnn: Bye.\n",
        "meeting.srt",
    )
    assert srt.text == "Ann: Hello. Bye."


def test_entries_of_calendars_and_address_books(tmp_path):
    calendar = document(
        tmp_path,
        b"BEGIN:VCALENDAR\r\nX-WR-CALNAME:Club\r\nBEGIN:VTIMEZONE\r\nBEGIN:STANDARD\r\n"
        b"DTSTART:19701025T030000\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\n"
        b"DTSTART;TZID=Europe/Rome:20260304T180000\r\nDTEND:20260304T193000Z\r\nSUMMARY:Board\r\n"
        b"RRULE:FREQ=WEEKLY;UNTIL=20261231\r\nDESCRIPTION:Crane\\nWin\r\n ter\\, hall\r\n"
        b'ORGANIZER;CN="Ito: Ken":mailto:k@example.org\r\nATTACH:https://example.org/a.pdf\r\n'
        b"BEGIN:VALARM\r\nDESCRIPTION:Reminder\r\nEND:VALARM\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\n"
        b"DTSTART;VALUE=DATE:20260801\r\nDTEND;VALUE=DATE:20260816\r\nSUMMARY:No crane\r\n"
        b"END:VEVENT\r\nEND:VCALENDAR\r\n",
        "a.ics",
    )
    assert calendar.text == (
        "Board\nStart: 2026-03-04 18:00 Europe/Rome\nEnd: 2026-03-04 19:30 UTC\n"
        "Repeats: weekly, until 2026-12-31\nDescription: Crane Winter, hall\n"
        "Organizer: Ito: Ken (k@example.org)\n\nNo crane\nStart: 2026-08-01\nEnd: 2026-08-15"
    )
    assert [heading.title for heading in calendar.headings] == ["Board", "No crane"]
    assert [(one.kind, one.count, one.first) for one in calendar.receipt.left_out] == [
        ("attachment", 1, "Board")
    ]
    book = document(
        tmp_path,
        b"BEGIN:VCARD\nFN;ENCODING=QUOTED-PRINTABLE:J=C3=B6rg =\nBraun\nORG:Harbour;Crane\n"
        b"item1.TEL;TYPE=WORK:+49 40 5522\nADR:;;Quay 4;Hamburg;;20457;\nPHOTO;ENCODING=b:AAAA\n"
        b" BBBB\nEND:VCARD\n",
        "a.vcf",
    )
    assert book.text == (
        "Jörg Braun\nOrganization: Harbour, Crane\nTelephone (work): +49 40 5522\n"
        "Address: Quay 4, Hamburg, 20457"
    )
    assert book.receipt.left_out[0].kind == "picture"


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (rb"{\rtf1 words", "x.rtf", "damaged"),
        (b'{"cells": 3}', "x.ipynb", "damaged"),
        (b'{"cells": [', "x.ipynb", "damaged"),
        (b"[1]", "x.ipynb", "damaged"),
        (b"words without times", "x.vtt", "damaged"),
        (b"words without entries", "x.ics", "damaged"),
        (zipped(mimetype="application/epub+zip"), "x.epub", "damaged"),
        (open_text("<text:p>a</text:p>")[:-40], "x.odt", "damaged"),
        (open_text("<text:p>unclosed"), "x.odt", "damaged"),
        (open_text("<!DOCTYPE x>"), "x.ods", "damaged"),
        (epub("<img/>"), "x.epub", "empty"),
        (
            epub("<p>x</p>", encryption='<e><CipherReference URI="book/c0.xhtml"/></e>'),
            "x.epub",
            "encrypted",
        ),
    ],
)
def test_what_is_damaged_is_refused(tmp_path, data, name, reason):
    with pytest.raises(UnreadableDocument) as caught:
        document(tmp_path, data, name)
    assert caught.value.reason == reason


@pytest.mark.parametrize("name", ["x.odt", "x.epub"])
def test_what_unpacks_to_too_much_is_refused(tmp_path, name):
    kind = "application/epub+zip" if name == "x.epub" else "application/vnd.oasis.opendocument.text"
    path = tmp_path / "content"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", kind)
        archive.writestr("content.xml", bytes(100_000_000))
    with pytest.raises(UnreadableDocument) as caught:
        read(path, name)
    assert caught.value.reason == "too_large"


@pytest.mark.parametrize(
    ("name", "data"), [("x.odt", open_text("<text:p/>")), ("x.rtf", rb"{\rtf1 \par}")]
)
def test_a_file_without_words_is_no_web_page(tmp_path, name, data):
    with pytest.raises(UnreadableDocument) as refused:
        document(tmp_path, data, name)
    assert refused.value.reason == "empty"
    assert "web page" not in str(refused.value)
