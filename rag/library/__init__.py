"""The library of a knowledge base: documents, questions, maps, and their examination."""
