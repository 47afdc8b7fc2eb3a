"""Whether an answer says what its cited passages say: sentence by sentence, figure by figure."""

from rag.answering.checking.check import SentenceChecker, with_checks

__all__ = ["SentenceChecker", "with_checks"]
