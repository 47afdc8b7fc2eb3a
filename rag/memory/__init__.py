"""What is remembered of past turns, and which of it helps with a new question."""

from rag.memory.memory import Memory, Remembered, Standing

__all__ = ["Memory", "Remembered", "Standing"]
