"""Text in pictures: recognised by Tesseract, from scanned pages and picture files."""
