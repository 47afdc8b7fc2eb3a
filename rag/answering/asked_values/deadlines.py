"""Times by which something has to be done: a last day, or so long before an event."""

from __future__ import annotations

import re

from rag.answering.asked_values.kind import ValueKind
from rag.answering.asked_values.patterns import ANY_NUMBER, MONTHS, TIME, WEEKDAYS

_WHILE = r"(?:hours?|days?|nights?|weeks?|fortnights?|months?|years?)"
_TAGE = r"(?:stunden?|\w{0,20}tage?n?|wochen?|monate?n?|jahre?n?)"
_LENGTH = (
    rf"{ANY_NUMBER}(?:[\d.,]{{0,6}} ?(?:min|hrs?|h|d|mins)\b"
    rf"|(?:[^.;!?\n\d]|\d(?! ?k?m\b)){{0,25}}?\b(?:minutes?|{_WHILE}|{_TAGE}|horas?|días?|semanas?"
    r"|mes(?:es)?|heures?|jours?|semaines?|mois|min|hrs|std)\b)"
)
_SHORT_MONTHS = r"jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|okt|dez"
_OTHER_MONTHS = (
    r"janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|janeiro"
)
_MONTH = rf"(?:{MONTHS}|{_SHORT_MONTHS}|{_OTHER_MONTHS})"
_DAY = (
    r"(?:19|20)\d\d[-./]\d|\b\d{1,2}[./]\s?\d{1,2}\b|\b\d{1,2}(?:st|nd|rd|th)\b|zum \d{1,2}\."
    rf"|\b{_MONTH}\b\.? \d|\d\.? (?:of |de )?{_MONTH}\b|\b(?:{MONTHS})(?<! may)\b"
    rf"|\b(?:{WEEKDAYS}|(?:mid)?night|noon|tomorrow|mitternacht|mittag)\b|\bweek \d"
    r"|\b(?:end|start|beginning|close|first day|last day|ende|anfang|beginn|schluss|fin) (?:of|des"
    rf"|der|de)\b|\w(?:ende|anfang)\b|{TIME}|\d ?(?:[ap]\.?m\b|uhr\b|o['’]clock)|\d\d?[月日]"
)
_RELATIVE = (
    r"(?:before|after|following|prior|from|in advance|net|to (?:pay|apply|return|submit|appeal"
    r"|reply|object)|zum|vor|nach|antes|después|avant|après)"
)
DEADLINE = ValueKind(
    "a date",
    "date deadline due latest last day time when spätestens frist plazo fecha límite délai",
    re.compile(
        r"\b(?:by|until|till) when\b|\b(?:by|until|till) (?:what|which) (?:date|day|time)\b"
        r"|\b(?:what|when) (?:is|are|was|were|['’]s) (?:the |my |our |its )?"
        r"(?:[\w'’-]{1,30} ){0,3}?(?:deadlines?|due dates?|closing dates?|cut-?off dates?)\b"
        r"|\bwhen (?:is|are|was|were) .{1,80}\bdue(?=\W{0,3}\Z)"
        r"|\bbis wann\b|\bbis zu welchem (?:datum|tag|termin)\b|\bhasta cuándo\b"
        r"|\bcuál es (?:el plazo|la fecha límite)\b|\bjusqu['’]à quand\b|\bdate limite\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_DAY}|{_LENGTH}[^.;!?\n]{{0,30}}?\b{_RELATIVE}\b"
        rf"|\b(?:{_RELATIVE}|within|in|have|has|plazo|sous|innerhalb|binnen|beträgt)"
        rf" [^.;!?\n]{{0,20}}?{_LENGTH}"
        r"|\b(?:before|prior to|no later than|as soon as|immediately|at once|upon|receipt"
        r"|on the day|monthly|weekly|quarterly|annually|no deadline|any ?time|all year|year round"
        r"|enrolment|registration|vor|vorher|spätestens|sofort|jederzeit|antes|avant)\b",
        re.IGNORECASE,
    ),
)
LEAD_TIME = ValueKind(
    "a time in advance",
    "long far early soon much many notice advance ahead beforehand before days weeks months hours"
    " start beginning begin lange früh vorher voraus beginn",
    re.compile(
        rf"\bhow (?:long|far|early|soon|many {_WHILE}|much (?:time|(?:advance )?notice))"
        r" (?:before|in advance|ahead|beforehand)\b"
        r"|\bhow much (?:advance )?notice\b"
        rf"|\bwie (?:lange|früh|weit|viele {_TAGE}) (?:vorher|im voraus|vor)\b"
        r"|\bcon cuánt[ao]s? (?:\w{1,20} de )?(?:antelación|anticipación)\b"
        r"|\bcombien de (?:temps|jours|semaines|mois) (?:à l['’]avance|avant)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_LENGTH}[^.;!?\n]{{0,60}}?\b(?:advance|before|prior|ahead|notice|later|latest|early"
        r"|earlier|beforehand|preceding|vor|vorher|voraus|antes|antelación|anticipación|avant"
        r"|avance|préavis)\b"
        r"|\b(?:notice|latest|later|wait|after|takes?|within|frist|kündigungsfrist|préavis|nach"
        rf"|innerhalb)\b[^.;!?\n]{{0,60}}?{_LENGTH}(?! (?:of each other|from each other|apart)\b)",
        re.IGNORECASE,
    ),
)
