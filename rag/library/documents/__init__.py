"""Documents of a knowledge base, their ingestion, and the jobs that index them."""
