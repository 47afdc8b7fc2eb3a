"""The source of a passage: printed page, rows of a table, text; all of it can be walked."""

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.components.source.element import table_block
from pages.components.source.whole_text import (
    MOST,
    blocks,
    marked_lines,
    names_of,
    pieces,
    row_kinds,
    window,
)
from rag import Document, KnowledgeBase, Table
from rag.types import Heading
from tests.handbook import RECIPE, ask, marked, row_words, texts, visit
from tests.sample_files import pdf
from tests.workspaces import add, workspace_at

PAGES = (
    "Cover of the manual.",
    "The zircon valve is opened by hand.\nTurn it once to the left.",
    "Colophon and index of words.",
)
CSV = "Part,Price,Note\n" + "\n".join(f"P-{row},{row}0,spare; kept dry" for row in range(200))
DOGS = ("Dogs may come on Mondays.", "Dogs may also come on Fridays with a lead.")
ZIRCON = "How is the zircon valve opened?"


def workbook() -> bytes:
    book = openpyxl.Workbook()
    book.active.title = "Rooms"
    for row in (["Room", "Seats"], ["Quern", 12], *[[f"Hollin {n}", n] for n in range(60)]):
        book.active.append(row)
    rates = book.create_sheet("Rates")
    for row in (["City", "Euros"], ["Oslo", 170], ["Lisbon", 95]):
        rates.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


@pytest.fixture
def base(home: Path) -> Iterator[KnowledgeBase]:
    st.cache_resource.clear()
    st.cache_data.clear()
    workspace = workspace_at(home)
    made = workspace.create("sources", RECIPE.with_fields({"search.threshold": None}))
    files = {"manual.pdf": pdf(*PAGES), "parts.csv": CSV, "rooms.xlsx": workbook()}
    files["dogs.md"] = f"# Dogs\n\n{DOGS[0]} The gate is green.\n\n{DOGS[1]}"
    assert set(add(workspace, made, files)) == {"added"}
    yield made
    workspace.close()
    st.cache_resource.clear()


def passage_of(base: KnowledgeBase, name: str, words: str) -> str:
    """Id of the passage of a document that has some words."""
    [info] = [each for each in base.documents.documents(base.recipe().index) if each.name == name]
    cut = base.documents.chunks(info.id, base.recipe().index)
    return next(each.id for each in cut if words in each.text)


def opened(base: KnowledgeBase, question: str, name: str, words: str) -> AppTest:
    return visit("inspector.py", q=question, passage=passage_of(base, name, words))


def picture(app: AppTest) -> str:
    """The alternative text of the page's picture, "" where there is none."""
    found = [each.proto for each in app.get("image")]
    return str(found[0].imgs[0].alt) if found else ""


def test_a_pdf_shows_its_page_with_the_passage_marked(base):
    app = opened(base, ZIRCON, "manual.pdf", "zircon")
    assert picture(app).startswith("Page 2 of manual.pdf; the passage is marked in 2 places")
    assert "page 2 of 3" in texts(app)


def test_a_passage_of_two_pages_is_marked_on_both(base):
    app = opened(base, ZIRCON, "manual.pdf", "zircon")
    app.button(key="source_Previous page").click().run()
    assert picture(app) == "Page 1 of manual.pdf; the passage is marked in 1 place."


def test_pages_are_turned_and_the_address_knows_it(base):
    app = opened(base, ZIRCON, "manual.pdf", "zircon")
    app.button(key="source_Next page").click().run()
    assert app.query_params["leaf"] == "1"
    assert app.button(key="source_Next page").disabled
    app.button(key="source_Previous page").click().run()
    app.button(key="source_Previous page").click().run()
    assert app.query_params["leaf"] == "-1"
    assert picture(app).startswith("Page 1 of manual.pdf")
    again = visit(
        "inspector.py", q=ZIRCON, passage=passage_of(base, "manual.pdf", "zircon"), leaf="-1"
    )
    assert picture(again) == picture(app)


