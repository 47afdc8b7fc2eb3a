"""Word, Excel and PowerPoint files."""
