"""Calendars (.ics), address books (.vcf) and transcripts (.vtt, .srt).

Entries have their title as heading. What is said stands under the times at which it begins.
"""

from __future__ import annotations

import html
import itertools
import quopri
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta

from rag.readers.content import Composer, Content, Source, damaged
from rag.readers.text import load

_CUE_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,]\d{1,3})?"
_CUE = re.compile(rf"[ \t]*{_CUE_TIME}[ \t]*-->[ \t]*{_CUE_TIME}(?:[ \t][^\n]*)?")
_VOICE = re.compile(r"<v(?:\.[^\s<>]*+)?+[ \t]++([^<>\n]*+)>")
_NAMED = re.compile(r"([^\W\d][^:\n]{0,39}):[ \t]+(?=\S)")
_TAG = re.compile(r"</?[a-z][^<>\n]*+>|<[\d:.]++>|\{\\[^{}\n]*+\}", re.IGNORECASE)
_TITLE = re.compile(r"WEBVTT(?:[ \t]*-)?[ \t]+(\S[^\n]*)")
_COMMENT = re.compile(r"(?:\A|\n\n)NOTE[ \t\n]++([^\n]{0,40})")
_PAUSE = 5  # seconds after which a paragraph begins
_LONGEST = 60  # seconds of a paragraph


@dataclass(frozen=True, slots=True)
class _Cue:
    start: int
    end: int
    speaker: str
    words: str


def read_transcript(source: Source) -> Content:
    """A paragraph for each turn of a speaker and each minute, its time as its heading.

    The title of the file stands above. Comments (NOTE) are left out, and counted. Raises
    UnreadableDocument (``damaged``) for a file without times.
    """
    text, metadata = load(source)
    composer, since, last = Composer(), -_LONGEST, _Cue(-_LONGEST, -_LONGEST, "", "")
    for comment in _COMMENT.findall(text):
        composer.leave_out("comment", comment)
    title = _TITLE.match(text)
    composer.block(title[1] if title else "")
    for cue in _cues(text):
        turns = cue.speaker != last.speaker
        if turns or cue.start - last.end >= _PAUSE or cue.start - since >= _LONGEST:
            since = cue.start
            start = composer.block(f"{cue.speaker}: {cue.words}" if cue.speaker else cue.words)
            if start is not None:
                composer.mark(start, 1, f"{since // 3600:02}:{since // 60 % 60:02}:{since % 60:02}")
        else:
            composer.block(cue.words, " ")
        composer.count("cues")
        last = cue
    if text.strip() and not last.words:
        raise damaged(
            "no line has the times of a transcript, 00:01:02.000 --> 00:01:03.000",
            "Save it again in the program that made it, or rename it to .txt.",
        )
    return composer.content(**metadata, title=title[1] if title else "")


def _cues(text: str) -> Iterator[_Cue]:
    """Yield what is said; a line that the cue before has too is said once, as in live captions."""
    before, lines = list[str](), text.split("\n")
    starts = [at for at, line in enumerate(lines) if _CUE.fullmatch(line)]
    for at, following in itertools.pairwise([*starts, len(lines)]):
        block = list(itertools.takewhile(str.strip, lines[at + 1 : following]))
        times, voice = _CUE.fullmatch(lines[at]), _VOICE.search("\n".join(block))
        spoken = [" ".join(html.unescape(_TAG.sub("", line)).split()) for line in block]
        words = " ".join(line for line in spoken if line and line not in before)
        before = spoken
        if times and words:
            named = None if voice else _NAMED.match(words)
            speaker = voice.group(1).strip() if voice else named.group(1) if named else ""
            start, end = (_seconds(times.groups()[part : part + 3]) for part in (0, 3))
            yield _Cue(start, end, speaker, words[named.end() :] if named else words)


def _seconds(parts: tuple[str | None, ...]) -> int:
    hours, minutes, seconds = (int(part or 0) for part in parts)
    return 3600 * hours + 60 * minutes + seconds


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
