"""Different files are different documents, however alike their names; the same stay the same."""

import io
from collections.abc import Mapping
from pathlib import Path

import pytest

from rag import KnowledgeBase, Upload, Workspace
from tests.workspaces import QUICK


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
