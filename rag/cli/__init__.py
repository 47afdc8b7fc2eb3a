"""The command line: parser, verbs, and how each result is printed."""
