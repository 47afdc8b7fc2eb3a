"""A language model is asked: where its answer comes from, what it is shown, what is demanded."""
