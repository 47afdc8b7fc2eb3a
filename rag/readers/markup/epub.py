"""EPUB books: their chapters in the order of the book, as one web page."""

from __future__ import annotations

import html
import posixpath
import re
import zipfile
from typing import Any
from urllib.parse import unquote

from lxml import etree
from lxml.html import tostring, xhtml_to_html

from rag.errors import UnreadableDocument
from rag.readers.characters import decode
from rag.readers.content import Content, Source, omission_mark
from rag.readers.dates import stated_day
from rag.readers.html.reader import body_content
from rag.readers.office.archive import check_archive

_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{1,31};")
_DECLARATION = re.compile(
    r"\A\s*+(?:<\?xml[^>]*+>)?+\s*+(?:<!DOCTYPE[^>\[]*+(?:\[[^\]]*+\]\s*+)?+>)?+"
)
_PAGES = (".xhtml", ".html", ".htm")


def read_epub(source: Source) -> Content:
    """The text of all chapters, without the table of contents; pictures are left out, and counted.

    Raises UnreadableDocument: damaged, encrypted, empty.
    """
    check_archive(source, with_declarations=True)
    with zipfile.ZipFile(source.path) as archive:
        names = set(archive.namelist())
        if "META-INF/encryption.xml" in names:
            # Fonts may be veiled; chapters that are encrypted cannot be read
            for part in _parsed(archive.read("META-INF/encryption.xml")).iter("{*}CipherReference"):
                if str(part.get("URI", "")).lower().endswith(_PAGES):
                    raise UnreadableDocument(
                        "The book is encrypted: its shop lets only its own programs open it.",
                        "Add a copy without copy protection.",
                        reason="encrypted",
                    )
        place = _parsed(archive.read("META-INF/container.xml")).find(".//{*}rootfile")
        book = _parsed(archive.read(place.get("full-path")))
        folder = posixpath.dirname(place.get("full-path"))
        items = {item.get("id"): item for item in book.iter("{*}item")}
        spine = [items[ref.get("idref")] for ref in book.iter("{*}itemref")]
        chapters = list[str]()
        for number, item in enumerate(spine):
            source.tick(number, len(spine))
            name = posixpath.normpath(posixpath.join(folder, unquote(item.get("href"))))
            if "nav" in (item.get("properties") or "").split():
                continue
            if name not in names:
                chapters.append(f"<p>{html.escape(omission_mark('missing_chapter', name))}</p>")
                continue
            body = _body(archive.read(name))
            if body is not None:
                body.tag = "div"
                chapters.append(tostring(body, encoding="unicode"))
        source.tick(len(spine), len(spine))
    about = {name: (book.findtext(f".//{{*}}metadata/{{*}}{name}") or "") for name in _ABOUT}
    metadata = {
        "title": about["title"],
        "author": about["creator"],
        "date": stated_day(about["date"]) or "",
    }
    return body_content("".join(chapters), metadata)


_ABOUT = ("title", "creator", "date")


def _parsed(data: bytes) -> Any:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    return etree.fromstring(data, parser)


def _body(data: bytes) -> Any:
    """The body of a chapter as HTML; named entities, which XML does not know, are signs."""
    markup = _DECLARATION.sub("", decode(data)[0])
    markup = _ENTITY.sub(lambda entity: html.unescape(entity.group()), markup)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, recover=True, remove_comments=True, huge_tree=True
    )
    tree = etree.fromstring(markup, parser)
    if tree is None:
        return None
    xhtml_to_html(tree)
    return tree.find("body")
