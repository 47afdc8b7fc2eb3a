"""Measures of answers: containment of the expected one, ROUGE-L, and decisions.

Whether an answer contains the expected one.

Answer containment is what open-domain question answering counts as a hit (``has_answer`` of
Karpukhin et al., Dense Passage Retrieval for Open-Domain Question Answering, EMNLP 2020: the
expected answer is in the text), made tolerant of how numbers, dates and words are written. Its
share of words is the token recall of Adlakha et al., Evaluating Correctness and Faithfulness of
Instruction-Following Models for Question Answering, TACL 2024.

Words are compared, not what they mean: the same in other words is not contained. Paths, options
and identifiers are right as wholes only.

The measures of one answer, all in [0, 1], as far as its question lets them be taken.

Exact match and F1 are those of SQuAD's evaluation script (Rajpurkar et al., EMNLP 2016): lower
case, without punctuation, articles and spare white space. ROUGE-L is Lin's (ACL Workshop 2004): F1
of the longest common subsequence, of words cut as the package ``rouge-score`` does without stems.
Containment of the expected answer is in ``rag.evaluation.answers.containment``.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from rag.answering.assessing.dates import MONTH_NUMBERS, OF, ORDINAL, SHORT_MONTHS, dates_in
from rag.answering.checking.figures import Figure, KnownFigures, figures, spelt_amounts
from rag.answering.citations import answer_and_more
from rag.answering.languages import alternatives, any_of, listed, numbered
from rag.answering.words import unit_at
from rag.evaluation.relevance import judged_by_document
from rag.lexical import Analyzer, analyzer, function_words
from rag.protocols import Embedder
from rag.types import Answer, Citation, Evidence, Question, SentenceCheck

_UNSPACED_SCRIPTS = r"\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts that put no space between a code and the words or endings beside it."""
_TOKEN = re.compile(rf"(?:[^\W{_UNSPACED_SCRIPTS}]|[.@+~/-])+")
_ENDS = ".@+~/-"
_EXTENSIONS = (
    "ya?ml|json|toml|ini|conf|cfg|env|service|log|py|sh|js|ts|sql"
    "|md|txt|csv|xml|html?|pdf|docx|xlsx"
)
_WHOLE = re.compile(
    r"\A(?:~|\.{1,2})?/[\w.]|\A--[a-z]"
    r"|\A\w[\w.+-]*@[\w-]+\.\w"
    r"|[^\W_]_+[^\W_]"
    rf"|[\w-]\.(?:{_EXTENSIONS})(?!\w)",
    re.IGNORECASE,
)
_BEFORE_UNIT = frozenset("€$£¥%)")
"""Signs before a slash that begins no path: 5 €/month."""
_MORE = r"(?:\.\d+|[._-]?[a-z]{1,8}\d+)*"
_NUMBER = re.compile(
    r"(?<![\w.])(?:v\.?\s?)?(?!\d{1,3}(?:\.\d{3})+(?!\d|\.\d))"
    rf"(?P<code>\d+(?:\.\d+){{2}}{_MORE})",
    re.IGNORECASE,
)
_VERSION = re.compile(rf"(?<![\w.])(?P<v>v\.?\s?)?(?P<code>\d+\.\d+{_MORE})", re.IGNORECASE)
_NUMERIC = re.compile(rf"\d+\.\d+{_MORE}", re.IGNORECASE)
_VERSIONS = any_of("versions")
_VERSION_BEFORE = re.compile(rf"{_VERSIONS}\s\Z", re.IGNORECASE)
_ASKS_FOR_VERSION = re.compile(
    rf"{any_of('which')}(?:\s{any_of('is')})?(?:\s(?!{any_of('version_verbs')}\s)[\w.-]+){{0,3}}"
    rf"\s{_VERSIONS}(?!\s(?:\d|{any_of('dates')}))",
    re.IGNORECASE,
)
_ZEROS = re.compile(r"(\d+(?:\.\d+)?)\.0")


