"""Files of reStructuredText, which docutils parses, and of AsciiDoc."""
