"""Names of people and organisations, and whom to contact."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rag.answering.asked_values.kind import ValueKind
from rag.answering.asked_values.patterns import MONTHS, WEEKDAYS

_WORD = re.compile(r"[^\W_]+")
_DEFINES = re.compile(r"\b(?:means(?! of\b)|shall mean|bedeutet|bezeichnet|significa|désigne)\b")
_ROLES = r"(?:the|your|our|my|its|their|an?|head|chief|vice|deputy|acting|current)"
_NO_NAME = (
    r"(?:The|An?|This|That|These|Those|Our|Your|My|Its|Their|Each|Every|All|Any|If|When|In|On|At|For"
    r"|From|To|By|With|No|Not|Who|What|Which|How|Where|See|Only|Both|Some|Other|New|And|Or|As|Is"
    r"|Are|Der|Die|Das|Ein|Eine|Im|Am|Zum|Zur|El|La|Los|Las|Un|Una|Le|Les|Une|Dem|Den)"
)
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w’'-]{1,40}"


@dataclass(frozen=True, slots=True)
class Person(ValueKind):
    """The name of somebody; the words of the question are none, as in "the Old Mill"."""

    taken: frozenset[str] = frozenset()

    def besides(self, question: str) -> Person:
        """The same kind without the names that a question has itself."""
        return replace(self, taken=frozenset(_WORD.findall(question.casefold())))

    def is_in(self, text: str) -> bool:
        """Whether a text names somebody whom the question does not name."""
        if _DEFINES.search(text):
            return False  # "Mayor means the Head of Council" names nobody
        rest = _WORD.sub(
            lambda match: ";" if match.group().casefold() in self.taken else match.group(), text
        )
        return self.value.search(rest) is not None


ORGANISATION = Person(
    "a name",
    "which what name company firm brand make manufacturer",
    re.compile(
        r"\b(?:which|what) (?:[\w-]{1,20} )?(?:company|firm|provider|supplier|caterer|bank|insurer"
        r"|vendor|agency|(?:pension )?fund|manufacturer|brand|airline|carrier|auditor)"
        r" (?:provides|supplies|supplied|runs|manages|makes|made|insures|insured|manufactures"
        r"|operates|delivers|cleans|owns|prints|publishes|audits|sells|holds|built|services)\b"
        r"|\bwhat is the (?:brand|make|manufacturer) of\b"
        r"|\bwho (?:supplies|supplied|manufactures|manufactured|insures|insured)\b"
        r"|\bwelche[rs]? (?:firma|bank|versicherung|anbieter|hersteller|lieferant|caterer|kasse)"
        r" (?:ist|macht|liefert|betreibt|versichert|stellt|baut)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<=[\w,;:·|–(-] )(?!(?:{_NO_NAME}|(?i:{WEEKDAYS}|{MONTHS}|eur|usd|gbp|chf|jpy))\b)"
        rf"{_CAPITAL}"
        rf"|(?:\A|[.!?•“\"„«] ?)(?!(?:{_NO_NAME}|Yes|There|It|We|You|They|He|She)\b){_CAPITAL}"
        rf"(?: ;| is\b| was\b| {_CAPITAL})"
    ),
)
PERSON = Person(
    "a name",
    "who name called wer quién qui 谁",
    re.compile(
        rf"\bwho(?:['’]s| is| are| was| were) (?:{_ROLES} ){{1,3}}(?:[\w'’-]{{1,30}} ){{0,3}}?"
        r"(?:director|manager|mayor|captain|skipper|president|chair(?:man|woman|person)?|chief"
        r"|principal|officer|head|teacher|trainer|coach|inspector|editor|leader|founder|doctor"
        r"|vet|warden|ranger|mechanic|secretary|treasurer|dean|chef|nurse|clerk)\b"
        r"|\bwhat is the name of the (?:[\w-]{1,30} )?(?:director|manager|head|president|mayor"
        r"|leader|teacher|doctor)\b"
        r"|\bwer ist (?:der|die|ihre?|euer|eure|unsere?) [\w-]{0,30}(?:leiter|leiterin|direktor"
        r"|direktorin|chef|chefin|kapitän|trainer|trainerin|bürgermeister|bürgermeisterin"
        r"|vorsitzende|arzt|ärztin)\b"
        r"|\bqui[eé]n es (?:el|la|su) (?:director|directora|alcalde|alcaldesa|jefe|jefa"
        r"|presidente|presidenta|entrenador|entrenadora|capitán)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?!{_NO_NAME}\b){_CAPITAL}(?: [A-Z]\.)?(?: (?:van|von|de|del|la|da|di|el|al)){{0,2}}"
        rf" {_CAPITAL}"
        r"|\b(?:Dr|Mr|Mrs|Ms|Prof|Herrn?|Frau|Sra?|Doña|Don|Mme)\.? [A-ZÀ-ÖØ-Þ]"
        r"|\b(?:[A-ZÀ-ÖØ-Þ]\. ?){1,3}[A-ZÀ-ÖØ-Þ][a-zß-ÿ]|[:·|\t–—,] ?[A-ZÀ-ÖØ-ÞА-ЯЁ]"
        r"|[А-ЯЁ][а-яё]{1,40} [А-ЯЁ]|[\u3040-\u30ff\u4e00-\u9fff]"
    ),
)