def codes(text: str, asks_for_version: bool = False) -> list[tuple[str, int, int]]:
    """Return the codes of a text in order, each with the part of the text that it takes.

    They are paths, long options, addresses of mail, names with underscores, names of files, and
    numbers with several points. Numbers with one point are codes if they are versions: those beside
    the word, or any without a unit where the question ``asks_for_version``. 1.2 and 1.20 are one
    number, but two versions.
    """
    found = list[tuple[str, int, int]]()
    for token in _TOKEN.finditer(text):
        code = token.group().rstrip(_ENDS)
        end = token.start() + len(code)
        code = code.lstrip("@+")
        start = end - len(code)
        by_unit = code.startswith("/") and text[max(start - 1, 0)] in _BEFORE_UNIT
        if _WHOLE.search(code) and not by_unit:
            found.append((code, start, end))
    for pattern in (_NUMBER, _VERSION):
        for match in pattern.finditer(text):
            free = not any(start <= match.start("code") < end for _, start, end in found)
            if free and (pattern is _NUMBER or _is_version(text, match, asks_for_version)):
                found.append((match["code"], *match.span()))
    return sorted(found, key=lambda one: one[1])


def asks_for_version(question: str) -> bool:
    """Whether a question asks for the version of something."""
    return _ASKS_FOR_VERSION.search(question) is not None


def has_code(text: str, code: str) -> bool:
    """Whether a text has a code as a whole; more parts of a path may follow."""
    word, written = rf"[^\W{_UNSPACED_SCRIPTS}]", re.escape(code)
    before, after = rf"(?<!{word})(?<!-)", rf"(?!{word}|[.@+-]+{word})"
    if code[0] in "/.~":
        before = rf"(?<!{word})(?<![.~-])"
    elif _NUMERIC.fullmatch(code):
        before, after = r"(?<!\d)(?<!\d\.)", r"(?!\d|\.\d|[._-]?[a-z]{1,8}\d)"
        if zeros := _ZEROS.fullmatch(code):
            written = rf"{re.escape(zeros[1])}(?:\.0)*"
    return re.search(f"{before}{written}{after}", text, re.IGNORECASE) is not None


def _is_version(text: str, number: re.Match[str], is_asked_for: bool) -> bool:
    """Whether a number with a point is a version, which has no unit."""
    start, end = number.span("code")
    if unit_at(text, start, end):
        return False
    beside = number["v"] or _VERSION_BEFORE.search(text, max(start - 10, 0), start)
    return is_asked_for or beside is not None


HALF = 0.5
"""The share of the words of the expected answer that it takes."""
_BESIDE = frozenset(listed("beside_figures"))
"""Words beside figures, for which there are many others."""
_VERDICT = re.compile(
    rf"\A\s*(?:{any_of('yes')}|(?:{alternatives('no')})"
    rf"(?=\s*(?:[,.:;!–—、。，]|\Z)|\s{any_of('subjects')}))[\s,.:;!–—、。，]*",
    re.IGNORECASE,
)
"""A verdict at the beginning, which no quote has. What follows it says the same."""
_DOTTED_I = str.maketrans("İı", "ii")
"""Turkish letters that match an "i" of a name when case is ignored, but fold to others."""
_MONTH = "|".join(sorted(SHORT_MONTHS, key=len, reverse=True))
_NAME = alternatives("months")
_MONTH_OF_DAY = re.compile(
    rf"\b({_MONTH})\b\.?(?=,?\s+\d)|(?:(?<=\d\s)|(?<=\d\.\s)|(?<=\d[a-z]{{2}}\s))({_MONTH})\b",
    re.IGNORECASE,
)
_ENGLISH = {number: name.title() for name, number in reversed(numbered("months", "en").items())}
_DAY_OF_MONTH = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:\.|{ORDINAL})?\s{OF}(?P<name>{_NAME})\b"
    rf"|\b(?P<name2>{_NAME})\s(?P<day2>\d{{1,2}}){ORDINAL}?(?![\w.,]*\d)"
    r"|(?<!\d)(?P<month>\d{1,2})月(?P<day3>\d{1,2})日",
    re.IGNORECASE,
)
_VERBS = frozenset(listed("months_and_verbs"))
"""English words that are months only with a capital."""
_MAY = re.compile(r"(?<=\S\s)May\b|\AMay(?=\W*\Z|\s?[,–-]|\s(?:and|or|to|until|through)\b)")
"""The month where it stands without a day: at the beginning of a sentence, it may be the verb."""
_COMPARED = (frozenset(listed("fewer")), frozenset(listed("more")))
"""Words that compare with a figure: those of one group say the same."""
_CLOCK = re.compile(
    r"\b(?P<short>0?\d|1[0-2])(?:[:.](?P<minutes>[0-5]\d))?"
    r"(?:\s?(?P<half>[ap]\.m|pm)\b|am\b|\sam(?=\s*(?:[,.;:!?)–—-]|\Z)"
    rf"|\s{any_of('behind_am')}))\.?"
    r"|\b(?P<long>[01]?\d|2[0-4]):(?P<long_minutes>[0-5]\d)\b",
    re.IGNORECASE,
)
"""Times. "Am" behind a space is one only before an English day or what ends the time: German has
"Gleis 9 am Hafen"."""
_POINTS = re.compile(
    r"(?<![\d.,])(?P<day>0?[1-9]|[12]\d|3[01])\.\s?(?P<month>0?[1-9]|1[0-2])\.(?!\d)"
)
_BEFORE_POINTS = re.compile(rf"(?:{any_of('before_day')}\s|[–-]\s?)\Z", re.IGNORECASE)
_BEHIND_POINTS = re.compile(r"\s?[–-]|\s[a-zäöü]")
_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_HOST = re.compile(r"(?<=:)//[\w.-]+(?::\d+)?(?=/\w)")
_HOME = re.compile(r"\$(?:HOME|\{HOME\})(?=/)")
_UNSPACED = "\u0e00"
"""Scripts from here on put no space between words, or between a word and its endings."""


