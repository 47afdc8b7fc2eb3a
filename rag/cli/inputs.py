"""Command-line input and output, with errors that name the argument."""

from __future__ import annotations

import argparse
import io
import json
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag import InvalidFile, InvalidInput, InvalidRecipe, why_not_json

if TYPE_CHECKING:
    from rag import Workspace

_NOT_UTF8 = re.compile("[\ud800-\udfff]")


def readable(args: argparse.Namespace) -> argparse.Namespace:
    """The arguments, bytes in them that are no UTF-8 replaced by "\ufffd": no database has them.

    Paths stay as they are, and so do the sources of ``ingest``, which may be paths.
    """
    texts = {name: value for name, value in vars(args).items() if name != "source"}
    return argparse.Namespace(**{**vars(args), **{n: _mended(v) for n, v in texts.items()}})


def _mended(value: Any) -> Any:
    if isinstance(value, list):
        return [_mended(item) for item in value]
    return _NOT_UTF8.sub("\ufffd", value) if isinstance(value, str) else value


def workspace(args: argparse.Namespace) -> Workspace:
    """The workspace that a command works in."""
    from rag import Settings, Workspace  # slow to import, and not for every verb

    return Workspace(Settings.from_env(home=args.home))


def precision(value: float) -> float:
    """A precision that can be promised. Raises InvalidInput."""
    if not 0 < value < 1:
        raise InvalidInput(f"--precision {value:g} is not between 0 and 1.", "Write it like 0.9.")
    return value


def number(text: str, what: str, hint: str) -> int:
    """The id of something. Raises InvalidInput."""
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise InvalidInput(f"{text!r} is not the id of {what}.", hint)
    return int(text)


def existing(text: str) -> Path:
    """A file or folder that is there. Raises InvalidInput."""
    hint = "Name a file, a folder or a URL."
    if not text.strip():
        raise InvalidInput("One of the sources is empty.", hint)
    path = Path(text)
    try:
        path.stat()
    except FileNotFoundError:
        raise InvalidInput(f"{path} does not exist.", hint) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"{path} cannot be read: {why}.", hint) from error
    return path


def json_in(path: Path) -> Any:
    """The content of a JSON file. Raises InvalidFile."""
    try:
        return json.loads(text_in(path))
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"{path} is not JSON: {why_not_json(error)}.") from error


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


def column(text: str) -> tuple[str, str]:
    """``FIELD=NAME``. Raises InvalidInput."""
    field, equals, name = text.partition("=")
    if not equals or not name.strip():
        raise InvalidInput(f"--column {text} has no column name.", "Write it like question=Frage.")
    return field.strip().lower(), name.strip()


def cutoffs(text: str) -> list[int]:
    """Cutoffs separated by commas, ascending. Raises InvalidInput."""
    try:
        depths = sorted({int(part) for part in text.split(",")})
    except ValueError:
        depths = []
    if not depths or depths[0] < 1 or depths[-1] > 1000:
        raise InvalidInput(f"--k {text} is not a list of cutoffs.", "From 1 to 1000, like 1,5,10.")
    return depths


def bytes_in(path: Path) -> bytes:
    """The content of a file. Raises InvalidFile."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror}.") from error


def unpack(folder: Path, packed: bytes) -> None:
    """Write a zip as a folder. Raises InvalidInput."""
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
    """Write a file. Raises InvalidInput."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error
