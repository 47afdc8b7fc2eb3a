"""Bundles come from anywhere: one that is hostile or damaged does nothing."""

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rag import InvalidFile, InvalidInput, TouchstoneError, Workspace
from tests.bundles import Parts, bundle, evaluated, parts_of, written
from tests.workspaces import workspace_at


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    """The machine that bundles, with one run."""
    return evaluated(tmp_path / "here")


@pytest.fixture
def there(tmp_path: Path) -> Workspace:
    """Another machine."""
    return workspace_at(tmp_path / "there")


def _with(name: str, content: bytes) -> Callable[[Parts], Parts]:
    return lambda parts: {**parts, name: content}


def _without(name: str) -> Callable[[Parts], Parts]:
    return lambda parts: {key: value for key, value in parts.items() if key != name}


def _json(name: str, change: Callable[[dict], object]) -> Callable[[Parts], Parts]:
    def changed(parts: Parts) -> Parts:
        data = json.loads(parts[name])
        change(data)
        return {**parts, name: json.dumps(data).encode()}

    return changed


def _every_text(change: Callable[[dict], object]) -> Callable[[Parts], Parts]:
    def changed(parts: Parts) -> Parts:
        for name in [each for each in parts if each.startswith("texts/")]:
            parts = _json(name, change)(parts)
        return parts

    return changed


def _damaged_files(parts: Parts) -> Parts:
    return {
        name: content + b"!" if name.startswith("files/") else content
        for name, content in parts.items()
    }


def _twice(documents: dict) -> None:
    documents["documents"].append(documents["documents"][0])


HOSTILE: dict[str, Callable[[Parts], Parts]] = {
    "climbs out": _with("../evil.txt", b"x"),
    "absolute": _with("/tmp/evil.txt", b"x"),
    "backslashes": _with("..\\evil.txt", b"x"),
    "not a hash": _with("files/../../evil", b"x"),
    "bomb": _with("README.txt", b"\0" * 60_000_000),
    "no recipe": _without("recipe.json"),
    "no environment": _without("environment.json"),
    "recipe is not JSON": _with("recipe.json", b"{"),
    "recipe is nested": _with("recipe.json", b"[" * 200_000),
    "recipe is wrong": _with("recipe.json", b'{"index": {"chunk_size": -1}}'),
    "results are nested": _with("results.json", b"[" * 200_000),
    "questions are not text": _with("questions.jsonl", b"\xff\xfe\xff"),
    "questions are wrong": _with("questions.jsonl", b'{"id": 3}'),
    "another format": _json("environment.json", lambda data: data.update(format=99)),
    "a cutoff too deep": _json("results.json", lambda data: data.update(cutoffs=[10**9])),
    "no cutoff": _json("results.json", lambda data: data.update(cutoffs=[])),
    "not a number": _json("results.json", lambda data: data["metrics"].update(x=float("nan"))),
    "a name of nothing": _json("results.json", lambda data: data.update(knowledge_base="\0")),
    "listed twice": _json("documents.json", _twice),
    "an id that is a path": _json(
        "documents.json", lambda data: data["documents"][0].update(id="../../evil")
    ),
    "a tag of nothing": _json(
        "documents.json", lambda data: data["documents"][0].update(tags=[" "])
    ),
    "a date that is none": _json(
        "documents.json", lambda data: data["documents"][0].update(date="soon")
    ),
    "added nobody knows where": _json(
        "documents.json", lambda data: data["documents"][0].update(added="2020-01-31T12:00:00")
    ),
    "another text": _every_text(lambda data: data.update(text="something else")),
    "pages beyond the text": _every_text(lambda data: data.update(pages=[[1, 0, 10**6]])),
    "another file": _damaged_files,
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_bundle_is_refused_and_leaves_nothing(here, there, tmp_path, change):
    bundle(here, tmp_path / "run.zip")
    path = written(tmp_path / "hostile.zip", change(parts_of(tmp_path / "run.zip")))
    known = set(tmp_path.rglob("*"))
    with pytest.raises(TouchstoneError) as caught:
        there.import_bundle(path)
    assert isinstance(caught.value, InvalidInput)
    assert there.bases() == []
    new = set(tmp_path.rglob("*")) - known
    assert not [each for each in new if not each.is_relative_to(tmp_path / "there")]


def _flagged(content: bytes) -> bytes:
    """The archive with every entry marked as encrypted in the directory."""
    data, start = bytearray(content), content.find(b"PK\x01\x02")
    while start >= 0:
        struct.pack_into("<H", data, start + 8, 1)
        start = content.find(b"PK\x01\x02", start + 4)
    return bytes(data)


def _doubled(content: bytes) -> bytes:
    out = io.BytesIO(content)
    with zipfile.ZipFile(out, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("recipe.json", "{}")
    return out.getvalue()


@pytest.mark.parametrize(
    "damage",
    [_flagged, _doubled, lambda content: content[:-200], lambda _: b"not a zip", lambda _: b""],
    ids=["encrypted", "doubled", "cut off", "no zip", "empty"],
)
def test_a_damaged_archive_is_refused(here, there, tmp_path, damage):
    bundle(here, tmp_path / "run.zip")
    path = tmp_path / "damaged.zip"
    path.write_bytes(damage((tmp_path / "run.zip").read_bytes()))
    with pytest.raises(InvalidFile):
        there.import_bundle(path)
    with pytest.raises(InvalidFile, match=r"absent\.zip is not a bundle"):
        there.import_bundle(tmp_path / "absent.zip")
    assert there.bases() == []
