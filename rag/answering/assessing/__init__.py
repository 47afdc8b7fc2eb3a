"""The state of an answer: how sure it is that its quotes answer the question, and why."""