def contains_answer(answer: str, expected: str, question: str = "") -> bool | None:
    """Whether an answer contains what is expected; None where that has nothing to look for.

    All its figures, dates and codes have to be there, figures and dates in any usual format, paths
    and other codes as wholes, and half of the words that carry meaning, by their stems. What the
    question has too counts only where nothing else is expected, but a long answer, which may have a
    figure by chance, needs the words of the question as well. Where only words are expected, it
    takes more than half of them.
    """
    answer, expected, question = map(_normal, (answer, _VERDICT.sub("", expected), question))
    cut = _analyzers().of(f"{question} {expected} {answer}")
    wanted = _Expected.of(expected, cut, asks_for_version(question))
    text = _Text(answer, cut)
    if not wanted.is_something:
        return None
    new = wanted.beyond(_Text(question, cut))
    parts = new if new.is_something else wanted
    lacking = parts.beyond(text)
    if lacking.is_exact:
        return False
    if not parts.is_exact:
        return len(lacking.words) < HALF * len(parts.words)
    if len(cut.tokens(answer)) > len(cut.tokens(expected)):
        lacking = wanted.beyond(text)
    return len(lacking.words) <= HALF * len(wanted.words)


class _Text:
    """A text that is asked for figures, dates and words."""

    def __init__(self, text: str, cut: Analyzer) -> None:
        self._text, self._folded = text, text.casefold()
        self._terms = frozenset(cut.tokens(text))
        self._figures = KnownFigures(text)
        self._days = [day for days, *_ in _dates(text) for day in days]
        self._words = frozenset(re.findall(r"[^\W\d_]+", self._folded))
        named = {word for word in re.findall(r"[^\W\d_]+", text) if word not in _VERBS}
        months = (MONTH_NUMBERS.get(word.casefold()) for word in named)
        self._months = {*months, *(int(day.split("-")[1]) for day in self._days if "-" in day)}

    def has_figure(self, figure: Figure) -> bool:
        return self._figures.holds(figure)

    def has_code(self, code: str) -> bool:
        return has_code(self._text, code)

    def has_date(self, days: frozenset[str]) -> bool:
        """Whether one of the readings of a date is there.

        A month is there also by one of its days, and a day without a year in any year.
        """
        return any(
            own.endswith(day) if day.startswith("-") else own.startswith(day)
            for day in days
            for own in self._days
        )

    def has_word(self, word: str, term: str) -> bool:
        folded = word.casefold()
        month = MONTH_NUMBERS.get(folded)
        if word == "May":
            return month in self._months
        alike = (group for group in _COMPARED if folded in group)
        return (
            term in self._terms
            or (month is not None and month in self._months)
            or self._figures.holds_word(word)
            or any(not group.isdisjoint(self._words) for group in alike)
            or (max(term) >= _UNSPACED and term in self._folded)
        )