def test_the_text_of_a_pdf_is_a_switch_away(base):
    app = opened(base, ZIRCON, "manual.pdf", "zircon")
    app.get_by_key("page_or_text").set_value("Text").run()
    assert picture(app) == ""
    assert marked(app, "quote") == "The zircon valve is opened by hand."
    assert "Turn it once to the left." in marked(app)
    passage = passage_of(base, "manual.pdf", "zircon")
    again = visit("inspector.py", q=ZIRCON, passage=passage, page_or_text="Text")
    assert marked(again, "quote") == marked(app, "quote")


def test_a_pdf_whose_file_is_gone_or_damaged_shows_its_text(base):
    [info] = [
        each for each in base.documents.documents(base.recipe().index) if each.name == "manual.pdf"
    ]
    original = base.documents.original(info.id)
    original.write_bytes(b"%PDF-1.7 overwritten")
    app = opened(base, ZIRCON, "manual.pdf", "zircon")
    assert "zircon valve" in marked(app, "quote")
    original.unlink()
    app = opened(base, ZIRCON, "manual.pdf", "zircon")
    assert "zircon valve" in marked(app, "quote")


def table(app: AppTest) -> dict[str, Any]:
    """The one table that the source view draws."""
    drawn = [each.proto.json for each in app.get("bidi_component")]
    [[block]] = [json.loads(data)["blocks"] for data in drawn if '"blocks"' in data]
    assert block["kind"] == "table"
    return dict(block)


def test_a_table_shows_its_rows_with_those_of_the_passage_marked(base):
    app = opened(base, "P-150 price", "parts.csv", "P-150")
    drawn = table(app)
    assert [row_words(cells) for cells in drawn["head"]] == [["", "Part", "Price", "Note"]]
    rows = {row_words(cells)[1]: (row_words(cells), kind) for cells, kind in drawn["rows"]}
    assert rows["P-150"] == (["▶ 151", "P-150", "1500", "spare; kept dry"], "quote")
    assert rows["P-120"] == (["121", "P-120", "1200", "spare; kept dry"], "")
    assert len(rows) == 60  # as on each page: no row is on two
    assert drawn["numbered"]


def test_a_workbook_shows_the_sheet_of_the_passage(base):
    app = opened(base, "Lisbon Euros", "rooms.xlsx", "Lisbon")
    drawn = table(app)
    assert [row_words(cells) for cells in drawn["head"]] == [["", "City", "Euros"]]
    assert [row_words(cells)[1] for cells, _ in drawn["rows"]] == ["Oslo", "Lisbon"]
    app.get_by_key("table_or_text").set_value("Text").run()
    assert marked(app, "quote") == "Lisbon\t95"


def test_columns_have_their_labels_or_their_numbers():
    table = Table(0, 0, ("Part", "", "Part"))
    lines = ["Part\t\tPart", "a\tx", "b\t\t3\t4"]
    assert names_of(table, lines) == ["Part", "2", "3", "4"]
    assert table.header_rows(lines) == 1


def test_the_row_of_the_quote_stands_out_from_those_of_the_passage():
    lines = ["abc", "def", "ghi"]
    assert row_kinds(lines, 10, [(10, 17), (14, 16)]) == {0: "passage", 1: "quote"}
    assert row_kinds(lines, 10, [(0, 10)]) == {}
    assert row_kinds(lines, 10, [(21, 30)]) == {}


def test_no_column_gets_so_narrow_that_words_stand_letter_by_letter():
    long = "words that wrap onto several lines"
    drawn = table_block([[[("No", "")], [("Note", "")]]], [([[("7", "")], [(long, "")]], "")])
    assert drawn["widths"] == [2, 14]


@pytest.mark.parametrize(
    ("passage", "rows"), [((0, 3), [0]), ((1, 5), [0, 1]), ((4, 7), [1]), ((8, 11), [2])]
)
def test_the_rows_of_a_passage_are_those_it_touches(passage, rows):
    assert marked_lines(["abc", "def", "ghi"], passage) == rows


