"""What every page stands in: session, sidebar, jobs, errors, words and colours."""
