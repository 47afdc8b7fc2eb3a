"""Files within files: mail with attachments, mailboxes, and archives, as documents of their own."""

from __future__ import annotations

import io
import json
import stat
import zipfile

import pytest

from rag import InvalidFile, KnowledgeBase, UnreadableDocument, Upload, Workspace
from rag.readers import Limits, read, unpack
from tests.sample_files import message, put, workbook, zipped
from tests.workspaces import QUICK

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def added(
    workspace: Workspace, base: KnowledgeBase, name: str, data: bytes
) -> dict[str, tuple[str, str]]:
    """Status and reason of each item, by name."""
    job = base.documents.add_files([Upload(name, io.BytesIO(data))])
    workspace.jobs.run(job)
    return {item.name: (item.status, item.reason) for item in workspace.jobs.items(job)}


def texts(base: KnowledgeBase) -> dict[str, str]:
    rows = base.documents.documents(QUICK.index)
    return {row.name: base.documents.document(row.id).text for row in rows}


MAIL = message(
    "The berth is let.\nSee the list.",
    ("fees.csv", b"Berth,Fee\n7,90\n"),
    ("../../etc/plan.md", b"# Plan"),
    ("film.mov", bytes(60)),
)
HEAD = "From: Ann <ann@a.example>\nTo: b@a.example\nDate: Fri, 02 Jan 2026 10:00:00 +0100"


@pytest.mark.usefixtures("database")
def test_attachments_are_documents_of_their_own(workspace):
    base = workspace.create("harbour", QUICK)
    first = added(workspace, base, "let/berth 7.eml", MAIL)
    assert first == {
        "let/berth 7.eml": ("added", "not read: 1 attachment (film.mov)"),
        "let/berth 7/fees.csv": ("added", ""),
        "let/berth 7/.. .. etc plan.md": ("added", ""),
    }
    assert texts(base)["let/berth 7.eml"] == (
        f"Berth 7\n\n{HEAD}\n\nThe berth is let.\nSee the list."
    )
    assert texts(base)["let/berth 7/fees.csv"] == "Berth\tFee\n7\t90"
    rows = {row.name: row for row in base.documents.documents(QUICK.index)}
    assert rows["let/berth 7.eml"].date == "2026-01-02"
    assert rows["let/berth 7/fees.csv"].source == "let/berth 7.eml"
    again = added(workspace, base, "let/berth 7.eml", MAIL)
    assert {status for status, _ in again.values()} == {"unchanged"}


def test_a_page_is_read_where_a_message_has_no_text(tmp_path):
    page = (
        "<html><head><title>T</title></head><body><p>90<sup>1</sup> euros</p>"
        "<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>"
        "<img src='cid:x'></body></html>"
    )
    document = read(put(tmp_path, message("", page=page)), "x.eml")
    lines = "\n\n".join(HEAD.splitlines())
    assert document.text == f"# Berth 7\n\n{lines}\n\n90¹ euros\n\na\tb\n1\t2"
    assert document.receipt is not None
    (picture,) = document.receipt.left_out
    assert (picture.kind, picture.count, picture.first) == ("picture", 1, "Berth 7")
    assert picture.start == len(document.text)


def test_what_is_no_message_has_no_attachments(tmp_path):
    path = put(tmp_path, MAIL[MAIL.index(b"MIME-Version") :])
    assert unpack(path, "x.eml", tmp_path) == ([], ())
    with pytest.raises(UnreadableDocument) as caught:
        read(path, "x.eml")
    assert caught.value.reason == "damaged"


@pytest.mark.usefixtures("database")
def test_messages_of_a_mailbox_are_documents(workspace):
    base = workspace.create("harbour", QUICK)
    start = b"From ann@a.example Fri Jan  2 10:00:00 2026\n"
    box = start + MAIL + b"\n" + start + message("First.\n\nFrom time to time it rains.")
    statuses = added(workspace, base, "in.mbox", box)
    assert statuses["in.mbox"] == ("unpacked", "2 files")
    assert set(texts(base)) == {
        "in/2026-01-02 Berth 7.eml",
        "in/2026-01-02 Berth 7/fees.csv",
        "in/2026-01-02 Berth 7/.. .. etc plan.md",
        "in/2026-01-02 Berth 7 (2).eml",
    }
    assert texts(base)["in/2026-01-02 Berth 7 (2).eml"].endswith("From time to time it rains.")


