"""Questions made from passages, by a model or cut from the text."""
