"""Different files are different documents, and what was read of one comes back as it was."""

import io
from collections.abc import Mapping
from pathlib import Path

import pytest

from rag import Document, KnowledgeBase, Recipe, Table, Upload, Workspace, page_name
from rag.experiments.bundles.contents import DocumentEntry, Text
from rag.readers.content import Content
from rag.readers.isolation import content_message, content_of, decode, encode
from rag.storage import bases, documents
from rag.types import Heading, Page
from tests.workspaces import QUICK, database_at


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.create("handbook", QUICK)


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def statuses(workspace: Workspace, job: int) -> dict[str, str]:
    workspace.jobs.run(job)
    return {item.name: item.status for item in workspace.jobs.items(job)}


def texts(base: KnowledgeBase) -> dict[str, str]:
    infos = base.documents.documents(QUICK.index)
    return {info.name: base.documents.document(info.id).text.strip() for info in infos}


def test_files_of_a_folder_are_named_by_their_path_in_it(workspace, base, tmp_path):
    files = {"readme.md": "Top.", "a/readme.md": "About a.", "b/deep/readme.md": "About b."}
    folder = write(tmp_path / "notes", files)
    added = statuses(workspace, base.documents.add_paths([folder]))
    assert added == dict.fromkeys(files, "added")
    assert texts(base) == files
    again = statuses(workspace, base.documents.add_paths([folder]))
    assert again == dict.fromkeys(files, "unchanged")
    write(folder, {"a/readme.md": "More about a."})
    assert statuses(workspace, base.documents.add_paths([folder]))["a/readme.md"] == "replaced"
    assert texts(base) == {**files, "a/readme.md": "More about a."}


def test_equal_names_of_one_batch_are_told_apart_by_their_folders(workspace, base, tmp_path):
    write(tmp_path, {"x/readme.md": "About x.", "y/readme.md": "About y.", "x/only.md": "Only."})
    files = [tmp_path / "x" / "readme.md", tmp_path / "y", tmp_path / "x" / "only.md"]
    expected = {"x/readme.md": "About x.", "y/readme.md": "About y.", "only.md": "Only."}
    assert statuses(workspace, base.documents.add_paths(files)) == dict.fromkeys(expected, "added")
    assert texts(base) == expected
    turned = statuses(workspace, base.documents.add_paths(files[::-1]))
    assert turned == dict.fromkeys(expected, "unchanged")


def test_folders_of_equal_names_get_numbers(workspace, base, tmp_path):
    write(tmp_path, {"1/docs/readme.md": "One.", "2/docs/readme.md": "Two."})
    folders = [tmp_path / "1" / "docs", tmp_path / "2" / "docs"]
    workspace.jobs.run(base.documents.add_paths(folders))
    assert texts(base) == {"docs/readme.md": "One.", "docs/readme (2).md": "Two."}


def test_a_file_that_is_named_twice_is_added_once(workspace, base, tmp_path):
    folder = write(tmp_path / "notes", {"a/readme.md": "About a."})
    job = base.documents.add_paths([folder, folder / "a" / "readme.md"])
    assert statuses(workspace, job) == {"a/readme.md": "added"}


def test_uploads_of_equal_names_replace_earlier_batches_and_never_each_other(workspace, base):
    def upload(*files: tuple[str, str]) -> dict[str, str]:
        uploads = [Upload(name, io.BytesIO(text.encode())) for name, text in files]
        return statuses(workspace, base.documents.add_files(uploads))

    taken = ("readme (2).md", "Mine.")
    first = upload(("readme.md", "One."), taken, ("readme.md", "Two."))
    assert first == dict.fromkeys(["readme.md", "readme (2).md", "readme (3).md"], "added")
    assert texts(base) == {"readme.md": "One.", "readme (2).md": "Mine.", "readme (3).md": "Two."}
    second = upload(("readme.md", "One, new."), taken, ("readme.md", "Two."))
    assert list(second.values()) == ["replaced", "unchanged", "unchanged"]


def test_a_later_copy_gives_its_plain_name_to_the_stored_one_and_no_part_of_a_word(
    workspace, base, tmp_path
):
    write(tmp_path, {"leave (2).md": "Leave.", "data.md": "Data."})
    statuses(workspace, base.documents.add_paths([tmp_path]))
    later = write(tmp_path / "later", {"leave.md": "Leave.", "a.md": "Data."})
    statuses(workspace, base.documents.add_paths([later]))
    assert texts(base) == {"leave.md": "Leave.", "data.md": "Data."}


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
