"""What another recipe would do."""
