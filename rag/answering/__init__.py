"""From what was found to what is said: context, prompt, answer, citations."""

from rag.answering.asked_values import asked_value
from rag.answering.asking.prompt import (
    NO_ANSWER,
    Beside,
    Wording,
    messages,
    passage_budget,
    prompt_text,
)
from rag.answering.asking.reading_probe import READING_QUESTIONS, right_readings
from rag.answering.asking.speech import Continuing, renumbered
from rag.answering.assessing.assess import Sufficiency
from rag.answering.assessing.key_terms import KeyTerm, key_terms
from rag.answering.citations import Mention, in_order, mentions
from rag.answering.context import pack, with_context
from rag.answering.extractive import choose_quotes, quote_fates, quotes
from rag.answering.generate import (
    QuotesExplanation,
    answer,
    explain_quotes,
    has_evidence,
    sentence_prompt,
    words_quotes,
)
from rag.answering.reading import PassageReader
from rag.answering.statements.rows import rows_within
from rag.answering.stream import AnswerStream
from rag.answering.vocabulary import Support, Terms, Vocabulary

__all__ = [
    "NO_ANSWER",
    "READING_QUESTIONS",
    "AnswerStream",
    "Beside",
    "Continuing",
    "KeyTerm",
    "Mention",
    "PassageReader",
    "QuotesExplanation",
    "Sufficiency",
    "Support",
    "Terms",
    "Vocabulary",
    "Wording",
    "answer",
    "asked_value",
    "choose_quotes",
    "explain_quotes",
    "has_evidence",
    "in_order",
    "key_terms",
    "mentions",
    "messages",
    "pack",
    "passage_budget",
    "prompt_text",
    "quote_fates",
    "quotes",
    "renumbered",
    "right_readings",
    "rows_within",
    "sentence_prompt",
    "with_context",
    "words_quotes",
]
