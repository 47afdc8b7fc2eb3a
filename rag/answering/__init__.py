"""From what was found to what is said: context, prompt, answer, citations."""

from rag.answering.asking.prompt import NO_ANSWER, Beside, messages, passage_budget, prompt_text
from rag.answering.asking.reading_probe import READING_QUESTIONS, right_readings
from rag.answering.asking.speech import Continuing, renumbered
from rag.answering.assessing.assess import Sufficiency
from rag.answering.citations import Mention, in_order, mentions
from rag.answering.context import pack, with_context
from rag.answering.generate import (
    QuotesExplanation,
    answer,
    explain_quotes,
    has_evidence,
    sentence_prompt,
    words_quotes,
)
from rag.answering.reading import PassageReader
from rag.answering.stream import AnswerStream
from rag.answering.vocabulary import Vocabulary

__all__ = [
    "NO_ANSWER",
    "READING_QUESTIONS",
    "AnswerStream",
    "Beside",
    "Continuing",
    "Mention",
    "PassageReader",
    "QuotesExplanation",
    "Sufficiency",
    "Vocabulary",
    "answer",
    "explain_quotes",
    "has_evidence",
    "in_order",
    "mentions",
    "messages",
    "pack",
    "passage_budget",
    "prompt_text",
    "renumbered",
    "right_readings",
    "sentence_prompt",
    "with_context",
    "words_quotes",
]
