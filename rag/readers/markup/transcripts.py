"""Transcripts and subtitles (.vtt, .srt): what is said, under the times at which it begins."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.readers.content import Composer, Content, Source
from rag.readers.failures import damaged
from rag.readers.text import load

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,]\d{1,3})?"
_CUE = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}(?:[ \t][^\n]*)?")
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
