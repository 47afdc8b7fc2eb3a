"""Files of reStructuredText, which docutils makes a web page of."""
