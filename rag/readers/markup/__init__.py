"""Text formats with markup: reStructuredText, AsciiDoc, books, calendars and transcripts."""
