"""Files from web addresses, without becoming a way into the network, and names for them."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rag.errors import BlockedAddress, InvalidInput, UnreadableDocument
from rag.network import FetchLimits, TooLarge, body_of, checked_client, checked_url, failures
from rag.readers.formats import SUPPORTED, TEXT_EXTENSIONS, extension_of, format_for_media_type

if TYPE_CHECKING:
    import httpx

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


_AGENT = "Touchstone (reads pages that its users name)"
_ACCEPT = "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.5"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A fetched file or page; ``name`` has an extension that ``read`` supports.

    ``requested_url`` is the requested address. ``url`` is the address after redirects.
    """

    data: bytes
    requested_url: str
    url: str
    name: str
    content_type: str


_DEFAULT = FetchLimits()


def fetch(url: str, *, allow_private: bool, limits: FetchLimits = _DEFAULT) -> Fetched:
    """Get ``url`` over http or https, following redirects; every address on the way is checked.

    Raises BlockedAddress, also for one that holds credentials, or UnreadableDocument: unreachable,
    timed_out, too_large, unsupported_type, empty.
    """
    import httpx

    deadline = time.monotonic() + limits.seconds
    requested = target = _parse(url)
    with checked_client(
        {"User-Agent": _AGENT, "Accept": _ACCEPT},
        allow_private=allow_private,
        deadline=deadline,
        timeout=limits.timeout,
    ) as client:
        for _ in range(limits.redirects + 1):
            with _translated(target), client.stream("GET", target) as response:
                if not response.has_redirect_location:
                    return _receive(requested, response, limits)
                target = _parse(str(httpx.URL(target).join(response.headers["location"])))
    raise _unreachable(f"{url} redirects more than {limits.redirects} times")


def _parse(url: str) -> str:
    try:
        return checked_url(url)
    except InvalidInput as error:
        raise _unreachable(error.message) from error


@contextmanager
def _translated(url: str) -> Iterator[None]:
    import httpcore
    import httpx

    try:
        yield
    except BlockedAddress as error:
        hint = f"{error.hint} You can also save the page and add it as a file."
        raise BlockedAddress(error.message, hint) from error
    except (httpx.TimeoutException, httpcore.TimeoutException) as error:
        raise UnreadableDocument(
            f"{url} did not answer in time.",
            "Try again later, or download it yourself and add the file.",
            reason="timed_out",
        ) from error
    except failures() as error:
        raise _unreachable(f"{url} cannot be reached ({error or type(error).__name__})") from error


def _receive(requested: str, response: httpx.Response, limits: FetchLimits) -> Fetched:
    url = str(response.url)
    if not response.is_success:
        raise _unreachable(f"{url} answers {response.status_code} {response.reason_phrase}")
    content_type = response.headers.get("content-type", "")
    name = name_for(requested, content_type, response.headers.get("content-disposition", ""), url)
    try:
        data = body_of(response, limits.max_bytes)
    except TooLarge as error:
        raise _too_large(url, limits) from error
    if not data:
        raise UnreadableDocument(f"{url} is empty.", "Check the address.", reason="empty")
    return Fetched(data, requested, url, name, content_type)


def _too_large(url: str, limits: FetchLimits) -> UnreadableDocument:
    return UnreadableDocument(
        f"{url} is larger than {limits.max_bytes / 1e6:,.1f} MB.",
        "Download it yourself, split it, and add the parts.",
        reason="too_large",
    )


def _unreachable(what: str) -> UnreadableDocument:
    return UnreadableDocument(
        f"{what}.",
        "Check the address in your browser. If it opens there, download it and add the file.",
        reason="unreachable",
    )
