"""What is given on the command line, read and written with errors that name it."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from rag import InvalidFile, InvalidInput, InvalidRecipe


def json_in(path: Path) -> Any:
    """The content of a JSON file. Raises InvalidFile."""
    try:
        return json.loads(text_in(path))
    except (ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise InvalidFile(f"{path} is not JSON: {why}.") from error


def least(text: str) -> tuple[str, float]:
    """``METRIC=VALUE``. Raises InvalidInput."""
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise InvalidInput(f"--min {text} has no value.", "Write it like ndcg@10=0.7.") from None


def assignment(text: str) -> tuple[str, Any]:
    """``FIELD=VALUE``; a value is JSON, else a string. Raises InvalidRecipe."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidRecipe(f"--set {text} has no value.", "Write it like search.top_k=10.")
    try:
        return name.strip(), json.loads(value)
    except (ValueError, RecursionError):
        return name.strip(), value


def cutoffs(text: str) -> list[int]:
    """Cutoffs separated by commas, ascending. Raises InvalidInput."""
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < 1 or found[-1] > 1000:
        raise InvalidInput(f"--k {text} is not a list of cutoffs.", "From 1 to 1000, like 1,5,10.")
    return found


def bytes_in(path: Path) -> bytes:
    """The content of a file. Raises InvalidFile."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror}.") from error


def unpack(folder: Path, packed: bytes) -> None:
    """Writes a zip as a folder. Raises InvalidInput."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(folder)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be written: {error.strerror}.") from error


def text_in(path: Path) -> str:
    """The text of a file. Raises InvalidFile."""
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFile(f"{path} cannot be read: {error}.", "It should be UTF-8 text.") from error


def write(path: Path, content: bytes) -> None:
    """Writes a file. Raises InvalidInput."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error
