"""Names for documents that come from web addresses: readable, and never shared by two."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import unquote

from rag.errors import UnreadableDocument
from rag.readers.formats import (
    SUPPORTED,
    TEXT_EXTENSIONS,
    extension_of,
    format_for_media_type,
)

_VAGUE = {"", "application/octet-stream", "binary/octet-stream", "application/force-download"}
_TEXTS = {f"application/{name}" for name in ("javascript", "sql", "xml")}
_HEAD, _TAIL = 120, 60  # characters of a long name that are kept


def name_for(url: str, content_type: str, disposition: str = "", landed: str = "") -> str:
    """Host, path and query of ``url``, with an extension that fits the content type.

    Where the type is vague, the name that the server suggests (``disposition``), ``url``, or the
    address that it led to (``landed``) gives the extension. Raises UnreadableDocument
    (``unsupported_type``).
    """
    host, path, query = _parts(url)
    suggested = re.search(r"""filename\s*=\s*"?([^";]+)""", disposition, re.IGNORECASE)
    hints = [suggested.group(1) if suggested else "", path, _parts(landed)[1] if landed else ""]
    fitting = _extensions(url, content_type, hints)
    tail = path + (f"?{query}" if query else "")
    ending = "" if extension_of(tail) in fitting else f".{fitting[0]}"
    name = re.sub(r"[\x00-\x1f\x7f\\]+", "_", f"{host}{tail}")
    name = re.sub(r"(?<=/)\.\.?(?=/|$)", "_", name)
    shortened = name if len(name) <= _HEAD + _TAIL else f"{name[:_HEAD]}…{name[-_TAIL:]}"
    return shortened + ending


def distinguish_name(name: str, url: str) -> str:
    """``name`` with six digits that belong to ``url``, before the extension."""
    stem, _, extension = name.rpartition(".")
    return f"{stem} ({hashlib.sha256(url.encode()).hexdigest()[:6]}).{extension}"


def _parts(url: str) -> tuple[str, str, str]:
    """Host (with a port that is not the usual one), path and query, decoded."""
    import httpx

    parsed = httpx.URL(url)
    host = parsed.host + (f":{parsed.port}" if parsed.port is not None else "")
    return host, unquote(parsed.path).rstrip("/"), unquote(parsed.query.decode("ascii", "replace"))


def _extensions(url: str, content_type: str, hints: list[str]) -> tuple[str, ...]:
    """Extensions that a document of this type may have, the usual one first."""
    row = format_for_media_type(content_type)
    bare = content_type.partition(";")[0].strip().lower()
    if row is not None and row.media_type != "text/plain":
        return row.extensions
    is_text = bare.startswith("text/") or bare in _TEXTS
    if is_text or bare in _VAGUE:
        # Servers send Markdown, CSV and more as plain text: there the names know better.
        known = {*SUPPORTED, *TEXT_EXTENSIONS}
        extensions = [extension_of(hint) for hint in hints if extension_of(hint) in known]
        return (extensions[0] if extensions else "txt" if is_text else "html",)
    raise UnreadableDocument(
        f"{url} has the type {bare}, which is not supported.",
        f"Add the address of a web page, {', '.join(SUPPORTED)} or text.",
        reason="unsupported_type",
    )
