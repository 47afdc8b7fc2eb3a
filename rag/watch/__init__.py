"""The drift watch: repeated looks at a question set, its canary questions and the embedder."""
