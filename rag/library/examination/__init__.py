"""The examination of documents: what repeats, cannot be read or is not reached."""
