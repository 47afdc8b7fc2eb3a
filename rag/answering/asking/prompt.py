"""Prompts for each answer mode: rules, conversation, examples, passages and the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rag.answering.asking.budget import Count, Material, Spending, label_of, spend, turns_of
from rag.answering.asking.wording import Wording
from rag.answering.examples import fit_examples
from rag.answering.prompting import NO_ANSWER, fenced_passage, messages, shown_examples
from rag.answering.reading import PassageReader
from rag.fences import fenced, mark, neutral
from rag.recipe import AnswerRecipe
from rag.types import Example, Hit, Message, page_name

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