@dataclass(frozen=True, slots=True)
class _Expected:
    """The parts of an expected answer.

    A date is the set of its readings: 03/04/2026 has two. ``codes`` are right as wholes only.
    ``words`` are (word, term).
    """

    dates: tuple[frozenset[str], ...]
    figures: tuple[Figure, ...]
    codes: tuple[str, ...]
    words: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, text: str, cut: Analyzer, versions: bool) -> _Expected:
        dates = [(days, start, end) for days, start, end in _dates(text) if len(min(days)) > 4]
        for _, start, end in sorted(dates, key=lambda date: -date[1]):
            text = f"{text[:start]} {text[end:]}"
        wholes = codes(text, versions)
        for _, start, end in reversed(wholes):
            text = f"{text[:start]} {text[end:]}"
        numbers = (*figures(text), *spelt_amounts(text))
        units = {figure.measure for figure in numbers if figure.measure}
        beside = _BESIDE if numbers or dates else frozenset[str]()
        telling, spelt = set(cut.query_tokens(text)), {figure.text for figure in numbers}
        named = frozenset({"May"} if _MAY.search(text) else ())
        words = [
            (word, term)
            for word in cut.words(text)
            if word not in spelt
            and word.casefold() not in beside
            and unit_at(f"1 {word}", 0, 1) not in units
            for term, *_ in cut.word_tokens(word)
            if (term in telling or word in named) and not any(map(str.isdigit, term))
        ]
        if all(word not in named and word.casefold() in function_words() for word, _ in words):
            words = []
        names = tuple(dict.fromkeys(code for code, *_ in wholes))
        return cls(tuple(days for days, *_ in dates), numbers, names, tuple(dict.fromkeys(words)))

    @property
    def is_something(self) -> bool:
        return self.is_exact or bool(self.words)

    @property
    def is_exact(self) -> bool:
        """Whether there is a part that no other words can stand for."""
        return bool(self.dates or self.figures or self.codes)

    def beyond(self, text: _Text) -> _Expected:
        """The parts that a text does not have."""
        return _Expected(
            tuple(days for days in self.dates if not text.has_date(days)),
            tuple(figure for figure in self.figures if not text.has_figure(figure)),
            tuple(code for code in self.codes if not text.has_code(code)),
            tuple(pair for pair in self.words if not text.has_word(*pair)),
        )


@cache
def _analyzers() -> Analyzer:
    return analyzer("auto")


def _normal(text: str) -> str:
    """A text with whole names of months beside days, and hours of 24 without empty minutes.

    The path of an address stands apart, as it is one also without the host.
    """
    text = _HOME.sub("~", _HOST.sub(r"\g<0> ", text))
    return _CLOCK.sub(_hour, _MONTH_OF_DAY.sub(_whole_month, text))


def _whole_month(match: re.Match[str]) -> str:
    name = match.group(1) or match.group(2)
    return match.group() if name in _VERBS else _ENGLISH[SHORT_MONTHS[_folded(name)]]


def _folded(name: str) -> str:
    return name.translate(_DOTTED_I).casefold()


def _hour(match: re.Match[str]) -> str:
    time = match.groupdict()
    is_late = (time["half"] or "").casefold().startswith("p")
    hour = int(time["long"] or int(time["short"]) % 12 + 12 * is_late)
    minutes = time["minutes"] or time["long_minutes"]
    return f"{hour}:{minutes}" if minutes and int(minutes) else str(hour)


