"""What is indexed with a passage and not shown."""

from dataclasses import replace

import pytest

from rag import Chunk, Document, IndexRecipe, Table
from rag.chunking import chunks
from rag.chunking.contexts import MOST_TOKENS, Contexts, name_words, title_of, tokens
from rag.recipe import ContextLevel
from rag.storage.vectors import text_hash
from rag.types import Heading, Page, chunk_key
from tests.tokenizers import Words

ROWS = "Code\tMeaning\nCV-117\tLid open\nCV-118\tRotor not recognised\n"
TEXT = f"Faults\nWhat the display says.\nFault codes\n{ROWS}Call the service."
START = TEXT.index("Code\t")
MANUAL = Document(
    "d",
    "manuals/c16r-manual_2026.pdf",
    "",
    "application/pdf",
    TEXT,
    pages=(Page(1, 0, len(TEXT), "Kestrelmoor | Corvane C16R operating manual"),),
    headings=(Heading(0, 1, "9 Faults"), Heading(0, 2, "9.1 What it says")),
    tables=(Table(START, START + len(ROWS) - 1, ("Code", "", "Meaning"), "Fault codes"),),
    metadata={"title": "Corvane C16R operating manual"},
)
ROW = TEXT.index("CV-118"), TEXT.index("\nCall")


def _context(level: ContextLevel, document: Document = MANUAL, span: tuple[int, int] = ROW) -> str:
    return Contexts(document, level).of(*span)


def test_each_level_adds_to_the_one_before():
    document = "Corvane C16R operating manual · 2026"
    headings = f"{document}\n9 Faults > 9.1 What it says"
    assert _context("none") == ""
    assert _context("document") == document
    assert _context("headings") == headings
    assert _context("table") == f"{headings}\nFault codes\nCode, Meaning"


def test_a_running_head_stands_in_for_a_title_that_is_not_stated():
    heads = "Corvane C16R operating manual | Kestrelmoor | Page 3 of 14"
    document = replace(MANUAL, metadata={}, pages=(Page(1, 0, len(TEXT), heads),))
    about, path, head, *_ = _context("table", document).splitlines()
    assert (about, path) == ("Faults · c16r manual 2026", "9.1 What it says")
    assert head == "Corvane C16R operating manual"


def test_labels_that_the_passage_shows_itself_are_not_said_again():
    whole = _context("table", span=(START, ROW[1]))
    assert "Code, Meaning" not in whole
    assert "Fault codes" in whole  # the line above the table is not in the passage
    before = _context("table", span=(0, ROW[1]))
    assert "Fault codes" not in before


def test_what_the_passage_begins_with_is_not_said_again():
    text = "# Leave policy 2026\n\n## Carrying over\n\nFive days."
    document = Document(
        "d",
        "leave-policy-2026.md",
        "",
        "text/markdown",
        text,
        headings=(Heading(0, 1, "Leave policy 2026"), Heading(21, 2, "Carrying over")),
    )
    assert _context("table", document, (0, len(text))) == ""
    last = text.index("Five"), len(text)
    assert _context("table", document, last) == "Leave policy 2026\nCarrying over"


def test_a_context_is_about_fifty_tokens_and_labels_come_before_running_heads():
    long = "word " * 200
    document = replace(
        MANUAL,
        metadata={"title": f"Title {long}"},  # a head would have no room, nor is it asked
        pages=(Page(1, 0, len(TEXT), f"Head {long}"),),
        headings=(Heading(0, 1, f"Part {long}"), Heading(0, 2, "9.1 The section")),
        tables=(Table(START, ROW[1], ("Code", *["Column"] * 80), f"Caption {long}"),),
    )
    context = _context("table", document)
    assert 40 <= tokens(context) <= MOST_TOKENS
    assert context.splitlines()[0].startswith("Title word word")
    assert context.splitlines()[1].endswith(" > 9.1 The section")
    assert context.splitlines()[-1].startswith("Code, Column, Column")
    assert "Head" not in context


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("boreal-u400-manual.pdf", "boreal u400 manual"),
        ("law/2020/KM-DOC-5101_final (2).pdf", "KM-DOC-5101 final"),
        ("AnnualReport.docx", "Annual Report"),
        ("4983", ""),
        ("2023-11-07.pdf", ""),
        ("d41d8cd98f00b204e9800998ecf8427e report.pdf", "report"),
        ("https://example.org/guides/cold-storage.html?x=1#top", "cold storage"),
        ("https://example.org/", "example"),
        ("Résumé.v2.pdf", "Résumé v2"),
        ("rules_v1.9_2025.pdf", "rules v1.9 2025"),
        ("08.2025.2 - Trainee Delegates.md", "08.2025.2 Trainee Delegates"),
        ("motion 8-2025-12.md", "motion 8-2025-12"),
        ("minutes 31.03.2026.md", "minutes 31 03 2026"),
        ("minutes 2026.03.31.md", "minutes 2026 03 31"),
        ("rules-v1.11-2026.pdf", "rules v1.11 2026"),
    ],
)
def test_the_words_of_a_name(name, words):
    assert " ".join(name_words(name)) == words


