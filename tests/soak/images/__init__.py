"""Damaged files, and files that nobody here made."""
