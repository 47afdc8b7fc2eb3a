"""Components for a knowledge base in operation."""
