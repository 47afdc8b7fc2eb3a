"""Web pages: their main text, with all of it that a browser shows."""
