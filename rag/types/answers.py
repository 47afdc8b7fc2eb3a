"""Answers, and what is said to and by chat models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from math import isfinite
from typing import Literal

from rag.types.retrieval import Hit, Trace

_EXACT = 9
"""Decimals beyond which a sum of fractions is inexact."""


def percent(share: float, digits: int = 0) -> str:
    """Return a share as ``63%``, with halves rounded up: 5 of 8 are 62.5%.

    The formats of Python round halves to even, 62.5% down and 87.5% up.
    """
    return f"{half_up(100 * share, digits)}%"


def half_up(number: float, digits: int = 0) -> Decimal:
    """Round to decimal digits, halves away from zero. What rounds to nothing has no sign.

    Infinity and NaN stay what they are.
    """
    if not isfinite(number):
        return Decimal(float(number))
    exact = Decimal(repr(round(float(number), _EXACT)))
    rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return rounded or abs(rounded)


def told_apart(first: float, second: float, digits: int = 3) -> tuple[str, str]:
    """Return two numbers with ``digits`` decimals, or as many more as tell them apart."""
    while first != second and digits < _EXACT and f"{first:.{digits}f}" == f"{second:.{digits}f}":
        digits += 1
    return f"{first:.{digits}f}", f"{second:.{digits}f}"


@dataclass(frozen=True, slots=True)
class Citation:
    """``[n]`` in an answer: the passage behind it and, where known, the words it rests on.

    ``checked`` says that those words hold what is rare in the question. ``page_label`` is the
    number printed on their page, where that is another one. ``answers`` says that the quote is the
    answer of an answer of quotes, of which the others are more on the matter.
    """

    n: int
    hit: Hit
    quote: str = ""
    page: int | None = None  # of those words
    checked: bool = False
    page_label: str = ""
    answers: bool = False

    @property
    def cited_page(self) -> int | None:
        """The page of the quoted words, or else the page of the passage."""
        return self.page or self.hit.chunk.page


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a chat provider reports; zero where it reports none.

    ``prompt_tokens`` are those that it read. ``unread_tokens`` are at least how many more were
    sent: its server cut the prompt.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    unread_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.unread_tokens + other.unread_tokens,
        )

    @property
    def tokens(self) -> int:
        """Both together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Cost:
    """Money, by a table of prices."""

    amount: float
    currency: str


def money(amount: float, currency: str) -> str:
    """``0.0042 USD``: two digits that count, and cents at least."""
    digits = 2 if amount == 0 or amount >= 1 else 4 if amount >= 0.001 else 6
    return f"{amount:,.{digits}f} {currency}"


def cost_text(costs: Iterable[Cost | None]) -> str:
    """Describe the total cost of answers and the number of unknown costs; "" for none."""
    prices = list(costs)
    prices_given = [price for price in prices if price is not None]
    if not prices:
        return ""
    if not prices_given:
        return "cost unknown"
    totals: dict[str, float] = {}
    for price in prices_given:
        totals[price.currency] = totals.get(price.currency, 0.0) + price.amount
    amounts = " and ".join(money(amount, currency) for currency, amount in sorted(totals.items()))
    missing = len(prices) - len(prices_given)
    return f"{amounts}, not known for {missing:,}" if missing else amounts


@dataclass(frozen=True, slots=True)
class Example:
    """A past interaction that stands in a prompt as an example, never as a source.

    Its ``answer`` is "" where it is not needed, as in a stored turn.
    ``turn`` is the id of its turn, ``similarity`` the cosine of the two questions, ``score`` what
    it was chosen by (see ``rag.conversations.memory``) and ``thumb`` what its reader said:
    1 up, 0 nothing.
    """

    turn: int
    question: str
    similarity: float
    score: float
    thumb: int = 0
    answer: str = ""


SentenceVerdict = Literal["supported", "unsupported", "uncited"]


@dataclass(frozen=True, slots=True)
class SentenceCheck:
    """``Answer.text[start:end]`` compared with the passages that it cites.

    ``reasons`` say in words what speaks against it; there is none where it is supported.
    ``figures`` are its numbers that no cited passage of the answer has. ``share`` is the weighted
    share of its words that its passages hold (0 to 1; all cited passages where it cites none),
    ``cosine`` that with the nearest statement of them where terms did not decide.
    ``judge`` names the model that gave the verdict, "" for words and figures.
    """

    start: int
    end: int
    verdict: SentenceVerdict
    cited: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    share: float = 0.0
    cosine: float | None = None
    judge: str = ""

    @property
    def borne_out(self) -> bool:
        """Whether passages say it, which it cites."""
        return self.verdict == "supported"


DecisionStep = Literal["sources", "tool", "citations", "context", "general", "evidence"]
"""What was decided: where the answer comes from, a call of a tool, whether to ask once more for
citations or with a shorter prompt, what counts as general knowledge, and what a model reads."""


@dataclass(frozen=True, slots=True)
class StatedProbability:
    """A probability between 0 and 1 that a model states; ``model`` is its version, "" unknown."""

    value: float
    model: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Decision:
    """A choice on the way to an answer: what was ``chosen``, and why, in words for the reader.

    ``failed`` says that it did not lead to what it was for.
    """

    step: DecisionStep
    chosen: str
    why: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class BudgetPart:
    """The token limit and use of one part of a prompt; ``left_out`` names the omitted items.

    For the part "answer", ``used`` is the number of tokens that are reserved for it.
    """

    name: str
    most: int
    used: int
    left_out: tuple[str, ...] = ()


