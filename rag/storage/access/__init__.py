"""Who may use the programmatic interfaces, and what they were answered."""
