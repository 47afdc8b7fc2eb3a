"""Word and PowerPoint files, and what office archives may hide."""

import io
import re
import zipfile

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn

from rag import UnreadableDocument
from rag.readers import Limits, read
from tests.sample_files import put, slides, word, workbook, zip_bomb


def test_word_keeps_the_order_of_the_document(tmp_path):
    document = read(put(tmp_path, word()), "x.docx")
    assert document.text == (
        "Preface.\n\nTravel\n\nBook early.\n\nCity\tLimit\nRome\t120\nOslo\t180\n\n"
        "By train\n- Second class."
    )
    assert document.heading_at(document.text.index("Oslo")) == "Travel"
    assert document.heading_at(document.text.index("Second")) == "Travel > By train"
    assert document.metadata == {"title": "Handbook", "author": "Ada"}
    assert document.pages == ()


def test_word_reads_links_insertions_and_content_controls_but_not_deletions(tmp_path):
    document = docx.Document()
    paragraph = document.add_paragraph("Fee: ")
    for wrapper, tag, text in (("w:ins", "w:t", "20"), ("w:del", "w:delText", "10")):
        change, run, words = OxmlElement(wrapper), OxmlElement("w:r"), OxmlElement(tag)
        words.text = text
        run.append(words)
        change.append(run)
        paragraph._p.append(change)
    control, inside = OxmlElement("w:sdt"), OxmlElement("w:sdtContent")
    control.append(inside)
    inside.append(document.add_paragraph("controlled")._p)
    document.element.body.insert(1, control)
    buffer = io.BytesIO()
    document.save(buffer)
    assert read(put(tmp_path, buffer.getvalue()), "x.docx").text == "Fee: 20\n\ncontrolled"


def test_word_knows_headings_by_outline_level(tmp_path):
    document = docx.Document()
    paragraph = document.add_paragraph("Kapitel")
    level = OxmlElement("w:outlineLvl")
    level.set(qn("w:val"), "1")
    paragraph._p.get_or_add_pPr().append(level)
    buffer = io.BytesIO()
    document.save(buffer)
    found = read(put(tmp_path, buffer.getvalue()), "x.docx").headings
    assert [(item.start, item.level, item.title) for item in found] == [(0, 2, "Kapitel")]


def test_word_knows_items_of_lists_by_their_styles(tmp_path):
    document = docx.Document()
    document.add_paragraph("Dogs are not allowed in the following buildings:")
    document.add_paragraph("Library", style="List Bullet")
    based = document.styles.add_style("Building", WD_STYLE_TYPE.PARAGRAPH)
    based.base_style = document.styles["List Bullet 2"]
    document.add_paragraph("Museum", style=based)
    bare = document.styles["List Number"]
    bare.element.pPr.remove(bare.element.pPr.numPr)
    document.add_paragraph("Theatre", style=bare)
    unmarked = document.add_paragraph("Owners keep dogs on leashes.", style="List Bullet")
    unmarked._p.get_or_add_pPr().get_or_add_numPr().get_or_add_numId().val = 0
    document.add_paragraph("They clean up.", style="List Continue")
    buffer = io.BytesIO()
    document.save(buffer)
    assert read(put(tmp_path, buffer.getvalue()), "x.docx").text == (
        "Dogs are not allowed in the following buildings:\n- Library\n- Museum\n- Theatre\n\n"
        "Owners keep dogs on leashes.\n\nThey clean up."
    )


def test_slides_are_pages(tmp_path):
    document = read(put(tmp_path, slides()), "x.pptx")
    spans = [(page.number, document.text[page.start : page.end]) for page in document.pages]
    assert spans == [
        (1, "Results\n\nSales grew\n\nNotes: mention Oslo"),
        (2, "Numbers\n\nYear\tGrowth\n2024\t5%\n2025\t7%"),
    ]
    assert [item.title for item in document.headings] == ["Results", "Numbers"]
    assert document.metadata["pages"] == "2"
    assert [table.labels for table in document.tables] == [("Year", "Growth")]