def archive(**options: object) -> bytes:
    """An archive as people and attackers make them."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("Home 1a2b/Rules.md", "# Rules\n\nNo dogs.")
        packed.writestr("Home 1a2b/Fees.xlsx", workbook(Fees=[["Berth", "Fee"], ["7", "90"]]))
        packed.writestr("../../outside.txt", "Outside.")
        packed.writestr("Häfen.txt", "Unmarked.")
        packed.writestr("/etc/absolute.txt", "Absolute.")
        packed.writestr("C:\\temp\\drive.txt", "Drive.")
        packed.writestr("Home 1a2b/photo.png", PNG)
        packed.writestr("Home 1a2b/film.mov", bytes(60))
        packed.writestr("__MACOSX/Home/._Rules.md", "resource")
        packed.writestr("Home 1a2b/.DS_Store", "hidden")
        link = zipfile.ZipInfo("Home 1a2b/link.txt")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(link, "/etc/passwd")
        packed.writestr("part.zip", zipped(**{"inner/a.txt": "Inner."}))
    # As macOS writes it: UTF-8 without the flag for it, here and in the list at the end.
    return _without_flag(buffer.getvalue(), "Häfen.txt".encode())


def _without_flag(packed: bytes, name: bytes) -> bytes:
    data, at = bytearray(packed), -1
    while (at := packed.find(name, at + 1)) >= 0:
        flags = at - 24 if packed[at - 30 : at - 26] == b"PK\x03\x04" else at - 38
        data[flags + 1] &= ~0x08
    return bytes(data)


@pytest.mark.usefixtures("database")
def test_files_of_an_archive_keep_their_folders(workspace):
    base = workspace.create("harbour", QUICK)
    statuses = added(workspace, base, "export.zip", archive())
    assert statuses["export.zip"] == (
        "unpacked",
        "7 files; not read: 1 picture (Home 1a2b/photo.png); 1 file (Home 1a2b/film.mov)",
    )
    assert statuses["part.zip"] == ("unpacked", "1 file")
    assert texts(base) == {
        "Home 1a2b/Rules.md": "# Rules\n\nNo dogs.",
        "Home 1a2b/Fees.xlsx": "Fees\n\nBerth\tFee\n7\t90",
        "outside.txt": "Outside.",
        "Häfen.txt": "Unmarked.",
        "etc/absolute.txt": "Absolute.",
        "temp/drive.txt": "Drive.",
        "inner/a.txt": "Inner.",
    }


def test_a_full_disk_is_no_damage(tmp_path):
    path = tmp_path / "packed"
    path.write_bytes(archive())
    with pytest.raises(InvalidFile):
        unpack(path, "x.zip", tmp_path / "missing")


def test_archives_within_archives_end(tmp_path):
    innermost = zipped(**{"a.txt": "A"})
    packed = zipped(**{"b.txt": "B"})
    for _ in range(2):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as outer:
            outer.writestr("deeper.zip", packed)
            outer.writestr("b.txt", "B")
        packed = buffer.getvalue()
    path, folder = tmp_path / "packed", tmp_path / "out"
    folder.mkdir()
    path.write_bytes(packed)
    parts, left_out = unpack(path, "x.zip", folder, depth=2)
    assert [name for name, _ in parts] == ["b.txt"]
    assert [(part.kind, part.first) for part in left_out] == [("archive", "deeper.zip")]
    assert parts[0][1].read_text() == "B"
    assert innermost != packed


SLACK = {
    "users.json": json.dumps([{"id": "U1", "name": "ann", "profile": {"display_name": "Ann"}}]),
    "channels.json": "[]",
    "general/2026-01-01.json": "[{",
    "general/2026-01-02.json": json.dumps(
        [
            {"user": "U1", "ts": "1767349800.0", "text": "Hi <@U1> &amp; <!here>: 90 &lt; 100"},
            {"user": "U1", "ts": "1767349860.0", "subtype": "channel_join", "text": "joined"},
            {
                "user": "U9",
                "username": "bot",
                "ts": "1767353400.0",
                "thread_ts": "1767349800.0",
                "text": "See <https://a.example/x|the list>.",
                "files": [{"name": "plan.pdf"}],
            },
        ]
    ),
}


@pytest.mark.usefixtures("database")
def test_days_of_slack_are_read_as_people_read_them(workspace):
    base = workspace.create("harbour", QUICK)
    statuses = added(workspace, base, "slack.zip", zipped(**SLACK))
    assert statuses["slack.zip"][1] == "1 file; not read: 1 empty file (general/2026-01-01.md)"
    assert texts(base) == {
        "general/2026-01-02.md": "# general, 2026-01-02\n\n"
        "**Ann**, 10:30: Hi @Ann & @here: 90 < 100\n\n"
        "**bot**, 11:30 (reply): See the list (https://a.example/x). [File: plan.pdf]"
    }


@pytest.mark.parametrize(
    ("data", "limits", "reason"),
    [
        (archive()[:-30], Limits(), "damaged"),
        (zipped(**{"a.png": "\x89PNG"}), Limits(), "empty"),
        (zipped(**{"a.txt": "a" * 3000}), Limits(max_unpacked_bytes=2000), "too_large"),
    ],
)
def test_archives_that_are_refused(tmp_path, data, limits, reason):
    path = tmp_path / "packed"
    path.write_bytes(data)
    with pytest.raises(UnreadableDocument) as caught:
        unpack(path, "x.zip", tmp_path, limits=limits)
    assert caught.value.reason == reason


@pytest.mark.usefixtures("database")
def test_an_archive_that_unpacks_to_hundreds_of_times_its_size_is_refused(workspace):
    base = workspace.create("harbour", QUICK)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.txt", b"a" * 60_000_000)
    ((status, reason),) = added(workspace, base, "bomb.zip", buffer.getvalue()).values()
    assert status == "failed"
    assert "times its size" in reason
    assert texts(base) == {}
