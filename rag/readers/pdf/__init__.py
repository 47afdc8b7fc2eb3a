"""PDF files: their text, and their pages as printed."""