def _dates(text: str) -> Iterator[tuple[frozenset[str], int, int]]:
    """The readings of each date of a text, and where it is.

    They are written as 2026, 2026-03 or 2026-03-31, and as -03-31 without a year.
    """
    rest = text
    for day, start, end in dates_in(text):
        rest = f"{rest[:start]}{' ' * (end - start)}{rest[end:]}"
        if slashes := _SLASHES.fullmatch(text, start, end):
            one, other, year = slashes.groups()
            days = (f"{year}-{one:0>2}-{other:0>2}", f"{year}-{other:0>2}-{one:0>2}")
            yield frozenset(days), start, end
        elif day:
            yield frozenset({day}), start, end
    for match in _DAY_OF_MONTH.finditer(rest):
        parts = match.groupdict()
        name = parts["name"] or parts["name2"] or ""
        if name not in _VERBS:
            month = parts["month"] or MONTH_NUMBERS[_folded(name)]
            day = parts["day"] or parts["day2"] or parts["day3"]
            yield frozenset({f"-{month:0>2}-{day:0>2}"}), *match.span()
    for match in _POINTS.finditer(rest):
        if _is_day(rest, match):
            yield frozenset({f"-{match['month']:0>2}-{match['day']:0>2}"}), *match.span()


def _is_day(text: str, match: re.Match[str]) -> bool:
    """Whether "31.3." is a day: it may be a decimal at the end of a sentence, too."""
    start, end = match.span()
    return (
        text.strip() == match.group()
        or _BEFORE_POINTS.search(text[:start]) is not None
        or _BEHIND_POINTS.match(text, end) is not None
    )


CONTAINMENT = "answer_containment"
"""1 where an answer contains the expected one, else 0; absent where that has nothing to find."""
_MARKS = re.compile(r"(?:(?<!\s)\s++)?\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*+\]|[“”]")

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))
_NOT_WORD = re.compile(r"[^a-z0-9]+")


def answer_measures(question: Question, answer: Answer, embedder: Embedder) -> dict[str, float]:
    """The measures of an answer by name; those that do not apply are absent.

    A question that the documents do not answer has ``refusal_correctness`` alone: 1 where it was
    refused. One that they answer has 0 for an answer that was refused, in every measure. A doubtful
    answer does not contain the expected one: it shows the nearest passages. Of quotes, the one that
    answers is compared with the question and the expected answer; groundedness and citations are
    those of all.
    """
    refused = answer.status == "refused"
    if not question.answerable:
        return {"refusal_correctness": float(refused)}
    answer_text = "" if refused else plain_answer(quote_that_answers(answer))
    values = {
        "refusal_correctness": float(not refused),
        "groundedness": 0.0 if refused else groundedness(answer.sentences),
        "answer_relevance": relevance(question.text, answer_text, embedder),
    }
    if any(label.grade > 0 for label in question.evidence):
        values |= citation_figures(question, () if refused else answer.citations)
    if question.answer:
        answered = not refused and answer.state != "doubtful"
        contained = contains_answer(answer_text, question.answer, question.text)
        if contained is not None:
            values[CONTAINMENT] = float(answered and contained)
        values["exact_match"] = exact_match(answer_text, question.answer)
        values["token_f1"] = token_f1(answer_text, question.answer)
        values["rouge_l"] = rouge_l(answer_text, question.answer)
    return values


def lacks_expected(metrics: Mapping[str, float]) -> bool:
    """Whether an answer without doubt does not contain the expected one, by its measures.

    An answer that a judge calls right says it in other words.
    """
    return (
        metrics.get(CONTAINMENT) == 0
        and not metrics.get("false_doubt")
        and bool(metrics.get("refusal_correctness", 1.0))
        and metrics.get("judged_correctness", 0.0) < 1
    )


def has_expected(metrics: Mapping[str, float]) -> bool:
    """Whether an answer without doubt contains the expected one, by its measures."""
    return metrics.get(CONTAINMENT) == 1 and not metrics.get("false_doubt")


def quote_that_answers(answer: Answer) -> str:
    """The text of an answer without the quotes that stand folded below the one that answers."""
    return answer_and_more(answer.text, [one.n for one in answer.citations if one.answers])[0]


def plain_answer(text: str) -> str:
    """An answer without marks of citations and of quotations."""
    return " ".join(_MARKS.sub("", text).split())


def groundedness(sentences: Sequence[SentenceCheck]) -> float:
    """The share of claims that their sources support; 0 where nothing is claimed."""
    if not sentences:
        return 0.0
    return sum(sentence.borne_out for sentence in sentences) / len(sentences)


