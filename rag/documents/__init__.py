"""What a knowledge base holds: documents, how they come in, and the jobs that index them."""
