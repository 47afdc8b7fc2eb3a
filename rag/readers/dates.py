"""The day that a file says it is from, where that can be believed.

A day is taken as it is written, in the time zone of its author: nothing is converted.
"""

from __future__ import annotations

import io
import re
import zipfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from rag.readers.content import attempt

_FIRST = date(1981, 1, 1)
"""The zero dates of computers (1601, 1899, 1904, 1970, 1980) lie before; they mean "unknown"."""
_AHEAD = timedelta(days=1)  # somewhere it is tomorrow already
_STAMPS = frozenset(
    {
        "D:20000101000000+00'00'",  # ReportLab, asked for the same bytes every time
        "2013-12-23T23:15:00Z",  # the template of python-docx
        "2013-01-27T09:14:16Z",  # the template of python-pptx, created
        "2013-01-27T09:15:58Z",  # and last saved
    }
)
"""What programs write into every file that nobody gave a date."""
_DAY = re.compile(r"(?:D:)?([0-9]{4})(-?)([0-9]{2})\2([0-9]{2})")
_PROPERTIES = "/metadata/core-properties"
_USUAL_PLACE = "docProps/core.xml"
_LONGEST = 1_000_000  # bytes; such a part has a few hundred
_TERMS = "{http://purl.org/dc/terms/}"
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_NAMESPACE = f"http://schemas.openxmlformats.org/package/2006{_PROPERTIES}"


def stated_day(value: str | None) -> str | None:
    """``2024-01-31T12:00:00Z`` or ``D:20240131120000Z`` as ``2024-01-31``.

    None for what is no date, lies in the future or before 1981, or is what some programs write
    into every file.
    """
    text = (value or "").strip()
    match = _DAY.match(text)
    if match is None or text in _STAMPS:
        return None
    try:
        day = date(int(match[1]), int(match[3]), int(match[4]))
    except ValueError:
        return None
    return day.isoformat() if _FIRST <= day <= datetime.now(UTC).date() + _AHEAD else None


def office_day(path: Path) -> str | None:
    """The day on which an Office file was last saved, else made; None where it tells neither.

    Its properties are read as they stand: the libraries for these formats put the present moment
    where a file has none.
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True)

    def stated() -> list[str | None]:
        with zipfile.ZipFile(path) as archive:
            place = _properties_place(_member(archive, "_rels/.rels"), parser)
            properties = etree.fromstring(_member(archive, place), parser)
        return [properties.findtext(f"{_TERMS}{name}") for name in ("modified", "created")]

    return next(
        (day for value in attempt(stated, list[str | None]()) if (day := stated_day(value))), None
    )


def readable_copy(path: Path) -> io.BytesIO:
    """An Office file in the form that the libraries read.

    They know the transitional form of ISO/IEC 29500, and the strict one becomes that. Another file
    gets empty core properties: libraries refuse it whole for a date that is none. Memory is the
    size of the file.
    """
    from lxml import etree

    copy = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(copy, "w") as written:
        relations = _member(archive, "_rels/.rels")
        strict = _STRICT.search(relations) is not None
        place = _properties_place(relations, etree.XMLParser(resolve_entities=False))
        for member in archive.infolist():
            content = archive.read(member)
            if strict and member.filename.endswith((".xml", ".rels")):
                content = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", content)
            if strict or member.filename != place:
                written.writestr(member, content)
        if not strict:
            written.writestr(place, f'<coreProperties xmlns="{_NAMESPACE}"/>')
    return copy


def _properties_place(relations: bytes, parser: object) -> str:
    """The member with the core properties; programs call it what they like."""
    from lxml import etree

    for relation in etree.fromstring(relations, parser):
        if str(relation.get("Type", "")).endswith(_PROPERTIES):
            return str(relation.get("Target", "")).lstrip("/")
    return _USUAL_PLACE


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as member:
        return member.read(_LONGEST)