def relevance(question: str, answer: str, embedder: Embedder) -> float:
    """Return the cosine similarity of an answer and its question, with negative values as 0.

    Use it to compare answers to one question. Its absolute value means little because embedders
    differ. Counting shared words would not separate right answers from wrong answers any better.
    """
    if not answer:
        return 0.0
    (query_vector,) = embedder.embed([question], "query")
    (vector,) = embedder.embed([answer], "document")
    return min(max(float(query_vector @ vector), 0.0), 1.0)


def citation_figures(question: Question, citations: Sequence[Citation]) -> dict[str, float]:
    """Shares of the cited passages that hold a relevant label, and of these that are cited.

    Labels of several documents that say the same are all wanted: recall is what a single right
    citation rarely reaches.
    """
    labels = [label for label in question.evidence if label.grade > 0]
    by_document = judged_by_document(question)
    holding = [any(_holds(one, label, by_document) for label in labels) for one in citations]
    cited = [any(_holds(one, label, by_document) for one in citations) for label in labels]
    return {
        "citation_precision": sum(holding) / len(holding) if holding else 0.0,
        "citation_recall": sum(cited) / len(cited),
    }


def _holds(citation: Citation, label: Evidence, by_document: bool) -> bool:
    chunk = citation.hit.chunk
    if chunk.document_id != label.document_id:
        return False
    return by_document or label.end is None or (chunk.start < label.end and label.start < chunk.end)


def normalised(text: str) -> str:
    """A text as SQuAD compares it."""
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(answer: str, expected: str) -> float:
    """1 where both are the same once normalised, else 0."""
    return float(normalised(answer) == normalised(expected))


def token_f1(answer: str, expected: str) -> float:
    """The harmonic mean of the shares of words that either has of the other; 0 to 1."""
    answer_words, expected_words = normalised(answer).split(), normalised(expected).split()
    if not answer_words or not expected_words:
        return float(answer_words == expected_words)
    shared = sum((Counter(answer_words) & Counter(expected_words)).values())
    return _f1(shared, len(answer_words), len(expected_words))


def rouge_l(answer: str, expected: str) -> float:
    """F1 of the longest sequence of words that stands in both in the same order; 0 to 1."""
    answer_words, expected_words = _words(answer), _words(expected)
    if not answer_words or not expected_words:
        return 0.0
    # The length of the longest common subsequence
    best = [0] * (len(expected_words) + 1)
    for word in answer_words:
        before = 0
        for place, other_word in enumerate(expected_words, start=1):
            previous = best[place]
            best[place] = before + 1 if word == other_word else max(best[place], best[place - 1])
            before = previous
    return _f1(best[-1], len(answer_words), len(expected_words))


def _words(text: str) -> list[str]:
    return _NOT_WORD.sub(" ", text.lower()).split()


def _f1(shared: int, answer_length: int, expected_length: int) -> float:
    return 2 * shared / (answer_length + expected_length) if shared else 0.0


_WORD = re.compile(r"\S+")


def nearest_part(text: str, expected: str, length: int) -> str:
    """Return whole words of a text, up to ``length`` characters, with most words of ``expected``.

    They stand in the middle where they can. An ellipsis marks an end that is left out.
    """
    words = list(_WORD.finditer(text))
    if len(text) <= length:
        return text
    cut = analyzer("auto").of(f"{expected} {text}")
    wanted = set(cut.query_tokens(expected))
    held = [wanted.intersection(cut.tokens(word.group())) for word in words]
    ends, end = list[int](), 0
    for start, word in enumerate(words):
        end = max(end, start + 1)
        while end < len(words) and words[end].end() - word.start() <= length:
            end += 1
        ends.append(end)
    counts = [len(set[str]().union(*held[start:end])) for start, end in enumerate(ends)]
    first = counts.index(max(counts))
    last = next((at for at in range(first, len(words)) if counts[at] < counts[first]), first + 1)
    start = (first + last - 1) // 2 if counts[first] else 0
    end = ends[start]
    part = text[words[start].start() : words[end - 1].end()]
    return f"{'… ' if start else ''}{part}{' …' if end < len(words) else ''}"
