"""Statistics over questions: clusters of questions, and means of bounded values."""
