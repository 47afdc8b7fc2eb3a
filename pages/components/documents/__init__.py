"""Components for the documents of a knowledge base and their chunking."""
