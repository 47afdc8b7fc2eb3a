"""Systems under test: whatever ranks, measured in our documents."""
