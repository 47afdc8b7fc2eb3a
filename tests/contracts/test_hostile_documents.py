"""Sixty hostile documents stay text: in the prompt behind its marks, in the answer as words."""

import re

import pytest

from pages.components.chat.answer_text import answer_text
from pages.components.shell.text import lines
from rag import AnswerRecipe, Hit, Message, Settings, answering, providers, suspicions
from rag.answering import Beside
from rag.answering.asking.prompt import prompt_of
from rag.fences import neutral
from tests.answers import Turns, hit, trace
from tests.hostile_documents import TOPIC, hostile_documents

DOCUMENTS = hostile_documents()
FAKE = providers.embedder("fake", Settings.from_env({}))
_LIVE = re.compile(r"(?<!\\)<\w|(?<!\\)!\[|(?<!\\)\]\(|(?<!\\)\$")
"""HTML, images, links and formulas that Markdown would act on."""


def _prompt(mode: str, hits: list[Hit], history: tuple[Message, ...] = ()) -> list[Message]:
    recipe = AnswerRecipe(context_tokens=100_000)
    reader = answering.PassageReader()
    count = FAKE.tokenizer.count
    return prompt_of(mode, "Why?", hits, recipe, Beside(history), reader, count).messages


def test_there_are_sixty():
    assert len(DOCUMENTS) == 60


@pytest.mark.parametrize("mode", ["grounded", "strict", "balanced", "tool"])
def test_the_prompt_keeps_every_one_behind_its_marks(mode):
    hits = [hit(text, n, document=name) for n, (name, text) in enumerate(DOCUMENTS.items(), 1)]
    user = _prompt(mode, hits)[1].content
    tags = set(re.findall(r"</?((?:passage|result)-[0-9a-f]{12})", user))
    assert len(tags) == 1
    (tag,) = tags
    inside = re.findall(rf"<{tag} [^\n]*>\n(.*?)\n</{tag}>", user, re.DOTALL)
    assert len(inside) == 60
    for text in inside:
        assert text.startswith(TOPIC)
        assert text.endswith(TOPIC)
        assert neutral(text) == text
    outside = re.sub(rf"<{tag} [^\n]*>\n.*?\n</{tag}>", "", user, flags=re.DOTALL)
    assert outside.split() == ["Question:", "Why?"]


def test_so_does_the_conversation():
    said = tuple(
        Message(role, text)
        for text in DOCUMENTS.values()
        for role, text in (("user", text), ("assistant", text))
    )
    user = _prompt("general", [], said)[1].content
    (tag,) = set(re.findall(r"</?(turn-[0-9a-f]{12})", user))
    outside = re.sub(rf"<{tag} by=\"\w+\">\n.*?\n</{tag}>", "", user, flags=re.DOTALL)
    assert outside.split() == ["Question:", "Why?"]


def test_every_prompt_has_marks_of_its_own():
    one = _prompt("strict", [hit("a")])[1].content
    other = _prompt("strict", [hit("b")])[1].content
    assert re.findall(r"passage-\w+", one)[0] != re.findall(r"passage-\w+", other)[0]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_model_that_repeats_one_says_words(name):
    said = DOCUMENTS[name]
    for shown in (answer_text(said), answer_text(said, lambda n: f"?s={n}"), lines(said)):
        live = [found for found in _LIVE.finditer(shown) if not _is_ours(shown, found.start())]
        assert live == [], shown


def _is_ours(shown: str, at: int) -> bool:
    """A citation's link, and what stands in code."""
    return shown[at:].startswith("](?s=") or shown[:at].count("`") % 2 == 1


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name.startswith(("order", "mark"))])
def test_what_reads_like_instructions_is_flagged(name):
    assert suspicions(DOCUMENTS[name])


@pytest.mark.parametrize(
    "text",
    [
        "Ignore the alarm for the first ten minutes, then follow the instructions on page 4.",
        "The system has two pumps: one runs, one waits. Reply to the supplier within a week.",
        "If a < b, the passage is free. Straße, Überblick, naïve.",
        "Employees must follow the rules above all in the laboratory.",
    ],
)
def test_ordinary_text_is_not(text):
    assert suspicions(text) == ()


def test_an_answer_counts_the_suspicious_passages_that_were_shown():
    found = trace([hit(DOCUMENTS["order-0.md"], 1), hit(TOPIC, 2)])
    for chat in (Turns("40 bar [2]."), None):
        answer = answering.answer(found, AnswerRecipe(), embedder=FAKE, chat=chat).answer
        assert answer.suspicious == 1
