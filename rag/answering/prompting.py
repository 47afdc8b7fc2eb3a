"""The prompt of a language model: rules, fenced passages, question. Wording is in ``prompts/``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from rag.answering.reading import PassageReader
from rag.answering.words import WORD
from rag.fences import fenced, mark, neutral
from rag.types import Example, Hit, Message

NO_ANSWER = "The passages do not answer this question."
"""The reply of a model when the passages do not have the answer."""

_PROMPTS = Path(__file__).parent / "prompts"


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
