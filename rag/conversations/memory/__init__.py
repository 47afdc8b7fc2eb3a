"""Memory of past turns, and selection of those that help with a new question."""

from rag.conversations.memory.memory import Memory, Remembered, Standing

__all__ = ["Memory", "Remembered", "Standing"]
