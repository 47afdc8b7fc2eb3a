"""Prompts for each answer mode: rules, conversation, examples, passages and the question.

One budget of tokens is for all that a model is shown, and for what it may say. The
wording is in ``prompts/``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from itertools import takewhile
from pathlib import Path

from rag.answering.reading import PassageReader
from rag.answering.words import WORD
from rag.errors import InvalidInput, NotFound
from rag.fences import fenced, mark, neutral
from rag.recipe import AnswerRecipe
from rag.types import BudgetPart, Example, Hit, Message, page_name

LONGEST_PROMPT = 20_000
"""Characters of a prompt that somebody wrote."""

_FOLDER = Path(__file__).parents[1] / "prompts"
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A prompt by name: what it is for, and the places that are filled in.

    ``required`` are those without which it would not be safe, or of no use.
    """

    name: str
    title: str
    required: frozenset[str]

    @property
    def text(self) -> str:
        """The wording that the product comes with."""
        return _shipped(self.name)


def _file(name: str, title: str, *required: str) -> PromptFile:
    return PromptFile(name, title, frozenset(required))


PROMPTS: Mapping[str, PromptFile] = {
    prompt.name: prompt
    for prompt in (
        _file("strict", "Passages alone", "mark", "no_answer"),
        _file("balanced", "Passages first, then general knowledge", "mark", "general"),
        _file("general", "General knowledge, without documents", "mark"),
        _file("tool", "The result of a tool", "mark", "no_answer"),
        _file("decide", "Auto: a tool or general knowledge", "mark", "tools"),
        _file("citations", "Asking once more for citations", "no_answer"),
        _file("grounded", "Passages, asked once", "fence", "no_answer"),
        _file("quotes", "Quotes, worded in one sentence"),
        _file("check", "Whether a quote answers the question", "quote", "question"),
        _file("sufficient", "Decision model: whether the quotes answer"),
        _file("judge", "Judge: the grade of a passage"),
        _file("decision", "Decision model as judge: whether a passage answers"),
    )
}


