"""Words of questions that compare: superlatives with what they measure, and pairs of things."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """The words of labels, and the dimensions of values, that fit a superlative.

    ``named`` says that the question itself has to name the column: "the most employees". ``free``
    says that it may name one of any kind: "the largest crew".
    """

    words: frozenset[str]
    dimensions: frozenset[str] = frozenset()
    named: bool = False
    free: bool = False


def _measure(
    words: str, dimensions: str = "", *, named: bool = False, free: bool = False
) -> Measure:
    return Measure(frozenset(words.split()), frozenset(dimensions.split()), named, free)


_MEASURES: Mapping[str, Measure] = {
    "price": _measure(
        "price prices cost costs fee fees charge rate eur euro usd gbp chf preis preise kosten"
        " gebühr betrag",
        "euro dollar pound franc yen",
    ),
    "length": _measure(
        "length long time duration term period distance span dauer länge laufzeit zeit frist",
        "time length",
    ),
    "mass": _measure("weight mass gewicht masse", "mass"),
    "size": _measure(
        "size volume capacity area population größe volumen fläche einwohner inhalt",
        "volume data",
        free=True,
    ),
    "speed": _measure("speed velocity rpm geschwindigkeit drehzahl", "rotation frequency"),
    "height": _measure("height elevation altitude höhe", "length"),
    "width": _measure("width breite", "length"),
    "depth": _measure("depth tiefe", "length"),
    "warmth": _measure("temperature temperatur", "celsius"),
    "noise": _measure("noise sound loudness lärm geräusch schalldruck"),
    "date": _measure(
        "date day year founded opened built published since datum tag jahr gegründet", "date"
    ),
    "age": _measure("age alter"),
    "power": _measure("power leistung", "power"),
    "amount": _measure("", named=True),
}
_WORDS: Mapping[str, tuple[int, str]] = {
    word: (sign, measure)
    for sign, measure, words in (
        (1, "price", "dearest costliest priciest teuerste teuersten teuerster teuerstes"),
        (-1, "price", "cheapest billigste billigsten günstigste günstigsten günstigster"),
        (1, "length", "longest längste längsten längster längstes"),
        (-1, "length", "shortest briefest kürzeste kürzesten kürzester"),
        (1, "mass", "heaviest schwerste schwersten"),
        (-1, "mass", "lightest leichteste leichtesten"),
        (1, "size", "largest biggest größte größten größter größtes"),
        (-1, "size", "smallest kleinste kleinsten kleinster"),
        (1, "speed", "fastest quickest schnellste schnellsten"),
        (-1, "speed", "slowest langsamste langsamsten"),
        (1, "height", "tallest"),
        (1, "width", "widest breiteste breitesten"),
        (-1, "width", "narrowest schmalste schmalsten"),
        (1, "depth", "deepest tiefste tiefsten"),
        (1, "warmth", "hottest warmest wärmste heißeste"),
        (-1, "warmth", "coldest coolest kälteste kältesten"),
        (1, "noise", "loudest noisiest lauteste lautesten"),
        (-1, "noise", "quietest leiseste leisesten"),
        (1, "date", "newest latest neueste neuesten jüngste"),
        (-1, "date", "oldest earliest älteste ältesten früheste"),
        (1, "age", "eldest"),
        (-1, "age", "youngest"),
        (1, "power", "strongest stärkste stärksten"),
        (-1, "power", "weakest schwächste"),
        (1, "amount", "most highest greatest meisten höchste höchsten höchster höchstes"),
        (-1, "amount", "fewest least lowest wenigsten niedrigste niedrigsten geringste geringsten"),
    )
    for word in words.split()
}
_ADJECTIVES: Mapping[str, str] = {
    "expensive": "price",
    "costly": "price",
    "recent": "date",
    "powerful": "power",
    "heavy": "mass",
}
"""Adjectives behind "most" and "least"."""
_COMPARATIVES: Mapping[str, str] = {
    word: measure
    for measure, words in (
        ("price", "dearer cheaper costlier teurer billiger günstiger"),
        ("length", "longer shorter länger kürzer"),
        ("mass", "heavier lighter schwerer leichter"),
        ("size", "larger bigger smaller größer kleiner"),
        ("speed", "faster quicker slower schneller langsamer"),
        ("height", "taller"),
        ("width", "wider narrower breiter schmaler"),
        ("noise", "louder quieter lauter leiser"),
        ("date", "newer older"),
        ("power", "stronger"),
    )
    for word in words.split()
}
_NOT_OVER_ROWS = re.compile(
    r"\b(?:at (?:the )?(?:most|least|latest|earliest)|most of|mostly)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|never|neither|except|excluding|other than|nicht|kein\w*|außer)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Such a question is not about the row at the end: "not the lowest"."""
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_ORDINALS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5, "zweit": 2, "dritt": 3}
_COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "zwei": 2, "drei": 3}


@dataclass(frozen=True, slots=True)
class Superlative:
    """``word`` of a question: the greatest (``sign`` 1) or least (-1) of a measure.

    ``words`` are all its words ("most", "expensive"). ``place`` counts from 1 ("the second
    longest"), ``count`` is how many are wanted ("the three cheapest").
    """

    word: str
    sign: int
    measure: Measure
    words: tuple[str, ...]
    place: int = 1
    count: int = 1


