"""Questions for a limit, "the most I can spend", and the words by which texts set one."""

from __future__ import annotations

import re

_ALLOWS = (
    r"(?:that )?(?:i|we|you|one|they|he|she|it|an? [\w-]{1,30}|the [\w-]{1,30}|[\w-]{1,30}s)"
    r" (?:can|may|could|must|should|(?:is|are) allowed)\b"
)
_QUANTITY = (
    r"(?:[\w-]{1,30} ){0,3}?(?:amount|dos(?:e|age)|number|sum|price|fee|fine|rate|speed|weight|size"
    r"|length|height|width|depth|temperature|term|duration|period|time|limit|budget|salary|share"
    r"|percentage|discount|penalty|age|distance|value)\b"
)
_ASKED = (
    re.compile(
        rf"\b(?:most|maximum) {_ALLOWS}"
        rf"|\b(?:what|which) (?:is|are|was) the (?:highest|largest|greatest|longest|max(?:imum)?)"
        rf" {_QUANTITY}"
        rf"|\b(?:how (?:much|many|long|far|late|often) .{{0,60}} at (?:the )?most)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:least|minimum|fewest) {_ALLOWS}"
        rf"|\b(?:what|which) (?:is|are|was) the (?:lowest|smallest|shortest|min(?:imum)?)"
        rf" {_QUANTITY}"
        r"|\bhow (?:few|little)\b"
        r"|\b(?:how (?:much|many|long|far|early|often) .{0,60} at least)\b",
        re.IGNORECASE,
    ),
)
_FIGURE = r"(?=.{0,80}(?:\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|half)\b))"
_SET = (
    re.compile(
        r"\b(?:max(?:imum|imal)?|at (?:the )?most|up to|no (?:more|longer|later) than|upper limit"
        r"|limit(?:ed)?(?: is|:)? (?:to|of)?|(?:not|never) (?:to )?exceed(?:ing)?|cannot exceed"
        rf"|höchstens|maximal|bis zu|como máximo|hasta|au plus|jusqu['’]à)\b{_FIGURE}"
        r"|\d[^.;\n]{0,40}\b(?:at (?:the )?most|or less|or fewer|max(?:imum)?|höchstens)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:min(?:imum|imal)?|at (?:the )?least|no (?:less|fewer|earlier) than|lower limit"
        rf"|mindestens|wenigstens|como mínimo|al menos|au moins)\b{_FIGURE}"
        r"|\d[^.;\n]{0,40}\b(?:at (?:the )?least|or more|min(?:imum)?|mindestens)\b",
        re.IGNORECASE,
    ),
)


def bound_pattern(question: str) -> re.Pattern[str] | None:
    """Return the pattern of the limit, upper or lower, that a question asks for; None for others.

    "What is the highest dose" wants "a maximum of 45 mg" or "up to 45 mg".
    """
    return next(
        (limit for asked, limit in zip(_ASKED, _SET, strict=True) if asked.search(question)), None
    )
