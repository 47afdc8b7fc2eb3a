"""Calendars (.ics) and address books (.vcf): a record for each entry, with its title as heading."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta

from rag.readers.content import Composer, Content, Source
from rag.readers.failures import damaged
from rag.readers.text import load

_ENTRIES = ("VEVENT", "VTODO", "VJOURNAL", "VCARD")
_LABELS = {
    name: name.capitalize()
    for name in (
        *("LOCATION", "DESCRIPTION", "ORGANIZER", "ATTENDEE", "STATUS", "CATEGORIES", "CONTACT"),
        *("COMMENT", "DURATION", "TITLE", "ROLE", "NICKNAME", "NOTE", "DUE"),
    )
}
_LABELS |= {"DTSTART": "Start", "DTEND": "End", "RRULE": "Repeats", "EXDATE": "Except"}
_LABELS |= {"TEL": "Telephone", "EMAIL": "E-mail", "ADR": "Address", "BDAY": "Birthday"}
_LABELS |= {"ORG": "Organization", "URL": "Web"}
_UNREAD = {"PHOTO": "picture", "LOGO": "picture", "ATTACH": "attachment"}
_LINE = re.compile(r"(?:[\w-]+\.)?([\w-]+)((?:;(?:[^\":;\n]|\"[^\"\n]*\")*)*):(.*)")
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d*(Z?))?")
_ESCAPED = re.compile(r"\\([nN,;\\])")


def read_cards(source: Source) -> Content:
    """Title, times, place, people and notes of each entry; alarms and time zones are no text.

    Left out, and counted: pictures and attachments. Raises UnreadableDocument (``damaged``) for a
    file without entries.
    """
    text, metadata = load(source)
    composer, inside = Composer(), list[str]()
    title, lines = "", list[str]()
    for name, about, raw in _properties(text):
        value = " ".join(_ESCAPED.sub(lambda m: m[1] if m[1] not in "nN" else " ", raw).split())
        if name == "BEGIN":
            inside.append(value.upper())
            title, lines = ("", []) if inside[-1] in _ENTRIES else (title, lines)
        elif name == "END" and inside:
            if inside.pop() in _ENTRIES:
                composer.heading(1, title)
                composer.block("\n".join(lines), "\n" if title else "\n\n")
                composer.count("entries")
        elif name == "X-WR-CALNAME":
            metadata["title"] = value
        elif inside and inside[-1] in _ENTRIES:
            title = value if name in ("SUMMARY", "FN") else title
            composer.leave_out(_UNREAD.get(name, ""), title, int(name in _UNREAD))
            if name in _LABELS and value:
                lines.append(f"{_LABELS[name]}{_kind(about)}: {_shown(name, about, value)}")
    if text.strip() and not re.search(r"^BEGIN:V", text, re.IGNORECASE | re.MULTILINE):
        raise damaged(
            "it has no entry of a calendar or an address book",
            "Export it again in the program that made it, or rename it to .txt.",
        )
    return composer.content(**metadata)


def _properties(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield names, parameters and values, folded lines whole again (RFC 5545, 3.1)."""
    text = re.sub(r"\n[ \t]|=\n(?=[^\n:]*$)", "", text, flags=re.MULTILINE)
    for match in filter(None, map(_LINE.fullmatch, text.split("\n"))):
        name, about, value = match.groups()
        if "QUOTED-PRINTABLE" in about.upper():
            value = quopri.decodestring(value.encode()).decode("utf-8", "replace")
        yield name.upper(), about, value


def _parameter(about: str, name: str) -> str:
    match = re.search(rf";{name}=(?:\"([^\"]*)\"|([^;]*))", about, re.IGNORECASE)
    return (match[1] or match[2] or "") if match else ""


def _kind(about: str) -> str:
    kind = _parameter(about, "TYPE").lower().replace(",", ", ")
    return f" ({kind})" if kind and kind not in ("internet", "pref") else ""


def _shown(name: str, about: str, value: str) -> str:
    """A value as people write it; the last day of an entry without hours is part of it."""
    if name in ("DTSTART", "DTEND", "DUE", "EXDATE", "BDAY") and (match := _TIME.match(value)):
        with suppress(ValueError):
            day = date(int(match[1]), int(match[2]), int(match[3]))
            day -= timedelta(days=1) if name == "DTEND" and not match[4] else timedelta()
            zone = " UTC" if match[6] else f" {_parameter(about, 'TZID')}".rstrip()
            return f"{day} {match[4]}:{match[5]}{zone}" if match[4] else str(day)
    if name == "RRULE":
        words = _TIME.sub(r"\1-\2-\3", value).lower().removeprefix("freq=")
        return words.replace("=", " ").replace(";", ", ")
    words = value.removeprefix("mailto:").removeprefix("MAILTO:")
    if name in ("ORGANIZER", "ATTENDEE") and (person := _parameter(about, "CN")):
        return f"{person} ({words})"
    return ", ".join(filter(None, words.split(";"))) if name in ("ADR", "ORG") else words