AnswerState = Literal["answered", "doubtful", "refused", "conflicting"]
"""The reliability of an answer: its quotes support what is asked; they probably do not; the
documents do not cover the question; sources disagree."""

STATE_TITLES: Mapping[AnswerState, str] = {
    "answered": "Answered",
    "doubtful": "Doubtful: perhaps not answered here",
    "refused": "Not in these documents",
    "conflicting": "The sources disagree",
}


@dataclass(frozen=True, slots=True)
class Edition:
    """One of several sources that disagree: its citation number, its document and its day.

    ``day`` is an ISO date, a year, or "" if none is known.
    """

    n: int
    document: str
    day: str = ""
    in_force: bool = False


_LEAST, _MOST = 50, 70
"""In percent. See *How likely an answer is right* in docs/measurements.md."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """The state of an answer, with the evidence in words.

    ``probability`` is the calibrated probability that the first quote answers the question, None
    where nothing is quoted, or where values were compared. ``reason`` is for the reader.
    ``missing`` are the key terms of the question that the quotes lack; of an answer without doubt
    only those for which no other word will do, such as names. ``editions`` are the sources that
    disagree.
    """

    state: AnswerState
    reason: str = ""
    probability: float | None = None
    missing: tuple[str, ...] = ()
    editions: tuple[Edition, ...] = ()

    def likely(self, mode: str) -> int:
        """Return how likely a quote without doubt is right, in tens of percent; 0 for others.

        Halfway between the probability and a half: the probability holds for questions in the
        words of the documents, and about half are right for questions in the words of newcomers.
        """
        if mode != "quotes" or self.state != "answered" or self.probability is None:
            return 0
        percent = 10 * int(half_up(5 * (self.probability + 0.5)))
        return min(max(percent, _LEAST), _MOST)

    def is_unsure(self, mode: str) -> bool:
        """Whether a quote without doubt may well be wrong: "probably answered"."""
        return 0 < self.likely(mode) < _MOST

    def title(self, mode: str) -> str:
        """The state in words: "Answered, 70% likely to be right"."""
        title = "Probably answered" if self.is_unsure(mode) else STATE_TITLES[self.state]
        percent = self.likely(mode)
        return f"{title}, {percent}% likely to be right" if percent else title


AnswerStatus = Literal["complete", "interrupted", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of an answer with its evidence.

    ``mode`` says how it was made (``"quotes"``: sentences of the passages, no language model;
    ``"grounded"``, ``"strict"``: a language model restricted to the passages; ``"balanced"``: to
    passages and general knowledge that is marked; ``"general"``: to what it knows; ``"tool"``: to
    the result of a tool; ``"sentence"``: a language model worded the quotes). ``unsupported`` lists
    the citation numbers in the text that no passage has. ``note`` is for the reader (why refused,
    why interrupted). ``decisions`` tell how the answer came about, ``budget`` how its prompt was
    spent, ``prompt_version`` names the wording of the prompt. ``quotes`` are what the passages say,
    beside an answer that cites none, or that words them. ``written`` is what a model wrote that the
    quotes do not bear out; they are the answer then.
    ``suspicious`` counts the passages shown that hold what reads like instructions. ``examples``
    are the past interactions that the prompt held. ``seconds`` passed from the moment the stream
    was first read to the end of the text, ``first_token`` of them until its first piece; None where
    none came. ``sentences`` are the checks of what it claims; a refused answer claims nothing.
    ``cost`` is what the model's tokens cost, None where the price or the tokens are not known.
    ``assessment`` has the state; it is None for an answer that is not complete, and for one from
    general knowledge, which no document can support.
    """

    text: str
    citations: tuple[Citation, ...]
    trace: Trace
    mode: str
    status: AnswerStatus
    usage: Usage = Usage()
    prompt: str = ""
    unsupported: tuple[int, ...] = ()
    note: str = ""
    examples: tuple[Example, ...] = ()
    seconds: float = 0.0
    first_token: float | None = None
    sentences: tuple[SentenceCheck, ...] = ()
    decisions: tuple[Decision, ...] = ()
    budget: tuple[BudgetPart, ...] = ()
    prompt_version: str = ""
    quotes: tuple[Citation, ...] = ()
    suspicious: int = 0
    cost: Cost | None = None
    assessment: Assessment | None = None
    written: str = ""

    @property
    def state(self) -> AnswerState | None:
        """Its state; None where that is not assessed."""
        return self.assessment.state if self.assessment else None

    @property
    def title(self) -> str:
        """Its state in words; "" where that is not assessed."""
        return self.assessment.title(self.mode) if self.assessment else ""

    @property
    def uncited(self) -> bool:
        """Whether it should rest on passages or results, and names none."""
        return self.status == "complete" and self.mode in MUST_CITE and not self.citations


MUST_CITE = frozenset({"grounded", "strict", "balanced", "tool"})
"""Modes whose answers rest on what they cite."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message to a chat model."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a streamed reply; ``usage`` comes with the last one, where the provider tells.

    With it comes ``finish``: why the reply ended, in the provider's word, and ``model``, the
    version that the server says it answered with.
    """

    text: str = ""
    usage: Usage | None = None
    finish: str = field(default="", compare=False)
    model: str = field(default="", compare=False)
