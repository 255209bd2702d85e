"""Compare two analyses: the rows whose bytes differ, each with its cause."""
