"""Storage of conversations: questions, answers and their evaluation by users."""