def test_word_tables_have_labels_over_spanned_columns_and_their_caption(tmp_path):
    document = docx.Document()
    document.add_paragraph("Before.")
    document.add_paragraph("Table 4: Limits of travel", style="Caption")
    table = document.add_table(rows=3, cols=3)
    rows = (("", "Limit", ""), ("City", "EUR", "USD"), ("Rome", "120", "131"))
    for row, cells in enumerate(rows):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    document.add_paragraph("After.")
    buffer = io.BytesIO()
    document.save(buffer)
    found = read(put(tmp_path, buffer.getvalue()), "x.docx")
    (only,) = found.tables
    assert found.text == (
        "Before.\n\nTable 4: Limits of travel\n\tLimit\nCity\tEUR\tUSD\nRome\t120\t131\n\nAfter."
    )
    assert found.text[only.start : only.end].startswith("\tLimit\nCity")
    assert only.labels == ("City", "Limit EUR", "Limit USD")
    assert only.caption == "Table 4: Limits of travel"


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("x.docx", "word/document.xml"),
        ("x.pptx", "ppt/presentation.xml"),
        ("x.xlsx", "xl/workbook.xml"),
    ],
)
def test_what_would_unpack_to_too_much_is_refused(tmp_path, name, member):
    path = put(tmp_path, zip_bomb(member, 3_000_000))
    with pytest.raises(
        UnreadableDocument, match=r"The unpacked file has 3 MB. The limit is 2 MB"
    ) as caught:
        read(path, name, limits=Limits(max_unpacked_bytes=2_000_000))
    assert caught.value.reason == "too_large"


def test_what_unpacks_to_many_times_its_size_is_refused(tmp_path):
    path = put(tmp_path, zip_bomb("word/document.xml", 30_000_000))
    with pytest.raises(UnreadableDocument, match="times its size") as caught:
        read(path, "x.docx")
    assert caught.value.reason == "too_large"


@pytest.mark.parametrize(
    ("name", "data"), [("x.docx", word()), ("x.pptx", slides()), ("x.xlsx", workbook(A=[["a"]]))]
)
def test_half_an_archive_is_damaged(tmp_path, name, data):
    with pytest.raises(UnreadableDocument) as caught:
        read(put(tmp_path, data[: len(data) // 2]), name)
    assert caught.value.reason == "damaged"


def changed(data: bytes, member: str, old: str, new: str) -> bytes:
    """An archive with one part of it changed."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as original,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as copy,
    ):
        for name in original.namelist():
            part = original.read(name)
            if name == member:
                assert old.encode() in part
                part = part.replace(old.encode(), new.encode(), 1)
            copy.writestr(name, part)
    return buffer.getvalue()


LAUGHS = '<!ENTITY e "ha">' + "".join(
    f'<!ENTITY a{n} "{(f"&a{n - 1};" if n else "&e;") * 10}">' for n in range(9)
)


@pytest.mark.parametrize("entities", [LAUGHS, '<!ENTITY e SYSTEM "file:///etc/hostname">'])
@pytest.mark.parametrize(
    ("name", "data", "member", "old"),
    [
        ("x.docx", word(), "word/document.xml", "Book"),
        ("x.pptx", slides(), "ppt/slides/slide1.xml", "Sales"),
        ("x.xlsx", workbook(A=[["Rome"]]), "xl/worksheets/sheet1.xml", "Rome"),
    ],
)
def test_a_file_with_entities_is_refused_and_not_cut(tmp_path, name, data, member, old, entities):
    used = changed(data, member, old, f"{old} &e; then")
    with zipfile.ZipFile(io.BytesIO(used)) as archive:
        root = re.search(r"<[a-z:]+", archive.read(member).decode())
    assert root
    declared = changed(used, member, root.group(), f"<!DOCTYPE x [{entities}]>{root.group()}")
    with pytest.raises(UnreadableDocument, match="document type declaration") as caught:
        read(put(tmp_path, declared), name)
    assert caught.value.reason == "damaged"


@pytest.mark.parametrize(
    "new",
    ["x" * 11_000_000, "<w:r>" * 300 + "</w:r>" * 300, "</w:t></w:r><w:r><w:t>" * 600_000],
    ids=["a long text", "deep nesting", "many elements"],
)
def test_a_part_that_is_too_large_is_not_called_damaged(tmp_path, new):
    data = changed(word(), "word/document.xml", "Book", new)
    with pytest.raises(UnreadableDocument, match=r"too large|more than 300 MB") as caught:
        read(put(tmp_path, data), "x.docx", limits=Limits(memory_mb=300))
    assert caught.value.reason == "too_large"