def test_pieces_of_a_text_give_all_of_it():
    text = "before PASSAGE with QUOTE in it after"
    start, quote = text.index("PASSAGE"), text.index("QUOTE")
    found = pieces(text, [(start, text.index(" after")), (quote, quote + 5)], 0, len(text))
    assert "".join(words for words, _ in found) == text
    assert [kind for _, kind in found] == ["", "passage", "quote", "passage", ""]


def test_a_footnote_that_is_joined_to_a_quote_is_marked_like_it():
    text = "It costs 9 euros.¹ Pay at the desk.\n\n¹ Children pay 4 euros."
    marks = [(0, 35), (0, 18), (text.index("¹ Ch"), len(text))]
    assert pieces(text, marks, 0, len(text)) == [
        ("It costs 9 euros.¹", "quote"),
        (" Pay at the desk.", "passage"),
        ("\n\n", ""),
        ("¹ Children pay 4 euros.", "quote"),
    ]
    assert row_kinds(text.split("\n"), 0, marks) == {0: "quote", 2: "quote"}


def test_all_quotes_of_a_citation_are_marked(base):
    ask(visit("chat.py"), "When may dogs come?")
    app = visit("chat.py", talk="1", source="1.1")
    assert marked(app, "quote").split("\n") == [*DOGS]


def test_lines_that_the_paper_ended_are_joined_and_entries_of_a_list_are_not():
    line = "a line that is as long as the paper of the manual is wide, "
    text = f"{line}\nand goes on.\n1. {line}\n2. {line}\n- {line}"
    assert pieces(text, [(0, 0)], 0, len(text)) == [
        (f"{line} and goes on.\n1. {line}\n2. {line}\n- {line}", "")
    ]


def test_a_long_text_is_shown_around_the_passage():
    assert window(500, (10, 20)) == (0, 500)
    assert window(10 * MOST, (5 * MOST, 5 * MOST + 10)) == (4.5 * MOST, 5.5 * MOST)
    assert window(10 * MOST, (10 * MOST - 5, 10 * MOST)) == (9 * MOST, 10 * MOST)
    assert window(10 * MOST, (0, 3 * MOST)) == (0, 3 * MOST)


def _notes() -> Document:
    text = (
        "# Notes #\n\nBefore the results.\n\nResults in C#\n====\n\n"
        "Setting\tTime\nFixed\t21 min\nBoil\t18 min\n\nAfter the table."
    )
    table = text.index("Setting")
    return Document(
        "d",
        "notes.md",
        "",
        "text/markdown",
        text,
        headings=(Heading(0, 1, "Notes"), Heading(text.index("Results"), 1, "Results in C#")),
        tables=(Table(table, text.index("\n\nAfter"), ("Setting", "Time")),),
    )


def test_tables_and_headings_of_a_text_are_drawn_as_such():
    document = _notes()
    row = document.text.index("Boil")
    marks = [(document.text.index("Setting"), row + 11), (row, row + 11)]
    assert blocks(document, marks, 0, len(document.text)) == [
        {"kind": "heading", "level": 1, "pieces": [("Notes", "")]},
        {"kind": "text", "pieces": [("Before the results.", "")]},
        {"kind": "heading", "level": 1, "pieces": [("Results in C#", "")]},
        {
            "kind": "table",
            "head": [[[("Setting", "")], [("Time", "")]]],
            "rows": [
                ([[("Fixed", "")], [("21 min", "")]], "passage"),
                ([[("Boil", "")], [("18 min", "")]], "quote"),
            ],
            "widths": [7, 6],
            "numbered": False,
        },
        {"kind": "text", "pieces": [("After the table.", "")]},
    ]


