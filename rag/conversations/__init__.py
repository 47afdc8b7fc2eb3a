"""What was asked and answered, kept."""
