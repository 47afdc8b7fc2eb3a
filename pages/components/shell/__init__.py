"""The frame of all pages: session, sidebar, jobs, errors, terms and colours."""