def test_tags_of_layout_are_not_drawn():
    text = '<aside class="a_b">\nAsk <a href="https://a.b/c_d">who</a> `<aside>`.\n</aside>'
    document = Document("d", "notes.md", "", "text/markdown", text)
    (block,) = blocks(document, [(0, 0)], 0, len(text))
    assert "".join(words for words, _ in block["pieces"]).strip() == "Ask who <aside>."


def test_no_row_is_marked_for_a_passage_below_its_table():
    document = _notes()
    after = document.text.index("After")
    drawn = blocks(document, [(after, after + 5)], 0, len(document.text))
    assert [kind for _, kind in drawn[3]["rows"]] == ["", ""]
    assert drawn[4]["pieces"] == [("After", "passage"), (" the table.", "")]


def test_a_table_that_the_window_cuts_is_shown_as_text():
    document = _notes()
    row = document.text.index("Boil")
    drawn = blocks(document, [(row, row + 4)], row, len(document.text))
    assert drawn == [
        {"kind": "text", "pieces": [("Boil", "passage"), ("\t18 min\n\nAfter the table.", "")]}
    ]


def _guide(text: str, media_type: str = "text/markdown") -> Document:
    return Document("d", "guide.md", "", media_type, text)


def _shown(document: Document, quote: str) -> list[dict[str, Any]]:
    at = document.text.index(quote)
    marks = [(0, len(document.text)), (at, at + len(quote))]
    return blocks(document, marks, 0, len(document.text))


def test_marks_of_markdown_are_drawn_as_what_they_mean():
    text = (
        "Call `ingest KB` **once, with `--json`**, see [verbs](#verbs),\n\n[site](https://a.org)."
    )
    assert _shown(_guide(text), "once") == [
        {
            "kind": "text",
            "pieces": [
                ("Call ", "passage"),
                ("ingest KB", "passage code"),
                (" ", "passage"),
                ("once", "quote strong"),
                (", with ", "passage strong"),
                ("--json", "passage strong code"),
                (", see ", "passage"),
                ("verbs", "passage"),
                (",\n\n", "passage"),
                ("site", "passage"),
                ("https://a.org", "passage address"),
                (".", "passage"),
            ],
        }
    ]
    [plain] = _shown(_guide(text, "text/plain"), "once")
    assert "".join(words for words, _ in plain["pieces"]) == text


def test_code_keeps_its_lines_and_loses_its_fences():
    line = "python -m rag ingest handbook data/sample/leave-policy.pdf"
    text = f"Before.\n\n```bash\n{line}\n{line}\n```\n\nAfter `it`.\n~~~\nopen"
    assert _shown(_guide(text), "After") == [
        {"kind": "text", "pieces": [("Before.", "passage")]},
        {"kind": "code", "pieces": [(f"{line}\n{line}", "passage")]},
        {
            "kind": "text",
            "pieces": [
                ("After", "quote"),
                (" ", "passage"),
                ("it", "passage code"),
                (".", "passage"),
            ],
        },
        {"kind": "code", "pieces": [("open", "passage")]},
    ]
    [empty] = _shown(_guide("```\n```"), "")
    assert empty == {"kind": "code", "pieces": []}


def test_cells_of_a_markdown_table_show_code_as_code():
    text = "Name\tUse\n`gate`\tfails a **build**"
    document = replace(_guide(text), tables=(Table(0, len(text), ("Name", "Use")),))
    [drawn] = _shown(document, "fails")
    assert drawn["rows"] == [
        ([[("gate", "code")], [("fails a ", ""), ("build", "strong")]], "quote")
    ]


def test_items_of_nested_lists_stay_apart():
    items = (
        "- Unused leave may be carried over until 30 June of the next year, if",
        "  - the employee was ill for more than six weeks of the calendar year,",
        "    * or the business could not spare the employee in that whole time.",
        "      1. The head of the department decides about that in each single case.",
    )
    text = "\n".join(items)
    assert pieces(text, [(0, 0)], 0, len(text)) == [(text, "")]
