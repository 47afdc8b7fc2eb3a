"""How a knowledge base does in use."""
