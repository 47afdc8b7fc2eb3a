"""What was found in a document comes back from database, pipe and bundle as it was."""

import pytest

from rag import Document, Recipe, Table, page_name
from rag.experiments.bundles.contents import DocumentEntry, Text
from rag.readers.content import Content
from rag.readers.isolation import content_message, content_of, decode, encode
from rag.storage import bases, documents
from rag.types import Heading, Page
from tests.workspaces import database_at

TEXT = "Codes of the device\nCode\tMeaning\nCV-118\tRotor not recognised\nCall us."
ROWS = Table(20, 60, ("Code", "Meaning"), "Codes of the device")
PARTS = Document(
    id="d" * 64,
    name="codes.pdf",
    source="",
    media_type="application/pdf",
    text=TEXT,
    pages=(Page(1, 0, 60, "Centrifuge CV 3"), Page(2, 61, 69, confidence=81.5)),
    headings=(Heading(0, 1, "Codes"),),
    tables=(ROWS,),
    metadata={"pages": "2"},
    reader_version=3,
)


def test_a_stored_document_has_all_its_parts(tmp_path):
    database = database_at(tmp_path)
    with database.write() as connection:
        base = bases.create(connection, "devices", Recipe())
        documents.insert_document(connection, base.id, PARTS)
    with database.read() as connection:
        assert documents.get(connection, base.id, PARTS.id) == PARTS
    database.close()


def test_what_was_read_in_another_process_has_all_its_parts():
    read = Content(TEXT, PARTS.pages, PARTS.headings, PARTS.tables, {"pages": "2"})
    message = decode(encode(content_message(read)))
    assert content_of(message) == read


def test_a_bundled_text_has_all_its_parts():
    packed = Text.model_validate_json(Text.of(PARTS).model_dump_json())
    entry = DocumentEntry.model_construct(
        id=PARTS.id, name=PARTS.name, source="", media_type=PARTS.media_type
    )
    assert packed.is_consistent
    assert packed.document(entry) == PARTS


def test_a_bundled_text_from_before_has_pages_without_heads():
    old = Text.model_validate({"text": "abc", "pages": [[1, 0, 3]], "headings": [[0, 1, "A"]]})
    entry = DocumentEntry.model_construct(id="d", name="d", source="", media_type="text/plain")
    document = old.document(entry)
    assert (document.pages, document.tables, document.reader_version) == ((Page(1, 0, 3),), (), 0)


def test_a_place_knows_the_table_that_holds_it():
    assert PARTS.table_at(TEXT.index("CV-118")) == ROWS
    assert (PARTS.table_at(0), PARTS.table_at(ROWS.end)) == (None, None)


@pytest.mark.parametrize(
    ("document", "page", "heading", "name"),
    [
        ("limits.pdf", 5, "Chapter", ", page 5"),
        ("plan.XLSX", 5, "Budget", ", sheet Budget"),
        ("plan.xlsm", 2, "Budget 2024 > Costs", ", sheet Budget 2024"),
        ("plan.xlsx", 5, "", ", sheet 5"),
        ("plan.xlsx", None, "Budget", ""),
    ],
)
def test_sheets_have_names_and_pages_numbers(document, page, heading, name):
    assert page_name(document, page, heading, ", ") == name
