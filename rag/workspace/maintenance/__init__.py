"""Looking after a home: checks of what it holds, backups, and their way back."""
