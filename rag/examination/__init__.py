"""The examination of documents: what contradicts, repeats, cannot be read or is not reached."""
