"""Forms of questions, for a figure, a limit, a reason, what to do; and of sentences with it."""

from __future__ import annotations

import re

_ASKS_FIGURE = re.compile(
    r"\b(?:how (?:long|many|much|often|far|old|high|large|big|soon|late)|when|which year"
    r"|what (?:(?:is|are) the (?:[\w-]{1,30} ){0,3})?(?:price|cost|fee|fine|charge|limit|maximum"
    r"|minimum|deadline|amount|number|share|date|weight|height|length|width|speed|size|age)s?"
    r"|wie (?:lange?|viele?|oft|weit|alt|hoch|groß|schnell|schwer|spät)|wann|cuánt[ao]s?|cuándo"
    r"|cu[aá]l es (?:el|la) (?:peso|altura|largo|ancho|precio|costo|coste|importe|monto|plazo"
    r"|límite|máxim[ao]|mínim[ao]|velocidad|tamaño|edad|fecha|número)|combien|quand)\b",
    re.IGNORECASE,
)
_ASKS_WHAT_TO_DO = re.compile(
    r"\bhow (?:do|does|can|could|should|must|may|to)\b|\bwhat (?:(?:will|would) happen|happens)\b"
    r"|\bwhat (?:do|does|should|must|can) [\w'’ -]{1,40}? do\b|\bwie (?:kann|können|mache?n?|muss"
    r"|soll|stelle|ändere|richte)\b|\bwas (?:passiert|geschieht|muss|soll|kann)\b"
    r"|\bc[oó]mo (?:puedo|se|debo|hago)\b|\bqu[eé] (?:pasa|sucede|debo)\b"
    r"|\bcomment (?:puis|faire|dois)\b",
    re.IGNORECASE,
)
_ASKS_DEFINITION = re.compile(
    r"\b(?:mean(?:s|ing|t)?|defin\w{1,8}|bedeutet?n?|bedeutung|hei(?:ß|ss)t|signific\w{1,4}"
    r"|signifie|(?:what|which) (?:is|are)|(?:who|what|which) (?:counts|qualifies)|was (?:ist|sind)"
    r"|qu[eé] (?:es|son)|qu['’]est-ce)|是什么|什么是|定义",
    re.IGNORECASE,
)
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
        rf"|\b(?:how (?:much|many|long|far|late|often)(?: .{{0,60}})? at (?:the )?most)\b"
        r"|\bwhat(?:['’]s| is| are) the (?:[\w-]{1,30} ){0,3}?(?:limit|maximum)"
        r"(?=\W{0,3}\Z| (?:for|on|of|to|per|in|i|we|you|one)\b)"
        r"|\bwie (?:viele?|lange?|hoch|weit|oft) .{0,60}\b(?:höchstens|maximal)\b"
        r"|\bwas ist (?:der|die|das) (?:höchste|maximale|größte|längste) "
        r"|\bcu[aá]nt[oa]s? .{0,60}\b(?:como máximo|a lo sumo)\b"
        r"|\bcu[aá]l es (?:el|la) (?:máxim[oa]|mayor|[\w-]{1,30} máxim[oa])\b"
        r"|\bquel(?:le)? est (?:le|la) (?:[\w-]{1,30} )?maxim(?:um|ale?)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:least|minimum|fewest) {_ALLOWS}"
        rf"|\b(?:what|which) (?:is|are|was) the (?:lowest|smallest|shortest|min(?:imum)?)"
        rf" {_QUANTITY}"
        r"|\bhow (?:few|little) (?!(?:is|are|was|were|do|does|did|can|of)\b)\w"
        r"|\b(?:how (?:much|many|long|far|early|often)(?: .{0,60})? at (?:the )?least)\b"
        r"|\bwhat(?:['’]s| is| are) the (?:[\w-]{1,30} ){0,3}?(?:lower limit|minimum)"
        r"(?=\W{0,3}\Z| (?:for|on|of|to|per|in|i|we|you|one)\b)"
        r"|\bwie (?:viele?|lange?|hoch|weit|oft) .{0,60}\b(?:mindestens|wenigstens)\b"
        r"|\bwas ist (?:der|die|das) (?:niedrigste|geringste|kleinste|kürzeste) "
        r"|\bcu[aá]nt[oa]s? .{0,60}\b(?:como mínimo|al menos)\b"
        r"|\bcu[aá]l es (?:el|la) (?:mínim[oa]|menor|[\w-]{1,30} mínim[oa])\b"
        r"|\bquel(?:le)? est (?:le|la) (?:[\w-]{1,30} )?minim(?:um|ale?)\b",
        re.IGNORECASE,
    ),
)
_FIGURE = (
    r"(?=.{0,80}(?:\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|half|once|twice)"
    r"\b))"
)
_NOT = r"(?:not|never|cannot|can['’]t) (?:[a-z]{1,15} ){0,2}?"
_SET = (
    re.compile(
        r"\bmax\b[.:]?(?=.{0,15}\d)|(?:<=|≤) ?\d"
        r"|\b(?:maxim(?:um|al)|at (?:the )?most|up to|upper limit"
        r"|no (?:more|longer|later) than"
        rf"|{_NOT}(?:more|higher|longer|later|greater|larger|faster|above|over)(?: than)?"
        r"|limit(?:ed)?(?: is|:)? (?:to|of)?|(?:not|never) (?:to )?exceed(?:ing)?|cannot exceed"
        r"|höchstens|maximal|bis zu|höchstbetrag|como máximo|máxim[oa](?: de)?|hasta|au plus"
        r"|nicht (?:über|mehr als)|n[eo] [^.;\n]{0,40}\bsup[ée]ri(?:or|eur)e?s? [aà]"
        rf"|jusqu['’]à)\b{_FIGURE}"
        r"|\d[^.;\n]{0,40}\b(?:at (?:the )?most|or less|or fewer|max(?:imum)?|höchstens)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\bmin\b[.:]?(?=.{0,15}\d)|(?:>=|≥) ?\d|\b(?:minim(?:um|al)|at (?:the )?least|lower limit"
        r"|no (?:less|fewer|earlier) than"
        rf"|{_NOT}(?:less|lower|fewer|shorter|earlier|smaller|slower|below|under)(?: than)?"
        r"|nicht (?:unter|weniger als)|n[eo] [^.;\n]{0,40}\binf[ée]ri(?:or|eur)e?s? [aà]"
        rf"|mindestens|wenigstens|como mínimo|mínim[oa](?: de)?|al menos|au moins)\b{_FIGURE}"
        r"|\d[^.;\n]{0,40}\b(?:at (?:the )?least|or more|min(?:imum)?|mindestens)\b",
        re.IGNORECASE,
    ),
)
_ASKS_DEFAULT = re.compile(
    r"\b(?:by default|out of the box)\b"
    r"|\b(?:what(?:['’]s| is| are)|which (?:[\w-]{1,30} )?(?:is|are)) (?:the |its |their )?"
    r"(?:[\w-]{1,30} ){0,2}default\b"
    r"|\bunless (?:i|you|we|one) (?:[a-z’']{1,12} ){1,4}?(?:otherwise|it)(?=\W{0,3}\Z)"
    r"|\bif (?:i|you|we|one) (?:do not|don['’]t) (?:change|set|specify|configure) it(?=\W{0,3}\Z)"
    r"|\b(?:standardmäßig|voreingestellt|por defecto|par défaut)\b",
    re.IGNORECASE,
)
_DEFAULT = re.compile(
    r"default|\b(?:unless|otherwise|(?:if|when|where) (?:(?:it|there|this) is |you do )?(?:no|not)"
    r"|initial(?:ly)?|standard\w{0,12}|pre-?set|factory|out of the box|omitted|unset|unspecified"
    r"|absent|without (?:any|an?|this|the)|normal(?:ly)?|usual(?:ly)?|typical(?:ly)?)\b"
    r"|standardmäßig|voreingestellt|voreinstellung|werkseinstellung|por defecto|predeterminad"
    r"|par défaut|omisión",
    re.IGNORECASE,
)
_IMPERATIVES = (
    r"(?:add|ask|attach|book|bring|buy|call|change|check|choose|click|complete|contact|copy|create"
    r"|disable|download|drag|email|e-mail|enable|enter|fill|go to|hand|hold|insert|install|open|pay"
    r"|press|pull|push|log ?in|register|remove|replace|request|reset|restart|return|run|select|send"
    r"|set|sign|submit|switch|tap|turn|type|update|upload|use|visit|write)"
)
_STEP = re.compile(
    rf"\W{{0,3}}(?:{_IMPERATIVES}\b|(?-i:[A-ZÄÖÜ])[a-zäöüß]{{2,20}}n Sie\b)", re.IGNORECASE
)
_ANSWER_FORMS = (
    (
        re.compile(
            r"\bwhy\b|\bwhat (?:is|are|was) the (?:reason|purpose|point)\b|\bhow come\b"
            r"|\b(?:warum|wieso|weshalb|wozu)\b|\bpor qu[eé]\b|\bpourquoi\b",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(?:because|rationale|so that|so as to|in order (?:to|that)|due to|owing to"
            r"|reasons?|purpose|otherwise|designed (?:to|for)|caused? by|therefore"
            r"|(?:to|and|which|that|this) (?:ensures?|prevents?|avoids?|protects?|helps?|keeps?"
            r"|allows?|reduces?|guarantees?|makes? sure|compl(?:y|ies))"
            r"|(?:helping|allowing|ensuring|preventing|avoiding)"
            r"|to (?:reduce|avoid|prevent|protect|save|ensure|keep|make sure|comply|improve|limit)"
            r"|weil|damit|wegen|aufgrund|grund|gründen|dient|dienen|sonst|denn|zweck"
            r"|um [^.;]{3,80} zu"
            r"|(?<=, )since|(?<=, )as (?:it|they|this|we)"
            r"|porque|para que|a fin de|con el fin|debido a|por motivos?"
            r"|parce qu|afin (?:de|qu)|en raison|pour (?:éviter|garantir|assurer))\b",
            re.IGNORECASE,
        ),
    ),
    (
        re.compile(
            r"\bhow (?:(?:do|can|could|should|must|may|would) (?:i|we|you|one|they)|to)\b"
            r"|\bwie (?:kann|können|muss|soll|mache?n?|stelle|ändere|richte|beantrage|melde) "
            r"(?:ich|wir|man|sie)\b"
            r"|\bc[oó]mo (?:puedo|se|debo|hago)\b|\bcomment (?:puis|faire|dois|peut)\b",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(?:you|we|they|employees|members|users|applicants|customers|guests|students)"
            r" (?:must|should|need to|have to|shall|will need to)\b"
            r"|\bplease\b|\bby (?!being\b)[a-z]{2,20}ing\b|\bin writing\b"
            r"|\b(?:must|shall|should|will|can|may|has to|have to|needs? to) be (?:[a-z]{2,15}ly )?"
            r"(?:presented|submitted|sent|made|filed|given|addressed|requested|paid|returned"
            r"|reported|handed|completed|booked|ordered)\b"
            rf"|(?:\A|[.:;] |\bthen ){_IMPERATIVES}\b"
            r"|\bbitte\b|\b(?:(?:sie|man|du|ihr) (?:müssen|muss|können|kann|sollten?)"
            r"|(?:müssen|muss|können|kann|sollten?) (?:sie|man|du|ihr))\b"
            r"(?!.{0,60}\b(?:nicht|kein\w{0,2})\b)|(?<!no )\b(?:puede|debe|hay que)\b"
            r"|\b(?:veuillez|pouvez|devez|il faut)\b",
            re.IGNORECASE,
        ),
    ),
    (
        re.compile(
            r"\bwhat (?:(?:will|would|can|could) happen|happens)\b|\bwas (?:passiert|geschieht)\b"
            r"|\bqu[eé] (?:pasa|sucede|ocurre)\b|\bque se passe\b",
            re.IGNORECASE,
        ),
        re.compile(
            r"(?:\A|[,;:.] )(?:when|cuando|quand)\b|\b(?:if|unless|otherwise|in case|fails? to"
            r"|(?:any|each|every) [\w-]{1,30} (?:that|who)"
            r"|wenn|falls|sofern|andernfalls|si|de lo contrario|sinon)\b",
            re.IGNORECASE,
        ),
    ),
    (
        re.compile(
            r"\bwhere (?:is|are|was|were|do|does|can|could|should|must|may)\b"
            r"|\bwo (?:ist|sind|kann|finde|liegt|steht|muss)\b|\bd[óo]nde (?:está|puedo|hay|se)\b"
            r"|\boù (?:est|sont|se|puis|peut)\b",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(?:found|located|kept|stored|situated|placed|posted|displayed|hangs?|hung|stands?"
            r"|lies) (?:in|at(?! ?(?:\d|least|most|short|the latest))|on|near|inside|outside"
            r"|behind|under|below|above|next to|opposite|between|by the)\b|\b(?:next to|opposite"
            r"|on the (?:left|right|(?:[\w-]{1,15} )?(?:floor|wall|shelf|side)))\b"
            r"|\b(?:befinde[nt]|liegt(?! bei)|steht|hängt)\b|\b(?:se encuentra|está (?:en|al))\b"
            r"|\b(?:se trouvent?|situé)\b",
            re.IGNORECASE,
        ),
    ),
)
"""Questions for a reason, for what to do, for a consequence and for a place, and the words of such
answers."""
_ASKS_PLACE, _GIVES_PLACE = _ANSWER_FORMS[-1]


_REFERENCE = re.compile(
    r"\W{0,3}(?:(?:for|zu|für|pour|para) [^.]{3,60}, )?(?:please |bitte )?(?:also )?"
    r"(?:see|refer to|cf|siehe|vgl|vergleiche|voir|véase)\.? (?:(?:also|the|our|auch|die|den|das|la"
    r"|le|el) ){0,2}(?:section|chapter|page|table|figure|appendix|annex|article|part|above|below"
    r"|abschnitt|kapitel|seite|tabelle|anhang|anlage|artikel|oben|unten|sección|capítulo|página"
    r"|chapitre|annexe|§|[\"“„«\[]|https?:)[^\n£$€]{0,120}\Z"
    r"|[^.\n]{0,100}\b(?:take|have) a look at (?:this|our|the) (?:[\w-]{1,20} ){0,2}?"
    r"(?:posts?|guides?|guidelines?|pages?|documentation|docs|articles?|sections?|tutorials?|faq)"
    r"\b[^\n£$€]{0,120}\Z",
    re.IGNORECASE,
)


def is_reference(text: str) -> bool:
    """Whether a sentence only says where to read on: "See section *Backup*"."""
    return _REFERENCE.match(text) is not None


def asks_figure(question: str) -> bool:
    """Whether a question wants a figure: "how long", "what is the fee"."""
    return _ASKS_FIGURE.search(question) is not None


def asks_definition(question: str) -> bool:
    """Whether a question wants to know what something is."""
    return _ASKS_DEFINITION.search(question) is not None


def asks_what_to_do(question: str) -> bool:
    """Whether a question wants to know how to do something, or what happens then."""
    return _ASKS_WHAT_TO_DO.search(question) is not None


def bound_pattern(question: str) -> re.Pattern[str] | None:
    """Return the pattern of the limit, upper or lower, that a question asks for; None for others.

    "What is the highest dose" wants "a maximum of 45 mg" or "up to 45 mg".
    """
    return next(
        (limit for asked, limit in zip(_ASKED, _SET, strict=True) if asked.search(question)), None
    )


def default_pattern(question: str) -> re.Pattern[str] | None:
    """Return the pattern of texts that state a default, if a question asks for one; else None."""
    return _DEFAULT if _ASKS_DEFAULT.search(question) else None


def place_pattern(question: str) -> re.Pattern[str] | None:
    """Return the pattern of texts that say where something is, if a question asks that."""
    return _GIVES_PLACE if _ASKS_PLACE.search(question) else None


def asks_how(question: str) -> bool:
    """Whether a question asks how to do something."""
    return _ANSWER_FORMS[1][0].search(question) is not None


def is_step_of(question: str, text: str) -> bool:
    """Whether a question asks how to do something, and a text begins as an instruction for it."""
    return asks_how(question) and _STEP.match(text) is not None


def answer_form(question: str) -> re.Pattern[str] | None:
    """Return the pattern of sentences that give a reason or a place, or say what to do or happens.

    The one that the question asks for: "because" and "so that" for "why". None for other questions.
    """
    return next((form for asked, form in _ANSWER_FORMS if asked.search(question)), None)
