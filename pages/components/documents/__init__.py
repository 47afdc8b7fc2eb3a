"""What is in a knowledge base and how it is cut."""