@pytest.mark.parametrize(
    ("stated", "text", "title"),
    [
        ("Leave policy", "Anything", "Leave policy"),
        ("Microsoft Word - draft.doc", "MINUTES\nDate: 3 May", "MINUTES"),
        ("(anonymous)", "A line that goes on,\nand on.", ""),
        ("untitled", "A line that goes on,\nand on.", ""),
        (
            "",
            "BERT: Pre-training of Deep Bidirectional Transformers for\nLanguage Understanding\nJD",
            "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
        ),
        ("", "Terms of\n\nOne.", "Terms of"),
        ("", "We looked for\na reason that it fails.", ""),
        ("scan0001.pdf", "a; b; c\nd; e; f", ""),
        ("", "Only one line", ""),
        ("12", "Code\tMeaning\nCV-1\tLid", ""),
        ("", "Permit 3100 Fee: 18 euros\n\nPia\n\nPermit 3107 Fee: 42 euros\n\nTom", ""),
        ("", "Manual of the Delta 3\n\nThe Delta 3 lifts water.", "Manual of the Delta 3"),
    ],
)
def test_the_title_of_a_document(stated, text, title):
    document = Document("d", "x", "", "text/plain", text, metadata={"title": stated})
    assert title_of(document) == title


def test_the_first_heading_is_a_title_unless_it_is_a_chapter():
    document = replace(MANUAL, metadata={}, headings=(Heading(7, 1, "Corvane C16R"),))
    assert title_of(document) == "Corvane C16R"
    assert title_of(replace(document, headings=MANUAL.headings)) == "Faults"
    codes = (Heading(0, 1, "RULE-A002"), Heading(13, 1, "RULE-A020"))
    rules = replace(document, text="# RULE-A002\n\n# RULE-A020\n", pages=(), headings=codes)
    assert title_of(rules) == ""


def test_passages_know_what_is_indexed_with_them():
    recipe = IndexRecipe(chunk_size=8, context="table")
    cut = list(chunks(MANUAL, recipe, Words()))
    plain = list(chunks(MANUAL, IndexRecipe(chunk_size=8, context="none"), Words()))
    assert [replace(chunk, context="") for chunk in cut] == plain
    assert [chunk.indexed_text for chunk in plain] == [chunk.text for chunk in plain]
    row = next(chunk for chunk in cut if "CV-118" in chunk.text)
    assert row.indexed_text.splitlines()[0] == "Corvane C16R operating manual · 2026"
    assert row.indexed_text.endswith(f"\n{row.text}")


@pytest.mark.parametrize(
    ("name", "title", "context"),
    [
        (
            "7220-17_Fees_for_Services_and_Activities_By-Law.pdf",
            "Consolidated Fees & Charges By-law",
            "Consolidated Fees & Charges By-law · 7220 Fees for Services and Activities",
        ),
        ("4640-00_Tree_By-Law.pdf", "Town of Whitby", "Town of Whitby · 4640 Tree By Law"),
        ("Fees_2.pdf", "Fees and charges", "Fees and charges"),
        ("benefits-and-perks-2023.md", "Benefits & Perks", "Benefits & Perks · 2023"),
    ],
)
def test_a_name_keeps_the_words_between_those_that_the_title_lacks(name, title, context):
    document = Document("d", name, "", "", "Nothing of it.", metadata={"title": title})
    assert Contexts(document, "document").of(0, 14) == context


def test_without_context_what_is_cached_and_named_is_what_it_was():
    chunk = Chunk(chunk_key("d", 0, 5), "d", 0, 5, "Hello", 0)
    assert text_hash(chunk.indexed_text).hex() == "ad10196e1159e75dd6be7d03f75be04f"
    plain = IndexRecipe(context="none")
    assert plain.cut == "markdown 200/0 tokens of minilm or estimated"
    assert IndexRecipe(context="headings").spans == plain.cut
    assert IndexRecipe(context="headings").cut != plain.cut
