"""Opening of a bundle that may come from anywhere: checked before anything of it is used.

Members are read by names that a bundle may have, into memory or under the SHA-256 of their bytes;
none is ever extracted to a path that the archive names.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from rag.errors import InvalidFile, validation_words
from rag.experiments.bundles import contents
from rag.experiments.bundles.contents import (
    DocumentEntry,
    Documents,
    Edits,
    Environment,
    Learned,
    Results,
    Text,
)
from rag.recipe import Recipe
from rag.types import Document

_MEMBER = re.compile(r"texts/[0-9a-f]{64}\.json|files/[0-9a-f]{64}")
_MOST_MEMBERS = 2_000_000
_MOST_BYTES = 20_000_000_000  # unpacked, all members
_MOST_PART_BYTES = 1_000_000_000  # unpacked, one member
_MOST_RATIO = 300  # unpacked to packed; text and JSON stay far below
_SMALL_BYTES = 50_000_000  # below that, a ratio does no harm
_HINT = "Ask for the bundle again, or make it again with `python -m rag bundle`."

_Model = TypeVar("_Model", bound=BaseModel)


class Bundle:
    """An open bundle: its parts as checked values, and its documents one by one."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = set(archive.namelist())
        environment = self._model(contents.ENVIRONMENT, Environment)
        if environment.format != contents.FORMAT:
            raise InvalidFile(
                f"The bundle has format {environment.format}, this version reads "
                f"{contents.FORMAT}.",
                "Install the version of Touchstone that made it, or a newer one.",
            )
        self.made_with = environment.made_with
        try:
            stored = json.loads(self._text(contents.RECIPE))
        except (ValueError, RecursionError) as error:
            raise InvalidFile(f"{contents.RECIPE} of the bundle is not JSON.", _HINT) from error
        self.recipe = Recipe.restore(stored)
        self.results = self._model(contents.RESULTS, Results)
        self.documents = self._model(contents.DOCUMENTS, Documents).documents
        self.questions = self._text(contents.QUESTIONS)
        has_learned = contents.CALIBRATION in self._names
        learned = self._model(contents.CALIBRATION, Learned) if has_learned else None
        self.calibration = learned.row() if learned else None
        has_edits = contents.EDITS in self._names
        self.edits = self._model(contents.EDITS, Edits).edits if has_edits else ()
        _check_unique(self.documents)

    def document(self, entry: DocumentEntry) -> Document | None:
        """The extracted text that the bundle holds, or None. Raises InvalidFile."""
        name = f"texts/{entry.id}.json"
        if name not in self._names:
            return None
        text = self._model(name, Text)
        if contents.text_sha256(text.text) != entry.text_sha256 or not text.is_consistent:
            raise InvalidFile(f"The text of {entry.name!r} in the bundle is damaged.", _HINT)
        return text.document(entry)

    def original(self, entry: DocumentEntry) -> bytes | None:
        """The original file that the bundle holds, or None. Raises InvalidFile."""
        name = f"files/{entry.id}"
        if name not in self._names:
            return None
        content = self._bytes(name)
        if hashlib.sha256(content).hexdigest() != entry.id:
            raise InvalidFile(f"The file {entry.name!r} in the bundle is damaged.", _HINT)
        return content

    def _model(self, name: str, model: type[_Model]) -> _Model:
        try:
            return model.model_validate_json(self._bytes(name))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"][:4])
            problem = f"{where} {validation_words(first)}"
            raise InvalidFile(f"{name} of the bundle is not valid: {problem}.", _HINT) from error

    def _text(self, name: str) -> str:
        try:
            return self._bytes(name).decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidFile(f"{name} of the bundle is not UTF-8 text.", _HINT) from error

    def _bytes(self, name: str) -> bytes:
        try:
            return self._archive.read(name)
        except KeyError as error:
            raise InvalidFile(f"The bundle lacks {name}.", _HINT) from error
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError) as error:
            raise InvalidFile(f"{name} of the bundle is damaged.", _HINT) from error
        except Exception as error:  # zlib.error, lzma.LZMAError: unpackers raise their own
            raise InvalidFile(f"{name} of the bundle cannot be unpacked.", _HINT) from error


@contextmanager
def opened(path: Path) -> Iterator[Bundle]:
    """The bundle at ``path``. Raises InvalidFile for anything that is none."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise InvalidFile(f"{path.name} is not a bundle: {error}.", _HINT) from error
    with archive:
        _check(archive)
        yield Bundle(archive)


def _check(archive: zipfile.ZipFile) -> None:
    """Refuse what no bundle has, before anything is unpacked.

    Python's zipfile never unpacks more of a member than the size that the directory declares.
    """
    members = archive.infolist()
    names = [member.filename for member in members]
    strange = next((name for name in names if not _expected(name)), None)
    if strange is not None:
        raise InvalidFile(
            f"The archive contains {strange[:80]!r}, which does not belong in a bundle.", _HINT
        )
    if len(set(names)) != len(names) or len(names) > _MOST_MEMBERS:
        raise InvalidFile("The archive contains duplicate entries, or too many entries.", _HINT)
    if any(member.flag_bits & 1 for member in members):
        raise InvalidFile("The archive is encrypted. Bundles are never encrypted.", _HINT)
    packed = sum(member.compress_size for member in members)
    unpacked = sum(member.file_size for member in members)
    largest = max((member.file_size for member in members), default=0)
    bomb = unpacked > _SMALL_BYTES and unpacked > _MOST_RATIO * packed
    if unpacked > _MOST_BYTES or largest > _MOST_PART_BYTES or bomb:
        raise InvalidFile(f"The archive is too large: {unpacked / 1e6:,.0f} MB unpacked.", _HINT)


def _expected(name: str) -> bool:
    return name in contents.PARTS or _MEMBER.fullmatch(name) is not None


def _check_unique(entries: tuple[DocumentEntry, ...]) -> None:
    for values in ({entry.id for entry in entries}, {entry.name for entry in entries}):
        if len(values) != len(entries):
            raise InvalidFile("The bundle lists a document twice.", _HINT)
