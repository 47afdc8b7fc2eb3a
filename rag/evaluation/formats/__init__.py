"""Files of questions, judgements and rankings, read and written."""
