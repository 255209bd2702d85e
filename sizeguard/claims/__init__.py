"""Types of claims on an image: the universe of names, and verdicts."""