@dataclass(frozen=True, slots=True)
class Wording:
    """The prompts in use: ``edited`` texts by name, for all others the shipped ones."""

    edited: Mapping[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """The text of a prompt with its places open."""
        return self.edited.get(name) or PROMPTS[name].text

    def filled(self, name: str, **values: str) -> str:
        """The same with its places filled in; braces inside the values stay as they are."""
        return _PLACE.sub(lambda place: values.get(place[1], place[0]), self.text(name).strip())

    def version(self, *names: str) -> str:
        """Names the wording of some prompts: ``strict@1a2b3c4d``, one after the other."""
        return " ".join(f"{name}@{digest(self.text(name))}" for name in dict.fromkeys(names))


def digest(text: str) -> str:
    """Eight hex digits of a prompt's text, whatever blanks are around it."""
    return hashlib.sha256(text.strip().encode()).hexdigest()[:8]


def check_prompt_text(name: str, text: str) -> str:
    """A text for a prompt. Raises NotFound for an unknown name, InvalidInput for a text unfit."""
    if name not in PROMPTS:
        raise NotFound(f"There is no prompt named {name!r}.", f"There are: {', '.join(PROMPTS)}.")
    text = text.strip()
    if not text or len(text) > LONGEST_PROMPT:
        raise InvalidInput(
            f"A prompt has between 1 and {LONGEST_PROMPT:,} characters.",
            "Reset it to restore the default.",
        )
    places, required = set(_PLACE.findall(text)), PROMPTS[name].required
    if missing := sorted(required - places):
        listed = ", ".join(f"{{{place}}}" for place in missing)
        raise InvalidInput(
            f"The prompt {name} has no {listed}.", "Keep it: it is filled in for each question."
        )
    return text


@cache
def _shipped(name: str) -> str:
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").strip()


NO_ANSWER = "The passages do not answer this question."
"""The reply of a model when the passages do not have the answer."""

_PROMPTS = Path(__file__).parents[1] / "prompts"


def messages(
    question: str,
    hits: Sequence[Hit],
    reader: PassageReader | None = None,
    examples: Sequence[Example] = (),
    rules: str | None = None,
) -> list[Message]:
    """The messages that ask a model to answer ``question`` from ``hits``, numbered from 1.

    With ``reader``, passages that hold rows of tables are given with the names of their columns.
    ``examples`` stand before the passages. ``rules`` are the wording of the system message,
    ``grounded.txt`` unless told.
    """
    columns = [reader.labels(hit) if reader else "" for hit in hits]
    quoted = (part for hit in hits for part in (hit.document, hit.chunk.heading, hit.chunk.text))
    fence = f"passage-{mark(question, *quoted, *columns)}"
    passages = "\n\n".join(
        fenced_passage(fence, n, hit, named)
        for n, (hit, named) in enumerate(zip(hits, columns, strict=True), start=1)
    )
    user_prompt = _filled(_read("question.txt"), passages=passages, question=neutral(question))
    if examples:
        user_prompt = f"{shown_examples(examples, question)}\n\n{user_prompt}"
    return [
        Message(
            "system", _filled(rules or _read("grounded.txt"), no_answer=NO_ANSWER, fence=fence)
        ),
        Message("user", user_prompt),
    ]


def prompt_text(
    question: str,
    hits: Sequence[Hit],
    reader: PassageReader | None = None,
    examples: Sequence[Example] = (),
) -> str:
    """The same prompt as text for people: every word that a model would get."""
    return "\n\n".join(
        f"[{message.role}]\n{message.content}"
        for message in messages(question, hits, reader, examples)
    )


def says_no_answer(text: str) -> bool:
    """Whether a reply is the one that was asked for when passages hold no answer.

    Case, punctuation and what surrounds it on the same line do not matter to small models, so
    they do not matter here; a reply that goes on to explain itself still counts.
    """
    normalized = " ".join(WORD.findall(text.casefold()))
    return normalized.startswith(" ".join(WORD.findall(NO_ANSWER.casefold())))


def shown_examples(examples: Sequence[Example], question: str) -> str:
    """Past questions and answers between marks, after the rules for them."""
    texts = [part for example in examples for part in (example.question, example.answer)]
    fence = f"example-{mark(question, *texts)}"
    rendered = (f"Question: {example.question}\nAnswer: {example.answer}" for example in examples)
    return _filled(
        _read("examples.txt"),
        fence=fence,
        examples="\n\n".join(fenced(fence, text) for text in rendered),
    )


def fenced_passage(fence: str, number: int, hit: Hit, columns: str) -> str:
    """A passage between its marks, with its number, document and, of a table, its columns."""
    attributes = [f'n="{number}"', f'source="{_attribute(hit.document)}"']
    if hit.chunk.page is not None:
        attributes.append(f'page="{hit.chunk.page}"')
    if hit.chunk.heading:
        attributes.append(f'section="{_attribute(hit.chunk.heading)}"')
    if columns:
        attributes.append(f'columns="{_attribute(columns)}"')
    return fenced(fence, hit.chunk.text, " ".join(attributes))


def _attribute(text: str) -> str:
    return neutral(escape(" ".join(text.split())))


def _read(name: str) -> str:
    return (_PROMPTS / name).read_text(encoding="utf-8").strip()


def _filled(template: str, **values: str) -> str:
    """A template with its places filled in; braces inside the values stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda place: values.get(place[1], place[0]), template)


SHARE = 8
"""Examples may fill one part of so many of the budget; the passages have the rest."""


def most_for_examples(budget_tokens: int) -> int:
    """Tokens that examples may fill."""
    return budget_tokens // SHARE


def passage_budget(recipe: AnswerRecipe) -> int:
    """Tokens that are left for passages: quotes need no model, and a model may need no examples."""
    if not recipe.memory or recipe.provider == "extractive":
        return recipe.context_tokens
    return recipe.context_tokens - most_for_examples(recipe.context_tokens)


def fit_examples(
    examples: Sequence[Example], budget_tokens: int, count: Callable[[str], int]
) -> tuple[Example, ...]:
    """Whole examples, best first, until their share of the budget is spent.

    The first that does not fit ends the list: a cut answer would be an example of a cut answer.
    """
    left = most_for_examples(budget_tokens)

    def fits(example: Example) -> bool:
        nonlocal left
        left -= count(f"{example.question}\n{example.answer}")
        return left >= 0

    return tuple(takewhile(fits, examples))


HISTORY_SHARE = 0.15
"""The most that the conversation may take; what it and the examples leave is the passages'."""
ANSWER_SHARE = 0.5
"""The most that is kept free for the answer."""
LONGEST_NAME = 60

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Material:
    """A piece of a prompt: its text as it stands there, and what it is called where left out."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Spending:
    """The allocation of a prompt budget: the number of items that fit, and the tokens of each part.

    ``history`` counts the most recent messages that fit.
    """

    history: int
    examples: int
    passages: int
    parts: tuple[BudgetPart, ...]

    @property
    def answer(self) -> int:
        """Tokens that are free for the answer."""
        return self.parts[-1].used

    @property
    def prompt(self) -> int:
        """Tokens of all but the answer."""
        return sum(part.used for part in self.parts[:-1])


def spend(
    total: int,
    answer: int,
    rules: str,
    history: Sequence[Material],
    examples: Sequence[Material],
    passages: Sequence[Material],
    count: Count,
) -> Spending:
    """Divides ``total`` tokens: rules and question, conversation, examples, passages, answer.

    ``answer`` tokens are kept free, at most half of all. Conversation (the newest turns first) and
    examples have shares of their own; passages, best first, have all that is left. The best
    passage is always kept, whole.
    """
    free = min(answer, int(total * ANSWER_SHARE))
    fixed = count(rules)
    room = max(total - free - fixed, 0)
    most = BudgetPart("conversation", int(total * HISTORY_SHARE), 0)
    turns, conversation = _fitting(most, history[::-1], room, count)
    most = BudgetPart("examples", most_for_examples(total), 0)
    shown, example_part = _fitting(most, examples, room - conversation.used, count)
    most = BudgetPart("passages", room - conversation.used - example_part.used, 0)
    kept, passage_part = _fitting(most, passages, most.most, count, at_least=1)
    parts = (
        BudgetPart("rules and question", fixed, fixed),
        conversation,
        example_part,
        passage_part,
        BudgetPart("answer", free, free),
    )
    return Spending(turns, shown, kept, parts)


def turns_of(messages: Sequence[Message]) -> list[list[Message]]:
    """Messages by turn: each begins with what the user said."""
    turns = list[list[Message]]()
    for message in messages:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def label_of(text: str) -> str:
    """The beginning of a text, as a name for all of it."""
    words = " ".join(text.split())
    return words if len(words) <= LONGEST_NAME else f"{words[: LONGEST_NAME - 1].rstrip()}…"


def _fitting(
    part: BudgetPart, pieces: Sequence[Material], room: int, count: Count, at_least: int = 0
) -> tuple[int, BudgetPart]:
    """Return how many of the first pieces fit in a part and the room, and the part with them."""
    used, included, room = 0, 0, min(part.most, room)
    for piece in pieces:
        size = count(piece.text)
        if included >= at_least and used + size > room:
            break
        used, included = used + size, included + 1
    left_out = tuple(piece.name for piece in pieces[included:])
    return included, replace(part, used=used, left_out=left_out)


GENERAL = "General knowledge:"
"""What a paragraph begins with that rests on no passage."""
_BLANK = "0" * 12  # as long as a mark
_TAGS = {"tool": "result"}


@dataclass(frozen=True, slots=True)
class Beside:
    """The parts of a prompt besides the passages: the previous conversation and example turns.

    ``history`` contains complete turns, each beginning with a user message. ``wording`` contains
    the current prompts. ``begun`` is the text of an interrupted answer that the model continues.
    ``checks`` says that the model is asked whether a quote answers before it words it.
    """

    history: tuple[Message, ...] = ()
    examples: tuple[Example, ...] = ()
    wording: Wording = field(default_factory=Wording)
    begun: str = ""
    checks: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages to a model, the hits that they show, and how the budget was spent on them."""

    messages: list[Message]
    hits: tuple[Hit, ...]
    spending: Spending | None
    version: str
    examples: tuple[Example, ...] = ()

    @property
    def text(self) -> str:
        """Every word of it, for people."""
        return "\n\n".join(f"[{message.role}]\n{message.content}" for message in self.messages)


def prompt_of(
    mode: str,
    question: str,
    hits: Sequence[Hit],
    recipe: AnswerRecipe,
    beside: Beside,
    reader: PassageReader,
    count: Count,
    total: int | None = None,
) -> Prompt:
    """The prompt of a mode within ``total`` tokens, ``recipe.context_tokens`` unless told.

    ``grounded`` is as it always was: all hits, nothing beside them. What does not fit elsewhere is
    left out whole, and the spending names it.
    """
    version = beside.wording.version(mode)
    if mode == "grounded":
        fitted_examples = fit_examples(beside.examples, recipe.context_tokens, count)
        prompt_messages = messages(
            question, hits, reader, fitted_examples, beside.wording.text("grounded")
        )
        return Prompt(prompt_messages, tuple(hits), None, version, fitted_examples)
    columns = [reader.labels(hit) for hit in hits]
    turns = turns_of(beside.history)
    turn_texts = [part.content for turn in turns for part in turn]
    quoted = (part for hit in hits for part in (hit.document, hit.chunk.heading, hit.chunk.text))
    key = mark(question, *quoted, *columns, *turn_texts)
    tag = _TAGS.get(mode, "passage")

    def passages(word: str) -> list[str]:
        fence = f"{tag}-{word}"
        numbered = enumerate(zip(hits, columns, strict=True), start=1)
        return [fenced_passage(fence, n, hit, named) for n, (hit, named) in numbered]

    rules = beside.wording.filled(mode, mark=key, no_answer=NO_ANSWER, general=GENERAL)
    request = f"Question: {neutral(question)}"
    spending = spend(
        total or recipe.context_tokens,
        recipe.max_tokens,
        f"{rules}\n{request}",
        [Material(label_of(turn[0].content), _fenced_turn(turn, _BLANK)) for turn in turns],
        [
            Material(label_of(one.question), f"{one.question}\n{one.answer}")
            for one in beside.examples
        ],
        [Material(_place(h), text) for h, text in zip(hits, passages(_BLANK), strict=True)],
        count,
    )
    examples = beside.examples[: spending.examples]
    sections = [
        *(_fenced_turn(turn, key) for turn in turns[len(turns) - spending.history :]),
        *([shown_examples(examples, question)] if examples else []),
        *passages(key)[: spending.passages],
        request,
    ]
    prompt_messages = [Message("system", rules), Message("user", "\n\n".join(sections))]
    return Prompt(prompt_messages, tuple(hits[: spending.passages]), spending, version, examples)


def _fenced_turn(turn: Sequence[Message], key: str) -> str:
    return "\n".join(
        fenced(f"turn-{key}", message.content, f'by="{message.role}"') for message in turn
    )


def _place(hit: Hit) -> str:
    page = page_name(hit.document, hit.chunk.page, hit.chunk.heading, ", ")
    return f"{hit.rank}. {hit.document}{page}"