def superlative(question: str) -> Superlative | None:
    """The superlative of a question, if it has one and does not negate."""
    if _NEGATED.search(question):
        return None
    words = [match.group() for match in _WORD.finditer(_NOT_OVER_ROWS.sub(" ", question))]
    folded = [word.casefold() for word in words]
    for at, word in enumerate(folded):
        if word not in _WORDS:
            continue
        sign, measure = _WORDS[word]
        own, behind = [words[at]], folded[at + 1] if at + 1 < len(folded) else ""
        if measure == "amount" and behind in _ADJECTIVES:
            measure = _ADJECTIVES[behind]
            own.append(words[at + 1])
        before = folded[at - 1] if at else ""
        place, count = _ORDINALS.get(before, 1), _COUNTS.get(before, 1)
        if max(place, count) > 1:
            own.insert(0, words[at - 1])
        return Superlative(
            " ".join(own), sign, _MEASURES[measure], tuple(own), place=place, count=count
        )
    return None


@dataclass(frozen=True, slots=True)
class Pair:
    """The two things of a question that compares them, as the question names them.

    ``matter`` is what is compared of them ("difference in price"), "" for everything.
    ``words`` are those of labels that mean the same.
    """

    one: str
    other: str
    matter: str = ""
    words: frozenset[str] = frozenset()


_BETWEEN = (
    (re.compile(r"\bdifferen\w+\b(.*?)\bbetween\b", re.IGNORECASE), (" and ", " & ")),
    (re.compile(r"\bunterschied\w*\b(.*?)\bzwischen\b", re.IGNORECASE), (" und ",)),
    (re.compile(r"\b()(?:compare|contrast)\b", re.IGNORECASE), (" with ", " to ", " and ")),
    (re.compile(r"\b()vergleiche?\b", re.IGNORECASE), (" mit ", " und ")),
    (re.compile(r"\b()distinguish\w*\b", re.IGNORECASE), (" from ", " and ")),
    (re.compile(r"\b()unterscheide\w*\b", re.IGNORECASE), (" von ", " und ")),
)
_DIFFERS = re.compile(r"\bhow (?:do|does|is|are)\b", re.IGNORECASE)
_DIFFER_FROM = (" different from ", " differ from ", " compare with ", " compare to ")
_VERSUS = (" vs. ", " vs ", " versus ", " compared to ", " compared with ", " im vergleich zu ")
_OR = (" or ", " oder ")
_MATTER = (" in terms of ", " with regard to ", " regarding ", " in ")
LONGEST_NAME = 6
"""Words of the name of a thing."""
_ARTICLE = re.compile(r"^(?:the|a|an|der|die|das|dem|den|sich)\s+", re.IGNORECASE)


def pair(question: str) -> Pair | None:
    """The two things that a question compares, if it does."""
    text = " ".join(question.strip().rstrip("?!. ").split())
    for sign, separators in _BETWEEN:
        match = sign.search(text)
        if match:
            matter, behind = _matter(match.group(1)), text[match.end() :]
            head, _, tail = behind.partition(" of ")
            if not matter and _parted(tail, separators):  # "the weight and size of A and B"
                matter, behind = head.strip(), tail
            parts = _parted(behind, separators)
            return _pair(*parts, matter) if parts else None
    started = _DIFFERS.search(text)
    parts = _parted(text[started.end() :], _DIFFER_FROM) if started else None
    parts = parts or _parted(text, _VERSUS)
    if parts:
        return _pair(*parts, "")
    return _alternatives(text)


def _alternatives(text: str) -> Pair | None:
    """ "Which is heavier, A or B", "Is A heavier than B"."""
    words = [match.group().casefold() for match in _WORD.finditer(text)]
    comparative = next((word for word in words if word in _COMPARATIVES), "")
    if not comparative:
        return None
    measure = _MEASURES[_COMPARATIVES[comparative]]
    before, _, behind = text.partition(f" {comparative}")
    if behind.startswith((" than ", " als ")):
        one = before.partition(" ")[2]
        parts: tuple[str, str] | None = (one, behind.partition(" than ")[2] or behind[5:])
    else:
        parts = _parted(behind.partition(",")[2] or behind.partition(":")[2], _OR)
    pair = _pair(*parts, "") if parts else None
    return pair and Pair(pair.one, pair.other, comparative, measure.words)


def _parted(text: str, separators: tuple[str, ...]) -> tuple[str, str] | None:
    padded = f" {text.strip()} "
    folded = padded.casefold() if len(padded.casefold()) == len(padded) else padded
    for separator in separators:
        at = folded.find(separator)
        if at >= 0:
            return padded[:at], padded[at + len(separator) :]
    return None


def _pair(one: str, other: str, matter: str) -> Pair | None:
    """Two things by name; None for what is longer than a name: a statement, half a sentence."""
    if not matter:
        for sign in _MATTER:
            other, matched, tail = other.partition(sign)
            if matched:
                matter = tail
                break
    names = [_ARTICLE.sub("", name.strip(" ,;:\"“”'")) for name in (one, other)]
    short = all(name and len(name.split()) <= LONGEST_NAME for name in names)
    return Pair(names[0], names[1], matter.strip()) if short else None


def _matter(between: str) -> str:
    matter = between.strip()
    for sign in ("in ", "of ", "im ", "in der "):
        matter = matter.removeprefix(sign)
    return matter.strip()


def words_of(text: str) -> Iterator[str]:
    """The words of a text, without case."""
    return (match.group().casefold() for match in _WORD.finditer(text))
